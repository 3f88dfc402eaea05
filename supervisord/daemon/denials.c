/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "supervisord/daemon/denials.h"

#include <string.h>

#define SAME_USEC 2000000

static const char *const copied[] = {"op", "object", "rule", "layer", "reason", "remedy", "program",
	"pid", "rule_text", "outcome"};

void denials_init(struct denials *denials)
{
	memset(denials, 0, sizeof(*denials));
}

void denials_deinit(struct denials *denials)
{
	for (size_t i = 0; i < DENIALS_MAX; i++) {
		json_decref(denials->items[i]);
		denials->items[i] = NULL;
	}
	denials->n_items = 0;
}

static json_int_t time_of(json_t *denial)
{
	return json_integer_value(json_object_get(denial, "time_usec"));
}

static bool is_same(json_t *a, json_t *b)
{
	static const char *const members[] = {"op", "object", "pid", "rule"};

	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		json_t *x = json_object_get(a, members[i]), *y = json_object_get(b, members[i]);

		if (!x || !y || !json_equal(x, y))
			return false;
	}
	return time_of(b) - time_of(a) < SAME_USEC;
}

void denials_add(struct denials *denials, json_t *denial)
{
	json_t *last = NULL;

	if (!denial)
		return;
	if (denials->n_items > 0)
		last = denials->items[(denials->n_items - 1) % DENIALS_MAX];
	if (last && is_same(last, denial)) {
		json_object_update_missing(last, denial);
		json_decref(denial);
		return;
	}
	json_decref(denials->items[denials->n_items % DENIALS_MAX]);
	denials->items[denials->n_items++ % DENIALS_MAX] = denial;
}

json_t *denial_from_record(json_t *record, const char *session, uint64_t realtime_usec)
{
	json_t *denial = json_object();

	if (!denial)
		return NULL;
	json_object_set_new(denial, "time_usec", json_integer((json_int_t)realtime_usec));
	json_object_set_new(denial, "session", json_string(session));
	for (size_t i = 0; i < ARRAY_LEN(copied); i++) {
		json_t *value = json_object_get(record, copied[i]);

		if (value && !json_is_null(value))
			json_object_set(denial, copied[i], value);
	}
	return denial;
}

void denials_list(const struct denials *denials, size_t max, int64_t pid, json_t *array)
{
	size_t n = denials->n_items < DENIALS_MAX ? denials->n_items : DENIALS_MAX;

	for (size_t i = 0; i < n && json_array_size(array) < max; i++) {
		json_t *denial = denials->items[(denials->n_items - 1 - i) % DENIALS_MAX];

		if (pid && json_integer_value(json_object_get(denial, "pid")) != pid)
			continue;
		json_array_append(array, denial);
	}
}

void denials_move(struct denials *from, struct denials *to)
{
	size_t n = from->n_items < DENIALS_MAX ? from->n_items : DENIALS_MAX;

	for (size_t i = 0; i < n; i++)
		denials_add(to, json_incref(from->items[(from->n_items - n + i) % DENIALS_MAX]));
	denials_deinit(from);
}
