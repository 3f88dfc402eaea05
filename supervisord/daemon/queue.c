/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "supervisord/daemon/queue.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "supervisord/base/error.h"

/* No vowels: no words; no 0, 1, l. */
static const char id_alphabet[] = "23456789bcdfghjkmnpqrstvwxz";
#define ID_LENGTH 6
/* By these letters alone no two rows are mixed up, not even one that is gone with one that came in
 * its place: it is what "agentctl allow" takes at least. */
#define ID_DISTINCT 4

const char *outcome_name(enum outcome outcome)
{
	static const char *const names[_OUTCOME_N] = {
		[OUTCOME_ALLOWED] = "allowed",
		[OUTCOME_DENIED] = "denied",
		[OUTCOME_TIMEOUT] = "timeout",
		[OUTCOME_WITHDRAWN] = "withdrawn",
	};

	return outcome < _OUTCOME_N ? names[outcome] : "?";
}

void queue_init(struct queue *queue, void (*free_reply)(void *reply))
{
	memset(queue, 0, sizeof(*queue));
	queue->free_reply = free_reply;
}

void queue_deinit(struct queue *queue)
{
	while (queue->first)
		queue_remove(queue, queue->first);
}

void queue_key(const struct request *request, const struct rule *rule,
	const uint8_t policy_digest[32], uint8_t out[32])
{
	request_fingerprint(request, "", rule->id, policy_digest, out);
}

static struct pending **bucket_of(struct queue *queue, const uint8_t key[32])
{
	size_t n = ((size_t)key[0] << 8) | key[1];

	return &queue->buckets[n % QUEUE_BUCKETS];
}

static struct pending *find_same(
	struct queue *queue, const struct queue_ask *ask, const uint8_t key[32])
{
	for (struct pending *p = *bucket_of(queue, key); p; p = p->hash_next)
		if (!memcmp(p->key, key, sizeof(p->key)) && !strcmp(p->session, ask->session) &&
			request_same(p->request, ask->request))
			return p;
	return NULL;
}

static bool id_is_used(const struct queue *queue, const char *id)
{
	for (const struct pending *p = queue->first; p; p = p->next)
		if (!strncmp(p->id, id, ID_DISTINCT))
			return true;
	for (size_t i = 0; i < QUEUE_CLOSED_MAX; i++)
		if (!strncmp(queue->closed[i].id, id, ID_DISTINCT))
			return true;
	return false;
}

static int make_id(struct queue *queue, char id[QUEUE_ID_MAX])
{
	for (unsigned tries = 0; tries < 16; tries++) {
		uint8_t random[ID_LENGTH];

		if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
			return err_trace(err_errno());
		for (size_t i = 0; i < ID_LENGTH; i++)
			id[i] = id_alphabet[random[i] % (sizeof(id_alphabet) - 1)];
		id[ID_LENGTH] = '\0';
		if (!id_is_used(queue, id))
			return 0;
	}
	return err_trace(-EAGAIN);
}

static struct waiter *new_waiter(const struct queue_ask *ask)
{
	struct waiter *waiter = calloc(1, sizeof(*waiter));

	if (!waiter)
		return NULL;
	waiter->ask = ask->ask;
	waiter->reply = ask->reply;
	return waiter;
}

static void link_waiter(struct queue *queue, struct pending *pending, struct waiter *waiter)
{
	waiter->next = pending->waiters;
	pending->waiters = waiter;
	pending->n_waiters++;
	queue->n_waiters++;
}

static struct pending *new_pending(struct queue *queue, const struct queue_ask *ask)
{
	struct pending *pending = calloc(1, sizeof(*pending));

	if (!pending)
		return NULL;
	if (make_id(queue, pending->id) < 0) {
		free(pending);
		return NULL;
	}
	(void)snprintf(pending->session, sizeof(pending->session), "%s", ask->session);
	memcpy(pending->policy_digest, ask->policy_digest, sizeof(pending->policy_digest));
	pending->request = ask->request;
	pending->rule = ask->rule;
	pending->bytes = ask->bytes;
	return pending;
}

static void link_pending(struct queue *queue, struct pending *pending)
{
	struct pending **bucket = bucket_of(queue, pending->key);

	pending->prev = queue->last;
	if (queue->last)
		queue->last->next = pending;
	else
		queue->first = pending;
	queue->last = pending;
	pending->hash_next = *bucket;
	*bucket = pending;
	queue->n_pending++;
	queue->bytes += pending->bytes;
}

static void unhash(struct queue *queue, struct pending *pending)
{
	for (struct pending **p = bucket_of(queue, pending->key); *p; p = &(*p)->hash_next) {
		if (*p == pending) {
			*p = pending->hash_next;
			pending->hash_next = NULL;
			return;
		}
	}
}

static uint64_t clamp_timeout(uint64_t usec)
{
	if (usec < RULE_TIMEOUT_MIN_USEC)
		return RULE_TIMEOUT_MIN_USEC;
	return usec > RULE_TIMEOUT_MAX_USEC ? RULE_TIMEOUT_MAX_USEC : usec;
}

static bool is_full(const struct queue *queue, const struct queue_ask *ask)
{
	size_t of_session = ask->bytes;

	if (queue->n_pending >= QUEUE_MAX || ask->bytes > QUEUE_BYTES_MAX - queue->bytes)
		return true;
	if (queue->bytes + ask->bytes <= QUEUE_BYTES_MAX / 2)
		return false;
	for (const struct pending *p = queue->first; p; p = p->next)
		if (!strcmp(p->session, ask->session))
			of_session += p->bytes;
	return of_session > QUEUE_BYTES_MAX / 2;
}

int queue_add(struct queue *queue, struct queue_ask *ask, uint64_t now_usec,
	uint64_t now_realtime_usec, struct pending **pendingp)
{
	struct pending *pending;
	struct waiter *waiter;
	uint8_t key[32];

	if (queue->n_waiters >= QUEUE_WAITERS_MAX)
		return QUEUE_E_FULL;
	queue_key(ask->request, ask->rule, ask->policy_digest, key);
	pending = find_same(queue, ask, key);
	if (!pending && is_full(queue, ask))
		return QUEUE_E_FULL;
	waiter = new_waiter(ask);
	if (!waiter)
		return err_trace(-ENOMEM);
	if (pending) {
		link_waiter(queue, pending, waiter);
		*pendingp = pending;
		return QUEUE_E_COALESCED;
	}
	pending = new_pending(queue, ask);
	if (!pending) {
		free(waiter);
		return err_trace(-ENOMEM);
	}
	link_waiter(queue, pending, waiter);
	memcpy(pending->key, key, sizeof(key));
	pending->created_usec = now_usec;
	pending->created_realtime_usec = now_realtime_usec;
	pending->deadline_usec = now_usec + clamp_timeout(ask->timeout_usec);
	request_fingerprint(pending->request, pending->id, pending->rule->id,
		pending->policy_digest, pending->fingerprint);
	link_pending(queue, pending);
	*pendingp = pending;
	return 0;
}

struct pending *queue_get(struct queue *queue, const char *id)
{
	for (struct pending *p = queue->first; p; p = p->next)
		if (!strcmp(p->id, id))
			return p;
	return NULL;
}

static int find_closed(struct queue *queue, const char *prefix, const struct closed_entry **closedp)
{
	size_t n = queue->n_closed < QUEUE_CLOSED_MAX ? queue->n_closed : QUEUE_CLOSED_MAX;

	/* Of rows that are gone, one letter says nothing. */
	if (strlen(prefix) < ID_LENGTH / 2)
		return QUEUE_E_UNKNOWN;
	for (size_t i = 0; i < n; i++) {
		if (!strncmp(queue->closed[i].id, prefix, strlen(prefix))) {
			*closedp = &queue->closed[i];
			return QUEUE_E_CLOSED;
		}
	}
	return QUEUE_E_UNKNOWN;
}

int queue_find(struct queue *queue, const char *prefix, struct pending **pendingp,
	const struct closed_entry **closedp)
{
	struct pending *found = NULL;

	if (!*prefix)
		return QUEUE_E_UNKNOWN;
	for (struct pending *p = queue->first; p; p = p->next) {
		if (p->state != PENDING_OPEN || strncmp(p->id, prefix, strlen(prefix)) != 0)
			continue;
		if (found)
			return QUEUE_E_AMBIGUOUS;
		found = p;
	}
	if (!found)
		return find_closed(queue, prefix, closedp);
	*pendingp = found;
	return 0;
}

int pending_check_answer(const struct pending *pending, bool allow, enum grant_duration duration,
	uint64_t span_usec, enum grant_scope scope, const uint8_t fingerprint[32])
{
	unsigned durations = pending->rule->durations | (1u << GRANT_ONCE);

	if (memcmp(fingerprint, pending->fingerprint, sizeof(pending->fingerprint)) != 0)
		return QUEUE_E_STALE;
	if (!allow)
		return duration == GRANT_ONCE || duration == GRANT_SESSION ? 0
									   : QUEUE_E_NOT_OFFERED;
	if (!(durations & (1u << duration)))
		return QUEUE_E_NOT_OFFERED;
	if (duration == GRANT_SPAN && !rule_offers_span(pending->rule, span_usec))
		return QUEUE_E_NOT_OFFERED;
	if (!(rule_scopes(pending->rule, pending->request) & (1u << scope)))
		return QUEUE_E_NOT_OFFERED;
	return 0;
}

void queue_close(struct queue *queue, struct pending *pending, enum outcome outcome, const char *by)
{
	struct closed_entry *entry = &queue->closed[queue->n_closed++ % QUEUE_CLOSED_MAX];

	unhash(queue, pending);
	pending->state = PENDING_CLOSING;
	pending->outcome = outcome;
	free(pending->by);
	pending->by = strdup(by);
	(void)snprintf(entry->id, sizeof(entry->id), "%s", pending->id);
	(void)snprintf(entry->by, sizeof(entry->by), "%s", by);
	entry->outcome = outcome;
}

void pending_set_note(struct pending *pending, const char *note)
{
	free(pending->note);
	pending->note = note ? strdup(note) : NULL;
}

struct waiter *queue_take_waiter(struct queue *queue, struct pending *pending)
{
	struct waiter *waiter = pending->waiters;

	if (!waiter)
		return NULL;
	pending->waiters = waiter->next;
	pending->n_waiters--;
	queue->n_waiters--;
	return waiter;
}

void queue_free_waiter(struct queue *queue, struct waiter *waiter)
{
	if (waiter->reply && queue->free_reply)
		queue->free_reply(waiter->reply);
	free(waiter);
}

void queue_remove(struct queue *queue, struct pending *pending)
{
	struct waiter *waiter;

	while ((waiter = queue_take_waiter(queue, pending)))
		queue_free_waiter(queue, waiter);
	unhash(queue, pending);
	if (pending->prev)
		pending->prev->next = pending->next;
	else
		queue->first = pending->next;
	if (pending->next)
		pending->next->prev = pending->prev;
	else
		queue->last = pending->prev;
	queue->n_pending--;
	queue->bytes -= pending->bytes;
	request_free(pending->request);
	rule_free(pending->rule);
	free(pending->by);
	free(pending->note);
	free(pending);
}

int queue_withdraw(
	struct queue *queue, const char *session, uint64_t ask, struct pending **pendingp)
{
	for (struct pending *p = queue->first; p; p = p->next) {
		if (strcmp(p->session, session) != 0)
			continue;
		for (struct waiter **w = &p->waiters; *w; w = &(*w)->next) {
			struct waiter *waiter = *w;

			if (waiter->ask != ask)
				continue;
			*w = waiter->next;
			p->n_waiters--;
			queue->n_waiters--;
			queue_free_waiter(queue, waiter);
			*pendingp = p;
			return 0;
		}
	}
	return QUEUE_E_UNKNOWN;
}

uint64_t queue_next_deadline(const struct queue *queue)
{
	uint64_t next = UINT64_MAX;

	for (const struct pending *p = queue->first; p; p = p->next)
		if (p->state != PENDING_CLOSING && p->deadline_usec < next)
			next = p->deadline_usec;
	return next;
}

struct pending *queue_next_expired(struct queue *queue, uint64_t now_usec)
{
	for (struct pending *p = queue->first; p; p = p->next)
		if (p->state != PENDING_CLOSING && p->deadline_usec <= now_usec)
			return p;
	return NULL;
}
