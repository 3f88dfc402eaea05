/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "supervisord/client/start.h"

/* The daemon is a grandchild in a session of its own, so that neither a terminal nor a job ends it.
 * The child between stays until we hold a pidfd of the grandchild: its pid cannot be used again
 * before. */

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "supervisord/base/clock.h"
#include "supervisord/base/dirs.h"
#include "supervisord/base/error.h"
#include "supervisord/base/file.h"

#define READY_TIMEOUT_USEC (60 * USEC_PER_SEC)
#define PROGRAM "agent-supervisord"

struct start {
	int runtime_fd; /* the socket's folder */
	int notify_fd;
	int log_fd;
	char *program;
	char *notify_path;
	const char *notify_name; /* in notify_path */
};

static void start_deinit(struct start *start)
{
	if (start->notify_name)
		unlinkat(start->runtime_fd, start->notify_name, 0);
	start->notify_fd = close_fd(start->notify_fd);
	start->log_fd = close_fd(start->log_fd);
	start->runtime_fd = close_fd(start->runtime_fd);
	free(start->program);
	free(start->notify_path);
}

/* A datagram socket with a name that is ours alone, as sd_notify wants one. */
static int make_notify_socket(struct start *start, const char *folder)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	uint64_t random;
	int n;

	if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return err_trace(err_errno());
	if (asprintf(&start->notify_path, "%s/notify-%016llx", folder, (unsigned long long)random) <
		0) {
		start->notify_path = NULL;
		return err_trace(-ENOMEM);
	}
	/* sd_notify of the daemon takes the plain path: it must fit. */
	if (strlen(start->notify_path) >= sizeof(address.sun_path))
		return err_trace(-ENAMETOOLONG);
	start->notify_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (start->notify_fd < 0)
		return err_trace(err_errno());
	n = snprintf(address.sun_path, sizeof(address.sun_path), "%s", start->notify_path);
	if (n < 0)
		return err_trace(-EINVAL);
	if (bind(start->notify_fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return err_trace(err_errno());
	start->notify_name = strrchr(start->notify_path, '/') + 1;
	return 0;
}

static int open_log(struct start *start)
{
	_cleanup_(dirs_deinit) struct dirs dirs = {0};
	_cleanup_(closep) int state_fd = -1;
	int r;

	r = dirs_init(&dirs);
	if (r < 0)
		return err_trace(r);
	r = dir_open_private(dirs.state, &state_fd);
	if (r < 0)
		return err_trace(r);
	start->log_fd = openat(state_fd, "daemon.log",
		O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (start->log_fd < 0)
		return err_trace(err_errno());
	/* Not where the daemon's standard streams go, also when ours are closed. */
	if (start->log_fd <= 2) {
		int fd = fcntl(start->log_fd, F_DUPFD_CLOEXEC, 3);

		if (fd < 0)
			return err_trace(err_errno());
		close(start->log_fd);
		start->log_fd = fd;
	}
	return 0;
}

static int start_init(struct start *start, const char *path)
{
	_cleanup_(freep) char *folder = strdup(path);
	char *slash = folder ? strrchr(folder, '/') : NULL;
	int r;

	if (!slash || slash == folder)
		return err_trace(folder ? -EINVAL : -ENOMEM);
	*slash = '\0';
	r = dirs_find_program(PROGRAM, &start->program);
	if (r < 0)
		return err_trace(r);
	r = dir_open_private(folder, &start->runtime_fd);
	if (r < 0)
		return err_trace(r);
	r = open_log(start);
	if (r < 0)
		return r;
	return make_notify_socket(start, folder);
}

/* In the grandchild. Only what is safe between fork and exec in a process with threads, but setenv:
 * the environment is made before the fork. */
_Noreturn static void become_daemon(const struct start *start, char *const *env)
{
	char *argv[] = {start->program, NULL};
	int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t none;

	if (null_fd < 0 || dup2(null_fd, 0) < 0 || dup2(start->log_fd, 1) < 0 ||
		dup2(start->log_fd, 2) < 0 || chdir("/") < 0)
		_exit(125);
	if (syscall(SYS_close_range, 3u, ~0u, 0u) < 0)
		_exit(125);
	for (int s = 1; s < 32; s++)
		(void)signal(s, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execve(start->program, argv, env);
	_exit(127);
}

_Noreturn static void between(const struct start *start, char *const *env, int sock)
{
	char ack;
	pid_t pid;

	if (setsid() < 0)
		_exit(1);
	pid = fork();
	if (pid == 0)
		become_daemon(start, env);
	if (write(sock, &pid, sizeof(pid)) != (ssize_t)sizeof(pid))
		_exit(1);
	/* Unreaped until the other end has its pidfd, or is gone. */
	if (read(sock, &ack, 1) < 0)
		_exit(1);
	_exit(0);
}

/* The caller's environment with our NOTIFY_SOCKET, and without what an activator meant for the
 * caller. */
static char **make_env(const char *notify_path, char **assignmentp)
{
	static const char *const dropped[] = {"NOTIFY_SOCKET=", "LISTEN_FDS=", "LISTEN_PID=",
		"LISTEN_FDNAMES=", "WATCHDOG_USEC=", "WATCHDOG_PID="};
	size_t n = 0, kept = 0;
	char **env;

	while (environ[n])
		n++;
	env = calloc(n + 2, sizeof(*env));
	if (!env)
		return NULL;
	if (asprintf(assignmentp, "NOTIFY_SOCKET=%s", notify_path) < 0) {
		*assignmentp = NULL;
		free(env);
		return NULL;
	}
	for (size_t i = 0; i < n; i++) {
		bool drop = false;

		for (size_t j = 0; j < ARRAY_LEN(dropped); j++)
			drop |= !strncmp(environ[i], dropped[j], strlen(dropped[j]));
		if (!drop)
			env[kept++] = environ[i];
	}
	env[kept] = *assignmentp;
	return env;
}

static int fork_daemon(const struct start *start, int *pidfdp)
{
	_cleanup_(freep) char *assignment = NULL;
	_cleanup_(freep) char **env = make_env(start->notify_path, &assignment);
	_cleanup_(closep) int ours = -1;
	int sv[2], r = 0;
	pid_t child, pid = -1;

	if (!env)
		return err_trace(-ENOMEM);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv) < 0)
		return err_trace(err_errno());
	ours = sv[0];
	child = fork();
	if (child == 0) {
		close(sv[0]);
		between(start, env, sv[1]);
	}
	close(sv[1]);
	if (child < 0)
		return err_trace(-EAGAIN);
	if (read(ours, &pid, sizeof(pid)) != (ssize_t)sizeof(pid) || pid <= 0)
		r = -EAGAIN;
	if (r == 0) {
		*pidfdp = (int)syscall(SYS_pidfd_open, pid, 0u);
		if (*pidfdp < 0)
			r = err_errno();
	}
	(void)shutdown(ours, SHUT_RDWR);
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	return r < 0 ? err_trace(r) : 0;
}

/* 1 when a READY=1 is in the socket, 0 when not. */
static int take_ready(int notify_fd)
{
	char text[4096];
	ssize_t n;

	while ((n = recv(notify_fd, text, sizeof(text) - 1, 0)) >= 0) {
		char *rest = text, *line;

		text[n] = '\0';
		while ((line = strsep(&rest, "\n")))
			if (!strcmp(line, "READY=1"))
				return 1;
	}
	return 0;
}

static int wait_ready(const struct start *start, int pidfd)
{
	uint64_t end = clock_monotonic_usec() + READY_TIMEOUT_USEC;

	for (;;) {
		struct pollfd fds[] = {{.fd = start->notify_fd, .events = POLLIN},
			{.fd = pidfd, .events = POLLIN}};
		uint64_t now = clock_monotonic_usec();

		if (now >= end)
			return err_trace(-ETIMEDOUT);
		if (poll(fds, ARRAY_LEN(fds), (int)((end - now) / USEC_PER_MSEC) + 1) < 0 &&
			errno != EINTR)
			return err_trace(err_errno());
		if (take_ready(start->notify_fd))
			return 0;
		if (fds[1].revents)
			return take_ready(start->notify_fd) ? 0 : err_trace(-EHOSTDOWN);
	}
}

int client_start_daemon(const char *path)
{
	_cleanup_(start_deinit) struct start start = {
		.runtime_fd = -1, .notify_fd = -1, .log_fd = -1};
	_cleanup_(closep) int pidfd = -1;
	int r;

	r = start_init(&start, path);
	if (r < 0)
		return r;
	r = fork_daemon(&start, &pidfd);
	if (r < 0)
		return r;
	return wait_ready(&start, pidfd);
}
