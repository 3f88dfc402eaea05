/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_BROKER_SESSION_LOOP_H
#define SUPERVISORD_BROKER_SESSION_LOOP_H

/* The main thread while the agent runs: init's messages, agentctl's, the daemon's wish to stop, the
 * time limit, signals. Ends when the agent has ended or was made to. */

#include "supervisord/broker/broker.h"

struct session_end {
	int wait_status; /* of the agent, as from waitpid(2) */
	int exec_errno;  /* not 0: the agent's command could not be executed */
	const char *why; /* static: why the session was ended from outside; NULL = the agent ended
			    by itself */
};

void session_loop(struct broker *broker, int run_fd, struct session_end *end);

#endif
