/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "audit-log/writer.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "audit-log/record.h"
#include "supervisord/base/clock.h"
#include "supervisord/base/error.h"
#include "supervisord/base/log.h"
#include "supervisord/base/parse.h"

/* Records on their way into the log: stamped, rendered, hashed and queued; epochs; the wall clock.
 */

void audit_log_set_clocks(
	struct audit_log *log, uint64_t (*realtime)(void), uint64_t (*boottime)(void))
{
	log->realtime = realtime;
	log->boottime = boottime;
}

static int reserve_pending(struct audit_log *log)
{
	struct audit_pending *pending;
	size_t n = log->n_alloc ? log->n_alloc * 2 : 64;

	if (log->n_pending < log->n_alloc)
		return 0;
	pending = reallocarray(log->pending, n, sizeof(*pending));
	if (!pending)
		return -ENOMEM;
	log->pending = pending;
	log->n_alloc = n;
	return 0;
}

/* Queues RECORD with the stamp of REALTIME and BOOTTIME. */
static int queue(struct audit_log *log, const json_t *record, uint64_t realtime, uint64_t boottime)
{
	const struct audit_stamp stamp = {
		.seq = log->tree.size + log->n_pending,
		.realtime_usec = realtime,
		.boottime_usec = boottime,
		.boot = log->boot,
		.host = log->host,
	};
	_cleanup_(freep) char *line = NULL;
	size_t size = 0;
	int r;

	r = reserve_pending(log);
	if (r < 0)
		return r;
	r = audit_record_render(record, &stamp, &line, &size);
	if (r < 0)
		return r;
	/* The line and its newline in one append, so that a failure leaves nothing behind. */
	line[size] = '\n';
	r = buf_append(&log->lines, line, size + 1);
	if (r < 0) {
		log->lines.error = 0;
		return r;
	}
	audit_hash_leaf(line, size, log->pending[log->n_pending].leaf);
	log->pending[log->n_pending].end = log->lines.size;
	log->n_pending++;
	return 0;
}

int audit_log_append_own(struct audit_log *log, json_t *record)
{
	return err_trace(queue(log, record, log->realtime(), log->boottime()));
}

/* Notes a wall clock that moved against the clock that only counts on. */
static int note_step(struct audit_log *log, uint64_t realtime, uint64_t boottime)
{
	int64_t offset = (int64_t)realtime - (int64_t)boottime;
	int64_t step = offset - log->clock_offset;
	char from[CLOCK_TEXT_MAX], to[CLOCK_TEXT_MAX];
	_cleanup_(json_decrefp) json_t *record = NULL;
	int r;

	if (step <= AUDIT_STEP_USEC_MAX && step >= -AUDIT_STEP_USEC_MAX) {
		log->clock_offset = offset;
		return 0;
	}
	clock_format_utc((uint64_t)((int64_t)realtime - step), from);
	clock_format_utc(realtime, to);
	record = json_pack("{s:s, s:s, s:s, s:I}", "type", "time.step", "from", from, "to", to,
		"step_msec", (json_int_t)(step / (int64_t)USEC_PER_MSEC));
	if (!record)
		return -ENOMEM;
	r = queue(log, record, realtime, boottime);
	if (r == 0)
		log->clock_offset = offset;
	return r;
}

static int queue_key(
	struct audit_log *log, const char *reason, uint64_t realtime, uint64_t boottime)
{
	char hex[2 * AUDIT_PK_SIZE + 1], time[CLOCK_TEXT_MAX];
	_cleanup_(json_decrefp) json_t *record = NULL;

	format_hex(audit_key_public(log->next_key)->pk, AUDIT_PK_SIZE, hex);
	clock_format_utc(realtime, time);
	record = json_pack("{s:s, s:s, s:I, s:s, s:s, s:s}", "type", "log.key", "role", "epoch",
		"epoch", (json_int_t)log->epoch + 1, "pk", hex, "not_before", time, "reason",
		reason);
	return record ? queue(log, record, realtime, boottime) : -ENOMEM;
}

int audit_log_rotate(struct audit_log *log, const char *reason)
{
	uint64_t realtime, boottime;
	char file[AUDIT_KEY_FILE_MAX];
	int r;

	/* One change of epochs at a time: the last one must have come to its end. */
	if (log->next_key) {
		r = audit_log_commit(log);
		if (r < 0)
			return err_trace(r);
	}
	realtime = log->realtime();
	boottime = log->boottime();
	/* An epoch in which nothing happened is sealed with a record of its own. */
	if (log->epoch > 0 && log->tree.size + log->n_pending == log->epoch_index + 1) {
		_cleanup_(json_decrefp) json_t *tick = json_pack(
			"{s:s, s:I}", "type", "log.tick", "epoch", (json_int_t)log->epoch);

		r = tick ? queue(log, tick, realtime, boottime) : -ENOMEM;
		if (r < 0)
			return err_trace(r);
	}
	r = audit_key_generate(log->origin.identity.name, &log->next_key);
	if (r < 0)
		return err_trace(r);
	audit_key_epoch_file(log->epoch + 1, file);
	r = audit_key_save(log->next_key, log->keys_fd, file);
	if (r == 0)
		r = queue_key(log, reason, realtime, boottime);
	if (r < 0) {
		audit_key_free(log->next_key);
		log->next_key = NULL;
		if (audit_key_erase(log->keys_fd, file) < 0)
			log_debug("cannot remove %s", file);
		return err_trace(r);
	}
	log->epoch++;
	log->epoch_index = log->tree.size + log->n_pending - 1;
	log->epoch_boottime = boottime;
	return 0;
}

/* Begins a new epoch where the present one is old or long enough. */
static int rotate_if_due(struct audit_log *log, uint64_t boottime)
{
	uint64_t n = log->tree.size + log->n_pending - log->epoch_index;

	if (boottime - log->epoch_boottime >= AUDIT_EPOCH_USEC_MAX)
		return audit_log_rotate(log, "age");
	if (n >= AUDIT_EPOCH_RECORDS_MAX)
		return audit_log_rotate(log, "count");
	return 0;
}

static void set_failed(struct audit_log *log, int r)
{
	if (log->failed)
		return;
	log->failed = true;
	log->failed_error = -r;
	log->failed_realtime = log->realtime();
	log_error_r(r, "the audit log cannot be written; it is tried again at every commit");
}

/* What must be in the log before the next record. */
static int prepare(struct audit_log *log)
{
	uint64_t realtime, boottime;
	int r;

	if (log->n_pending >= AUDIT_PENDING_MAX || log->lines.size >= AUDIT_PENDING_BYTES_MAX) {
		r = audit_log_commit(log);
		if (r < 0)
			return r;
	}
	realtime = log->realtime();
	boottime = log->boottime();
	/* The epoch first: the record of a step then belongs to the epoch of its time. */
	r = rotate_if_due(log, boottime);
	if (r < 0) {
		if (r != -ENOMEM)
			set_failed(log, r);
		return r;
	}
	return note_step(log, realtime, boottime);
}

int audit_log_append(struct audit_log *log, json_t *record, uint64_t *indexp)
{
	const char *type = json_string_value(json_object_get(record, "type"));
	int r;

	if (!type || audit_record_type_is_reserved(type))
		return err_trace(-EINVAL);
	r = log->failed ? -EROFS : prepare(log);
	if (log->failed) {
		log->n_refused++;
		return err_trace(-EROFS);
	}
	if (r < 0)
		return err_trace(r);
	r = audit_log_append_own(log, record);
	if (r < 0)
		return err_trace(r);
	if (indexp)
		*indexp = log->tree.size + log->n_pending - 1;
	return 0;
}

/* After a time in which nothing could be written: say so. */
static int queue_pressure(struct audit_log *log)
{
	const char *name = strerrorname_np(log->failed_error);
	_cleanup_(json_decrefp) json_t *record = NULL;
	char since[CLOCK_TEXT_MAX];
	int r;

	clock_format_utc(log->failed_realtime, since);
	record = json_pack("{s:s, s:s, s:s, s:I}", "type", "log.pressure", "error",
		name ? name : "unknown", "since", since, "refused", (json_int_t)log->n_refused);
	if (!record)
		return -ENOMEM;
	r = audit_log_append_own(log, record);
	if (r == 0)
		log->n_refused = 0;
	return r;
}

int audit_log_commit(struct audit_log *log)
{
	int r = audit_log_commit_once(log, false);

	if (r == 0 && log->failed) {
		log_notice("the audit log can be written again");
		log->failed = false;
		r = rotate_if_due(log, log->boottime());
		if (r == 0)
			r = queue_pressure(log);
		if (r == 0)
			r = audit_log_commit_once(log, true);
	}
	if (r < 0)
		set_failed(log, r);
	return r;
}

int audit_log_tick(struct audit_log *log)
{
	int r;

	if (!log->failed) {
		r = rotate_if_due(log, log->boottime());
		if (r < 0 && r != -ENOMEM)
			set_failed(log, r);
	}
	return audit_log_commit(log);
}

uint64_t audit_log_pending(const struct audit_log *log)
{
	return log->n_pending;
}

uint64_t audit_log_size(const struct audit_log *log)
{
	return log->tree.size;
}
