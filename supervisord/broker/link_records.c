/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
/* The way of records: in order, each with its serial, to the daemon or to the spool; none is given
 * up before one of them has it. Everything here runs in the link's thread with the lock held, but
 * for the callbacks, which take it. */

#include <string.h>

#include "supervisord/base/buf.h"
#include "supervisord/base/error.h"
#include "supervisord/base/log.h"
#include "supervisord/broker/link_state.h"
#include "supervisord/proto/bus.h"

static void open_gate(struct link *link, struct link_item *item, int r)
{
	if (!item->gate)
		return;
	item->gate->done = true;
	item->gate->r = r;
	item->gate = NULL;
	pthread_cond_broadcast(&link->changed);
}

/* The first unsent item is under way. */
static void item_sent(struct link *link)
{
	link->n_unsent--;
	link->n_gated -= link->unsent->gate != NULL;
	link->unsent = link->unsent->next;
}

/* All items are to be sent, also those that were. */
static void unsend(struct link *link)
{
	link->unsent = link->items;
	link->n_unsent = link->n_items;
	link->n_gated = 0;
	for (const struct link_item *item = link->items; item; item = item->next)
		link->n_gated += item->gate != NULL;
}

/* Somebody has these: drop them. */
static void drop_items(struct link *link, uint64_t last_n)
{
	bool many = link->n_items >= LINK_RECORDS_MANY;

	while (link->items && link->items->n <= last_n) {
		struct link_item *item = link->items;

		if (link->unsent == item)
			item_sent(link);
		open_gate(link, item, 0);
		link->items = item->next;
		if (!link->items)
			link->items_last = NULL;
		link->n_items--;
		free(item->text);
		free(item);
	}
	if (many && link->n_items < LINK_RECORDS_MANY)
		pthread_cond_broadcast(&link->changed);
}

static void remove_batch(struct link *link, struct link_batch *batch)
{
	for (struct link_batch **b = &link->batches; *b; b = &(*b)->next) {
		if (*b != batch)
			continue;
		*b = batch->next;
		link->n_batches--;
		break;
	}
	sd_bus_slot_unref(batch->slot);
	free(batch);
}

void link_records_reset(struct link *link)
{
	while (link->batches)
		remove_batch(link, link->batches);
	unsend(link);
}

void link_records_deinit(struct link *link)
{
	link_records_reset(link);
	drop_items(link, UINT64_MAX);
}

/* The daemon cannot persist: the spool has to, until it can. */
static void begin_spooling(struct link *link)
{
	link->mode = LINK_SPOOLING;
	link->spool_offset = 0;
	link->next_try_usec = clock_monotonic_usec() + LINK_RETRY_USEC;
}

static void replayed(struct link *link, uint64_t offset)
{
	link->spool_offset = offset;
	if (!spool_is_end(link->spool, offset))
		return;
	if (spool_remove(link->spool) < 0)
		log_error("cannot remove the spool file");
	link->spool_offset = 0;
	link->mode = LINK_DIRECT;
	log_info("the records that were kept in the spool are in the log");
}

static int on_recorded(sd_bus_message *message, void *userdata, sd_bus_error *unused)
{
	struct link_batch *batch = userdata;
	struct link *link = batch->link;
	const sd_bus_error *error = sd_bus_message_get_error(message);

	(void)unused;
	pthread_mutex_lock(&link->lock);
	if (error && sd_bus_error_has_name(error, SD_BUS_ERROR_NO_REPLY)) {
		/* It hangs. What it has of these it will not take twice. */
		link->lost = true;
	} else if (error) {
		if (link->mode != LINK_SPOOLING)
			log_warn("the daemon cannot record: %s", error->message);
		begin_spooling(link);
	} else if (batch->last_n) {
		drop_items(link, batch->last_n);
	} else if (link->mode == LINK_REPLAYING) {
		replayed(link, batch->offset);
	}
	remove_batch(link, batch);
	pthread_mutex_unlock(&link->lock);
	return 1;
}

/* Sends the parameter in BUF. */
static void send_batch(struct link *link, struct buf *buf, uint64_t last_n, uint64_t offset)
{
	struct link_batch *batch;

	if (buf->error) {
		begin_spooling(link);
		return;
	}
	batch = calloc(1, sizeof(*batch));
	if (!batch) {
		begin_spooling(link);
		return;
	}
	batch->link = link;
	batch->last_n = last_n;
	batch->offset = offset;
	if (link_thread_call(link, &batch->slot, "Record", buf->data, on_recorded, batch,
		    LINK_CALL_USEC) < 0) {
		free(batch);
		link->lost = true;
		return;
	}
	batch->next = link->batches;
	link->batches = batch;
	link->n_batches++;
}

/* Direct ---------- */

static bool is_due(const struct link *link, bool *gatedp)
{
	/* Nothing more will come. */
	*gatedp = link->closed || link->n_gated > 0;
	if (*gatedp || link->n_unsent >= LINK_GROUP_RECORDS)
		return true;
	return clock_monotonic_usec() >= link->unsent->queued_usec + LINK_GROUP_USEC;
}

bool link_records_unsent(const struct link *link)
{
	return link->unsent != NULL;
}

static void step_direct(struct link *link)
{
	bool gated;

	if (!link->unsent || !is_due(link, &gated))
		return;
	while (link->unsent && link->n_batches < LINK_BATCHES_MAX && !link->lost &&
		link->mode == LINK_DIRECT) {
		_cleanup_(buf_deinit) struct buf buf;
		uint64_t last_n = 0;

		buf_init(&buf, BUS_MESSAGE_MAX);
		(void)buf_printf(&buf, "{\"gated\":%s,\"records\":[", gated ? "true" : "false");
		for (unsigned n = 0; link->unsent && n < LINK_BATCH_MAX; n++) {
			const struct link_item *item = link->unsent;

			if (n > 0 && buf.size + item->size > LINK_BATCH_BYTES)
				break;
			if (n > 0)
				(void)buf_putc(&buf, ',');
			(void)buf_append(&buf, item->text, item->size);
			last_n = item->n;
			item_sent(link);
		}
		(void)buf_puts(&buf, "]}");
		send_batch(link, &buf, last_n, 0);
	}
}

/* Spooling ---------- */

/* Nobody takes them: those who wait hear it, the records stay in memory for the next try. */
static void spool_failed(struct link *link, int r)
{
	log_warn_r(r, "records can be kept neither in the log nor in the spool");
	for (struct link_item *item = link->items; item; item = item->next)
		open_gate(link, item, r);
	link->n_gated = 0;
}

void link_records_spool(struct link *link)
{
	uint64_t last_n = 0;
	bool gated = false;
	int r = 0;

	/* Answers that are still to come tell which of them the log has. */
	if (link->n_batches || !link->items)
		return;
	for (struct link_item *item = link->items; item; item = item->next) {
		r = spool_append(link->spool, item->text, item->size);
		if (r < 0)
			break;
		gated |= item->gate != NULL;
		last_n = item->n;
	}
	if (gated) {
		int s = spool_sync(link->spool);

		/* In the file but perhaps not on the disk: they are not dropped; the daemon drops
		 * what comes twice. */
		if (s < 0) {
			spool_failed(link, s);
			return;
		}
	}
	drop_items(link, last_n);
	if (r < 0)
		spool_failed(link, r);
}

/* The log could not be written a while ago: try again. */
static void try_again(struct link *link)
{
	if (!link->bus || link->n_batches || clock_monotonic_usec() < link->next_try_usec)
		return;
	unsend(link);
	link->spool_offset = 0;
	link->mode = spool_is_empty(link->spool) ? LINK_DIRECT : LINK_REPLAYING;
}

/* Replaying ---------- */

struct replay {
	struct buf buf;
	unsigned n;
};

static int take_line(void *userdata, const char *line, size_t size)
{
	struct replay *replay = userdata;

	if (replay->n >= LINK_BATCH_MAX ||
		(replay->n && replay->buf.size + size > LINK_BATCH_BYTES))
		return 1;
	if (size < 2 || line[0] != '{')
		return 0;
	if (replay->n++ > 0)
		(void)buf_putc(&replay->buf, ',');
	(void)buf_puts(&replay->buf, "{\"replayed\":true,");
	(void)buf_append(&replay->buf, line + 1, size - 1);
	return 0;
}

static void step_replay(struct link *link)
{
	struct replay replay = {0};
	uint64_t offset = link->spool_offset;
	int r;

	if (link->n_batches)
		return;
	buf_init(&replay.buf, BUS_MESSAGE_MAX);
	(void)buf_puts(&replay.buf, "{\"gated\":true,\"records\":[");
	r = spool_read(link->spool, &offset, take_line, &replay);
	(void)buf_puts(&replay.buf, "]}");
	if (r < 0) {
		log_warn_r(r, "the spool file cannot be read");
		begin_spooling(link);
	} else if (replay.n == 0) {
		replayed(link, offset);
	} else {
		send_batch(link, &replay.buf, 0, offset);
	}
	buf_deinit(&replay.buf);
}

void link_records_step(struct link *link)
{
	if (link->lost)
		return;
	if (link->mode == LINK_SPOOLING)
		try_again(link);
	if (link->mode == LINK_SPOOLING)
		link_records_spool(link);
	else if (link->mode == LINK_REPLAYING)
		step_replay(link);
	if (link->mode == LINK_DIRECT && link->bus)
		step_direct(link);
}

uint64_t link_records_due(const struct link *link)
{
	const struct link_item *item = link->unsent;

	if (link->mode == LINK_SPOOLING)
		return link->bus ? link->next_try_usec : UINT64_MAX;
	if (!item || link->mode != LINK_DIRECT || link->n_batches >= LINK_BATCHES_MAX)
		return UINT64_MAX;
	return item->queued_usec + LINK_GROUP_USEC;
}
