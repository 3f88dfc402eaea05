/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "supervisord/sandbox/start.h"

/* The agent's process before it is the agent. MUST:
 *  1. close in this order: descriptors, privileges, Landlock, filter; run no agent code while it
 * holds the listener
 *  2. from the filter on, make only calls that the filter allows: nobody answers yet
 *  3. allocate nothing */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "supervisord/sandbox/landlock.h"

/* 0-2 that were terminals become the agent's own; the rest stays as it was given. */
static void arrange_standard(const struct start *start, int terminal)
{
	for (int fd = 0; fd <= 2; fd++) {
		if (terminal >= 0 && isatty(fd) && dup2(terminal, fd) < 0)
			start_fail(start->gate, errno, "placing the terminal", NULL);
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd)
			start_fail(start->gate, EBADF, "opening /dev/null", NULL);
	}
}

static void reset_signals(void)
{
	struct sigaction action = {.sa_handler = SIG_DFL};

	for (int sig = 1; sig <= SIGRTMAX; sig++)
		sigaction(sig, &action, NULL); /* SIGKILL, SIGSTOP and the C library's own refuse */
}

static void open_gate(const struct start *start)
{
	const struct gate_message ready = {.error = 0};
	char go;

	if (write(start->gate, &ready, sizeof(ready)) != sizeof(ready))
		_exit(START_FAILED);
	/* End of file: the broker gave up or died. */
	if (read(start->gate, &go, 1) != 1)
		_exit(START_FAILED);
	close(START_GATE_FD);
	close(START_LISTENER_FD);
	close_range(START_GATE_FD, ~0u, 0);
}

static void try_file(const struct start *start, const char *path)
{
	execve(path, start->argv, start->env);
	if (errno == ENOEXEC) {
		/* As execvp does: a text file without "#!" is the shell's. */
		start->shell_argv[1] = (char *)(uintptr_t)path;
		execve("/bin/sh", start->shell_argv, start->env);
		errno = ENOEXEC;
	}
}

/* Goes through the folders of PATH. errno is that of the attempt that says most. */
static void search(const struct start *start)
{
	const char *name = start->argv[0];
	char path[PATH_MAX];
	int error = ENOENT;

	for (const char *folder = start->search;; folder++) {
		size_t n = strcspn(folder, ":");
		int size = snprintf(
			path, sizeof(path), "%.*s%s%s", (int)n, folder, n > 0 ? "/" : "", name);

		if (size > 0 && (size_t)size < sizeof(path)) {
			try_file(start, path);
			if (errno == EACCES)
				error = EACCES;
			else if (errno != ENOENT && errno != ENOTDIR && errno != ELOOP &&
				 errno != ENAMETOOLONG)
				return;
		}
		folder += n;
		if (*folder == '\0')
			break;
	}
	errno = error;
}

static _Noreturn void become_agent(const struct start *start)
{
	struct init_message failed = {.kind = INIT_EXEC_FAILED};
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (strchr(start->argv[0], '/'))
		try_file(start, start->argv[0]);
	else
		search(start);
	failed.value = errno;
	(void)!write(START_SOCK_FD, &failed, sizeof(failed));
	_exit(failed.value == ENOENT ? 127 : 126);
}

_Noreturn void agent_run(struct start *start, int terminal, pid_t init_pid)
{
	const struct rlimit no_core = {0, 0};
	int listener, r;

	if (terminal >= 0)
		setpgid(0, 0);
	if (!start->plan->pid_ns) {
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		if (getppid() != init_pid)
			_exit(START_FAILED);
	}
	reset_signals();
	arrange_standard(start, terminal);
	if (close_range(START_GATE_FD + 1, ~0u, 0) < 0)
		start_fail(start->gate, errno, "closing descriptors", NULL);
	if (chdir(start->spec->cwd) < 0)
		start_fail(start->gate, errno, "entering", start->spec->cwd);
	setrlimit(RLIMIT_CORE, &no_core);
	r = landlock_apply(start->plan, start->tmp_dir);
	if (r < 0)
		start_fail(start->gate, -r, "closing the floor (Landlock)", NULL);
	listener = filter_load(&start->filter);
	if (listener < 0)
		start_fail(start->gate, -listener, "loading the filter (seccomp)",
			listener == -EBUSY ? "inside another supervisor" : NULL);
	if (listener != START_LISTENER_FD) {
		if (dup3(listener, START_LISTENER_FD, O_CLOEXEC) < 0)
			start_fail(start->gate, errno, "placing the listener", NULL);
		close(listener);
	}
	open_gate(start);
	become_agent(start);
}
