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
#include <stdio.h>
#include <sys/stat.h>

#include "supervisord/base/file.h"

/* A folder of the test's own, removed with all it holds behind each test. */
static char folder[64];
static int folder_fd = -1;

static int set_up(void **state)
{
	(void)state;
	(void)snprintf(folder, sizeof(folder), "/tmp/test-file-XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return folder_fd < 0;
}

static int tear_down(void **state)
{
	char command[128];

	(void)state;
	folder_fd = close_fd(folder_fd);
	(void)snprintf(command, sizeof(command), "rm -rf -- %s", folder);
	return system(command);
}

static void assert_content(const char *name, const char *expected)
{
	_cleanup_(freep) char *data = NULL;
	size_t size;

	assert_int_equal(file_read(folder_fd, name, 1000000, &data, &size), 0);
	assert_int_equal(size, strlen(expected));
	assert_string_equal(data, expected);
}

static size_t count_entries(void)
{
	char command[128];
	char text[32] = "";
	FILE *pipe;

	(void)snprintf(command, sizeof(command), "ls -A %s | wc -l", folder);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	assert_non_null(fgets(text, sizeof(text), pipe));
	pclose(pipe);
	return strtoul(text, NULL, 10);
}

static void replace_makes_and_replaces_with_the_stated_mode(void **state)
{
	struct stat st;
	mode_t old = umask(077);

	(void)state;
	assert_int_equal(file_replace(folder_fd, "f", "one", 3, 0644), 0);
	assert_content("f", "one");
	assert_int_equal(file_replace(folder_fd, "f", "second", 6, 0600), 0);
	assert_content("f", "second");
	assert_int_equal(fstatat(folder_fd, "f", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(count_entries(), 1);
	umask(old);
}

static void replace_keeps_the_old_file_when_it_fails(void **state)
{
	char name[256];

	(void)state;
	/* A folder in the place of the name: the rename fails after everything was written. */
	assert_int_equal(mkdirat(folder_fd, "d", 0700), 0);
	assert_int_equal(file_replace(folder_fd, "d", "x", 1, 0600), -EISDIR);
	assert_int_equal(count_entries(), 1);
	assert_int_equal(file_replace(folder_fd, "f", "old", 3, 0600), 0);
	assert_int_equal(file_replace(folder_fd, "a/f", "x", 1, 0600), -EINVAL);
	assert_int_equal(file_replace(folder_fd, "", "x", 1, 0600), -EINVAL);
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(file_replace(folder_fd, name, "x", 1, 0600), -ENAMETOOLONG);
	assert_content("f", "old");
	assert_int_equal(count_entries(), 2);
}

static void replace_does_not_write_through_a_link(void **state)
{
	struct stat st;

	(void)state;
	assert_int_equal(file_replace(folder_fd, "target", "keep", 4, 0600), 0);
	assert_int_equal(symlinkat("target", folder_fd, "link"), 0);
	assert_int_equal(file_replace(folder_fd, "link", "new", 3, 0600), 0);
	assert_content("target", "keep");
	assert_int_equal(fstatat(folder_fd, "link", &st, AT_SYMLINK_NOFOLLOW), 0);
	assert_true(S_ISREG(st.st_mode));
}

static void read_refuses_what_is_no_regular_file(void **state)
{
	char *data = NULL;
	size_t size;

	(void)state;
	assert_int_equal(mkfifoat(folder_fd, "fifo", 0600), 0);
	assert_int_equal(file_read(folder_fd, "fifo", 10, &data, &size), -EINVAL);
	assert_int_equal(file_read(folder_fd, ".", 10, &data, &size), -EISDIR);
	assert_int_equal(file_read(folder_fd, "absent", 10, &data, &size), -ENOENT);
	assert_int_equal(file_read(AT_FDCWD, "/dev/null", 10, &data, &size), -EINVAL);
	assert_null(data);
}

static void read_stops_at_its_cap(void **state)
{
	_cleanup_(freep) char *big = calloc(1, 100000);
	_cleanup_(freep) char *data = NULL;
	size_t size;

	(void)state;
	assert_int_equal(file_replace(folder_fd, "f", big, 100000, 0600), 0);
	assert_int_equal(file_read(folder_fd, "f", 99999, &data, &size), -EFBIG);
	assert_null(data);
	assert_int_equal(file_read(folder_fd, "f", 100000, &data, &size), 0);
	assert_int_equal(size, 100000);
}

static void read_fd_starts_at_the_start_and_also_reads_pipes(void **state)
{
	_cleanup_(closep) int fd = -1;
	_cleanup_(freep) char *data = NULL;
	_cleanup_(freep) char *piped = NULL;
	int fds[2];
	size_t size;
	char c;

	(void)state;
	assert_int_equal(file_replace(folder_fd, "f", "abc", 3, 0600), 0);
	fd = openat(folder_fd, "f", O_RDONLY | O_CLOEXEC);
	assert_int_equal(read(fd, &c, 1), 1);
	assert_int_equal(file_read_fd(fd, 10, &data, NULL), 0);
	assert_string_equal(data, "abc");
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(fd_write_all(fds[1], "xyz", 3), 0);
	close(fds[1]);
	assert_int_equal(file_read_fd(fds[0], 10, &piped, &size), 0);
	assert_string_equal(piped, "xyz");
	close(fds[0]);
}

static void private_folder_is_made_with_its_parents(void **state)
{
	_cleanup_(closep) int fd = -1;
	char path[128];
	struct stat st;
	mode_t old = umask(0);

	(void)state;
	(void)snprintf(path, sizeof(path), "%s//a/b/c/", folder);
	assert_int_equal(dir_open_private(path, &fd), 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(fstatat(folder_fd, "a", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(file_replace(fd, "f", "x", 1, 0600), 0);
	umask(old);
}

static void private_folder_refuses_what_others_may_touch(void **state)
{
	static const mode_t modes[] = {0755, 0701, 0710, 0720, 01777};
	char path[128];
	int fd = -1;
	size_t i;

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/d", folder);
	assert_int_equal(mkdir(path, 0700), 0);
	for (i = 0; i < ARRAY_LEN(modes); i++) {
		assert_int_equal(chmod(path, modes[i]), 0);
		assert_int_equal(dir_open_private(path, &fd), -EPERM);
	}
	assert_int_equal(fd, -1);
	if (geteuid() == 0) {
		assert_int_equal(chmod(path, 0700), 0);
		assert_int_equal(chown(path, 1, 1), 0);
		assert_int_equal(dir_open_private(path, &fd), -EPERM);
	}
}

static void private_folder_refuses_a_link_and_a_file(void **state)
{
	char path[128];
	int fd = -1;

	(void)state;
	assert_int_equal(mkdirat(folder_fd, "real", 0700), 0);
	assert_int_equal(symlinkat("real", folder_fd, "link"), 0);
	assert_int_equal(file_replace(folder_fd, "f", "x", 1, 0600), 0);
	(void)snprintf(path, sizeof(path), "%s/link", folder);
	assert_int_equal(dir_open_private(path, &fd), -ENOTDIR);
	(void)snprintf(path, sizeof(path), "%s/f", folder);
	assert_int_equal(dir_open_private(path, &fd), -ENOTDIR);
	/* A link among the parents is the person's own choice. */
	(void)snprintf(path, sizeof(path), "%s/link/inner", folder);
	assert_int_equal(dir_open_private(path, &fd), 0);
	close(fd);
}

static void cloexec_is_set_and_cleared(void **state)
{
	(void)state;
	assert_int_equal(fd_set_cloexec(folder_fd, false), 0);
	assert_int_equal(fcntl(folder_fd, F_GETFD) & FD_CLOEXEC, 0);
	assert_int_equal(fd_set_cloexec(folder_fd, true), 0);
	assert_int_equal(fcntl(folder_fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	assert_int_equal(fd_set_cloexec(-1, true), -EBADF);
}

#define FOLDER_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		FOLDER_TEST(replace_makes_and_replaces_with_the_stated_mode),
		FOLDER_TEST(replace_keeps_the_old_file_when_it_fails),
		FOLDER_TEST(replace_does_not_write_through_a_link),
		FOLDER_TEST(read_refuses_what_is_no_regular_file),
		FOLDER_TEST(read_stops_at_its_cap),
		FOLDER_TEST(read_fd_starts_at_the_start_and_also_reads_pipes),
		FOLDER_TEST(private_folder_is_made_with_its_parents),
		FOLDER_TEST(private_folder_refuses_what_others_may_touch),
		FOLDER_TEST(private_folder_refuses_a_link_and_a_file),
		FOLDER_TEST(cloexec_is_set_and_cleared),
	};

	return cmocka_run_group_tests_name("file", tests, NULL, NULL);
}
