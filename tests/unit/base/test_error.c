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

#include "supervisord/base/error.h"

static void trace_passes_every_value_on(void **state)
{
	(void)state;
	assert_int_equal(err_trace(0), 0);
	assert_int_equal(err_trace(-EPERM), -EPERM);
	assert_int_equal(err_trace(3), 3);
}

static void fold_turns_only_positive_results_into_an_error(void **state)
{
	(void)state;
	assert_int_equal(err_fold(1), -ENOTRECOVERABLE);
	assert_int_equal(err_fold(0), 0);
	assert_int_equal(err_fold(-ENOENT), -ENOENT);
}

static void errno_that_was_not_set_becomes_eio(void **state)
{
	(void)state;
	errno = 0;
	assert_int_equal(err_errno(), -EIO);
	errno = ENOSPC;
	assert_int_equal(err_errno(), -ENOSPC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trace_passes_every_value_on),
		cmocka_unit_test(fold_turns_only_positive_results_into_an_error),
		cmocka_unit_test(errno_that_was_not_set_becomes_eio),
	};

	return cmocka_run_group_tests_name("error", tests, NULL, NULL);
}
