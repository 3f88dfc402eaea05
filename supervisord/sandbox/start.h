/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_SANDBOX_START_H
#define SUPERVISORD_SANDBOX_START_H

/* What the processes of a starting session hand to each other. Everything in it is made before the
 * first fork; the children only use it. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "supervisord/sandbox/filter.h"
#include "supervisord/sandbox/launch.h"

/* Fixed numbers in process 1 and in the agent before its exec. */
#define START_SOCK_FD 3
#define START_GATE_FD 4
#define START_LISTENER_FD 5

#define START_FAILED 125 /* exit status of a child that could not do its part */

struct start {
	const struct plan *plan;
	const struct session_spec *spec;
	struct filter filter;
	char **argv;       /* NULL-terminated, borrowed strings */
	char **shell_argv; /* the same behind "/bin/sh" and the file: for a text file without "#!"
			    */
	char **env;        /* NULL-terminated, borrowed strings */
	const char *search;
	char *tmp_dir; /* of a session without a mount namespace */
	char *tmp_env; /* its TMPDIR entry */
	unsigned long namespaces;
	uid_t uid;
	gid_t gid;
	bool background; /* of the terminal on standard input */
	int sock;        /* the child's end of launch.init_sock */
	int gate;        /* the child's end of launch.gate_fd */
};

/* On the gate: error 0 says that the agent waits, anything else that a step failed. */
struct gate_message {
	int32_t error;
	char what[256];
};

/* The terminal comes over the socket of init as the first message, before the gate says anything.
 */
#define INIT_TERMINAL 1000u

/* Tells the gate what failed and ends the calling process. */
_Noreturn void start_fail(int gate, int error, const char *step, const char *what);

/* init.c: process 1 of the session, from its fork to its end. */
_Noreturn void init_run(struct start *start);

/* agent.c: the agent's process, from its fork to its exec. TERMINAL is the slave of its own
 * terminal, or -1; INIT_PID is the parent's pid as the child must see it. */
_Noreturn void agent_run(struct start *start, int terminal, pid_t init_pid);

#endif
