/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "supervisord/base/fdpass.h"

static int pair[2] = {-1, -1};

static int set_up(void **state)
{
	(void)state;
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair);
}

static int tear_down(void **state)
{
	(void)state;
	pair[0] = close_fd(pair[0]);
	pair[1] = close_fd(pair[1]);
	return 0;
}

/* The lowest free descriptor: equal before and after = nothing leaked. */
static int lowest_free(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	close(fd);
	return fd;
}

static void a_message_without_descriptor_arrives_whole(void **state)
{
	char data[16];
	size_t size;
	pid_t pid = -1;
	int fd;

	(void)state;
	assert_int_equal(fdpass_send(pair[0], "hello", 5, -1), 0);
	assert_int_equal(fdpass_recv(pair[1], data, sizeof(data), &size, &fd, &pid), 0);
	assert_int_equal(size, 5);
	assert_memory_equal(data, "hello", 5);
	assert_int_equal(fd, -1);
	assert_int_equal(pid, 0);
}

static void a_descriptor_arrives_close_on_exec_and_is_the_same_file(void **state)
{
	_cleanup_(closep) int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct stat a, b;
	size_t size;
	char data[16];
	int fd;

	(void)state;
	assert_int_equal(fdpass_send(pair[0], "x", 1, file), 0);
	assert_int_equal(fdpass_recv(pair[1], data, sizeof(data), &size, &fd, NULL), 0);
	assert_int_equal(fstat(file, &a), 0);
	assert_int_equal(fstat(fd, &b), 0);
	assert_int_equal(a.st_ino, b.st_ino);
	assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	close(fd);
}

static void the_kernel_says_who_sent(void **state)
{
	size_t size;
	pid_t pid;
	char data[16];
	int fd, on = 1;

	(void)state;
	assert_int_equal(setsockopt(pair[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)), 0);
	assert_int_equal(fdpass_send(pair[0], "x", 1, pair[0]), 0);
	assert_int_equal(fdpass_recv(pair[1], data, sizeof(data), &size, &fd, &pid), 0);
	assert_int_equal(pid, getpid());
	assert_true(fd >= 0);
	close(fd);
}

static void a_message_that_is_too_long_is_refused_and_leaks_nothing(void **state)
{
	size_t size;
	char data[4];
	int fd = -1, free_before = lowest_free();

	(void)state;
	assert_int_equal(fdpass_send(pair[0], "hello", 5, pair[0]), 0);
	assert_int_equal(fdpass_recv(pair[1], data, sizeof(data), &size, &fd, NULL), -EMSGSIZE);
	assert_int_equal(fd, -1);
	assert_int_equal(lowest_free(), free_before);
}

static void several_descriptors_are_refused_and_leak_nothing(void **state)
{
	union {
		char space[CMSG_SPACE(4 * sizeof(int))];
		struct cmsghdr align;
	} control = {0};
	char byte = 'x', data[4];
	struct iovec iov = {.iov_base = &byte, .iov_len = 1};
	struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.space};
	int n, i, fd = -1, free_before = lowest_free();
	struct cmsghdr *header;
	size_t size;

	(void)state;
	for (n = 2; n <= 4; n++) {
		message.msg_controllen = CMSG_SPACE((size_t)n * sizeof(int));
		header = CMSG_FIRSTHDR(&message);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN((size_t)n * sizeof(int));
		for (i = 0; i < n; i++)
			memcpy(CMSG_DATA(header) + (size_t)i * sizeof(int), &pair[0], sizeof(int));
		assert_int_equal(sendmsg(pair[0], &message, 0), 1);
		assert_int_equal(
			fdpass_recv(pair[1], data, sizeof(data), &size, &fd, NULL), -EBADMSG);
		assert_int_equal(fd, -1);
		assert_int_equal(lowest_free(), free_before);
	}
}

static void the_end_is_a_size_of_zero_and_a_dead_peer_an_error(void **state)
{
	size_t size = 9;
	char data[4];
	int fd;

	(void)state;
	pair[0] = close_fd(pair[0]);
	assert_int_equal(fdpass_recv(pair[1], data, sizeof(data), &size, &fd, NULL), 0);
	assert_int_equal(size, 0);
	assert_int_equal(fdpass_send(pair[1], "x", 1, -1), -EPIPE);
}

static void an_empty_message_is_not_sent(void **state)
{
	(void)state;
	assert_int_equal(fdpass_send(pair[0], "", 0, -1), -EINVAL);
}

#define PAIR_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PAIR_TEST(a_message_without_descriptor_arrives_whole),
		PAIR_TEST(a_descriptor_arrives_close_on_exec_and_is_the_same_file),
		PAIR_TEST(the_kernel_says_who_sent),
		PAIR_TEST(a_message_that_is_too_long_is_refused_and_leaks_nothing),
		PAIR_TEST(several_descriptors_are_refused_and_leak_nothing),
		PAIR_TEST(the_end_is_a_size_of_zero_and_a_dead_peer_an_error),
		PAIR_TEST(an_empty_message_is_not_sent),
	};

	return cmocka_run_group_tests_name("fdpass", tests, NULL, NULL);
}
