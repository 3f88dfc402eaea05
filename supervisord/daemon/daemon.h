/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_DAEMON_DAEMON_H
#define SUPERVISORD_DAEMON_DAEMON_H

/* The daemon as a whole: what main() starts and what the parts share. One thread, one sd-event
 * loop. */

#include <stdbool.h>
#include <systemd/sd-event.h>

#include "supervisord/base/dirs.h"
#include "supervisord/daemon/audit_sink.h"
#include "supervisord/daemon/queue.h"
#include "supervisord/daemon/sessions.h"

struct control;

struct daemon {
	sd_event *event;
	struct dirs dirs;
	int runtime_fd;
	int starting_fd; /* lock: held while starting or stopping */
	int running_fd;  /* lock: held as long as we live */
	struct audit_sink *sink;
	struct control *control;
	struct sessions sessions;
	struct queue queue;
	struct denials past_denials; /* of sessions that ended */
	sd_event_source *deadline_source;
	uint64_t deadline_usec; /* what deadline_source is armed for; UINT64_MAX = not */
	uint64_t started_usec;  /* realtime */
	bool stopping;
	bool activated;             /* the socket is an activator's */
	uint64_t control_ino;       /* of our own socket's file */
	unsigned n_refused_records; /* peer.refused in this minute */
	uint64_t refused_minute;
	uint64_t n_refused_suppressed;
};

enum {
	DAEMON_E_RUNNING = 1, /* another daemon of this user has the socket */
};

/* Locks, opens the log, takes over what an earlier daemon left, listens. After 0 the daemon is
 * ready. DAEMON_E_RUNNING; -errno with a message in the program's log. */
int daemon_new(struct daemon **daemonp) _must_use_;
/* Runs until daemon_stop. 0 or -errno. */
int daemon_run(struct daemon *daemon) _must_use_;
/* Ends asks as denied, says good-bye, ends the loop after what is under way. */
void daemon_stop(struct daemon *daemon);
void daemon_free(struct daemon *daemon);
DEFINE_CLEANUP(struct daemon *, daemon_free);

#endif
