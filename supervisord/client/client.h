/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_CLIENT_CLIENT_H
#define SUPERVISORD_CLIENT_CLIENT_H

/* Client of the control socket, for agentctl, agent-tui and the broker's link. Not thread-safe. */

#include <systemd/sd-bus.h>

#include "supervisord/base/json.h"

struct client;

/* What went wrong on the daemon's side, for people. */
struct client_error {
	char name[96];     /* BUS_ERROR_* or another D-Bus error name; "" = none */
	char message[512]; /* escaped */
};

/* Connects to the socket PATH. -ENOENT or -ECONNREFUSED: no daemon there. -EPERM: the socket or its
 * folder belongs to another user. */
int client_connect(const char *path, struct client **clientp) _must_use_;
void client_close(struct client *client);
DEFINE_CLEANUP(struct client *, client_close);

/* Starts agent-supervisord (found beside the running program) detached, waits for READY=1 or its
 * exit, and connects. A daemon that is already there is used. 0 or -errno. */
int client_connect_or_start(const char *path, struct client **clientp) _must_use_;

/* Calls METHOD of INTERFACE with PARAMETER (borrowed; NULL = no argument) and waits. *RESULTP is a
 * new reference. 0; -EREMOTEIO when the daemon refused (see *ERROR); -ECONNRESET when it is gone.
 */
int client_call(struct client *client, const char *interface, const char *method, json_t *parameter,
	json_t **resultp, struct client_error *error) _must_use_;

/* The connection, for signals, asynchronous calls and event loops. Borrowed. */
sd_bus *client_bus(struct client *client);

#endif
