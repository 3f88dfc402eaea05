/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_BROKER_LINK_STATE_H
#define SUPERVISORD_BROKER_LINK_STATE_H

/* Inside of the link: what its parts share. link.c is the workers' side, link_thread.c the thread
 * with the connection, link_records.c the way of records. */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-bus.h>

#include "supervisord/base/clock.h"
#include "supervisord/broker/link.h"
#include "supervisord/broker/spool.h"
#include "supervisord/client/client.h"

#define LINK_GRACE_USEC (5 * USEC_PER_SEC)
#define LINK_RETRY_USEC USEC_PER_SEC
#define LINK_CALL_USEC (10 * USEC_PER_SEC)
#define LINK_RECORDS_MAX 65536
#define LINK_RECORDS_MANY 4096 /* then those who add more wait a while for the daemon */
#define LINK_RECORDS_WAIT_USEC (5 * USEC_PER_SEC)
#define LINK_BATCH_MAX 256
#define LINK_BATCH_BYTES (1024u * 1024)
#define LINK_BATCHES_MAX 32
#define LINK_GROUP_RECORDS 64
#define LINK_GROUP_USEC (50 * USEC_PER_MSEC)
#define LINK_GRANTS_MAX 1024

enum link_ask_state {
	LINK_ASK_NEW, /* to be sent, or sent again after a reconnect */
	LINK_ASK_SENT,
	LINK_ASK_DONE,
};

struct link_ask {
	struct link_ask *next; /* link.asks */
	struct link *link;
	uint64_t serial;
	uint64_t timeout_usec;
	char *text; /* the parameter */
	enum link_ask_state state;
	bool released; /* the worker does not look any more: the thread frees it */
	sd_bus_slot *slot;
	struct link_result result;
};

/* Where a worker waits until its record is durable. On the worker's stack. */
struct link_gate {
	bool done;
	int r;
};

struct link_item {
	struct link_item *next; /* link.items */
	char *text;
	size_t size;
	uint64_t n;
	uint64_t queued_usec;   /* monotonic */
	struct link_gate *gate; /* NULL = nobody waits */
};

struct link_batch {
	struct link_batch *next; /* link.batches */
	struct link *link;
	uint64_t last_n; /* 0 = lines of the spool */
	uint64_t offset; /* of the spool, behind these lines */
	sd_bus_slot *slot;
};

enum link_mode {
	LINK_DIRECT,   /* records go to the daemon */
	LINK_SPOOLING, /* no daemon, or it cannot persist: they go to the spool */
	LINK_REPLAYING /* the spool goes to the daemon, new records wait */
};

enum link_end_state {
	LINK_END_NONE,
	LINK_END_WANTED,
	LINK_END_SENT,
	LINK_END_SPOOL,
	LINK_END_DONE
};

struct link {
	char *control;
	char session[32];
	uint64_t index; /* of session.start */
	json_t *spec;   /* thread only, after the start */
	char policy_digest[65], plan_digest[65];
	int wake_fd, stop_fd;
	pthread_t thread;
	bool has_thread;

	pthread_mutex_t lock;
	pthread_cond_t changed; /* an ask, a gate or the end is done */
	/* Under the lock */
	bool quit, closed;
	struct link_ask *asks;
	uint64_t next_ask;
	struct link_item *items, *items_last;
	struct link_item
		*unsent; /* the first of items that was not sent; those behind it neither */
	size_t n_items, n_unsent;
	size_t n_gated; /* of the unsent, those that somebody waits for */
	uint64_t next_n;
	uint64_t n_lost;
	struct grant *grants[LINK_GRANTS_MAX];
	size_t n_grants;
	enum link_end_state end_state;
	char *end_status; /* JSON text */
	int end_result;

	/* Of the thread */
	struct client *client;
	sd_bus *bus; /* borrowed from client; NULL = not connected */
	bool lost;   /* the connection broke while it was processed */
	bool warned;
	uint64_t lost_usec;     /* monotonic, when the connection broke */
	uint64_t next_try_usec; /* monotonic, for connecting and for replaying */
	enum link_mode mode;
	struct spool *spool;
	uint64_t spool_offset;
	struct link_batch *batches;
	size_t n_batches;
	sd_bus_slot *end_slot;
};

/* link.c */
void link_wake(struct link *link);
void link_ask_free(struct link_ask *ask);
/* With the lock held: adds a copy-free grant (taken). */
void link_grant_add(struct link *link, struct grant *grant);
void link_grant_remove(struct link *link, const char *id);
/* With the lock held: queues the record TEXT (copied; an object that has members) with its serial.
 */
int link_item_add(struct link *link, const char *text, struct link_gate *gate) _must_use_;

/* link_thread.c */
void *link_thread_main(void *userdata);
/* Connects and registers; RESUME = the session that exists. 0, -EREMOTEIO with *MESSAGEP, -errno.
 */
int link_thread_connect(struct link *link, bool resume, char **messagep) _must_use_;
void link_thread_disconnect(struct link *link);
/* A call without waiting; FN may be NULL. */
int link_thread_call(struct link *link, sd_bus_slot **slotp, const char *method, const char *text,
	sd_bus_message_handler_t fn, void *userdata, uint64_t timeout_usec) _must_use_;

/* link_records.c */
/* Sends, spools or replays what is due. */
void link_records_step(struct link *link);
/* Puts every record that nobody has yet into the spool, unless answers are still to come. */
void link_records_spool(struct link *link);
/* Is there a record that was not sent? */
bool link_records_unsent(const struct link *link);
/* Forgets what is under way: all unanswered records are to be sent or spooled again. */
void link_records_reset(struct link *link);
/* When the next step is due by time (monotonic); UINT64_MAX = not. With the lock held. */
uint64_t link_records_due(const struct link *link);
/* Frees items and batches. */
void link_records_deinit(struct link *link);

#endif
