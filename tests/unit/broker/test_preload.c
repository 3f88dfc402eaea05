/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervisord/sandbox/plan.h"

/* The accelerator library, loaded beside libc: its functions are called by address. */
static struct {
	int (*open)(const char *, int, ...);
	int (*openat)(int, const char *, int, ...);
	int (*open_2)(const char *, int);
	FILE *(*fopen)(const char *, const char *);
	DIR *(*opendir)(const char *);
} lib;

static int load(void **state)
{
	char path[4096];
	const char *build = getenv("BUILD");
	void *handle;

	(void)state;
	snprintf(path, sizeof(path), "%s/lib/agent-supervisor-open.so",
		build ? build : "build/release");
	handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		return 0; /* not built: each test skips */
	*(void **)&lib.open = dlsym(handle, "open");
	*(void **)&lib.openat = dlsym(handle, "openat");
	*(void **)&lib.open_2 = dlsym(handle, "__open64_2");
	*(void **)&lib.fopen = dlsym(handle, "fopen64");
	*(void **)&lib.opendir = dlsym(handle, "opendir");
	return 0;
}

static void need_library(void)
{
	if (!lib.open)
		skip();
}

static void opens_behave_like_those_of_libc(void **state)
{
	char path[] = "/var/tmp/test-preload.XXXXXX";
	struct stat st;
	FILE *file;
	DIR *dir;
	int fd;

	(void)state;
	need_library();
	fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	unlink(path);
	umask(0);
	errno = 77;
	fd = lib.open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
	assert_true(fd >= 0);
	assert_int_equal(errno, 77);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	assert_int_equal(write(fd, "x", 1), 1);
	close(fd);
	fd = lib.openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	close(fd);
	fd = lib.open("/var/tmp", O_TMPFILE | O_RDWR, 0600);
	if (fd >= 0) {
		assert_int_equal(fstat(fd, &st), 0);
		assert_int_equal(st.st_mode & 07777, 0600);
		close(fd);
	}
	assert_int_equal(lib.open_2("/nonexistent", O_RDONLY), -1);
	assert_int_equal(errno, ENOENT);
	file = lib.fopen(path, "re");
	assert_non_null(file);
	assert_int_equal(getc(file), 'x');
	fclose(file);
	file = lib.fopen(path, "a+");
	assert_non_null(file);
	fclose(file);
	assert_null(lib.fopen(path, "z"));
	assert_int_equal(errno, EINVAL);
	dir = lib.opendir("/");
	assert_non_null(dir);
	assert_non_null(readdir(dir));
	closedir(dir);
	assert_null(lib.opendir(path));
	assert_int_equal(errno, ENOTDIR);
	unlink(path);
}

/* A filter that answers by the cookie: with it EACCES for a first round, without it EXDEV. */
static void install(unsigned with, unsigned without)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 6),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[5])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)PLAN_COOKIE, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[5]) + 4),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(PLAN_COOKIE >> 32), 0, 1),
		BPF_STMT(BPF_RET | BPF_K, with),
		BPF_STMT(BPF_RET | BPF_K, without),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = sizeof(code) / sizeof(code[0]), .filter = code};

	/* Other calls skip to the last line. */
	code[1].jf = 6;
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
		_exit(99);
}

static int in_child(unsigned with, unsigned without, int flags)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		install(with, without);
		_exit(lib.open("/etc/hostname", flags, 0600) >= 0 ? 0 : errno);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void reads_try_the_floor_first_and_fall_back_when_refused(void **state)
{
	(void)state;
	need_library();
	/* The floor answers: no second call. */
	assert_int_equal(in_child(SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO | EXDEV, O_RDONLY), 0);
	assert_int_equal(in_child(SECCOMP_RET_ERRNO | EMFILE, SECCOMP_RET_ALLOW, O_RDONLY), EMFILE);
	/* The floor refuses: the plain call decides. */
	assert_int_equal(in_child(SECCOMP_RET_ERRNO | EACCES, SECCOMP_RET_ALLOW, O_RDONLY), 0);
	assert_int_equal(
		in_child(SECCOMP_RET_ERRNO | EACCES, SECCOMP_RET_ERRNO | EXDEV, O_RDONLY), EXDEV);
}

static void whatever_may_write_never_carries_the_cookie(void **state)
{
	static const int flags[] = {O_WRONLY, O_RDWR, O_RDONLY | O_CREAT, O_RDONLY | O_TRUNC,
		O_PATH, O_TMPFILE | O_RDWR, O_ACCMODE};

	(void)state;
	need_library();
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		assert_int_equal(
			in_child(SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO | EXDEV, flags[i]), EXDEV);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(opens_behave_like_those_of_libc),
		cmocka_unit_test(reads_try_the_floor_first_and_fall_back_when_refused),
		cmocka_unit_test(whatever_may_write_never_carries_the_cookie),
	};

	return cmocka_run_group_tests(tests, load, NULL);
}
