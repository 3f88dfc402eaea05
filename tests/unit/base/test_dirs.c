/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <string.h>

#include <cmocka.h>

#include <stdio.h>
#include <sys/stat.h>

#include "supervisord/base/dirs.h"

static int set_up(void **state)
{
	(void)state;
	setenv("HOME", "/home/u", 1);
	unsetenv("XDG_CONFIG_HOME");
	unsetenv("XDG_STATE_HOME");
	unsetenv("XDG_RUNTIME_DIR");
	return 0;
}

static void defaults_stand_below_home(void **state)
{
	_cleanup_(dirs_deinit) struct dirs dirs;

	(void)state;
	assert_int_equal(dirs_init(&dirs), 0);
	assert_string_equal(dirs.home, "/home/u");
	assert_string_equal(dirs.config, "/home/u/.config/agent-supervisor");
	assert_string_equal(dirs.state, "/home/u/.local/state/agent-supervisor");
	assert_string_equal(dirs.audit, "/home/u/.local/state/agent-supervisor/audit/default");
	assert_string_equal(dirs.spool, "/home/u/.local/state/agent-supervisor/spool");
	assert_string_equal(dirs.org, "/etc/agent-supervisor");
}

static void variables_win_and_lose_their_last_slash(void **state)
{
	_cleanup_(dirs_deinit) struct dirs dirs;

	(void)state;
	setenv("HOME", "/home/u/", 1);
	setenv("XDG_CONFIG_HOME", "/c", 1);
	setenv("XDG_STATE_HOME", "/s//", 1);
	setenv("XDG_RUNTIME_DIR", "/r/", 1);
	assert_int_equal(dirs_init(&dirs), 0);
	assert_string_equal(dirs.home, "/home/u");
	assert_string_equal(dirs.config, "/c/agent-supervisor");
	assert_string_equal(dirs.state, "/s/agent-supervisor");
	assert_string_equal(dirs.runtime, "/r/agent-supervisor");
	assert_string_equal(dirs.control, "/r/agent-supervisor/control");
}

static void relative_variables_are_ignored(void **state)
{
	_cleanup_(dirs_deinit) struct dirs dirs;

	(void)state;
	setenv("HOME", "home", 1);
	setenv("XDG_CONFIG_HOME", "c", 1);
	setenv("XDG_STATE_HOME", "", 1);
	setenv("XDG_RUNTIME_DIR", "./r", 1);
	assert_int_equal(dirs_init(&dirs), 0);
	assert_int_equal(dirs.home[0], '/');
	assert_int_equal(dirs.config[0], '/');
	assert_int_equal(dirs.state[0], '/');
	assert_int_equal(dirs.runtime[0], '/');
}

static void the_runtime_folder_carries_the_user_without_the_variable(void **state)
{
	_cleanup_(dirs_deinit) struct dirs dirs;
	char run[64], tmp[64];

	(void)state;
	(void)snprintf(run, sizeof(run), "/run/user/%u/agent-supervisor", geteuid());
	(void)snprintf(tmp, sizeof(tmp), "/tmp/agent-supervisor-%u", geteuid());
	assert_int_equal(dirs_init(&dirs), 0);
	assert_true(strcmp(dirs.runtime, run) == 0 || strcmp(dirs.runtime, tmp) == 0);
}

static void finds_programs_beside_itself_only(void **state)
{
	_cleanup_(freep) char *path = NULL;
	_cleanup_(freep) char *other = NULL;

	(void)state;
	assert_int_equal(dirs_find_program("test_dirs", &path), 0);
	assert_int_equal(path[0], '/');
	assert_int_equal(dirs_find_program("no-such-program", &other), -ENOENT);
	assert_null(other);
	assert_int_equal(dirs_find_preload(&other), -ENOENT);
}

static void deinit_may_be_called_twice(void **state)
{
	struct dirs dirs;

	(void)state;
	assert_int_equal(dirs_init(&dirs), 0);
	dirs_deinit(&dirs);
	dirs_deinit(&dirs);
	assert_null(dirs.home);
}

#define ENV_TEST(f) cmocka_unit_test_setup(f, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ENV_TEST(defaults_stand_below_home),
		ENV_TEST(variables_win_and_lose_their_last_slash),
		ENV_TEST(relative_variables_are_ignored),
		ENV_TEST(the_runtime_folder_carries_the_user_without_the_variable),
		ENV_TEST(finds_programs_beside_itself_only),
		ENV_TEST(deinit_may_be_called_twice),
	};

	return cmocka_run_group_tests_name("dirs", tests, NULL, NULL);
}
