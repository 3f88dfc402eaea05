/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef AGENTCTL_CONNECT_H
#define AGENTCTL_CONNECT_H

/* The daemon, for verbs: connect, call, and say in the person's words what went wrong. */

#include "supervisord/base/dirs.h"
#include "supervisord/client/client.h"

/* Fills DIRS or ends the program with a message. */
void connect_dirs(struct dirs *dirs);

/* Is this program itself inside a session? */
bool connect_inside_session(void);

/* Connects. 0; -ENOENT when no daemon runs (nothing is printed); other -errno after a message. */
int connect_daemon(const struct dirs *dirs, struct client **clientp) _must_use_;
/* The same, but "no daemon" is a message too. */
int connect_required(const struct dirs *dirs, struct client **clientp) _must_use_;
/* Starts the daemon where none runs. 0; -errno after a message that says why not. */
int connect_start(const struct dirs *dirs) _must_use_;

/* Prints the array that METHOD answers: as JSON, or by PRINT, or the sentence EMPTY where it has no
 * element or no daemon runs. The exit status. */
int connect_list(
	const char *method, bool json, const char *empty, void (*print)(const json_t *list));

/* Calls BUS_CONTROL's METHOD. 0 with a new reference; -errno after a message. PARAMETER (may be
 * NULL) is taken. */
int connect_call(
	struct client *client, const char *method, json_t *parameter, json_t **resultp) _must_use_;

#endif
