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
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervisord/base/proc.h"

/* A child that waits for its end; with the name that a hostile process would choose. */
static pid_t start_child(const char *name)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, name);
		umask(027);
		kill(getpid(), SIGSTOP);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, NULL, WUNTRACED), pid);
	return pid;
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void reads_the_facts_of_a_process_with_a_hostile_name(void **state)
{
	static const char *const names[] = {
		"plain", ") S 1 1 1", "a\nTgid:\t1\n", ")))", "\nUmask:\t0"};
	uint64_t ticks, own_ticks;
	pid_t pid, parent, tgid;
	mode_t mask;
	size_t i;

	(void)state;
	assert_int_equal(proc_start_ticks(getpid(), &own_ticks), 0);
	for (i = 0; i < ARRAY_LEN(names); i++) {
		pid = start_child(names[i]);
		assert_int_equal(proc_parent(pid, &parent), 0);
		assert_int_equal(parent, getpid());
		assert_int_equal(proc_start_ticks(pid, &ticks), 0);
		assert_true(ticks >= own_ticks);
		assert_int_equal(proc_tgid_umask(pid, &tgid, &mask), 0);
		assert_int_equal(tgid, pid);
		assert_int_equal(mask, 027);
		assert_int_equal(proc_is_descendant(pid, getpid()), 1);
		assert_int_equal(proc_is_descendant(getpid(), pid), 0);
		end_child(pid);
	}
}

static void a_process_that_is_gone_is_esrch_everywhere(void **state)
{
	pid_t pid = start_child("x"), parent, tgid;
	uint64_t value, other;
	char *target;
	mode_t mask;

	(void)state;
	end_child(pid);
	assert_int_equal(proc_parent(pid, &parent), -ESRCH);
	assert_int_equal(proc_start_ticks(pid, &value), -ESRCH);
	assert_int_equal(proc_tgid_umask(pid, &tgid, &mask), -ESRCH);
	assert_int_equal(proc_inner_ids(pid, &tgid, &parent), -ESRCH);
	assert_int_equal(proc_namespace(pid, "pid", &value, &other), -ESRCH);
	assert_int_equal(proc_link(pid, "exe", &target), -ESRCH);
	assert_int_equal(proc_is_descendant(pid, getpid()), -ESRCH);
	assert_int_equal(proc_parent(0, &parent), -ESRCH);
	assert_int_equal(proc_parent(-1, &parent), -ESRCH);
}

static void inner_ids_are_the_last_of_the_line(void **state)
{
	pid_t tgid = 0, tid = 0;

	(void)state;
	assert_int_equal(proc_inner_ids(getpid(), &tgid, &tid), 0);
	assert_int_equal(tgid, getpid());
	assert_int_equal(tid, getpid());
	assert_int_equal(proc_inner_ids(getpid(), NULL, NULL), 0);
}

static void namespaces_and_links_name_the_object(void **state)
{
	_cleanup_(freep) char *target = NULL;
	uint64_t dev, ino, parent_ino;
	struct stat st;

	(void)state;
	assert_int_equal(stat("/proc/self/ns/mnt", &st), 0);
	assert_int_equal(proc_namespace(getpid(), "mnt", &dev, &ino), 0);
	assert_int_equal(ino, st.st_ino);
	assert_int_equal(dev, st.st_dev);
	assert_int_equal(proc_namespace(getpid(), "user", &dev, &parent_ino), 0);
	assert_int_not_equal(ino, parent_ino);
	assert_int_equal(proc_link(getpid(), "exe", &target), 0);
	assert_non_null(strstr(target, "test_proc"));
}

static void a_pidfd_is_dead_from_the_zombie_on(void **state)
{
	pid_t pid = start_child("x");
	siginfo_t info;
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	(void)state;
	assert_true(fd >= 0);
	assert_true(proc_pidfd_alive(fd));
	kill(pid, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_false(proc_pidfd_alive(fd));
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_false(proc_pidfd_alive(fd));
	close(fd);
	assert_false(proc_pidfd_alive(-1));
	assert_false(proc_pidfd_alive(fd));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_the_facts_of_a_process_with_a_hostile_name),
		cmocka_unit_test(a_process_that_is_gone_is_esrch_everywhere),
		cmocka_unit_test(inner_ids_are_the_last_of_the_line),
		cmocka_unit_test(namespaces_and_links_name_the_object),
		cmocka_unit_test(a_pidfd_is_dead_from_the_zombie_on),
	};

	return cmocka_run_group_tests_name("proc", tests, NULL, NULL);
}
