/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */

/* agent-broker: started by `agentctl run` with a sealed spec on SPEC_FD and a socket on RUN_FD. Not
 * for people. */

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "supervisord/base/file.h"
#include "supervisord/base/log.h"
#include "supervisord/broker/run_channel.h"
#include "supervisord/broker/session.h"

static int usage(void)
{
	(void)fputs(
		"agent-broker is started by `agentctl run`; it is not meant to be run by hand.\n"
		"See agentctl(1).\n",
		stderr);
	return 125;
}

/* Signals reach the main thread through a signalfd or not at all: those of the terminal are for the
 * agent. */
static void block_signals(void)
{
	static const int ignored[] = {
		SIGINT, SIGQUIT, SIGHUP, SIGPIPE, SIGTTOU, SIGTTIN, SIGTSTP, SIGUSR2, SIGALRM};
	sigset_t mask;

	for (size_t i = 0; i < ARRAY_LEN(ignored); i++)
		(void)signal(ignored[i], SIG_IGN);
	sigemptyset(&mask);
	sigaddset(&mask, SIGTERM);
	(void)sigprocmask(SIG_BLOCK, &mask, NULL);
}

int main(int argc, char **argv)
{
	_cleanup_(spec_freep) struct session_spec *spec = NULL;
	struct stat st;
	int r;

	(void)argv;
	log_init("agent-broker");
	if (argc > 1 || fstat(SPEC_FD, &st) < 0 || fstat(RUN_FD, &st) < 0 || !S_ISSOCK(st.st_mode))
		return usage();
	if (fd_set_cloexec(SPEC_FD, true) < 0 || fd_set_cloexec(RUN_FD, true) < 0)
		return 125;
	block_signals();
	/* The threads take turns rather than run at once, and what one allocates another frees: an
	 * arena for each would only keep memory. */
	(void)mallopt(M_ARENA_MAX, 1);
	if (sodium_init() < 0)
		return run_channel_fail(RUN_FD, 125, "libsodium cannot start");
	r = spec_from_fd(SPEC_FD, &spec);
	if (r < 0)
		return run_channel_fail(RUN_FD, 125, "unusable session spec: %s", strerror(-r));
	close(SPEC_FD);
	return session_run(spec, RUN_FD);
}
