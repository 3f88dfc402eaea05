/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "tests/unit/broker/trap.h"

#include <spawn.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>

#include "supervisord/broker/exec.h"

extern char **environ;

/* A vector of literals, for functions that take it without const. */
#define ARGV(...) ((char *const *)(uintptr_t)(const char *const[]){__VA_ARGS__, NULL})

static const int exec_calls[] = {SYS_execve, SYS_execveat};
static char dir[] = "/var/tmp/t-exec.XXXXXX";
static char *shared; /* a page that the attacker and the victim share */

static int run(int (*body)(void *), void *userdata)
{
	return trap_run(exec_calls, 2, handle_exec, body, userdata);
}

static const char *in_dir(const char *name)
{
	static char paths[8][256];
	static int at;

	at = (at + 1) % 8;
	snprintf(paths[at], sizeof(paths[at]), "%s/%s", dir, name);
	return paths[at];
}

static void write_file(const char *name, const char *text, mode_t mode)
{
	int fd = open(in_dir(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

/* Execs a vector; the errno when it fails. */
static int body_exec(void *userdata)
{
	char *const *argv = userdata;

	execve(argv[0], argv, environ);
	return errno;
}

static int run_argv(const char *const *argv)
{
	union {
		const char *const *in;
		void *out;
	} u = {.in = argv};

	return run(body_exec, u.out);
}

static void a_program_runs_with_its_exit_status(void **state)
{
	(void)state;
	trap_reset();
	assert_int_equal(run_argv((const char *[]){"/bin/true", NULL}), 0);
	assert_int_equal(trap.n_decisions, 1);
	assert_int_equal(trap.op, OP_EXEC);
	trap_reset();
	assert_int_equal(run_argv((const char *[]){"/bin/sh", "-c", "exit 7", NULL}), 7 << 8);
	assert_string_equal(trap.object, "/usr/bin/dash");
	assert_int_equal(trap.n_events, 0);
}

static void what_cannot_run_gets_its_errno_without_a_decision(void **state)
{
	(void)state;
	write_file("plain", "hello\n", 0644);
	assert_int_equal(symlink("loop", in_dir("loop")), 0);
	static const struct {
		const char *path;
		int error;
	} cases[] = {
		{"/nonexistent/x", ENOENT},
		{"/nonexistent", ENOENT},
		{"/etc/hostname/x", ENOTDIR},
		{"/etc", EACCES},
		{"", ENOENT},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		trap_reset();
		assert_int_equal(
			run_argv((const char *[]){cases[i].path, NULL}), cases[i].error << 8);
		assert_int_equal(trap.n_decisions, 0);
	}
	trap_reset();
	assert_int_equal(run_argv((const char *[]){in_dir("plain"), NULL}), EACCES << 8);
	assert_int_equal(run_argv((const char *[]){in_dir("loop"), NULL}), ELOOP << 8);
	assert_int_equal(trap.n_decisions, 0);
	unlink(in_dir("plain"));
	unlink(in_dir("loop"));
}

static void a_text_file_is_left_to_the_kernel(void **state)
{
	(void)state;
	trap_reset();
	write_file("text", "echo hi\n", 0755);
	assert_int_equal(run_argv((const char *[]){in_dir("text"), NULL}), ENOEXEC << 8);
	unlink(in_dir("text"));
}

static void a_denied_program_gets_eacces(void **state)
{
	(void)state;
	trap_reset();
	trap.verdict = VERDICT_DENY;
	assert_int_equal(run_argv((const char *[]){"/bin/true", NULL}), EACCES << 8);
}

static void a_script_is_judged_with_its_interpreter(void **state)
{
	(void)state;
	trap_reset();
	write_file("s", "#! /bin/sh -e \nexit $#\n", 0755);
	assert_int_equal(run_argv((const char *[]){in_dir("s"), "a", "b", NULL}), 2 << 8);
	assert_int_equal(trap.n_decisions, 2);
	assert_string_equal(trap.objects[0], in_dir("s"));
	assert_string_equal(trap.objects[1], "/usr/bin/dash");
	unlink(in_dir("s"));
}

static enum verdict deny_git_push(const struct request *request)
{
	return strcmp(request->path, "/usr/bin/git") == 0 && request->n_argv == 3 &&
			       strcmp(request->argv[1], "push") == 0
		       ? VERDICT_DENY
		       : VERDICT_ALLOW;
}

static void a_script_cannot_smuggle_arguments_to_its_interpreter(void **state)
{
	(void)state;
	trap_reset();
	trap.judge = deny_git_push;
	write_file("origin", "#!/usr/bin/git push\n", 0755);
	assert_int_equal(run_argv((const char *[]){in_dir("origin"), NULL}), EACCES << 8);
	unlink(in_dir("origin"));
}

static void nested_interpreters_work_up_to_the_kernels_depth(void **state)
{
	char text[300];

	(void)state;
	trap_reset();
	write_file("n0", "#!/bin/sh\nexit $#\n", 0755);
	for (int i = 1; i < 7; i++) {
		char name[16], below[16];

		snprintf(name, sizeof(name), "n%d", i);
		snprintf(below, sizeof(below), "n%d", i - 1);
		snprintf(text, sizeof(text), "#!%s x\n", in_dir(below));
		write_file(name, text, 0755);
	}
	assert_int_equal(run_argv((const char *[]){in_dir("n2"), "a", NULL}), 5 << 8);
	assert_int_equal(run_argv((const char *[]){in_dir("n6"), "a", NULL}), ELOOP << 8);
	for (int i = 0; i < 7; i++) {
		char name[16];

		snprintf(name, sizeof(name), "n%d", i);
		unlink(in_dir(name));
	}
}

static int body_empty_argv(void *userdata)
{
	(void)userdata;
	syscall(SYS_execve, "/bin/true", NULL, environ);
	return errno;
}

static void no_arguments_are_one_empty_argument(void **state)
{
	(void)state;
	trap_reset();
	assert_int_equal(run(body_empty_argv, NULL), 0);
	assert_int_equal(trap.n_events, 0);
}

static int body_bad_pointers(void *userdata)
{
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char **argv = (char **)(void *)(page + 4096 - 2 * sizeof(char *));

	(void)userdata;
	munmap(page + 4096, 4096);
	if (syscall(SYS_execve, 8, NULL, NULL) == 0 || errno != EFAULT)
		return 1;
	if (syscall(SYS_execve, "/bin/true", 8, NULL) == 0 || errno != EFAULT)
		return 2;
	argv[0] = argv[1] = page;
	if (syscall(SYS_execve, "/bin/true", argv, NULL) == 0 || errno != EFAULT)
		return 3;
	argv[1] = NULL; /* the vector ends with its page */
	strcpy(page + 4096 - 3 * sizeof(char *), "true");
	argv[0] = page + 4096 - 3 * sizeof(char *);
	execve("/bin/true", argv, environ);
	return 4;
}

static void bad_pointers_get_efault(void **state)
{
	(void)state;
	trap_reset();
	assert_int_equal(run(body_bad_pointers, NULL), 0);
}

static int body_long_argv(void *userdata)
{
	static char text[120 * 1024];
	const char *argv[12] = {"true"};

	(void)userdata;
	memset(text, 'x', sizeof(text) - 1);
	for (int i = 1; i < 11; i++)
		argv[i] = text;
	syscall(SYS_execve, "/bin/true", argv, environ);
	return errno;
}

static void long_arguments_are_compared_whole(void **state)
{
	(void)state;
	trap_reset();
	assert_int_equal(run(body_long_argv, NULL), 0);
	assert_int_equal(trap.n_events, 0);
}

static int body_memfd(void *userdata)
{
	int in = open("/bin/true", O_RDONLY), fd = memfd_create("x", 0);
	char data[16384];
	ssize_t size;

	(void)userdata;
	while ((size = read(in, data, sizeof(data))) > 0) {
		if (write(fd, data, (size_t)size) != size)
			return 1;
	}
	execveat(fd, "", ARGV("x"), environ, AT_EMPTY_PATH);
	return errno;
}

static void a_memfd_is_no_program(void **state)
{
	(void)state;
	trap_reset();
	assert_int_equal(run(body_memfd, NULL), EACCES << 8);
	assert_string_equal(trap.event, "refused.anonymous-exec");
	assert_int_equal(trap.n_decisions, 0);
}

static int body_execveat(void *userdata)
{
	int dir_fd = open("/bin", O_PATH | O_DIRECTORY), fd = open("/bin/sh", O_PATH);
	char *const *argv = ARGV("sh", "-c", "exit 3");

	(void)userdata;
	if (execveat(fd, "", argv, environ, AT_EMPTY_PATH | 0x10000) == 0 || errno != EINVAL)
		return 1;
	if (execveat(fd, "", argv, environ, 0) == 0 || errno != ENOENT)
		return 2;
	if (fork() == 0) {
		execveat(dir_fd, "true", argv, environ, 0);
		_exit(5);
	}
	int status;

	wait(&status);
	if (status != 0)
		return 4;
	execveat(fd, "", argv, environ, AT_EMPTY_PATH);
	return 6;
}

static void execveat_works_by_descriptor_and_by_name(void **state)
{
	(void)state;
	trap_reset();
	assert_int_equal(run(body_execveat, NULL), 3 << 8);
	assert_int_equal(trap.n_events, 0);
}

static int body_script_by_fd(void *userdata)
{
	int fd = open(userdata, O_RDONLY);

	execveat(fd, "", ARGV("s"), environ, AT_EMPTY_PATH);
	return errno;
}

static void a_script_by_descriptor_runs(void **state)
{
	char path[256];

	(void)state;
	trap_reset();
	write_file("fds", "#!/bin/sh\nexit 4\n", 0755);
	snprintf(path, sizeof(path), "%s", in_dir("fds"));
	assert_int_equal(run(body_script_by_fd, path), 4 << 8);
	assert_int_equal(trap.n_events, 0);
	unlink(in_dir("fds"));
}

/* Races: the other name is put in place after the decision, as a second thread would. */
static void swap_path(void)
{
	strcpy(shared, in_dir("evil"));
}

static void swap_argument(void)
{
	strcpy(shared, "evil");
}

static int body_shared_path(void *userdata)
{
	(void)userdata;
	execve(shared, ARGV("x"), environ);
	return errno;
}

static int body_shared_argument(void *userdata)
{
	(void)userdata;
	execve("/bin/echo", ARGV("echo", shared), environ);
	return errno;
}

static void copy_program(const char *from, const char *name)
{
	char command[600];

	snprintf(command, sizeof(command), "cp %s %s", from, in_dir(name));
	assert_int_equal(system(command), 0);
}

static void a_path_swapped_after_the_decision_is_killed(void **state)
{
	struct stat st;

	(void)state;
	trap_reset();
	trap.before_decision = swap_path;
	copy_program("/usr/bin/touch", "evil");
	strcpy(shared, "/bin/true");
	assert_int_equal(run(body_shared_path, NULL), SIGKILL);
	assert_string_equal(trap.event, "attack.exec");
	assert_non_null(strstr(trap.detail, "/bin/true"));
	assert_non_null(strstr(trap.detail, "evil"));
	assert_int_equal(stat(in_dir("x"), &st), -1);
	unlink(in_dir("evil"));
}

static void an_argument_swapped_after_the_decision_is_killed(void **state)
{
	(void)state;
	trap_reset();
	trap.before_decision = swap_argument;
	strcpy(shared, "good");
	assert_int_equal(run(body_shared_argument, NULL), SIGKILL);
	assert_string_equal(trap.event, "attack.exec");
}

static void a_path_swapped_to_nothing_only_fails(void **state)
{
	(void)state;
	trap_reset();
	trap.before_decision = swap_path; /* evil does not exist */
	strcpy(shared, "/bin/true");
	assert_int_equal(run(body_shared_path, NULL), ENOENT << 8);
	assert_int_equal(trap.n_events, 0);
}

/* A copy of a program that asks for a loader of the test's own. */
static void make_program_with_loader(const char *name, const char *loader)
{
	unsigned char head[4096];
	struct exec_image image = {0};
	char *at;
	int fd;

	copy_program("/bin/true", name);
	fd = open(in_dir(name), O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(pread(fd, head, sizeof(head), 0), sizeof(head));
	assert_int_equal(exec_image_parse(head, sizeof(head), fd, &image), 0);
	at = memmem(head, sizeof(head), image.interpreter, strlen(image.interpreter));
	assert_non_null(at);
	assert_true(strlen(loader) <= strlen(image.interpreter));
	memset(at, 0, strlen(image.interpreter));
	memcpy(at, loader, strlen(loader));
	assert_int_equal(pwrite(fd, head, sizeof(head), 0), sizeof(head));
	close(fd);
	exec_image_deinit(&image);
}

static void a_loader_is_judged_too(void **state)
{
	(void)state;
	trap_reset();
	copy_program("/lib64/ld-linux-x86-64.so.2", "ld");
	make_program_with_loader("p", in_dir("ld"));
	assert_int_equal(run_argv((const char *[]){in_dir("p"), NULL}), 0);
	assert_int_equal(trap.n_events, 0);
	trap.eval = VERDICT_ASK;
	trap.n_decisions = 0;
	assert_int_equal(run_argv((const char *[]){in_dir("p"), NULL}), 0);
	assert_string_equal(trap.object, in_dir("ld"));
	assert_int_equal(trap.n_decisions, 2);
	unlink(in_dir("p"));
	unlink(in_dir("ld"));
}

static void rewrite_loader(void)
{
	rename(in_dir("evil-ld"), in_dir("ld"));
}

static void a_loader_swapped_after_the_decision_is_killed(void **state)
{
	(void)state;
	trap_reset();
	copy_program("/lib64/ld-linux-x86-64.so.2", "ld");
	copy_program("/lib64/ld-linux-x86-64.so.2", "evil-ld");
	make_program_with_loader("p", in_dir("ld"));
	trap.before_decision = rewrite_loader;
	assert_int_equal(run_argv((const char *[]){in_dir("p"), NULL}), SIGKILL);
	assert_string_equal(trap.event, "attack.exec");
	assert_non_null(strstr(trap.detail, "loader"));
	unlink(in_dir("p"));
	unlink(in_dir("ld"));
}

static void *thread_exec(void *userdata)
{
	execve(userdata, ARGV("true"), environ);
	return NULL;
}

static void *thread_spin(void *userdata)
{
	for (;;)
		sched_yield();
	return userdata;
}

/* Many execs of all kinds: threads, vfork, posix_spawn, failures, signals, stops, kills. */
static char true_path[] = "/bin/true";

static int one_exec(int kind)
{
	char *const *argv = ARGV("true");
	pthread_t thread;
	int status = 0;
	pid_t pid;

	if (kind == 1) {
		if (posix_spawn(&pid, "/bin/true", NULL, NULL, argv, environ) != 0)
			return 1;
	} else if (kind == 2) {
		pid = vfork();
		if (pid == 0) {
			execve("/bin/true", argv, environ);
			_exit(9);
		}
	} else {
		pid = fork();
		if (pid == 0 && kind == 3) {
			pthread_create(&thread, NULL, thread_spin, NULL);
			pthread_create(&thread, NULL, thread_exec, true_path);
			pthread_create(&thread, NULL, thread_exec, true_path);
			pause();
		}
		if (pid == 0) {
			execve("/nonexistent", argv, environ);
			execve("/etc/passwd", argv, environ);
			execve("/bin/true", argv, environ);
			_exit(9);
		}
	}
	if (kind == 4) {
		kill(pid, SIGSTOP);
		kill(pid, SIGCONT);
	}
	if (kind == 5)
		kill(pid, SIGKILL);
	if (waitpid(pid, &status, 0) != pid)
		return 1;
	return status == 0 || (kind == 5 && status == SIGKILL) ? 0 : 1;
}

static int body_many(void *userdata)
{
	for (int i = 0; i < 180; i++) {
		if (one_exec(i % 6) != 0) {
			fprintf(stderr, "exec of kind %d failed\n", i % 6);
			return 10 + i % 6;
		}
	}
	(void)userdata;
	return 0;
}

static void execs_of_every_kind_end_as_without_a_supervisor(void **state)
{
	(void)state;
	trap_reset();
	assert_int_equal(run(body_many, NULL), 0);
	assert_int_equal(trap.n_events, 0);
}

static int body_traced(void *userdata)
{
	int status;
	pid_t pid = fork();

	(void)userdata;
	if (pid == 0) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		execve("/bin/true", ARGV("true"), environ);
		_exit(errno);
	}
	while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status))
		ptrace(PTRACE_CONT, pid, 0, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

static void a_traced_process_cannot_exec(void **state)
{
	(void)state;
	trap_reset();
	assert_int_equal(run(body_traced, NULL), EPERM << 8);
	assert_string_equal(trap.event, "refused.traced-exec");
}

static int setup(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return shared == MAP_FAILED ? -1 : 0;
}

static int teardown(void **state)
{
	(void)state;
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_program_runs_with_its_exit_status),
		cmocka_unit_test(what_cannot_run_gets_its_errno_without_a_decision),
		cmocka_unit_test(a_text_file_is_left_to_the_kernel),
		cmocka_unit_test(a_denied_program_gets_eacces),
		cmocka_unit_test(a_script_is_judged_with_its_interpreter),
		cmocka_unit_test(a_script_cannot_smuggle_arguments_to_its_interpreter),
		cmocka_unit_test(nested_interpreters_work_up_to_the_kernels_depth),
		cmocka_unit_test(no_arguments_are_one_empty_argument),
		cmocka_unit_test(bad_pointers_get_efault),
		cmocka_unit_test(long_arguments_are_compared_whole),
		cmocka_unit_test(a_memfd_is_no_program),
		cmocka_unit_test(execveat_works_by_descriptor_and_by_name),
		cmocka_unit_test(a_script_by_descriptor_runs),
		cmocka_unit_test(a_path_swapped_after_the_decision_is_killed),
		cmocka_unit_test(an_argument_swapped_after_the_decision_is_killed),
		cmocka_unit_test(a_path_swapped_to_nothing_only_fails),
		cmocka_unit_test(a_loader_is_judged_too),
		cmocka_unit_test(a_loader_swapped_after_the_decision_is_killed),
		cmocka_unit_test(execs_of_every_kind_end_as_without_a_supervisor),
		cmocka_unit_test(a_traced_process_cannot_exec),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
