/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_SANDBOX_LAUNCH_H
#define SUPERVISORD_SANDBOX_LAUNCH_H

/* Applies a plan: namespaces, mounts, process 1 of the session (our init), the agent under Landlock
 * and the filter, stopped just before its exec. Called from a single-threaded process; init is its
 * child and dies with it.
 *
 * Order in the agent's process: own process group (and terminal) -> descriptors closed -> bounding
 * set, no_new_privs -> Landlock -> filter -> the caller takes the listener -> exec. */

#include <stdint.h>
#include <sys/types.h>

#include "supervisord/proto/spec.h"
#include "supervisord/sandbox/plan.h"

struct launch {
	pid_t init_pid; /* process 1 of the session, in our pid namespace */
	int init_pidfd;
	pid_t agent_pid; /* the agent, in our pid namespace */
	int listener_fd; /* seccomp notifications; close-on-exec */
	int root_fd;     /* O_PATH of "/" as the session sees it */
	int init_sock;   /* seqpacket: struct init_message both ways */
	int pty_fd;      /* master of the agent's terminal, or -1 */
	int gate_fd;     /* holds the agent until launch_go(); ours alone */
	char *tmp_dir; /* the session's folder in a shared /tmp, removed by launch_end(), or NULL */
};

enum init_message_kind {
	/* init -> broker */
	INIT_EXEC_FAILED = 1, /* value = errno of the agent's exec */
	INIT_STOPPED,         /* the agent's process group was stopped; value = signal */
	INIT_EXITED,          /* value = wait status of the agent; init then ends the session */
	/* broker -> init */
	INIT_SIGNAL = 64, /* value = signal for the agent's foreground process group */
	INIT_CONTINUE,
	INIT_KILL, /* end everything */
};

struct init_message {
	uint32_t kind;
	int32_t value;
};

/* Gives up every capability of the calling process for good (all sets, no_new_privs). As the owner
 * of the session's user namespace the caller can still read, trace and reach into it. After
 * launch_start(), in each thread or before there are threads. 0 or -errno. */
int launch_drop_caps(void) _must_use_;

/* Starts the session up to the point before the agent's exec. *MESSAGEP (owned by the caller) names
 * the step that failed. 0 or -errno; after an error nothing runs. */
int launch_start(const struct plan *plan, const struct session_spec *spec, struct launch *launch,
	char **messagep) _must_use_;
/* Lets the agent exec: call when the workers are ready for notifications. 0 or -errno. */
int launch_go(struct launch *launch) _must_use_;
/* Kills init (and with it the session) if it still runs, reaps it and every other child or traced
 * process of the caller that ends meanwhile, closes the descriptors. */
void launch_end(struct launch *launch);

#endif
