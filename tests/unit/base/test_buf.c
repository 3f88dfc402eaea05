/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <string.h>

#include <cmocka.h>

#include "supervisord/base/buf.h"

static void takes_the_empty_string_from_an_untouched_buffer(void **state)
{
	_cleanup_(buf_deinit) struct buf buf;
	_cleanup_(freep) char *text = NULL;

	(void)state;
	buf_init(&buf, 10);
	text = buf_take(&buf);
	assert_string_equal(text, "");
}

static void appends_grow_and_stay_terminated(void **state)
{
	_cleanup_(buf_deinit) struct buf buf;
	size_t i;

	(void)state;
	buf_init(&buf, 5000);
	for (i = 0; i < 1000; i++) {
		assert_int_equal(buf_printf(&buf, "%03zu", i), 0);
		assert_int_equal(buf.data[buf.size], 0);
	}
	assert_int_equal(buf.size, 3000);
	assert_memory_equal(buf.data + 2997, "999", 4);
}

static void keeps_bytes_with_nul_among_them(void **state)
{
	_cleanup_(buf_deinit) struct buf buf;

	(void)state;
	buf_init(&buf, 10);
	assert_int_equal(buf_append(&buf, "a\0b", 3), 0);
	assert_int_equal(buf.size, 3);
	assert_memory_equal(buf.data, "a\0b", 4);
}

static void accepts_exactly_max_bytes(void **state)
{
	_cleanup_(buf_deinit) struct buf buf;

	(void)state;
	buf_init(&buf, 4);
	assert_int_equal(buf_puts(&buf, "abc"), 0);
	assert_int_equal(buf_putc(&buf, 'd'), 0);
	assert_int_equal(buf_putc(&buf, 'e'), -E2BIG);
	assert_int_equal(buf.size, 4);
}

static void the_first_error_sticks(void **state)
{
	_cleanup_(buf_deinit) struct buf buf;

	(void)state;
	buf_init(&buf, 4);
	assert_int_equal(buf_puts(&buf, "abcde"), -E2BIG);
	assert_int_equal(buf_puts(&buf, "a"), -E2BIG);
	assert_int_equal(buf_printf(&buf, "%d", 1), -E2BIG);
	assert_int_equal(buf.error, -E2BIG);
	assert_null(buf_take(&buf));
}

static void is_empty_and_usable_after_take(void **state)
{
	_cleanup_(buf_deinit) struct buf buf;
	_cleanup_(freep) char *first = NULL;
	_cleanup_(freep) char *second = NULL;

	(void)state;
	buf_init(&buf, 10);
	(void)buf_puts(&buf, "first");
	first = buf_take(&buf);
	assert_int_equal(buf.size, 0);
	(void)buf_puts(&buf, "second");
	second = buf_take(&buf);
	assert_string_equal(first, "first");
	assert_string_equal(second, "second");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_the_empty_string_from_an_untouched_buffer),
		cmocka_unit_test(appends_grow_and_stay_terminated),
		cmocka_unit_test(keeps_bytes_with_nul_among_them),
		cmocka_unit_test(accepts_exactly_max_bytes),
		cmocka_unit_test(the_first_error_sticks),
		cmocka_unit_test(is_empty_and_usable_after_take),
	};

	return cmocka_run_group_tests_name("buf", tests, NULL, NULL);
}
