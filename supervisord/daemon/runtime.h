/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_DAEMON_RUNTIME_H
#define SUPERVISORD_DAEMON_RUNTIME_H

/* The runtime folder: the locks by which there is one daemon, the socket by which it is reached,
 * and the way back when somebody takes them away. The end of a person's last login removes the
 * whole folder, while sessions in a terminal multiplexer go on: their requests must be answerable
 * after the next login. */

#include "supervisord/base/cleanup.h"

struct daemon;

/* Opens the folder and takes both locks. DAEMON_E_RUNNING; -errno with a message in the log. */
int runtime_enter(struct daemon *daemon) _must_use_;
/* Makes the socket, or takes the one that an activator made. *FDP is owned by the caller. */
int runtime_listen(struct daemon *daemon, int *fdp) _must_use_;
/* The socket answers: who waited to start may look. 0 or -errno. */
int runtime_started(struct daemon *daemon) _must_use_;
/* Looks from time to time whether the way in is still there. 0 or -errno. */
int runtime_watch(struct daemon *daemon) _must_use_;
/* Takes the way in away; others who start wait until we are gone. */
void runtime_leave(struct daemon *daemon);

#endif
