/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_DAEMON_CONTROL_H
#define SUPERVISORD_DAEMON_CONTROL_H

/* The control socket: who may connect, how a message becomes a call of a method, signals to
 * everybody.
 *
 * MUST: 1 identity is judged when a connection is made and again before every method that changes
 * anything; 2 order is always size, decoding, validation, act; 3 a method is known from a table
 * with what it needs, or it is refused; 4 a connection that does not read is dropped, never waited
 * for. */

#include <stdbool.h>
#include <systemd/sd-bus.h>

#include "supervisord/base/json.h"
#include "supervisord/daemon/daemon.h"
#include "supervisord/daemon/peer.h"

#define CONNECTIONS_MAX 512

struct connection {
	struct connection *prev, *next; /* control.first */
	struct daemon *daemon;
	sd_bus *bus;
	sd_bus_slot *filter;
	struct peer peer;
	enum peer_verdict verdict; /* when it connected */
	struct session *session;   /* as its broker; borrowed */
	bool refusal_recorded;
	size_t unread_bytes; /* of signals since its queue was empty, at most */
	bool dead;           /* in control.dead */
};

/* Takes the listening socket LISTEN_FD. 0 or -errno. */
int control_new(struct daemon *daemon, int listen_fd, struct control **controlp) _must_use_;
void control_free(struct control *control);
DEFINE_CLEANUP(struct control *, control_free);

/* Makes and binds the socket "control" in the folder RUNTIME (its name and descriptor); a socket
 * file of a daemon that is gone is replaced. *FDP is owned by the caller. 0 or -errno. */
int control_listen(const char *path, int runtime_fd, int *fdp) _must_use_;

/* Takes the listening socket LISTEN_FD in place of the one before. 0 or -errno. */
int control_set_socket(struct control *control, int listen_fd) _must_use_;

/* Sends a signal of BUS_CONTROL to every program of people. PAYLOAD is borrowed. */
void control_emit(struct control *control, const char *member, json_t *payload);
/* Sends a signal of BUS_BROKER to one broker. */
int control_emit_broker(struct connection *connection, const char *member, const char *text);
/* Writes out what is queued, as far as the other ends take it at once. */
void control_flush(struct control *control);

/* Answers. JSON is borrowed. 0 or -errno (the connection may be gone). */
int control_reply(sd_bus_message *message, json_t *json);
int control_refuse(sd_bus_message *message, const char *error, const char *format, ...)
	_printf_(3, 4);

enum method_flag {
	METHOD_CHANGES = 1 << 0,  /* the caller is judged again */
	METHOD_REGISTER = 1 << 1, /* only from a connection that is no broker yet */
	METHOD_BROKER = 1 << 2,   /* only from a session's broker */
	METHOD_BARE = 1 << 3,     /* may come without a parameter */
};

/* PARAMETER is an object, borrowed; an empty one where there was none. The method answers MESSAGE
 * now or later. A negative result is answered by the caller. */
typedef int (*method_fn)(struct connection *connection, sd_bus_message *message, json_t *parameter);

struct method {
	const char *interface, *name;
	unsigned flags;
	method_fn fn;
};

/* The tables, ended by an entry without name. */
extern const struct method methods_control[];
extern const struct method methods_broker[];

#endif
