/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_CLIENT_WATCH_H
#define SUPERVISORD_CLIENT_WATCH_H

/* The daemon's signals for a program with a poll(2) loop of its own. Not thread-safe. */

#include <poll.h>

#include "supervisord/client/client.h"

/* Called for each signal of BUS_CONTROL with its JSON payload (borrowed). */
typedef void (*client_signal_fn)(void *userdata, const char *signal, json_t *payload);

struct client_watch {
	struct client *client;
	client_signal_fn fn;
	void *userdata;
	sd_bus_slot *slot;
};

/* Starts watching CLIENT (borrowed, must live longer). 0 or -errno. */
int client_watch_start(struct client_watch *watch, struct client *client, client_signal_fn fn,
	void *userdata) _must_use_;
void client_watch_stop(struct client_watch *watch);

/* What to poll for, and how long at most in milliseconds (-1 = no limit). 0 or -errno. */
int client_watch_prepare(
	struct client_watch *watch, struct pollfd *pollfd, int *timeout_msp) _must_use_;
/* Handles everything that has come. 0; -ECONNRESET when the daemon is gone. */
int client_watch_process(struct client_watch *watch) _must_use_;
/* What a RequestClosed signal says, as a line for people; raw, to be escaped by the caller. NULL
 * when out of memory. */
char *client_closed_text(const json_t *closed);

#endif
