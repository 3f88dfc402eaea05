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
#include <unistd.h>

#include "supervisord/base/log.h"

/* What one message puts into a pipe. */
static void capture(char *out, size_t size, int r, const char *text)
{
	int fds[2];
	ssize_t n;

	assert_int_equal(pipe(fds), 0);
	log_set_fd(fds[1]);
	log_message(LOG_LEVEL_WARN, r, "path %s", text);
	log_set_fd(-1);
	close(fds[1]);
	n = read(fds[0], out, size - 1);
	assert_true(n >= 0);
	out[n] = '\0';
	close(fds[0]);
}

static void a_line_names_program_pid_and_level(void **state)
{
	char line[256], expected[256];

	(void)state;
	capture(line, sizeof(line), -ENOENT, "x");
	(void)snprintf(expected, sizeof(expected),
		"test[%d]: warn: path x: No such file or directory\n", (int)getpid());
	assert_string_equal(line, expected);
}

static void untrusted_bytes_are_escaped(void **state)
{
	char line[256];

	(void)state;
	capture(line, sizeof(line), 0, "a\n\033[2K\342\200\256\303\244");
	assert_non_null(strstr(line, "path a\\n\\x1b[2K\\u{202e}\303\244\n"));
}

static void levels_above_the_set_one_stay_silent(void **state)
{
	int fds[2];
	char c;

	(void)state;
	assert_int_equal(pipe(fds), 0);
	log_set_fd(fds[1]);
	log_set_level(LOG_LEVEL_WARN);
	assert_true(log_enabled(LOG_LEVEL_ERROR));
	assert_false(log_enabled(LOG_LEVEL_INFO));
	log_info("nothing");
	log_set_fd(-1);
	close(fds[1]);
	assert_int_equal(read(fds[0], &c, 1), 0);
	close(fds[0]);
}

static void errno_survives_a_message(void **state)
{
	char line[256];

	(void)state;
	errno = EXDEV;
	capture(line, sizeof(line), 0, "x");
	assert_int_equal(errno, EXDEV);
}

static int set_up(void **state)
{
	(void)state;
	unsetenv("AGENT_SUPERVISOR_LOG");
	log_init("test");
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_names_program_pid_and_level),
		cmocka_unit_test(untrusted_bytes_are_escaped),
		cmocka_unit_test(levels_above_the_set_one_stay_silent),
		cmocka_unit_test(errno_survives_a_message),
	};

	return cmocka_run_group_tests_name("log", tests, set_up, NULL);
}
