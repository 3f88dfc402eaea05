/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef AGENTCTL_RUN_H
#define AGENTCTL_RUN_H

/* One running session as agentctl sees it: the broker it started, and what the broker said. */

#include <signal.h>
#include <stdbool.h>
#include <sys/signalfd.h>
#include <sys/types.h>

#include "supervisord/base/buf.h"
#include "supervisord/proto/spec.h"

struct run {
	pid_t broker;
	int broker_pidfd;
	int sock;      /* ours of the pair whose other end is the broker's RUN_FD; non-blocking */
	int signal_fd; /* what this program is sent, see run_signals_block */
	sigset_t old_mask; /* as we were started */
	int master_fd;     /* pty mode, once the agent has started */
	bool started;
	bool decided;       /* status is final: RUN_EXITED or RUN_FAILED came */
	bool gone;          /* the broker has ended */
	int status;         /* exit status for us */
	char session[96];   /* id, when the broker told it */
	struct buf notices; /* to print once the terminal is ours again */
};

/* What a message meant to the loop. */
enum run_event {
	RUN_EVENT_NONE,  /* nothing to read */
	RUN_EVENT_OTHER, /* handled: notice, unknown */
	RUN_EVENT_STARTED,
	RUN_EVENT_STOPPED, /* *VALUEP = the signal */
	RUN_EVENT_ENDED,   /* run->status is final */
	RUN_EVENT_CLOSED,  /* the broker's end is closed */
};

/* run_launch.c */
/* Blocks the signals that the loops read from run->signal_fd. Those that the caller had us ignore
 * (nohup) stay ignored. STOPS: also SIGTSTP, SIGTTIN and SIGTTOU. 0 or -errno. */
int run_signals_block(struct run *run, bool stops) _must_use_;
/* Starts the broker with SPEC. OWN_GROUP: in a process group of its own. 0 or -errno. */
int run_launch(struct run *run, const struct session_spec *spec, bool own_group) _must_use_;
void run_deinit(struct run *run);

/* run_link.c */
/* Reads one message. */
enum run_event run_receive(struct run *run, int *valuep);
/* Best effort: a broker that is gone is noticed by the loop. */
void run_send(struct run *run, enum run_message_kind kind, int value);
/* Reads one signal from signal_fd. False when there is none. */
bool run_read_signal(struct run *run, struct signalfd_siginfo *info);
/* The broker has ended: takes what it still said, reaps it, settles the status. */
void run_finish(struct run *run);
/* Stops this process (and its job) with SIG until it is continued. */
void run_stop_self(struct run *run, int sig);

/* run_pty.c, run_plain.c: until the session is over; run->status is final. */
void run_pty(struct run *run);
void run_plain(struct run *run);

/* run_footer.c: the last denials of the session, one line each, on standard error. */
void run_footer(const struct run *run, const char *control);

#endif
