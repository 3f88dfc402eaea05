/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "supervisord/sandbox/launch.h"

/* The caller's side of a start: prepares, forks process 1, waits until the agent stands before its
 * exec, and takes what it needs from it. */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervisord/base/display.h"
#include "supervisord/base/error.h"
#include "supervisord/base/fdpass.h"
#include "supervisord/sandbox/namespaces.h"
#include "supervisord/sandbox/plan_parts.h"
#include "supervisord/sandbox/session_tmp.h"
#include "supervisord/sandbox/start.h"

#define START_TIMEOUT_MSEC (20 * 1000)
#define END_TIMEOUT_MSEC (3 * 1000)
#define DEFAULT_SEARCH "/usr/local/bin:/usr/bin:/bin"

int launch_drop_caps(void)
{
	return err_trace(namespaces_drop_caps());
}

/* Says which step failed; R is returned. */
static int failed(char **messagep, int r, const char *what)
{
	_cleanup_(freep) char *shown = display_escape(what, strlen(what), NULL);

	if (asprintf(messagep, "the session could not be started: %s: %s", shown ? shown : "?",
		    strerror(-r)) < 0)
		*messagep = NULL;
	return err_trace(r);
}

static void start_deinit(struct start *start)
{
	filter_deinit(&start->filter);
	free(start->argv);
	free(start->shell_argv);
	free(start->env);
	free(start->tmp_env);
	start->sock = close_fd(start->sock);
	start->gate = close_fd(start->gate);
}

/* A folder as standard input would be a base for names that nobody judged. */
static int check_standard(char **messagep)
{
	for (int fd = 0; fd <= 2; fd++) {
		int flags = fcntl(fd, F_GETFL);
		struct stat st;

		if (flags < 0)
			continue;
		if ((flags & O_PATH) || (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)))
			return failed(messagep, -EISDIR,
				fd == 0 ? "standard input is a folder"
					: "standard output is a folder");
	}
	return 0;
}

/* Where the session gets no terminal of its own, its programs write to the person's: but who may
 * read it gets what is typed there to others, and job control does not stop a process of another
 * session.
 */
static int narrow_outputs(char **messagep)
{
	for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++) {
		_cleanup_(closep) int narrow = -1;
		int flags = fcntl(fd, F_GETFL);
		char link[32];

		if (flags < 0 || !isatty(fd) || (flags & O_ACCMODE) == O_WRONLY)
			continue;
		(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		narrow = open(
			link, O_WRONLY | O_NOCTTY | O_CLOEXEC | (flags & (O_APPEND | O_NONBLOCK)));
		if (narrow < 0 || dup2(narrow, fd) < 0)
			return failed(messagep, err_errno(),
				"opening the terminal of the output for writing only");
	}
	return 0;
}

static int prepare_tmp(struct start *start)
{
	int r;

	if (start->plan->mount_ns)
		return 0;
	r = session_tmp_make(&start->tmp_dir);
	if (r < 0)
		return err_trace(r);
	return asprintf(&start->tmp_env, "TMPDIR=%s", start->tmp_dir) < 0 ? err_trace(-ENOMEM) : 0;
}

static int prepare_lists(struct start *start)
{
	const struct session_spec *spec = start->spec;
	char *const *env = start->plan->env;
	size_t n = 0;

	while (env && env[n])
		n++;
	start->env = calloc(n + 1, sizeof(char *));
	start->argv = calloc(spec->n_argv + 1, sizeof(char *));
	start->shell_argv = calloc(spec->n_argv + 2, sizeof(char *));
	if (!start->env || !start->argv || !start->shell_argv)
		return err_trace(-ENOMEM);
	for (size_t i = 0; i < n; i++)
		start->env[i] = start->tmp_env && strcmp(env[i], "TMPDIR=" PLAN_SESSION_TMP) == 0
					? start->tmp_env
					: env[i];
	for (size_t i = 0; i < spec->n_argv; i++)
		start->argv[i] = spec->argv[i];
	start->shell_argv[0] = spec->argv[0];
	for (size_t i = 1; i < spec->n_argv; i++)
		start->shell_argv[i + 1] = spec->argv[i];
	start->search = plan_get_env(start->plan, "PATH");
	if (!start->search || *start->search == '\0')
		start->search = DEFAULT_SEARCH;
	return 0;
}

static int prepare(struct start *start, struct launch *launch)
{
	int socks[2], gates[2], on = 1, r;
	pid_t front;

	r = filter_build(start->plan, &start->filter);
	if (r == 0)
		r = prepare_tmp(start);
	launch->tmp_dir = start->tmp_dir;
	if (r == 0)
		r = prepare_lists(start);
	if (r < 0)
		return err_trace(r);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks) < 0)
		return err_trace(err_errno());
	launch->init_sock = socks[0];
	start->sock = socks[1];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, gates) < 0)
		return err_trace(err_errno());
	launch->gate_fd = gates[0];
	start->gate = gates[1];
	/* The kernel then adds the sender's pid, as we see it, to each message. */
	if (setsockopt(launch->gate_fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0)
		return err_trace(err_errno());
	start->namespaces = namespaces_flags(start->plan);
	start->uid = geteuid();
	start->gid = getegid();
	front = tcgetpgrp(STDIN_FILENO);
	start->background = front > 0 && front != getpgid(getppid());
	return 0;
}

/* Waits until the agent stands at the gate, or for the report of what failed. */
static int await_agent(struct launch *launch, char **messagep)
{
	struct pollfd fd = {.fd = launch->gate_fd, .events = POLLIN};
	struct gate_message message;
	size_t size;
	int n, r, passed = -1;

	do
		n = poll(&fd, 1, START_TIMEOUT_MSEC);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return failed(messagep, -ETIMEDOUT, "waiting for the first process");
	r = fdpass_recv(
		launch->gate_fd, &message, sizeof(message), &size, &passed, &launch->agent_pid);
	close_fd(passed);
	if (r < 0)
		return failed(messagep, r, "waiting for the first process");
	if (size != sizeof(message) || launch->agent_pid <= 0)
		return failed(messagep, -ECHILD, "the first process ended early");
	message.what[sizeof(message.what) - 1] = '\0';
	if (message.error != 0)
		return failed(messagep, -message.error, message.what);
	return 0;
}

static int take_listener(struct launch *launch, char **messagep)
{
	_cleanup_(closep) int pidfd = -1;
	char path[64];

	pidfd = (int)syscall(SYS_pidfd_open, launch->agent_pid, 0);
	if (pidfd < 0)
		return failed(messagep, err_errno(), "pidfd_open of the agent");
	launch->listener_fd = (int)syscall(SYS_pidfd_getfd, pidfd, START_LISTENER_FD, 0);
	if (launch->listener_fd < 0)
		return failed(messagep, err_errno(), "taking the listener (pidfd_getfd)");
	(void)snprintf(path, sizeof(path), "/proc/%d/root", launch->agent_pid);
	launch->root_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (launch->root_fd < 0)
		return failed(messagep, err_errno(), "opening the session's root");
	return 0;
}

static int take_terminal(struct launch *launch, char **messagep)
{
	struct init_message message;
	size_t size;
	int r;

	r = fdpass_recv(launch->init_sock, &message, sizeof(message), &size, &launch->pty_fd, NULL);
	if (r == 0 &&
		(size != sizeof(message) || message.kind != INIT_TERMINAL || launch->pty_fd < 0))
		r = -EPROTO;
	return r < 0 ? failed(messagep, r, "taking the agent's terminal") : 0;
}

static int start_session(struct start *start, struct launch *launch, char **messagep)
{
	int r = check_standard(messagep);

	if (r == 0 && !start->spec->pty)
		r = narrow_outputs(messagep);
	if (r < 0)
		return r;
	r = prepare(start, launch);
	if (r < 0)
		return failed(messagep, r, "preparing");
	launch->init_pid = namespaces_fork(start->namespaces);
	if (launch->init_pid == 0)
		init_run(start);
	if (launch->init_pid < 0)
		return failed(messagep, launch->init_pid, "making namespaces");
	start->sock = close_fd(start->sock);
	start->gate = close_fd(start->gate);
	launch->init_pidfd = (int)syscall(SYS_pidfd_open, launch->init_pid, 0);
	if (launch->init_pidfd < 0)
		return failed(messagep, err_errno(), "pidfd_open of the first process");
	r = await_agent(launch, messagep);
	if (r == 0)
		r = take_listener(launch, messagep);
	if (r == 0 && start->spec->pty)
		r = take_terminal(launch, messagep);
	return r;
}

int launch_start(const struct plan *plan, const struct session_spec *spec, struct launch *launch,
	char **messagep)
{
	_cleanup_(start_deinit) struct start start = {
		.plan = plan, .spec = spec, .sock = -1, .gate = -1};
	int r;

	*messagep = NULL;
	*launch = (struct launch){.init_pidfd = -1,
		.listener_fd = -1,
		.root_fd = -1,
		.init_sock = -1,
		.pty_fd = -1,
		.gate_fd = -1};
	if (spec->n_argv == 0)
		return failed(messagep, -EINVAL, "no command");
	r = start_session(&start, launch, messagep);
	if (r < 0)
		launch_end(launch);
	return r;
}

int launch_go(struct launch *launch)
{
	int r = fdpass_send(launch->gate_fd, "g", 1, -1);

	launch->gate_fd = close_fd(launch->gate_fd);
	return err_trace(r);
}

/* Lets init end what it can find; it has no pid namespace that would do it. */
static void ask_to_end(const struct launch *launch)
{
	struct pollfd fd = {.fd = launch->init_pidfd, .events = POLLIN};
	const struct init_message message = {.kind = INIT_KILL};

	if (launch->init_sock >= 0 && launch->init_pidfd >= 0 &&
		fdpass_send(launch->init_sock, &message, sizeof(message), -1) == 0)
		(void)!poll(&fd, 1, END_TIMEOUT_MSEC);
}

/* Process 1 ends only when nothing is left in its namespace. A process that we trace (an exec was
 * just being verified) is left until we have waited for it too, so: for anyone. */
static void reap_init(pid_t init)
{
	pid_t pid;

	do
		pid = waitpid(-1, NULL, __WALL);
	while (pid != init && (pid > 0 || errno == EINTR));
}

void launch_end(struct launch *launch)
{
	/* What waits at the gate ends at its end of file. */
	launch->gate_fd = close_fd(launch->gate_fd);
	if (launch->init_pid > 0) {
		if (launch->tmp_dir)
			ask_to_end(launch);
		kill(launch->init_pid, SIGKILL);
		reap_init(launch->init_pid);
	}
	launch->init_pid = 0;
	launch->init_pidfd = close_fd(launch->init_pidfd);
	launch->listener_fd = close_fd(launch->listener_fd);
	launch->root_fd = close_fd(launch->root_fd);
	launch->init_sock = close_fd(launch->init_sock);
	launch->pty_fd = close_fd(launch->pty_fd);
	if (launch->tmp_dir)
		session_tmp_remove(launch->tmp_dir);
	free(launch->tmp_dir);
	launch->tmp_dir = NULL;
}
