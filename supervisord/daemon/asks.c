/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "supervisord/daemon/asks.h"

#include <stdio.h>
#include <string.h>

#include "supervisord/base/clock.h"
#include "supervisord/base/error.h"
#include "supervisord/base/log.h"
#include "supervisord/base/parse.h"
#include "supervisord/daemon/records.h"
#include "supervisord/proto/bus.h"

void asks_free_reply(void *reply)
{
	sd_bus_message_unref(reply);
}

/* One timer for the earliest deadline. It is never moved back: a firing too early only looks again.
 */
static void arm_deadline(struct daemon *daemon, uint64_t deadline_usec)
{
	if (deadline_usec >= daemon->deadline_usec)
		return;
	if (sd_event_source_set_time(daemon->deadline_source, deadline_usec) < 0 ||
		sd_event_source_set_enabled(daemon->deadline_source, SD_EVENT_ONESHOT) < 0)
		log_error("cannot arm the deadline timer");
	daemon->deadline_usec = deadline_usec;
}

/* Answers to the broker ---------- */

static json_t *answer_to_json(enum outcome outcome, const struct grant *grant, const char *note)
{
	bool allow = outcome == OUTCOME_ALLOWED;
	json_t *json = json_object();

	json_object_set_new(json, "decision", json_string(allow ? "allow" : "deny"));
	json_object_set_new(json, "outcome", json_string(outcome_name(outcome)));
	if (grant)
		json_object_set_new(json, "grant", grant_to_json(grant));
	if (note)
		json_object_set_new(json, "note", json_string(note));
	return json;
}

void asks_finish(struct daemon *daemon, struct pending *pending, const struct grant *grant)
{
	struct session *session = sessions_get(&daemon->sessions, pending->session);
	_cleanup_(json_decrefp) json_t *answer =
		answer_to_json(pending->outcome, grant, pending->note);
	_cleanup_(json_decrefp) json_t *closed = json_object();
	struct waiter *waiter;

	while ((waiter = queue_take_waiter(&daemon->queue, pending))) {
		if (waiter->reply)
			(void)control_reply(waiter->reply, answer);
		queue_free_waiter(&daemon->queue, waiter);
	}
	if (session && pending->outcome != OUTCOME_ALLOWED && pending->outcome != OUTCOME_WITHDRAWN)
		denials_add(&session->denials, denial_from_pending(pending, clock_realtime_usec()));
	if (pending->shown_usec) {
		json_object_set_new(closed, "id", json_string(pending->id));
		json_object_set_new(closed, "outcome", json_string(outcome_name(pending->outcome)));
		json_object_set_new(closed, "by", json_string(pending->by ? pending->by : ""));
		control_emit(daemon->control, "RequestClosed", closed);
	}
	queue_remove(&daemon->queue, pending);
}

struct closing {
	struct daemon *daemon;
	struct pending *pending; /* lives until finish(), because it is closing */
};

static void on_closed_durable(void *userdata, int r, uint64_t index)
{
	struct closing *closing = userdata;

	(void)r;
	(void)index;
	/* A refusal holds whether or not it could be written down. */
	asks_finish(closing->daemon, closing->pending, NULL);
	free(closing);
}

/* Closes a row as refused without a person and records that as TYPE. */
static void close_refused(struct daemon *daemon, struct pending *pending, enum outcome outcome,
	const char *by, const char *type)
{
	const struct session *session = sessions_get(&daemon->sessions, pending->session);
	_cleanup_(json_decrefp) json_t *record = NULL;
	struct closing *closing = calloc(1, sizeof(*closing));

	queue_close(&daemon->queue, pending, outcome, by);
	record = record_pending(type, pending, session);
	if (record && closing) {
		*closing = (struct closing){.daemon = daemon, .pending = pending};
		if (audit_sink_append(daemon->sink, record, true, on_closed_durable, closing) == 0)
			return;
	}
	free(closing);
	asks_finish(daemon, pending, NULL);
}

/* Ask ---------- */

struct showing {
	struct daemon *daemon;
	char id[QUEUE_ID_MAX];
};

static void on_ask_durable(void *userdata, int r, uint64_t index)
{
	struct showing *showing = userdata;
	struct daemon *daemon = showing->daemon;
	struct pending *pending = queue_get(&daemon->queue, showing->id);
	const struct session *session;
	_cleanup_(json_decrefp) json_t *json = NULL;

	(void)index;
	free(showing);
	if (!pending || pending->state != PENDING_RECORDING)
		return;
	if (r < 0) {
		queue_close(&daemon->queue, pending, OUTCOME_DENIED, "the audit log");
		pending_set_note(pending, audit_sink_problem(daemon->sink));
		asks_finish(daemon, pending, NULL);
		return;
	}
	pending->state = PENDING_OPEN;
	pending->shown_usec = clock_boottime_usec();
	session = sessions_get(&daemon->sessions, pending->session);
	json = pending_to_json(pending, session ? session_agent(session) : NULL,
		pending->shown_usec, clock_realtime_usec());
	control_emit(daemon->control, "RequestAdded", json);
}

/* 0; -EROFS and the like when the log does not take it. */
static int record_ask(
	struct daemon *daemon, const struct pending *pending, const struct session *session)
{
	_cleanup_(json_decrefp) json_t *record = record_pending("ask", pending, session);
	struct showing *showing = calloc(1, sizeof(*showing));
	int r;

	if (!record || !showing) {
		free(showing);
		return err_trace(-ENOMEM);
	}
	showing->daemon = daemon;
	(void)snprintf(showing->id, sizeof(showing->id), "%s", pending->id);
	r = audit_sink_append(daemon->sink, record, true, on_ask_durable, showing);
	if (r < 0)
		free(showing);
	return r;
}

struct refusing {
	sd_bus_message *message;
	json_t *answer;
};

static void on_refusal_durable(void *userdata, int r, uint64_t index)
{
	struct refusing *refusing = userdata;

	(void)r;
	(void)index;
	(void)control_reply(refusing->message, refusing->answer);
	sd_bus_message_unref(refusing->message);
	json_decref(refusing->answer);
	free(refusing);
}

/* Refused twice by a person: not asked a third time. */
static int refuse_at_once(
	struct connection *connection, sd_bus_message *message, const struct queue_ask *ask)
{
	static const char why[] = "the same request was denied before in this session";
	struct daemon *daemon = connection->daemon;
	struct session *session = connection->session;
	_cleanup_(json_decrefp) json_t *record =
		record_decision(ask->request, ask->rule, session, "deny", why);
	_cleanup_(json_decrefp) json_t *answer = answer_to_json(OUTCOME_DENIED, NULL, why);
	struct refusing *refusing = calloc(1, sizeof(*refusing));

	session->n_denies++;
	denials_add(&session->denials, denial_from_request(ask->request, ask->rule, session->id,
					       why, clock_realtime_usec()));
	if (refusing && record) {
		refusing->message = sd_bus_message_ref(message);
		refusing->answer = json_incref(answer);
		if (audit_sink_append(daemon->sink, record, true, on_refusal_durable, refusing) ==
			0)
			return 0;
		sd_bus_message_unref(message);
		json_decref(answer);
	}
	free(refusing);
	return control_reply(message, answer);
}

/* Which session it is the connection says, not the message. */
static int read_request(json_t *json, const char *session, struct request **requestp)
{
	_cleanup_(request_freep) struct request *request = NULL;
	char *copy;
	int r;

	r = request_from_json(json, &request);
	if (r < 0 || !request)
		return r < 0 ? r : err_trace(-EBADMSG);
	copy = strdup(session);
	if (!copy)
		return err_trace(-ENOMEM);
	free(request->session);
	request->session = copy;
	*requestp = TAKE_PTR(request);
	return 0;
}

static int read_ask(json_t *parameter, const char *session, struct queue_ask *ask)
{
	struct json_reader reader;
	json_t *request, *rule;
	const char *digest;
	int r;

	json_reader_init(&reader, parameter);
	request = json_read_object(&reader, "request", true);
	rule = json_read_object(&reader, "rule", true);
	digest = json_read_str(&reader, "policy_digest", true);
	ask->ask = json_read_u64(&reader, "ask", true);
	ask->timeout_usec = json_read_u64(&reader, "timeout_usec", true);
	r = json_reader_finish(&reader);
	if (r < 0)
		return r;
	if (parse_hex(digest, ask->policy_digest, sizeof(ask->policy_digest)) < 0)
		return -EBADMSG;
	r = rule_from_json(rule, &ask->rule);
	if (r == 0)
		r = read_request(request, session, &ask->request);
	ask->session = session;
	return r;
}

/* Tells how many wait on a row. A flood of identical asks is not to become one of signals: beyond a
 * few only each doubling is told. */
static void emit_count(struct daemon *daemon, const struct pending *pending)
{
	size_t n = pending->n_waiters;
	_cleanup_(json_decrefp) json_t *json = NULL;

	if (pending->state != PENDING_OPEN || (n > 16 && (n & (n - 1))))
		return;
	json = json_object();
	json_object_set_new(json, "id", json_string(pending->id));
	json_object_set_new(json, "count", json_integer((json_int_t)n));
	control_emit(daemon->control, "RequestChanged", json);
}

/* Takes request and rule out of ASK where the queue took them. */
static int enqueue(struct connection *connection, sd_bus_message *message, struct queue_ask *ask)
{
	struct daemon *daemon = connection->daemon;
	struct pending *pending;
	int r;

	ask->reply = sd_bus_message_ref(message);
	r = queue_add(&daemon->queue, ask, clock_boottime_usec(), clock_realtime_usec(), &pending);
	if (r == QUEUE_E_COALESCED) {
		emit_count(daemon, pending);
		return 0;
	}
	if (r != 0) {
		sd_bus_message_unref(message);
		return r == QUEUE_E_FULL ? control_refuse(message, BUS_ERROR_BUSY,
						   "too many requests wait already")
					 : r;
	}
	ask->request = NULL;
	ask->rule = NULL;
	arm_deadline(daemon, pending->deadline_usec);
	r = record_ask(daemon, pending, connection->session);
	if (r < 0) {
		queue_close(&daemon->queue, pending, OUTCOME_DENIED, "the audit log");
		pending_set_note(pending, *audit_sink_problem(daemon->sink)
						  ? audit_sink_problem(daemon->sink)
						  : "the audit log does not take this request");
		asks_finish(daemon, pending, NULL);
	}
	return 0;
}

static int submit(struct connection *connection, sd_bus_message *message, json_t *parameter,
	struct queue_ask *ask)
{
	struct daemon *daemon = connection->daemon;
	struct session *session = connection->session;
	_cleanup_(json_decrefp) json_t *answer = NULL;
	const struct grant *grant;
	uint8_t key[32];
	const char *text;
	int r;

	r = read_ask(parameter, session->id, ask);
	if (r < 0)
		return r;
	if (sd_bus_message_rewind(message, 1) < 0 || sd_bus_message_read(message, "s", &text) < 0 ||
		strlen(text) > 2 * (size_t)REQUEST_JSON_MAX)
		return control_refuse(
			message, BUS_ERROR_INVALID, "the request is too long to be shown");
	ask->bytes = pending_shown_size(ask->request, ask->rule, session_agent(session));
	session->n_asks++;
	if (daemon->stopping || session->state != SESSION_RUNNING) {
		answer =
			answer_to_json(OUTCOME_DENIED, NULL, "the session or the daemon is ending");
		return control_reply(message, answer);
	}
	grant = grants_find(&session->grants, ask->request, ask->rule->id, clock_boottime_usec());
	if (grant) {
		answer = answer_to_json(OUTCOME_ALLOWED, grant, NULL);
		return control_reply(message, answer);
	}
	queue_key(ask->request, ask->rule, ask->policy_digest, key);
	if (grants_is_refused(&session->grants, key))
		return refuse_at_once(connection, message, ask);
	return enqueue(connection, message, ask);
}

int asks_submit(struct connection *connection, sd_bus_message *message, json_t *parameter)
{
	struct queue_ask ask = {0};
	int r;

	r = submit(connection, message, parameter, &ask);
	request_free(ask.request);
	if (ask.rule)
		rule_free(ask.rule);
	return r;
}

/* Withdraw ---------- */

int asks_withdraw(struct connection *connection, sd_bus_message *message, json_t *parameter)
{
	_cleanup_(json_decrefp) json_t *reply = json_object();
	struct daemon *daemon = connection->daemon;
	struct json_reader reader;
	struct pending *pending;
	uint64_t ask;
	int r;

	json_reader_init(&reader, parameter);
	ask = json_read_u64(&reader, "ask", true);
	r = json_reader_finish(&reader);
	if (r < 0)
		return r;
	r = queue_withdraw(&daemon->queue, connection->session->id, ask, &pending);
	if (r == 0 && pending->n_waiters == 0 && pending->state != PENDING_CLOSING)
		close_refused(daemon, pending, OUTCOME_WITHDRAWN, "the requester", "ask.withdrawn");
	else if (r == 0)
		emit_count(daemon, pending);
	return control_reply(message, reply);
}

void asks_withdraw_session(struct daemon *daemon, const char *session)
{
	struct pending *next;

	for (struct pending *p = daemon->queue.first; p; p = next) {
		struct waiter *waiter;

		next = p->next;
		if (strcmp(p->session, session) != 0)
			continue;
		/* Nobody is there to be answered. */
		while ((waiter = queue_take_waiter(&daemon->queue, p)))
			queue_free_waiter(&daemon->queue, waiter);
		if (p->state != PENDING_CLOSING)
			close_refused(daemon, p, OUTCOME_WITHDRAWN, "the session", "ask.withdrawn");
	}
}

void asks_deny_all(struct daemon *daemon, const char *by)
{
	struct pending *next;

	for (struct pending *p = daemon->queue.first; p; p = next) {
		next = p->next;
		if (p->state != PENDING_CLOSING)
			close_refused(daemon, p, OUTCOME_DENIED, by, "decision");
	}
}

int asks_on_deadline(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct daemon *daemon = userdata;
	struct pending *pending;

	(void)source;
	(void)usec;
	while ((pending = queue_next_expired(&daemon->queue, clock_boottime_usec())))
		close_refused(daemon, pending, OUTCOME_TIMEOUT, "timeout", "ask.timeout");
	daemon->deadline_usec = UINT64_MAX;
	arm_deadline(daemon, queue_next_deadline(&daemon->queue));
	return 0;
}

json_t *asks_to_json(struct daemon *daemon)
{
	uint64_t now = clock_boottime_usec(), realtime = clock_realtime_usec();
	json_t *array = json_array();

	for (const struct pending *p = daemon->queue.first; p; p = p->next) {
		const struct session *session;

		if (p->state != PENDING_OPEN)
			continue;
		session = sessions_get(&daemon->sessions, p->session);
		json_array_append_new(array,
			pending_to_json(p, session ? session_agent(session) : NULL, now, realtime));
	}
	return array;
}

size_t asks_count(const struct daemon *daemon, const char *session)
{
	size_t n = 0;

	for (const struct pending *p = daemon->queue.first; p; p = p->next)
		if (p->state == PENDING_OPEN && (!session || !strcmp(p->session, session)))
			n++;
	return n;
}
