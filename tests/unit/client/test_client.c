/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "supervisord/client/client.h"

static char dir[64], path[128];

static int setup(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/test-client-XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/control", dir);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	(void)unlink(path);
	assert_int_equal(rmdir(dir), 0);
	return 0;
}

static int make_socket(bool listening)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/control", dir);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	if (listening)
		assert_int_equal(listen(fd, 1), 0);
	return fd;
}

static void no_socket_is_no_entry(void **state)
{
	struct client *client = NULL;

	(void)state;
	assert_int_equal(client_connect(path, &client), -ENOENT);
	assert_int_equal(client_connect("/nowhere/at/all", &client), -ENOENT);
	assert_int_equal(client_connect("control", &client), -EINVAL);
}

static void nobody_listening_is_refused(void **state)
{
	struct client *client = NULL;
	int fd = make_socket(false);

	(void)state;
	assert_int_equal(client_connect(path, &client), -ECONNREFUSED);
	close(fd);
}

static void a_folder_that_others_may_write_is_not_trusted(void **state)
{
	struct client *client = NULL;
	int fd = make_socket(true);

	(void)state;
	assert_int_equal(chmod(dir, 0777), 0);
	assert_int_equal(client_connect(path, &client), -EPERM);
	assert_int_equal(chmod(dir, 0700), 0);
	assert_int_equal(client_connect(path, &client), 0);
	client_close(client);
	close(fd);
}

static void a_file_in_its_place_is_no_socket(void **state)
{
	struct client *client = NULL;
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(client_connect(path, &client), -ENOTSOCK);
}

static void a_daemon_that_hangs_up_is_a_reset(void **state)
{
	struct client_error error;
	struct client *client = NULL;
	json_t *result = NULL;
	int fd = make_socket(true);

	(void)state;
	assert_int_equal(client_connect(path, &client), 0);
	close(accept4(fd, NULL, NULL, SOCK_CLOEXEC));
	assert_int_equal(client_call(client, "a.b", "C", NULL, &result, &error), -ECONNRESET);
	client_close(client);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(no_socket_is_no_entry, setup, teardown),
		cmocka_unit_test_setup_teardown(nobody_listening_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_folder_that_others_may_write_is_not_trusted, setup, teardown),
		cmocka_unit_test_setup_teardown(a_file_in_its_place_is_no_socket, setup, teardown),
		cmocka_unit_test_setup_teardown(a_daemon_that_hangs_up_is_a_reset, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
