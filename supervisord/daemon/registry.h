/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_DAEMON_REGISTRY_H
#define SUPERVISORD_DAEMON_REGISTRY_H

/* The life of a session: registered, running, detached (its broker lives without a connection),
 * ended or lost. The list of living sessions is also in the runtime folder, so that the next daemon
 * knows from its first moment whose processes are inside a session. */

#include "supervisord/daemon/control.h"
#include "supervisord/daemon/daemon.h"

/* Methods Register and End of BUS_BROKER; see proto/bus.h. */
int registry_register(struct connection *connection, sd_bus_message *message, json_t *parameter);
int registry_end(struct connection *connection, sd_bus_message *message, json_t *parameter);

/* The connection of this session's broker is gone: its asks are withdrawn; it is lost when the
 * broker is gone too. */
void registry_disconnected(struct daemon *daemon, struct session *session);

/* Writes down which sessions live, for a later daemon. 0 or -errno, said in the log. */
int registry_save(struct daemon *daemon);

/* Takes over the sessions of an earlier daemon: brokers that live are waited for, the others are
 * lost. Replays spool files. */
void registry_take_over(struct daemon *daemon);

#endif
