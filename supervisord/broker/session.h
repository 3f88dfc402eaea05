/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_BROKER_SESSION_H
#define SUPERVISORD_BROKER_SESSION_H

/* The life of one session, from the spec to the agent's wait status, in the broker's main thread.
 */

#include "supervisord/broker/broker.h"

/* Builds policies, plan and sandbox, registers with the daemon, runs the agent, waits for its end.
 * Everything that goes wrong is told to agentctl over RUN_FD. Returns the broker's own exit status.
 */
int session_run(const struct session_spec *spec, int run_fd);

#endif
