/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
/* A session without a terminal of its own: the agent has our descriptors and is in our process
 * group. What the terminal sends reaches the agent directly; what is sent to us alone is passed on.
 */

#include "agentctl/run.h"

#include <poll.h>

/* True when the signal came from the terminal or the kernel: the agent has had it too. */
static bool is_for_the_group(const struct signalfd_siginfo *info)
{
	return info->ssi_code == SI_KERNEL;
}

/* Passes signals on. True when we were continued. */
static bool handle_signals(struct run *run)
{
	struct signalfd_siginfo info;
	bool continued = false;

	while (run_read_signal(run, &info)) {
		int sig = (int)info.ssi_signo;

		if (sig == SIGCONT)
			continued = true;
		else if (sig != SIGWINCH && !is_for_the_group(&info))
			run_send(run, RUN_SIGNAL, sig);
	}
	return continued;
}

static void stopped(struct run *run, int sig)
{
	/* A stop by the terminal stopped our whole group, us too: what arrives now is old news.
	 * Only a stop that was meant for the agent alone is passed on to our shell. */
	if (sig != SIGSTOP)
		return;
	run_stop_self(run, SIGSTOP);
	run_send(run, RUN_CONTINUE, 0);
}

void run_plain(struct run *run)
{
	bool closed = false;

	for (;;) {
		struct pollfd fds[] = {
			{.fd = run->signal_fd, .events = POLLIN},
			{.fd = run->broker_pidfd, .events = POLLIN},
			{.fd = closed ? -1 : run->sock, .events = POLLIN},
		};
		bool continued = false;
		int value = 0;

		if (poll(fds, 3, -1) < 0 && errno != EINTR)
			break;
		if (fds[0].revents)
			continued = handle_signals(run);
		if (fds[2].revents) {
			enum run_event event = run_receive(run, &value);

			if (event == RUN_EVENT_CLOSED)
				closed = true;
			if (event == RUN_EVENT_STOPPED && !continued)
				stopped(run, value);
		} else if (fds[1].revents) {
			break;
		}
	}
	run_finish(run);
}
