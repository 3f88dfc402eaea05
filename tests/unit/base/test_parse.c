/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>

#include "supervisord/base/clock.h"
#include "supervisord/base/parse.h"

static void reads_whole_decimal_numbers_only(void **state)
{
	static const struct {
		const char *text;
		uint64_t max;
		int result;
		uint64_t value;
	} cases[] = {
		{"0", 10, 0, 0},
		{"10", 10, 0, 10},
		{"11", 10, -ERANGE, 0},
		{"18446744073709551615", UINT64_MAX, 0, UINT64_MAX},
		{"18446744073709551616", UINT64_MAX, -ERANGE, 0},
		{"99999999999999999999999999", UINT64_MAX, -ERANGE, 0},
		{"", 10, -EINVAL, 0},
		{"01", 10, -EINVAL, 0},
		{"00", 10, -EINVAL, 0},
		{"+1", 10, -EINVAL, 0},
		{"-1", 10, -EINVAL, 0},
		{" 1", 10, -EINVAL, 0},
		{"1 ", 10, -EINVAL, 0},
		{"0x1", 10, -EINVAL, 0},
		{"1e1", 10, -EINVAL, 0},
		{"99999999999999999999999x", UINT64_MAX, -EINVAL, 0},
	};
	uint64_t value;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_LEN(cases); i++) {
		value = 0;
		print_message("# \"%s\"\n", cases[i].text);
		assert_int_equal(parse_u64(cases[i].text, cases[i].max, &value), cases[i].result);
		assert_int_equal(value, cases[i].value);
	}
}

static void reads_spans_with_one_unit(void **state)
{
	static const struct {
		const char *text;
		int result;
		uint64_t seconds;
	} cases[] = {
		{"1s", 0, 1},
		{"90s", 0, 90},
		{"2m", 0, 120},
		{"1h", 0, 3600},
		{"3650d", 0, 3650ULL * 86400},
		{"3651d", -ERANGE, 0},
		{"315360001s", -ERANGE, 0},
		{"0s", -ERANGE, 0},
		{"s", -EINVAL, 0},
		{"", -EINVAL, 0},
		{"1", -EINVAL, 0},
		{"1ms", -EINVAL, 0},
		{"1w", -EINVAL, 0},
		{"1 s", -EINVAL, 0},
		{"-1s", -EINVAL, 0},
		{"01s", -EINVAL, 0},
		{"1h30m", -EINVAL, 0},
	};
	uint64_t usec;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_LEN(cases); i++) {
		usec = 0;
		print_message("# \"%s\"\n", cases[i].text);
		assert_int_equal(parse_span(cases[i].text, &usec), cases[i].result);
		assert_int_equal(usec, cases[i].seconds * USEC_PER_SEC);
	}
}

static void writes_spans_in_the_largest_exact_unit(void **state)
{
	static const struct {
		uint64_t seconds;
		const char *text;
	} cases[] = {
		{0, "0s"},
		{59, "59s"},
		{60, "1m"},
		{90, "90s"},
		{120, "2m"},
		{3600, "1h"},
		{5400, "90m"},
		{86400, "1d"},
		{7 * 86400, "7d"},
	};
	char text[32];
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_LEN(cases); i++) {
		format_span(cases[i].seconds * USEC_PER_SEC, text, sizeof(text));
		assert_string_equal(text, cases[i].text);
	}
}

static void hex_round_trips_and_refuses_other_text(void **state)
{
	static const uint8_t data[] = {0x00, 0x7f, 0x80, 0xff};
	uint8_t back[4];
	char text[9];

	(void)state;
	format_hex(data, sizeof(data), text);
	assert_string_equal(text, "007f80ff");
	assert_int_equal(parse_hex(text, back, 4), 0);
	assert_memory_equal(data, back, 4);
	assert_int_equal(parse_hex("007F80FF", back, 4), 0);
	assert_int_equal(parse_hex("007f80f", back, 4), -EINVAL);
	assert_int_equal(parse_hex("007f80fff", back, 4), -EINVAL);
	assert_int_equal(parse_hex("007f80fg", back, 4), -EINVAL);
	assert_int_equal(parse_hex("0x7f80ff", back, 4), -EINVAL);
	assert_int_equal(parse_hex("", back, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_whole_decimal_numbers_only),
		cmocka_unit_test(reads_spans_with_one_unit),
		cmocka_unit_test(writes_spans_in_the_largest_exact_unit),
		cmocka_unit_test(hex_round_trips_and_refuses_other_text),
	};

	return cmocka_run_group_tests_name("parse", tests, NULL, NULL);
}
