/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
/* Starts agent-broker: specification on descriptor 3, message socket on 4, terminal or pipes on 0
 * to 2, an environment without the caller's secrets, nothing else. */

#include "agentctl/run.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "agentctl/output.h"
#include "supervisord/base/dirs.h"
#include "supervisord/base/error.h"
#include "supervisord/base/file.h"

extern char **environ;

/* What the broker's own code reads. The agent's environment travels in the specification. */
static const char *const kept_variables[] = {
	"HOME",
	"USER",
	"LOGNAME",
	"LANG",
	"LC_ALL",
	"LC_CTYPE",
	"TZ",
	"XDG_CONFIG_HOME",
	"XDG_STATE_HOME",
	"XDG_DATA_HOME",
	"XDG_CACHE_HOME",
	"XDG_RUNTIME_DIR",
	"AGENT_SUPERVISOR_LOG",
	/* test builds */
	"ASAN_OPTIONS",
	"UBSAN_OPTIONS",
	"LSAN_OPTIONS",
};

#define N_ENV (ARRAY_LEN(kept_variables) + 1)

/* Pointers into environ and literals; ENV has room for N_ENV + 1. */
static void broker_environment(char **env)
{
	static char path[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
	size_t n = 0;

	env[n++] = path;
	for (size_t i = 0; i < ARRAY_LEN(kept_variables); i++) {
		size_t length = strlen(kept_variables[i]);

		for (char **e = environ; e && *e; e++)
			if (strncmp(*e, kept_variables[i], length) == 0 && (*e)[length] == '=') {
				env[n++] = *e;
				break;
			}
	}
	env[n] = NULL;
}

int run_signals_block(struct run *run, bool stops)
{
	static const int always[] = {
		SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT, SIGWINCH};
	static const int job[] = {SIGTSTP, SIGTTIN, SIGTTOU};
	struct sigaction action;
	sigset_t set, blocked;

	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_LEN(always); i++)
		if (sigaction(always[i], NULL, &action) == 0 &&
			(action.sa_handler != SIG_IGN || always[i] == SIGCONT ||
				always[i] == SIGWINCH))
			sigaddset(&set, always[i]);
	for (size_t i = 0; stops && i < ARRAY_LEN(job); i++)
		sigaddset(&set, job[i]);
	blocked = set;
	sigaddset(&blocked, SIGPIPE);
	if (sigprocmask(SIG_BLOCK, &blocked, &run->old_mask) < 0)
		return err_trace(err_errno());
	run->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return run->signal_fd < 0 ? err_trace(err_errno()) : 0;
}

/* Puts FD at place TO, surviving exec. Only when all sources are above the places. */
static void place(int fd, int to)
{
	if (dup2(fd, to) < 0)
		_exit(EXIT_SUPERVISOR);
}

static void exec_broker(
	const struct run *run, const char *program, int spec_fd, int sock_fd, bool own_group)
{
	char *env[N_ENV + 1];
	char *argv[] = {(char[]){"agent-broker"}, NULL};
	int spec_high = fcntl(spec_fd, F_DUPFD_CLOEXEC, 10);
	int sock_high = fcntl(sock_fd, F_DUPFD_CLOEXEC, 10);

	if (own_group)
		(void)setpgid(0, 0);
	broker_environment(env);
	place(spec_high, SPEC_FD);
	place(sock_high, RUN_FD);
	/* Also descriptors that our caller left open: none of them is for a session. */
	(void)close_range(RUN_FD + 1, ~0U, CLOSE_RANGE_CLOEXEC);
	sigprocmask(SIG_SETMASK, &run->old_mask, NULL);
	execve(program, argv, env);
	out_error("%s cannot be started: %s", program, strerror(errno));
	_exit(EXIT_SUPERVISOR);
}

int run_launch(struct run *run, const struct session_spec *spec, bool own_group)
{
	_cleanup_(freep) char *program = NULL;
	_cleanup_(closep) int spec_fd = -1, theirs = -1;
	int pair[2];
	int r;

	r = dirs_find_program("agent-broker", &program);
	if (r < 0)
		return err_trace(r);
	r = spec_to_memfd(spec, &spec_fd);
	if (r < 0)
		return err_trace(r);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_trace(err_errno());
	run->sock = pair[0];
	theirs = pair[1];
	if (fcntl(run->sock, F_SETFL, O_NONBLOCK) < 0)
		return err_trace(err_errno());
	run->broker = fork();
	if (run->broker < 0)
		return err_trace(err_errno());
	if (run->broker == 0)
		exec_broker(run, program, spec_fd, theirs, own_group);
	if (own_group)
		(void)setpgid(run->broker, run->broker);
	run->broker_pidfd = pidfd_open(run->broker, 0);
	return run->broker_pidfd < 0 ? err_trace(err_errno()) : 0;
}

void run_deinit(struct run *run)
{
	run->sock = close_fd(run->sock);
	run->signal_fd = close_fd(run->signal_fd);
	run->master_fd = close_fd(run->master_fd);
	run->broker_pidfd = close_fd(run->broker_pidfd);
	buf_deinit(&run->notices);
}
