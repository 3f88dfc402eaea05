/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "tests/unit/sandbox/harness.h"

static void runs_a_command_and_reports_its_status(void **state)
{
	struct session s;

	(void)state;
	session_init(&s, POLICY_OPEN);
	session_run(&s, shell("echo hello; exit 7"));
	assert_string_equal(s.text, "hello\n");
	assert_true(WIFEXITED(s.status));
	assert_int_equal(WEXITSTATUS(s.status), 7);
	assert_true(s.n_notified > 0);
	session_deinit(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_a_command_and_reports_its_status),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
