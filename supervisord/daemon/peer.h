/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_DAEMON_PEER_H
#define SUPERVISORD_DAEMON_PEER_H

/* Who is at the other end of a connection, from the kernel only.
 *
 * MUST: 1 nobody of another uid, root included; 2 nobody from inside a session, whatever uid; 3 the
 * process still exists after it was looked at, so that its pid meant it all along; 4 nothing that
 * the peer says about itself counts. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "supervisord/base/cleanup.h"
#include "supervisord/daemon/sessions.h"

struct peer {
	pid_t pid;
	uid_t uid;
	gid_t gid;
	int pidfd; /* owned; -1 = none */
	uint64_t start_ticks;
	char *exe; /* raw bytes, or NULL */
};

enum peer_verdict {
	PEER_OK,
	PEER_OTHER_USER,
	PEER_INSIDE,  /* a process of a session */
	PEER_FOREIGN, /* another user or pid namespace, no session of ours */
	PEER_GONE,    /* the process that connected does not exist any more */
};

/* Fills PEER from the connected unix socket FD (borrowed). 0 or -errno. */
int peer_init(struct peer *peer, int fd) _must_use_;
void peer_deinit(struct peer *peer);

/* Judges the peer as of now against all known sessions. *SESSIONP is the session it is inside of,
 * or NULL. */
enum peer_verdict peer_judge(
	const struct peer *peer, const struct sessions *sessions, const struct session **sessionp);

const char *peer_verdict_text(enum peer_verdict verdict);

#endif
