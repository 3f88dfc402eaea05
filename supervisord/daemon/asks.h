/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_DAEMON_ASKS_H
#define SUPERVISORD_DAEMON_ASKS_H

/* The way of an ask: arrives, is recorded, is shown, is decided (or times out, or is withdrawn),
 * that is recorded, is answered. Joins queue, log, grants and connections.
 *
 * MUST: 1 nothing is shown before its ask record is durable; 2 nothing is allowed before its
 * approval record is durable; 3 every failure on the way is a denial. */

#include "supervisord/daemon/control.h"
#include "supervisord/daemon/daemon.h"

/* Releases what the queue keeps for a waiter (a message). */
void asks_free_reply(void *reply);

/* Methods Ask and Withdraw of BUS_BROKER, Decide of BUS_CONTROL; see proto/bus.h. */
int asks_submit(struct connection *connection, sd_bus_message *message, json_t *parameter);
int asks_withdraw(struct connection *connection, sd_bus_message *message, json_t *parameter);
int asks_decide(struct connection *connection, sd_bus_message *message, json_t *parameter);

/* Withdraws every ask of a session. */
void asks_withdraw_session(struct daemon *daemon, const char *session);
/* Denies everything that waits: the daemon stops. */
void asks_deny_all(struct daemon *daemon, const char *by);
/* The deadline timer fired. */
int asks_on_deadline(sd_event_source *source, uint64_t usec, void *userdata);

/* Array of what is shown now. New reference. */
json_t *asks_to_json(struct daemon *daemon);
size_t asks_count(const struct daemon *daemon, const char *session);

/* Answers all waiters of a closed row and removes it. GRANT (borrowed) is the standing answer, or
 * NULL. */
void asks_finish(struct daemon *daemon, struct pending *pending, const struct grant *grant);

#endif
