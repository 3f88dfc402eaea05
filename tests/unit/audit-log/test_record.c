/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "audit-log/record.h"

static const struct audit_stamp stamp = {
	.seq = 7,
	.realtime_usec = 1767225600123456,
	.boottime_usec = 42,
	.boot = "00000000-0000-4000-8000-000000000001",
	.host = "host1",
};

static char *render(json_t *record, int expected)
{
	char *line = NULL;
	size_t size = 0;

	assert_int_equal(audit_record_render(record, &stamp, &line, &size), expected);
	if (expected == 0)
		assert_int_equal(strlen(line), size);
	json_decref(record);
	return line;
}

static void writes_compact_sorted_ascii_with_the_stamp(void **state)
{
	char *line = render(
		json_pack("{s:s, s:s, s:i}", "type", "exec", "path", "/tmp/\xc3\xa9\n", "seq", 99),
		0);

	(void)state;
	assert_string_equal(line,
		"{\"boot\":\"00000000-0000-4000-8000-000000000001\",\"host\":\"host1\",\"mono\":42,"
		"\"path\":\"/tmp/\\u00E9\\n\",\"seq\":7,\"time\":\"2026-01-01T00:00:00.123Z\","
		"\"type\":\"exec\"}");
	free(line);
}

static void replaces_a_long_text_by_its_digest(void **state)
{
	char *text = malloc(20001), *line;
	struct audit_record record;
	json_t *json = NULL, *value;

	(void)state;
	memset(text, 'x', 20000);
	text[20000] = '\0';
	line = render(json_pack("{s:s, s:{s:[s]}}", "type", "exec", "request", "argv", text), 0);
	assert_int_equal(audit_record_parse(line, strlen(line), &record, &json), 0);
	value = json_array_get(json_object_get(json_object_get(json, "request"), "argv"), 0);
	assert_int_equal(json_integer_value(json_object_get(value, "len")), 20000);
	assert_int_equal(strlen(json_string_value(json_object_get(value, "head"))), AUDIT_HEAD_MAX);
	assert_int_equal(strlen(json_string_value(json_object_get(value, "sha256"))), 64);
	json_decref(json);
	free(line);
	free(text);
}

static void keeps_every_record_below_its_cap(void **state)
{
	json_t *record = json_pack("{s:s, s:{s:s}}", "type", "exec", "request", "op", "exec");
	json_t *argv = json_array();
	struct audit_record parsed;
	json_t *json = NULL;
	char *line;

	(void)state;
	for (unsigned i = 0; i < 3000; i++)
		json_array_append_new(
			argv, json_string("an element of an endless argv \xe2\x82\xac"));
	json_object_set_new(json_object_get(record, "request"), "argv", argv);
	line = render(record, 0);
	assert_true(strlen(line) <= AUDIT_RECORD_MAX);
	assert_int_equal(audit_record_parse(line, strlen(line), &parsed, &json), 0);
	/* Only the long member is gone. */
	assert_string_equal(
		json_string_value(json_object_get(json_object_get(json, "request"), "op")), "exec");
	json_decref(json);
	free(line);
	record = json_pack("{s:s}", "type", "exec");
	for (unsigned i = 0; i < 5000; i++) {
		char key[16];

		snprintf(key, sizeof(key), "k%u", i);
		json_object_set_new(record, key, json_string("short"));
	}
	assert_null(render(record, -E2BIG));
}

static void refuses_what_is_not_a_record(void **state)
{
	json_t *deep = json_object(), *record;

	(void)state;
	render(json_array(), -EINVAL);
	render(json_object(), -EINVAL);
	render(json_pack("{s:i}", "type", 1), -EINVAL);
	render(json_pack("{s:s, s:f}", "type", "x", "real", 1.5), -EINVAL);
	for (unsigned i = 0; i < 40; i++)
		deep = json_pack("{s:o}", "deeper", deep);
	record = json_pack("{s:s, s:o}", "type", "x", "deep", deep);
	render(record, -EINVAL);
}

static void leaves_the_callers_object_alone(void **state)
{
	json_t *record = json_pack("{s:s}", "type", "x");
	char *line;
	size_t size;

	(void)state;
	assert_int_equal(audit_record_render(record, &stamp, &line, &size), 0);
	assert_int_equal(json_object_size(record), 1);
	free(line);
	json_decref(record);
}

static void reads_times_strictly(void **state)
{
	static const char *const bad[] = {"", "2026-01-01T00:00:00Z", "2026-01-01 00:00:00.000Z",
		"2026-01-01T00:00:00.000", "2026-01-01T00:00:00.000z", "x026-01-01T00:00:00.000Z"};
	uint64_t usec;

	(void)state;
	assert_int_equal(audit_record_parse_time("2026-01-01T00:00:00.123Z", &usec), 0);
	assert_true(usec == 1767225600123000ULL);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(audit_record_parse_time(bad[i], &usec), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_compact_sorted_ascii_with_the_stamp),
		cmocka_unit_test(replaces_a_long_text_by_its_digest),
		cmocka_unit_test(keeps_every_record_below_its_cap),
		cmocka_unit_test(refuses_what_is_not_a_record),
		cmocka_unit_test(leaves_the_callers_object_alone),
		cmocka_unit_test(reads_times_strictly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
