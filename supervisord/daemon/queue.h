/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_DAEMON_QUEUE_H
#define SUPERVISORD_DAEMON_QUEUE_H

/* Requests that wait for a person. Identical ones of one session are one row with several waiters,
 * and one answer answers them all. Pure data: no bus, no clock, no log; asks.c drives it.
 *
 * MUST: 1 the first answer wins; 2 an answer counts only with the fingerprint of what was shown;
 * 3 only what the rule offers can be answered; 4 nothing here ever turns into "allowed" by itself.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "supervisord/daemon/rule.h"
#include "supervisord/proto/request.h"

#define QUEUE_MAX 16384         /* rows */
#define QUEUE_WAITERS_MAX 65536 /* asks over all rows */
/* Bytes of all rows as they are shown: one message must hold them (sd-bus: 128 MiB), or nobody
 * could answer any. A session gets half. */
#define QUEUE_BYTES_MAX (96u * 1024 * 1024)
#define QUEUE_ID_MAX 12
#define QUEUE_CLOSED_MAX 1024
#define QUEUE_BUCKETS 4096
#define SESSION_ID_MAX 16

enum pending_state {
	PENDING_RECORDING, /* its ask record is not durable yet: not shown */
	PENDING_OPEN,
	PENDING_CLOSING, /* decided; the record of that is not durable yet */
};

enum outcome {
	OUTCOME_ALLOWED,
	OUTCOME_DENIED,
	OUTCOME_TIMEOUT,
	OUTCOME_WITHDRAWN,
	_OUTCOME_N,
};

const char *outcome_name(enum outcome outcome);

struct waiter {
	struct waiter *next; /* pending.waiters */
	uint64_t ask;        /* the broker's serial */
	void *reply;         /* opaque; freed by queue.free_reply */
};

struct pending {
	struct pending *prev, *next; /* queue.first */
	struct pending *hash_next;   /* queue.buckets, while not closing */
	char id[QUEUE_ID_MAX];
	char session[SESSION_ID_MAX];
	struct request *request;
	struct rule *rule;
	uint8_t policy_digest[32];
	uint8_t key[32]; /* of identical requests */
	uint8_t fingerprint[32];
	uint64_t created_usec; /* boottime */
	uint64_t created_realtime_usec;
	uint64_t shown_usec;    /* boottime; 0 = not yet */
	uint64_t deadline_usec; /* boottime */
	enum pending_state state;
	struct waiter *waiters;
	size_t n_waiters;
	size_t bytes;

	/* The answer, from closing on */
	enum outcome outcome;
	char *by; /* who decided, for people */
	enum grant_duration duration;
	uint64_t span_usec;
	enum grant_scope scope;
	char *note;
};

struct closed_entry {
	char id[QUEUE_ID_MAX];
	enum outcome outcome;
	char by[96];
};

struct queue {
	struct pending *first, *last;
	struct pending *buckets[QUEUE_BUCKETS];
	size_t n_pending, n_waiters, bytes;
	struct closed_entry closed[QUEUE_CLOSED_MAX];
	size_t n_closed; /* ever; the ring's next place is n_closed % MAX */
	void (*free_reply)(void *reply);
};

enum {
	QUEUE_E_COALESCED = 1, /* one more waiter on an existing row */
	QUEUE_E_FULL = 2,
	QUEUE_E_UNKNOWN = 3,
	QUEUE_E_AMBIGUOUS = 4,
	QUEUE_E_CLOSED = 5,
	QUEUE_E_STALE = 6,
	QUEUE_E_NOT_OFFERED = 7,
};

void queue_init(struct queue *queue, void (*free_reply)(void *reply));
/* Frees every row and waiter; idempotent. */
void queue_deinit(struct queue *queue);

struct queue_ask {
	const char *session;
	struct request *request; /* taken on 0, borrowed otherwise */
	struct rule *rule;       /* taken on 0, borrowed otherwise */
	uint8_t policy_digest[32];
	uint64_t ask;
	uint64_t timeout_usec;
	size_t bytes; /* pending_shown_size() */
	void *reply;  /* taken on 0 and QUEUE_E_COALESCED */
};

/* The key under which identical requests of a session meet. REQUEST has its session. */
void queue_key(const struct request *request, const struct rule *rule,
	const uint8_t policy_digest[32], uint8_t out[32]);

/* Adds an ask at NOW_USEC (boottime). *PENDINGP is the row. 0 = a new row in state RECORDING;
 * QUEUE_E_COALESCED; QUEUE_E_FULL; -ENOMEM. */
int queue_add(struct queue *queue, struct queue_ask *ask, uint64_t now_usec,
	uint64_t now_realtime_usec, struct pending **pendingp) _must_use_;

/* The row whose id begins with PREFIX, among those shown. 0; QUEUE_E_UNKNOWN; QUEUE_E_AMBIGUOUS;
 * QUEUE_E_CLOSED with *CLOSEDP (borrowed until the next change). */
int queue_find(struct queue *queue, const char *prefix, struct pending **pendingp,
	const struct closed_entry **closedp) _must_use_;
/* The row with exactly this id, in any state; NULL when there is none. */
struct pending *queue_get(struct queue *queue, const char *id);

/* Is the answer one that the rule offers, to what is there now? Denials need no offer. FINGERPRINT
 * is what the person's program showed. 0; QUEUE_E_STALE; QUEUE_E_NOT_OFFERED. */
int pending_check_answer(const struct pending *pending, bool allow, enum grant_duration duration,
	uint64_t span_usec, enum grant_scope scope, const uint8_t fingerprint[32]) _must_use_;

/* The row is decided: nobody else can, no further ask joins it. BY is copied (cut). It stays until
 * queue_remove. */
void queue_close(
	struct queue *queue, struct pending *pending, enum outcome outcome, const char *by);
/* What the broker is told beside the answer; copied. NULL = nothing. */
void pending_set_note(struct pending *pending, const char *note);
/* Takes the first waiter off; NULL when there is none. The caller owns it. */
struct waiter *queue_take_waiter(struct queue *queue, struct pending *pending);
void queue_free_waiter(struct queue *queue, struct waiter *waiter);
/* Unlinks and frees the row with all waiters left. */
void queue_remove(struct queue *queue, struct pending *pending);

/* Removes one waiter. *PENDINGP is its row. 0 or QUEUE_E_UNKNOWN. */
int queue_withdraw(struct queue *queue, const char *session, uint64_t ask,
	struct pending **pendingp) _must_use_;

/* The earliest deadline of rows that are not closing; UINT64_MAX = none. */
uint64_t queue_next_deadline(const struct queue *queue);
/* A row that is not closing and whose deadline is at or before NOW_USEC, or NULL. */
struct pending *queue_next_expired(struct queue *queue, uint64_t now_usec);

/* At most how many bytes pending_to_json() takes as text, in any state of the row. AGENT may be
 * NULL. */
size_t pending_shown_size(
	const struct request *request, const struct rule *rule, const char *agent);
/* What lists and prompts show. New reference or NULL. AGENT may be NULL. */
json_t *pending_to_json(const struct pending *pending, const char *agent, uint64_t now_usec,
	uint64_t now_realtime_usec);

#endif
