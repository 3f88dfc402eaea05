/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_DAEMON_SESSIONS_H
#define SUPERVISORD_DAEMON_SESSIONS_H

/* The sessions that the daemon knows, each with its broker. Data and look-ups; what happens when is
 * in registry.c. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <systemd/sd-event.h>

#include "supervisord/base/json.h"
#include "supervisord/daemon/denials.h"
#include "supervisord/daemon/grants.h"
#include "supervisord/daemon/queue.h"

#define SESSIONS_MAX 256

struct connection;

enum session_state {
	SESSION_STARTING, /* session.start is not durable yet */
	SESSION_RUNNING,
	SESSION_DETACHED, /* the broker lives but is not connected (the daemon or its link
			     restarted) */
	SESSION_ENDING,
};

struct session {
	struct session *next; /* sessions.first */
	char id[SESSION_ID_MAX];
	enum session_state state;
	pid_t broker_pid;
	uint64_t broker_start; /* ticks */
	int broker_pidfd;      /* owned */
	sd_event_source *exit_source;
	struct connection *connection; /* borrowed; NULL when detached */
	json_t *spec;                  /* the summary that the broker gave */
	char policy_digest[65], plan_digest[65];
	uint64_t index;        /* of session.start in the log */
	uint64_t started_usec; /* realtime */
	uint64_t last_n;       /* serial of the last record that is in the log */
	uint64_t n_asks, n_allows, n_denies;
	bool stop_requested;
	struct grants grants;
	struct denials denials;
};

struct sessions {
	struct session *first;
	size_t n_sessions;
};

/* A session with a fresh id where ID is NULL. Takes BROKER_PIDFD on success. SPEC is borrowed. 0,
 * -ENOMEM, -ENOSPC (too many), -EEXIST. */
int sessions_add(struct sessions *sessions, const char *id, pid_t broker_pid, uint64_t broker_start,
	int broker_pidfd, json_t *spec, struct session **sessionp) _must_use_;
void sessions_remove(struct sessions *sessions, struct session *session);
/* Frees all. */
void sessions_deinit(struct sessions *sessions);

enum {
	SESSIONS_E_UNKNOWN = 1,
	SESSIONS_E_AMBIGUOUS = 2,
};
/* By a unique prefix of the id. 0, SESSIONS_E_UNKNOWN, SESSIONS_E_AMBIGUOUS. */
int sessions_find(
	const struct sessions *sessions, const char *prefix, struct session **sessionp) _must_use_;
/* By the whole id; NULL when there is none. */
struct session *sessions_get(const struct sessions *sessions, const char *id);

/* The agent's short name; "" when unknown. Borrowed. */
const char *session_agent(const struct session *session);
/* What `agentctl ps` shows. New reference. */
json_t *session_to_json(const struct session *session, size_t n_pending);
/* Is this text an id that could be ours? */
bool session_id_is_valid(const char *id);

#endif
