/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "supervisord/daemon/audit_sink.h"

#include <stdio.h>
#include <string.h>

#include "audit-log/audit.h"
#include "supervisord/base/clock.h"
#include "supervisord/base/display.h"
#include "supervisord/base/error.h"
#include "supervisord/base/log.h"

#define GROUP_USEC (50 * USEC_PER_MSEC)
#define GROUP_RECORDS 512 /* each commit syncs three times */
#define RETRY_USEC USEC_PER_SEC
#define TICK_USEC (300 * USEC_PER_SEC)
#define BACKLOG_MAX 256

struct ticket {
	struct ticket *next; /* sink.first */
	audit_sink_fn fn;
	void *userdata;
	uint64_t index;
};

struct audit_sink {
	struct audit_log *log; /* NULL when tampered */
	char *dir;
	char *problem; /* escaped, or NULL */
	enum sink_state state;
	sd_event_source *timer; /* group commit, or the next try */
	sd_event_source *soon;  /* when the loop is idle */
	sd_event_source *now;   /* before anything else */
	sd_event_source *tick;  /* epochs end also when nothing happens */
	bool timer_armed;
	struct ticket *first, **last;
	size_t n_uncommitted;
	json_t *backlog; /* own records of a time when the log could not persist */
	uint64_t n_lost;
	uint64_t n_refused; /* what was denied because it could not be recorded */
};

static void arm_timer(struct audit_sink *sink, uint64_t usec)
{
	if (sink->timer_armed)
		return;
	if (sd_event_source_set_time_relative(sink->timer, usec) < 0 ||
		sd_event_source_set_enabled(sink->timer, SD_EVENT_ONESHOT) < 0)
		log_error("cannot arm the timer of the audit log");
	sink->timer_armed = true;
}

static void set_problem(struct audit_sink *sink, const char *text)
{
	free(sink->problem);
	sink->problem = text ? display_escape_short(text, 512, NULL) : NULL;
}

static void enter_failed(struct audit_sink *sink, int r)
{
	char text[256];

	(void)snprintf(text, sizeof(text), "the audit log cannot be written: %s", strerror(-r));
	if (sink->state != SINK_FAILED)
		log_error_r(r, "the audit log in %s cannot be written; requests are refused",
			sink->dir);
	set_problem(sink, text);
	sink->state = SINK_FAILED;
	arm_timer(sink, RETRY_USEC);
}

/* Back to normal: what the daemon itself had to say meanwhile, and how much of it is lost. */
static void leave_failed(struct audit_sink *sink)
{
	_cleanup_(json_decrefp) json_t *backlog = sink->backlog;
	size_t i;
	json_t *record;

	log_notice("the audit log in %s can be written again", sink->dir);
	set_problem(sink, NULL);
	sink->state = SINK_OK;
	sink->backlog = json_array();
	json_array_foreach(backlog, i, record)(void)
		audit_sink_append(sink, record, true, NULL, NULL);
	if (sink->n_lost || sink->n_refused) {
		_cleanup_(json_decrefp) json_t *gap = json_object();

		json_object_set_new(gap, "type", json_string("log.gap"));
		json_object_set_new(gap, "lost", json_integer((json_int_t)sink->n_lost));
		json_object_set_new(gap, "refused", json_integer((json_int_t)sink->n_refused));
		json_object_set_new(gap, "reason", json_string("the log could not be written"));
		sink->n_lost = sink->n_refused = 0;
		(void)audit_sink_append(sink, gap, true, NULL, NULL);
	}
}

static void answer_tickets(struct audit_sink *sink, struct ticket *ticket, int r)
{
	(void)sink;
	while (ticket) {
		struct ticket *next = ticket->next;

		ticket->fn(ticket->userdata, r, ticket->index);
		free(ticket);
		ticket = next;
	}
}

int audit_sink_commit(struct audit_sink *sink)
{
	struct ticket *tickets = sink->first;
	bool was_failed = sink->state == SINK_FAILED;
	int r;

	if (!sink->log)
		return -EKEYREJECTED;
	sink->first = NULL;
	sink->last = &sink->first;
	sink->n_uncommitted = 0;
	(void)sd_event_source_set_enabled(sink->soon, SD_EVENT_OFF);
	(void)sd_event_source_set_enabled(sink->now, SD_EVENT_OFF);
	(void)sd_event_source_set_enabled(sink->timer, SD_EVENT_OFF);
	sink->timer_armed = false;
	r = audit_log_commit(sink->log);
	if (r != 0) {
		r = err_fold(r);
		enter_failed(sink, r);
	}
	answer_tickets(sink, tickets, r);
	if (r == 0 && was_failed)
		leave_failed(sink);
	return r;
}

static int on_commit(sd_event_source *source, void *userdata)
{
	struct audit_sink *sink = userdata;

	(void)source;
	(void)audit_sink_commit(sink);
	return 0;
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct audit_sink *sink = userdata;

	(void)source;
	(void)usec;
	sink->timer_armed = false;
	(void)audit_sink_commit(sink);
	return 0;
}

static int on_tick(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct audit_sink *sink = userdata;
	int r = sink->log && sink->state == SINK_OK ? audit_log_tick(sink->log) : 0;

	(void)usec;
	if (r != 0)
		enter_failed(sink, err_fold(r));
	if (sd_event_source_set_time_relative(source, TICK_USEC) < 0 ||
		sd_event_source_set_enabled(source, SD_EVENT_ONESHOT) < 0)
		log_error("the audit log's epochs are no longer ended in time");
	return 0;
}

static int keep_for_later(struct audit_sink *sink, json_t *record)
{
	if (sink->state == SINK_TAMPERED) {
		log_warn("a record of type %s is lost: %s",
			json_string_value(json_object_get(record, "type")), sink->problem);
		return -EKEYREJECTED;
	}
	if (json_array_size(sink->backlog) >= BACKLOG_MAX ||
		json_array_append(sink->backlog, record) < 0)
		sink->n_lost++;
	return 0;
}

int audit_sink_append(
	struct audit_sink *sink, json_t *record, bool urgent, audit_sink_fn fn, void *userdata)
{
	_cleanup_(freep) struct ticket *ticket = NULL;
	uint64_t index = 0;
	int r;

	if (sink->state != SINK_OK) {
		if (!fn)
			return keep_for_later(sink, record);
		sink->n_refused++;
		return sink->state == SINK_TAMPERED ? -EKEYREJECTED : -EROFS;
	}
	if (fn) {
		ticket = calloc(1, sizeof(*ticket));
		if (!ticket)
			return err_trace(-ENOMEM);
	}
	r = audit_log_append(sink->log, record, &index);
	if (r != 0) {
		r = err_fold(r);
		if (r == -EROFS)
			enter_failed(sink, r);
		return r == -EROFS && !fn ? keep_for_later(sink, record) : err_trace(r);
	}
	if (ticket) {
		ticket->fn = fn;
		ticket->userdata = userdata;
		ticket->index = index;
		*sink->last = ticket;
		sink->last = &ticket->next;
		TAKE_PTR(ticket);
	}
	/* Never from here: the caller is in the middle of something. */
	if (++sink->n_uncommitted >= GROUP_RECORDS)
		(void)sd_event_source_set_enabled(sink->now, SD_EVENT_ONESHOT);
	else if (urgent)
		(void)sd_event_source_set_enabled(sink->soon, SD_EVENT_ONESHOT);
	arm_timer(sink, GROUP_USEC);
	return 0;
}

static int add_sources(struct audit_sink *sink, sd_event *event)
{
	int r;

	r = sd_event_add_time_relative(
		event, &sink->timer, CLOCK_MONOTONIC, GROUP_USEC, 1, on_timer, sink);
	if (r >= 0)
		r = sd_event_source_set_enabled(sink->timer, SD_EVENT_OFF);
	if (r >= 0)
		r = sd_event_source_set_priority(sink->timer, SD_EVENT_PRIORITY_IMPORTANT);
	if (r >= 0)
		r = sd_event_add_defer(event, &sink->soon, on_commit, sink);
	if (r >= 0)
		r = sd_event_source_set_enabled(sink->soon, SD_EVENT_OFF);
	if (r >= 0)
		r = sd_event_source_set_priority(sink->soon, SD_EVENT_PRIORITY_IDLE);
	if (r >= 0)
		r = sd_event_add_defer(event, &sink->now, on_commit, sink);
	if (r >= 0)
		r = sd_event_source_set_enabled(sink->now, SD_EVENT_OFF);
	if (r >= 0)
		r = sd_event_source_set_priority(sink->now, SD_EVENT_PRIORITY_IMPORTANT);
	if (r >= 0)
		r = sd_event_add_time_relative(
			event, &sink->tick, CLOCK_BOOTTIME, TICK_USEC, 0, on_tick, sink);
	return r < 0 ? err_trace(r) : 0;
}

static int open_log(struct audit_sink *sink)
{
	_cleanup_(freep) char *reason = NULL;
	_cleanup_(freep) char *text = NULL;
	int r;

	r = audit_log_open(sink->dir, &sink->log, &reason);
	if (r == AUDIT_E_LOCKED)
		return err_trace(-EBUSY);
	if (r != AUDIT_E_TAMPERED)
		return r == 0 ? 0 : err_trace(err_fold(r));
	sink->state = SINK_TAMPERED;
	if (asprintf(&text,
		    "the audit log does not match its last checkpoint (%s): no session may run. "
		    "Keep it as evidence under another name (mv %s %s.broken); a new log is "
		    "begun then",
		    reason ? reason : "no details", sink->dir, sink->dir) < 0) {
		text = NULL;
		return err_trace(-ENOMEM);
	}
	set_problem(sink, text);
	log_error("%s", sink->problem ? sink->problem : "the audit log was changed");
	return 0;
}

int audit_sink_new(const char *dir, sd_event *event, struct audit_sink **sinkp)
{
	_cleanup_(audit_sink_freep) struct audit_sink *sink = calloc(1, sizeof(*sink));
	int r;

	if (!sink)
		return err_trace(-ENOMEM);
	sink->last = &sink->first;
	sink->backlog = json_array();
	sink->dir = strdup(dir);
	if (!sink->dir || !sink->backlog)
		return err_trace(-ENOMEM);
	r = add_sources(sink, event);
	if (r == 0)
		r = open_log(sink);
	if (r < 0)
		return r;
	*sinkp = TAKE_PTR(sink);
	return 0;
}

void audit_sink_free(struct audit_sink *sink)
{
	if (sink->log) {
		(void)audit_sink_commit(sink);
		/* What those who waited had to say. */
		(void)audit_sink_commit(sink);
		audit_log_close(sink->log);
	}
	answer_tickets(sink, sink->first, -ESHUTDOWN);
	sd_event_source_disable_unref(sink->timer);
	sd_event_source_disable_unref(sink->soon);
	sd_event_source_disable_unref(sink->now);
	sd_event_source_disable_unref(sink->tick);
	json_decref(sink->backlog);
	free(sink->problem);
	free(sink->dir);
	free(sink);
}

enum sink_state audit_sink_state(const struct audit_sink *sink)
{
	return sink->state;
}

const char *audit_sink_problem(const struct audit_sink *sink)
{
	return sink->problem ? sink->problem : "";
}

json_t *audit_sink_to_json(const struct audit_sink *sink)
{
	static const char *const names[] = {
		[SINK_OK] = "ok", [SINK_FAILED] = "failed", [SINK_TAMPERED] = "tampered"};
	json_t *json = json_object();
	_cleanup_(freep) char *dir = display_escape(sink->dir, strlen(sink->dir), NULL);

	json_object_set_new(json, "state", json_string(names[sink->state]));
	json_object_set_new(json, "dir", dir ? json_string(dir) : json_null());
	json_object_set_new(json, "problem", json_string(audit_sink_problem(sink)));
	json_object_set_new(
		json, "size", json_integer(sink->log ? (json_int_t)audit_log_size(sink->log) : 0));
	json_object_set_new(json, "pending",
		json_integer(sink->log ? (json_int_t)audit_log_pending(sink->log) : 0));
	return json;
}
