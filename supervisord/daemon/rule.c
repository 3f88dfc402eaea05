/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "supervisord/daemon/rule.h"

#include <string.h>

#include "supervisord/base/error.h"
#include "supervisord/base/parse.h"

static int read_durations(json_t *array, unsigned *setp)
{
	size_t i;
	json_t *item;

	json_array_foreach(array, i, item)
	{
		const char *name = json_string_value(item);
		unsigned d = 0;

		while (name && d < _GRANT_DURATION_N &&
			strcmp(name, grant_duration_name((enum grant_duration)d)) != 0)
			d++;
		if (!name || d == _GRANT_DURATION_N)
			return err_trace(-EBADMSG);
		*setp |= 1u << d;
	}
	return 0;
}

static int read_scopes(json_t *array, unsigned *setp)
{
	size_t i;
	json_t *item;

	json_array_foreach(array, i, item)
	{
		enum grant_scope scope;

		if (!json_is_string(item) ||
			grant_scope_from_name(json_string_value(item), &scope) < 0)
			return err_trace(-EBADMSG);
		*setp |= 1u << scope;
	}
	return 0;
}

static int read_spans(json_t *array, struct rule *rule)
{
	size_t i;
	json_t *item;

	if (json_array_size(array) > RULE_SPANS_MAX)
		return err_trace(-EBADMSG);
	json_array_foreach(array, i, item)
	{
		if (!json_is_integer(item) || json_integer_value(item) <= 0)
			return err_trace(-EBADMSG);
		rule->spans_usec[rule->n_spans++] = (uint64_t)json_integer_value(item);
	}
	return 0;
}

static int copy_text(const char *from, char **top)
{
	if (!from)
		return 0;
	if (strlen(from) > RULE_TEXT_MAX)
		return err_trace(-EBADMSG);
	*top = strdup(from);
	return *top ? 0 : err_trace(-ENOMEM);
}

int rule_from_json(json_t *json, struct rule **rulep)
{
	_cleanup_(rule_freep) struct rule *rule = calloc(1, sizeof(*rule));
	struct json_reader reader;
	json_t *durations, *spans, *scopes;
	const char *id, *text, *reason, *layer;
	int r;

	if (!rule)
		return err_trace(-ENOMEM);
	json_reader_init(&reader, json);
	id = json_read_str(&reader, "id", true);
	text = json_read_str(&reader, "text", true);
	reason = json_read_str(&reader, "reason", false);
	layer = json_read_str(&reader, "layer", true);
	durations = json_read_array(&reader, "durations", true);
	spans = json_read_array(&reader, "spans_usec", false);
	scopes = json_read_array(&reader, "scopes", false);
	r = json_reader_finish(&reader);
	if (r < 0)
		return err_trace(r);
	if (policy_layer_from_name(layer, &rule->layer) < 0)
		return err_trace(-EBADMSG);
	r = read_durations(durations, &rule->durations);
	if (r == 0)
		r = read_spans(spans, rule);
	if (r == 0)
		r = read_scopes(scopes, &rule->scopes);
	if (r == 0)
		r = copy_text(id, &rule->id);
	if (r == 0)
		r = copy_text(text, &rule->text);
	if (r == 0)
		r = copy_text(reason, &rule->reason);
	if (r < 0)
		return r;
	*rulep = TAKE_PTR(rule);
	return 0;
}

void rule_free(struct rule *rule)
{
	free(rule->id);
	free(rule->text);
	free(rule->reason);
	free(rule);
}

unsigned rule_scopes(const struct rule *rule, const struct request *request)
{
	unsigned possible = grant_scopes_for(request);
	unsigned offered = rule->scopes & possible;

	/* The lowest bit is the narrowest. */
	return offered ? offered : possible & (~possible + 1);
}

bool rule_offers_span(const struct rule *rule, uint64_t usec)
{
	if (!(rule->durations & (1u << GRANT_SPAN)))
		return false;
	for (size_t i = 0; i < rule->n_spans; i++)
		if (rule->spans_usec[i] == usec)
			return true;
	return false;
}

json_t *rule_durations_to_json(const struct rule *rule)
{
	json_t *array = json_array();

	/* A rule that names no duration still has "once": an ask that could not be allowed would be
	 * a denial. */
	json_array_append_new(array, json_string(grant_duration_name(GRANT_ONCE)));
	if (rule->durations & (1u << GRANT_SPAN)) {
		for (size_t i = 0; i < rule->n_spans; i++) {
			char text[32];

			format_span(rule->spans_usec[i], text, sizeof(text));
			json_array_append_new(array, json_string(text));
		}
	}
	for (unsigned d = 0; d < _GRANT_DURATION_N; d++)
		if (d != GRANT_ONCE && d != GRANT_SPAN && (rule->durations & (1u << d)))
			json_array_append_new(
				array, json_string(grant_duration_name((enum grant_duration)d)));
	return array;
}
