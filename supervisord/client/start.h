/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_CLIENT_START_H
#define SUPERVISORD_CLIENT_START_H

/* Starting the daemon on demand. Internal to the client. */

#include "supervisord/base/cleanup.h"

/* Starts agent-supervisord for the control socket PATH, detached from terminal, session and
 * standard streams (errors go to daemon.log in the state folder), and returns when it is ready or
 * has found that another one is. 0; -ENOENT (the program is not there); -EHOSTDOWN (it ended
 * without becoming ready: see daemon.log); -ETIMEDOUT; -errno. */
int client_start_daemon(const char *path) _must_use_;

#endif
