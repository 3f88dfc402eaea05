/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
/* The answer of a person. Checked against what is there now, recorded, and only then passed on. */

#include <stdio.h>
#include <string.h>

#include "supervisord/base/clock.h"
#include "supervisord/base/display.h"
#include "supervisord/base/error.h"
#include "supervisord/base/log.h"
#include "supervisord/base/parse.h"
#include "supervisord/daemon/asks.h"
#include "supervisord/daemon/records.h"
#include "supervisord/proto/bus.h"

#define NOTE_MAX 400

struct answer {
	const char *id;
	bool allow;
	enum grant_duration duration;
	uint64_t span_usec;
	bool has_scope;
	enum grant_scope scope;
	uint8_t fingerprint[32];
	const char *note, *client;
};

struct deciding {
	struct daemon *daemon;
	struct pending *pending; /* lives until it is finished, because it is closing */
	sd_bus_message *message;
};

/* "once", "session", "forever", "span" with span_usec, or a span as people write it. */
static int read_duration(const char *text, struct answer *answer)
{
	for (unsigned d = 0; d < _GRANT_DURATION_N; d++) {
		if (!strcmp(text, grant_duration_name((enum grant_duration)d))) {
			answer->duration = (enum grant_duration)d;
			return 0;
		}
	}
	answer->duration = GRANT_SPAN;
	return parse_span(text, &answer->span_usec) < 0 ? -EBADMSG : 0;
}

static int read_answer(json_t *parameter, struct answer *answer)
{
	const char *decision, *duration, *scope, *fingerprint;
	struct json_reader reader;
	int r;

	json_reader_init(&reader, parameter);
	answer->id = json_read_str(&reader, "id", true);
	decision = json_read_str(&reader, "decision", true);
	duration = json_read_str(&reader, "duration", false);
	answer->span_usec = json_read_u64(&reader, "span_usec", false);
	scope = json_read_str(&reader, "scope", false);
	fingerprint = json_read_str(&reader, "fingerprint", true);
	answer->note = json_read_str(&reader, "note", false);
	answer->client = json_read_str(&reader, "client", true);
	r = json_reader_finish(&reader);
	if (r < 0)
		return r;
	answer->allow = !strcmp(decision, "allow");
	if (!answer->allow && strcmp(decision, "deny") != 0)
		return -EBADMSG;
	if (parse_hex(fingerprint, answer->fingerprint, sizeof(answer->fingerprint)) < 0)
		return -EBADMSG;
	answer->has_scope = scope != NULL;
	if (scope && grant_scope_from_name(scope, &answer->scope) < 0)
		return -EBADMSG;
	answer->duration = GRANT_ONCE;
	return duration ? read_duration(duration, answer) : 0;
}

static int find_pending(
	struct daemon *daemon, sd_bus_message *message, const char *id, struct pending **pendingp)
{
	const struct closed_entry *closed = NULL;
	_cleanup_(freep) char *shown = NULL;
	int r = queue_find(&daemon->queue, id, pendingp, &closed);

	if (r == 0)
		return 0;
	shown = display_escape_short(id, 80, NULL);
	if (r == QUEUE_E_AMBIGUOUS)
		(void)control_refuse(message, BUS_ERROR_AMBIGUOUS,
			"more than one request begins with \"%s\"", shown ? shown : "?");
	else if (r == QUEUE_E_CLOSED && closed->outcome == OUTCOME_TIMEOUT)
		(void)control_refuse(message, BUS_ERROR_CLOSED,
			"request %s was not answered in time and is denied", closed->id);
	else if (r == QUEUE_E_CLOSED && closed->outcome == OUTCOME_WITHDRAWN)
		(void)control_refuse(
			message, BUS_ERROR_CLOSED, "request %s was withdrawn", closed->id);
	else if (r == QUEUE_E_CLOSED)
		(void)control_refuse(message, BUS_ERROR_CLOSED,
			"request %s: already decided by %s: %s", closed->id, closed->by,
			outcome_name(closed->outcome));
	else
		(void)control_refuse(message, BUS_ERROR_CLOSED,
			"no request \"%s\" waits for an answer; \"agentctl pending\" lists them",
			shown ? shown : "?");
	return QUEUE_E_UNKNOWN;
}

static json_t *grant_session_payload(
	struct daemon *daemon, struct pending *pending, struct grant **grantp)
{
	struct session *session = sessions_get(&daemon->sessions, pending->session);
	uint64_t deadline = 0;
	struct grant *copy = NULL;

	*grantp = NULL;
	if (!session || pending->duration == GRANT_ONCE)
		return NULL;
	if (pending->duration == GRANT_SPAN)
		deadline = clock_boottime_usec() + pending->span_usec;
	if (grant_make(pending->id, pending->request, pending->rule->id, pending->scope,
		    pending->duration, deadline, grantp) < 0)
		return NULL;
	if (grant_make(pending->id, pending->request, pending->rule->id, pending->scope,
		    pending->duration, deadline, &copy) == 0 &&
		grants_add(&session->grants, copy) < 0)
		log_warn("session %s has too many grants: this one is known to its broker only",
			session->id);
	return grant_to_json(*grantp);
}

/* What else the new grant covers need not be asked any more. */
static void answer_covered(struct daemon *daemon, const char *session, const struct grant *grant)
{
	char by[64];
	struct pending *next;

	(void)snprintf(by, sizeof(by), "grant %s", grant->id);
	for (struct pending *p = daemon->queue.first; p; p = next) {
		const struct session *s = sessions_get(&daemon->sessions, session);
		_cleanup_(json_decrefp) json_t *record = NULL;

		next = p->next;
		if (!s || p->state != PENDING_OPEN || strcmp(p->session, session) != 0 ||
			!grant_covers(grant, p->request, p->rule->id, clock_boottime_usec()))
			continue;
		record = record_decision(p->request, p->rule, s, "allow", by);
		/* The approval that made the grant is durable; this is how it was used. */
		if (!record || audit_sink_append(daemon->sink, record, true, NULL, NULL) < 0 ||
			audit_sink_state(daemon->sink) != SINK_OK)
			continue;
		queue_close(&daemon->queue, p, OUTCOME_ALLOWED, by);
		asks_finish(daemon, p, grant);
	}
}

static void store_forever(struct daemon *daemon, struct pending *pending, json_t *reply)
{
	int r;

	if (pending->duration != GRANT_FOREVER)
		return;
	r = grants_store(&daemon->dirs, pending->request, pending->scope,
		pending->by ? pending->by : "?", clock_realtime_usec());
	if (r == 0)
		return;
	log_error_r(r, "a grant cannot be written to grants.policy");
	pending->duration = GRANT_SESSION;
	json_object_set_new(reply, "message",
		json_string("the grant could not be written to grants.policy; it holds for this "
			    "session only"));
}

static void pass_on_allow(struct daemon *daemon, struct pending *pending, json_t *reply)
{
	_cleanup_(json_decrefp) json_t *payload = NULL;
	_cleanup_(grant_freep) struct grant *grant = NULL;
	char session[SESSION_ID_MAX];

	(void)snprintf(session, sizeof(session), "%s", pending->session);
	store_forever(daemon, pending, reply);
	payload = grant_session_payload(daemon, pending, &grant);
	if (payload)
		json_object_set(reply, "grant", payload);
	asks_finish(daemon, pending, grant);
	if (grant)
		answer_covered(daemon, session, grant);
}

/* It may still reach the log later: say there that it did not count. */
static void void_approval(struct daemon *daemon, const struct pending *pending)
{
	_cleanup_(json_decrefp) json_t *record = json_object();

	json_object_set_new(record, "type", json_string("approval.void"));
	json_object_set_new(record, "id", json_string(pending->id));
	json_object_set_new(record, "session", json_string(pending->session));
	json_object_set_new(record, "decision", json_string("deny"));
	json_object_set_new(record, "why", json_string("its record was not durable in time"));
	(void)audit_sink_append(daemon->sink, record, true, NULL, NULL);
}

static void on_approval_durable(void *userdata, int r, uint64_t index)
{
	struct deciding *deciding = userdata;
	struct daemon *daemon = deciding->daemon;
	struct pending *pending = deciding->pending;
	struct session *session = sessions_get(&daemon->sessions, pending->session);
	_cleanup_(json_decrefp) json_t *reply = json_object();
	bool allow = pending->outcome == OUTCOME_ALLOWED;

	if (r < 0 && allow) {
		void_approval(daemon, pending);
		pending->outcome = OUTCOME_DENIED;
		pending->duration = GRANT_ONCE;
		pending_set_note(pending, audit_sink_problem(daemon->sink));
	} else if (session && !allow) {
		grants_note_refusal(
			&session->grants, pending->key, pending->duration == GRANT_SESSION);
	}
	json_object_set_new(reply, "outcome", json_string(outcome_name(pending->outcome)));
	json_object_set_new(reply, "index", json_integer((json_int_t)index));
	json_object_set_new(reply, "id", json_string(pending->id));
	json_object_set_new(reply, "count", json_integer((json_int_t)pending->n_waiters));
	if (pending->outcome == OUTCOME_ALLOWED)
		pass_on_allow(daemon, pending, reply);
	else
		asks_finish(daemon, pending, NULL);
	if (r < 0)
		(void)control_refuse(deciding->message, BUS_ERROR_LOG, "%s; the request is denied",
			audit_sink_problem(daemon->sink));
	else
		(void)control_reply(deciding->message, reply);
	sd_bus_message_unref(deciding->message);
	free(deciding);
}

/* The answer counts from here on: nobody else can give one. */
static int commit_answer(struct connection *connection, sd_bus_message *message,
	struct pending *pending, const struct answer *answer)
{
	struct daemon *daemon = connection->daemon;
	const struct session *session = sessions_get(&daemon->sessions, pending->session);
	_cleanup_(json_decrefp) json_t *record = NULL;
	_cleanup_(freep) char *client = display_escape_short(answer->client, 80, NULL);
	_cleanup_(freep) char *note = NULL;
	struct deciding *deciding = calloc(1, sizeof(*deciding));
	char by[128];
	int r = -ENOMEM;

	(void)snprintf(
		by, sizeof(by), "%.60s (pid %d)", client ? client : "?", (int)connection->peer.pid);
	pending->duration = answer->duration;
	pending->span_usec = answer->span_usec;
	pending->scope = answer->scope;
	if (answer->note)
		note = display_escape_short(answer->note, NOTE_MAX, NULL);
	pending_set_note(pending, note);
	queue_close(&daemon->queue, pending, answer->allow ? OUTCOME_ALLOWED : OUTCOME_DENIED, by);
	record = record_approval(
		pending, session, &connection->peer, client, pending->note, clock_boottime_usec());
	if (deciding && record) {
		*deciding = (struct deciding){.daemon = daemon,
			.pending = pending,
			.message = sd_bus_message_ref(message)};
		r = audit_sink_append(daemon->sink, record, true, on_approval_durable, deciding);
		if (r == 0)
			return 0;
		sd_bus_message_unref(message);
	}
	free(deciding);
	/* Not written down: not allowed. */
	pending->outcome = OUTCOME_DENIED;
	asks_finish(daemon, pending, NULL);
	return control_refuse(message, BUS_ERROR_LOG,
		"the answer cannot be recorded (%s); the request "
		"is denied",
		*audit_sink_problem(daemon->sink) ? audit_sink_problem(daemon->sink)
						  : strerror(-r));
}

int asks_decide(struct connection *connection, sd_bus_message *message, json_t *parameter)
{
	struct daemon *daemon = connection->daemon;
	struct answer answer = {0};
	struct pending *pending;
	int r;

	r = read_answer(parameter, &answer);
	if (r < 0)
		return r;
	if (find_pending(daemon, message, answer.id, &pending) != 0)
		return 0;
	if (!answer.has_scope)
		answer.scope = GRANT_EXACT;
	r = pending_check_answer(pending, answer.allow, answer.duration, answer.span_usec,
		answer.scope, answer.fingerprint);
	if (r == QUEUE_E_STALE)
		return control_refuse(message, BUS_ERROR_STALE,
			"request %s is not what was shown any more: look at it again", pending->id);
	if (r == QUEUE_E_NOT_OFFERED && answer.allow)
		return control_refuse(message, BUS_ERROR_NOT_OFFERED,
			"%s does not offer this duration and scope for request %s",
			pending->rule->id, pending->id);
	if (r != 0)
		return control_refuse(message, BUS_ERROR_NOT_OFFERED,
			"a request is denied once or for the session");
	return commit_answer(connection, message, pending, &answer);
}
