/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <string.h>

#include <cmocka.h>

#include "supervisord/base/clock.h"

static void formats_known_times(void **state)
{
	char text[CLOCK_TEXT_MAX];

	(void)state;
	clock_format_utc(0, text);
	assert_string_equal(text, "1970-01-01T00:00:00.000Z");
	clock_format_utc(1769862896789999ULL, text);
	assert_string_equal(text, "2026-01-31T12:34:56.789Z");
	clock_format_utc(951782400000000ULL, text);
	assert_string_equal(text, "2000-02-29T00:00:00.000Z");
}

static void a_time_beyond_all_years_still_fits(void **state)
{
	char text[CLOCK_TEXT_MAX];

	(void)state;
	clock_format_utc(UINT64_MAX, text);
	assert_true(strlen(text) < CLOCK_TEXT_MAX);
	assert_int_equal(text[strlen(text) - 1], 'Z');
}

static void clocks_run_forward(void **state)
{
	uint64_t boot = clock_boottime_usec(), monotonic = clock_monotonic_usec();

	(void)state;
	assert_true(clock_realtime_usec() > 1577836800ULL * USEC_PER_SEC);
	assert_true(clock_boottime_usec() >= boot);
	assert_true(clock_monotonic_usec() >= monotonic);
	assert_true(clock_boottime_usec() >= monotonic);
}

static void the_boot_id_is_stable(void **state)
{
	char a[37], b[37];

	(void)state;
	clock_boot_id(a);
	clock_boot_id(b);
	assert_string_equal(a, b);
	assert_int_equal(strlen(a), 36);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(formats_known_times),
		cmocka_unit_test(a_time_beyond_all_years_still_fits),
		cmocka_unit_test(clocks_run_forward),
		cmocka_unit_test(the_boot_id_is_stable),
	};

	return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
