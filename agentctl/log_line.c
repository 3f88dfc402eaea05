/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
/* Shows records of the audit log. With --json the bytes are the record's own: what was hashed. */

#include "agentctl/log_line.h"

#include <string.h>

#include "agentctl/output.h"
#include "supervisord/base/json.h"

#define RECORD_MAX 65536

static bool type_matches(const char *type, const char *wanted)
{
	size_t n = strlen(wanted);

	return type && strncmp(type, wanted, n) == 0 && (type[n] == '\0' || type[n] == '.');
}

static bool matches(const struct log_filter *filter, const json_t *record)
{
	const char *session = json_string_value(json_object_get(record, "session"));
	const char *type = json_string_value(json_object_get(record, "type"));

	if (filter->session &&
		(!session || strncmp(session, filter->session, strlen(filter->session)) != 0))
		return false;
	return !filter->type || type_matches(type, filter->type);
}

/* " key=value" where there is a value. */
static void member(const json_t *record, const char *key)
{
	const json_t *value = json_object_get(record, key);
	_cleanup_(freep) char *safe = NULL;

	if (json_is_string(value)) {
		safe = out_safe(json_string_value(value));
		printf(" %s=%s", key, safe);
	} else if (json_is_integer(value)) {
		printf(" %s=%lld", key, (long long)json_integer_value(value));
	}
}

static void print_for_people(const json_t *record, uint64_t index)
{
	static const char *const shown[] = {"session", "decision", "outcome", "op", "object",
		"program", "pid", "rule", "by", "duration", "scope", "count", "agent", "reason",
		"note", "status", "exit", "signal"};
	_cleanup_(freep) char *time = out_member(record, "time");
	_cleanup_(freep) char *type = out_member(record, "type");

	printf("%llu %s %s", (unsigned long long)index, time, type);
	for (size_t i = 0; i < ARRAY_LEN(shown); i++)
		member(record, shown[i]);
	(void)fputc('\n', stdout);
}

bool log_line_print(const struct log_filter *filter, uint64_t index, const char *line, size_t size)
{
	_cleanup_(json_decrefp) json_t *record = NULL;
	int r = json_parse_strict(line, size, RECORD_MAX, &record);

	if (r < 0) {
		/* log verify says what is wrong; here it is only shown that something is. */
		if (filter->json || filter->session || filter->type)
			return false;
		printf("%llu (damaged record)\n", (unsigned long long)index);
		return true;
	}
	if (!matches(filter, record))
		return false;
	if (filter->json)
		printf("%.*s\n", (int)size, line);
	else
		print_for_people(record, index);
	return true;
}
