/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "supervisord/sandbox/probe.h"

static void everything_has_a_name_and_says_what_is_lost(void **state)
{
	struct probe probe;

	(void)state;
	assert_int_equal(probe_run(&probe), 0);
	for (size_t i = 0; i < _PROBE_N; i++) {
		assert_non_null(probe.items[i].name);
		assert_non_null(probe.items[i].what);
		if (!probe.items[i].ok)
			print_message(
				"# %s: %s\n", probe.items[i].name, strerror(probe.items[i].error));
	}
}

static void what_a_session_needs_is_there(void **state)
{
	const struct probe_result *missing;
	struct probe probe;

	(void)state;
	assert_int_equal(probe_run(&probe), 0);
	missing = probe_missing(&probe);
	if (missing)
		fail_msg("%s: %s", missing->name, strerror(missing->error));
	assert_true(probe.items[PROBE_LANDLOCK].value >= 1);
}

static void the_first_required_item_that_is_missing_is_reported(void **state)
{
	struct probe probe;

	(void)state;
	assert_int_equal(probe_run(&probe), 0);
	probe.items[PROBE_SYNC_WAKE_UP].ok = false;
	assert_null(probe_missing(&probe));
	probe.items[PROBE_PTRACE].ok = false;
	probe.items[PROBE_VM_READ].ok = false;
	assert_ptr_equal(probe_missing(&probe), &probe.items[PROBE_VM_READ]);
}

static void no_child_is_left_behind(void **state)
{
	struct probe probe;

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(probe_run(&probe), 0);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

static void the_report_is_complete(void **state)
{
	struct probe probe;
	json_t *json;

	(void)state;
	assert_int_equal(probe_run(&probe), 0);
	json = probe_to_json(&probe);
	assert_int_equal(json_array_size(json), _PROBE_N);
	assert_string_equal(
		json_string_value(json_object_get(json_array_get(json, PROBE_PIDNS), "name")),
		"pid-namespace");
	json_decref(json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_has_a_name_and_says_what_is_lost),
		cmocka_unit_test(what_a_session_needs_is_there),
		cmocka_unit_test(the_first_required_item_that_is_missing_is_reported),
		cmocka_unit_test(no_child_is_left_behind),
		cmocka_unit_test(the_report_is_complete),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
