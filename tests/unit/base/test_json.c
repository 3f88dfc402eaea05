/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <string.h>

#include <cmocka.h>

#include "supervisord/base/json.h"

static void strict_parsing_refuses_what_is_not_one_plain_value(void **state)
{
	static const struct {
		const char *text;
		int result;
	} cases[] = {
		{"{}", 0},
		{"[1,-2,true,null,\"\\u00e4\"]", 0},
		{" {\"a\":{\"b\":[]}} \n", 0},
		{"", -EBADMSG},
		{"{", -EBADMSG},
		{"{}x", -EBADMSG},
		{"{} {}", -EBADMSG},
		{"{\"a\":1,\"a\":1}", -EBADMSG},
		{"{\"a\":1,\"\\u0061\":2}", -EBADMSG},
		{"{\"x\":{\"a\":1,\"a\":1}}", -EBADMSG},
		{"[1.0]", -EBADMSG},
		{"[1e3]", -EBADMSG},
		{"{\"a\":{\"b\":[0.5]}}", -EBADMSG},
		{"[9223372036854775808]", -EBADMSG},
		{"[01]", -EBADMSG},
		{"{a:1}", -EBADMSG},
		{"{'a':1}", -EBADMSG},
		{"[1,]", -EBADMSG},
		{"[\"\377\"]", -EBADMSG},
		{"[\"\\u0000\"]", -EBADMSG},
		{"[\"\n\"]", -EBADMSG},
		{"[\"\\ud800\"]", -EBADMSG},
		{"/**/{}", -EBADMSG},
		{"NaN", -EBADMSG},
	};
	json_t *json;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_LEN(cases); i++) {
		print_message("# %s\n", cases[i].result ? "refused" : "accepted");
		json = NULL;
		assert_int_equal(
			json_parse_strict(cases[i].text, strlen(cases[i].text), 1000, &json),
			cases[i].result);
		json_decref(json);
	}
}

static void a_nul_behind_the_value_is_a_trailing_byte(void **state)
{
	json_t *json = NULL;

	(void)state;
	assert_int_equal(json_parse_strict("{}\0", 3, 10, &json), -EBADMSG);
	assert_null(json);
}

static void a_text_above_the_cap_is_refused_unread(void **state)
{
	json_t *json = NULL;

	(void)state;
	assert_int_equal(json_parse_strict("[1, 2]", 6, 5, &json), -EMSGSIZE);
	assert_int_equal(json_parse_strict("[1, 2]", 6, 6, &json), 0);
	json_decref(json);
}

static void a_deep_nest_is_refused(void **state)
{
	char text[4001];
	json_t *json = NULL;

	(void)state;
	memset(text, '[', 2000);
	memset(text + 2000, ']', 2000);
	assert_int_equal(json_parse_strict(text, 4000, 4000, &json), -EBADMSG);
	assert_int_equal(json_parse_strict(text + 1950, 100, 4000, &json), 0);
	json_decref(json);
}

static void writing_is_compact_sorted_ascii(void **state)
{
	_cleanup_(json_decrefp) json_t *json = json_pack("{s:s, s:i}", "b", "\303\244", "a", 1);
	_cleanup_(freep) char *text = json_write(json);

	(void)state;
	assert_string_equal(text, "{\"a\":1,\"b\":\"\\u00E4\"}");
}

static json_t *parse(const char *text)
{
	json_t *json = NULL;

	assert_int_equal(json_parse_strict(text, strlen(text), 10000, &json), 0);
	return json;
}

static void the_reader_returns_members_and_finishes(void **state)
{
	_cleanup_(json_decrefp) json_t *json =
		parse("{\"s\":\"x\",\"n\":7,\"b\":true,\"a\":[1],\"o\":{},\"z\":null}");
	struct json_reader reader;

	(void)state;
	json_reader_init(&reader, json);
	assert_string_equal(json_read_str(&reader, "s", true), "x");
	assert_int_equal(json_read_u64(&reader, "n", true), 7);
	assert_true(json_read_bool(&reader, "b", true));
	assert_non_null(json_read_array(&reader, "a", true));
	assert_non_null(json_read_object(&reader, "o", true));
	assert_null(json_read_str(&reader, "z", false));
	assert_null(json_read_str(&reader, "absent", false));
	assert_int_equal(json_reader_finish(&reader), 0);
}

static void the_reader_refuses(void **state)
{
	static const char *const texts[] = {
		"{\"s\":\"x\",\"unknown\":1}",
		"{}",
		"{\"s\":null}",
		"{\"s\":1}",
		"{\"s\":[\"x\"]}",
		"[]",
		"{\"s\":\"x\",\"n\":-1}",
		"{\"s\":\"x\",\"n\":\"1\"}",
		"{\"s\":\"x\",\"b\":1}",
		"{\"s\":\"x\",\"n_b64\":\"\"}",
	};
	struct json_reader reader;
	json_t *json;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_LEN(texts); i++) {
		print_message("# %s\n", texts[i]);
		json = parse(texts[i]);
		json_reader_init(&reader, json);
		(void)json_read_str(&reader, "s", true);
		(void)json_read_u64(&reader, "n", false);
		(void)json_read_bool(&reader, "b", false);
		assert_int_equal(json_reader_finish(&reader), -EBADMSG);
		json_decref(json);
	}
}

static void the_first_failure_sticks(void **state)
{
	_cleanup_(json_decrefp) json_t *json = parse("{\"a\":1,\"b\":\"x\"}");
	struct json_reader reader;

	(void)state;
	json_reader_init(&reader, json);
	assert_null(json_read_str(&reader, "a", true));
	assert_null(json_read_str(&reader, "b", true));
	assert_int_equal(json_reader_finish(&reader), -EBADMSG);
}

static void bytes_round_trip_whatever_they_are(void **state)
{
	static const struct {
		const char *data;
		size_t size;
		bool raw;
	} cases[] = {
		{"plain", 5, false},
		{"", 0, false},
		{"\303\244", 2, false},
		{"a\\b", 3, true},
		{"\377\n", 2, true},
		{"a\0b", 3, true},
		{"\342\200\256", 3, true},
	};
	struct json_reader reader;
	char *data;
	json_t *json;
	size_t size, i;

	(void)state;
	for (i = 0; i < ARRAY_LEN(cases); i++) {
		json = json_object();
		assert_int_equal(json_set_bytes(json, "p", cases[i].data, cases[i].size), 0);
		assert_int_equal(json_object_get(json, "p_b64") != NULL, cases[i].raw);
		json_reader_init(&reader, json);
		json_read_bytes(&reader, "p", true, &data, &size);
		assert_int_equal(json_reader_finish(&reader), 0);
		assert_int_equal(size, cases[i].size);
		assert_memory_equal(data, cases[i].data, size + 1);
		free(data);
		json_decref(json);
	}
}

static void bytes_that_do_not_say_what_they_show_are_refused(void **state)
{
	static const char *const texts[] = {
		"{\"p\":\"/tmp/ok\",\"p_b64\":\"L2V0Yy9zaGFkb3c=\"}", "{\"p_b64\":\"L2V0Yw==\"}",
		"{\"p\":\"a\",\"p_b64\":\"YQ\"}", "{\"p\":\"a\",\"p_b64\":\"Y Q==\"}",
		"{\"p\":\"a\",\"p_b64\":\"!\"}", "{\"p\":\"a\",\"p_b64\":7}", "{\"p\":7}",
		"{\"p\":\"a\\\\x00\",\"p_b64\":\"YQA=\"}", /* NUL, but the caller wants a string */
	};
	struct json_reader reader;
	char *data;
	json_t *json;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_LEN(texts); i++) {
		print_message("# %s\n", texts[i]);
		json = parse(texts[i]);
		json_reader_init(&reader, json);
		json_read_bytes(&reader, "p", false, &data, NULL);
		assert_null(data);
		assert_int_equal(json_reader_finish(&reader), -EBADMSG);
		json_decref(json);
	}
}

static void arrays_of_bytes_round_trip(void **state)
{
	char plain[] = "git", odd[] = "\377", empty[] = "";
	char *items[] = {plain, odd, empty};
	struct json_reader reader;
	char **back;
	json_t *json;
	size_t n, k;

	(void)state;
	for (n = 0; n <= 3; n++) {
		json = json_object();
		assert_int_equal(json_set_bytes_array(json, "argv", items, n), 0);
		assert_int_equal(json_object_get(json, "argv_b64") != NULL, n >= 2);
		json_reader_init(&reader, json);
		json_read_bytes_array(&reader, "argv", true, 3, &back, &k);
		assert_int_equal(json_reader_finish(&reader), 0);
		assert_int_equal(k, n);
		assert_null(back[n]);
		while (k--)
			assert_string_equal(back[k], items[k]);
		json_bytes_array_free(back, n);
		json_decref(json);
	}
}

static void bad_arrays_of_bytes_are_refused(void **state)
{
	static const char *const texts[] = {
		"{\"a\":[\"x\",\"y\",\"z\"]}",
		"{\"a\":[1]}",
		"{\"a\":[\"x\"],\"a_b64\":[]}",
		"{\"a\":[\"x\"],\"a_b64\":[null]}",
		"{\"a\":[\"x\"],\"a_b64\":[\"eQ==\"]}",
		"{\"a\":[\"\\\\x00\"],\"a_b64\":[\"AA==\"]}",
		"{\"a_b64\":[\"eA==\"]}",
		"{\"a\":{}}",
	};
	struct json_reader reader;
	char **items;
	json_t *json;
	size_t n, i;

	(void)state;
	for (i = 0; i < ARRAY_LEN(texts); i++) {
		print_message("# %s\n", texts[i]);
		json = parse(texts[i]);
		json_reader_init(&reader, json);
		json_read_bytes_array(&reader, "a", false, 2, &items, &n);
		assert_null(items);
		assert_int_equal(json_reader_finish(&reader), -EBADMSG);
		json_decref(json);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strict_parsing_refuses_what_is_not_one_plain_value),
		cmocka_unit_test(a_nul_behind_the_value_is_a_trailing_byte),
		cmocka_unit_test(a_text_above_the_cap_is_refused_unread),
		cmocka_unit_test(a_deep_nest_is_refused),
		cmocka_unit_test(writing_is_compact_sorted_ascii),
		cmocka_unit_test(the_reader_returns_members_and_finishes),
		cmocka_unit_test(the_reader_refuses),
		cmocka_unit_test(the_first_failure_sticks),
		cmocka_unit_test(bytes_round_trip_whatever_they_are),
		cmocka_unit_test(bytes_that_do_not_say_what_they_show_are_refused),
		cmocka_unit_test(arrays_of_bytes_round_trip),
		cmocka_unit_test(bad_arrays_of_bytes_are_refused),
	};

	return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
