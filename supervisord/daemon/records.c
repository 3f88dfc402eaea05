/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "supervisord/daemon/records.h"

#include <string.h>

#include "supervisord/base/clock.h"
#include "supervisord/base/display.h"
#include "supervisord/base/parse.h"

/* A record has a cap: long texts are cut in the middle, their whole is bound by the fingerprint. */
#define TEXT_MAX 4096

static void set_text(json_t *json, const char *key, const char *value)
{
	_cleanup_(freep) char *text = NULL;

	if (!value)
		return;
	text = display_escape_short(value, TEXT_MAX, NULL);
	if (text)
		json_object_set_new(json, key, json_string(text));
}

static void set_int(json_t *json, const char *key, uint64_t value)
{
	json_object_set_new(json, key, json_integer((json_int_t)value));
}

static json_t *record_new(const char *type)
{
	json_t *json = json_object();

	if (json)
		json_object_set_new(json, "type", json_string(type));
	return json;
}

json_t *record_daemon(const char *type)
{
	json_t *json = record_new(type);

	if (!json)
		return NULL;
	set_int(json, "pid", (uint64_t)getpid());
	set_int(json, "uid", geteuid());
	set_text(json, "version", AGENT_SUPERVISOR_VERSION);
	return json;
}

json_t *record_session(const char *type, const struct session *session)
{
	json_t *json = record_new(type);

	if (!json)
		return NULL;
	set_text(json, "session", session->id);
	set_text(json, "agent", session_agent(session));
	set_int(json, "broker_pid", (uint64_t)session->broker_pid);
	return json;
}

json_t *record_session_start(const struct session *session)
{
	json_t *json = record_session("session.start", session);
	_cleanup_(freep) char *spec = NULL;

	if (!json)
		return NULL;
	set_int(json, "broker_start", session->broker_start);
	set_int(json, "uid", geteuid());
	set_text(json, "policy_digest", session->policy_digest);
	set_text(json, "plan_digest", session->plan_digest);
	spec = json_write(session->spec);
	if (spec && strlen(spec) <= 2 * TEXT_MAX)
		json_object_set(json, "spec", session->spec);
	else
		set_text(json, "spec_text", spec);
	return json;
}

static void put_request(json_t *json, const struct request *request)
{
	_cleanup_(freep) char *object = request_object_text(request);

	set_text(json, "op", op_name(request->op));
	/* Escaped already; only cut here. */
	if (object && strlen(object) <= TEXT_MAX)
		json_object_set_new(json, "object", json_string(object));
	else
		set_text(json, "object", object);
	set_text(json, "real_path", request->path);
	if (request->alias)
		set_text(json, "asked_path", request->alias);
	set_text(json, "program", request->program);
	set_text(json, "cwd", request->cwd);
	set_int(json, "pid", (uint64_t)request->pid);
	set_int(json, "pid_start", request->start_ticks);
	set_int(json, "uid", request->uid);
}

static void put_rule(json_t *json, const struct rule *rule)
{
	set_text(json, "rule", rule->id);
	set_text(json, "layer", policy_layer_name(rule->layer));
}

json_t *record_pending(
	const char *type, const struct pending *pending, const struct session *session)
{
	char hex[65];
	json_t *json = record_new(type);

	if (!json)
		return NULL;
	set_text(json, "id", pending->id);
	set_text(json, "session", pending->session);
	if (session)
		set_text(json, "agent", session_agent(session));
	put_request(json, pending->request);
	put_rule(json, pending->rule);
	format_hex(pending->fingerprint, sizeof(pending->fingerprint), hex);
	set_text(json, "fingerprint", hex);
	format_hex(pending->policy_digest, sizeof(pending->policy_digest), hex);
	set_text(json, "policy_digest", hex);
	set_int(json, "count", pending->n_waiters);
	if (pending->state == PENDING_CLOSING) {
		set_text(json, "decision", pending->outcome == OUTCOME_ALLOWED ? "allow" : "deny");
		set_text(json, "outcome", outcome_name(pending->outcome));
		set_text(json, "approver", "none");
	}
	return json;
}

json_t *record_approval(const struct pending *pending, const struct session *session,
	const struct peer *approver, const char *channel, const char *note, uint64_t now_usec)
{
	json_t *json = record_pending("approval", pending, session);
	_cleanup_(json_decrefp) json_t *who = json_object();
	uint64_t since = pending->shown_usec ? pending->shown_usec : pending->created_usec;

	if (!json || !who) {
		json_decref(json);
		return NULL;
	}
	set_text(json, "duration", grant_duration_name(pending->duration));
	if (pending->duration == GRANT_SPAN)
		set_int(json, "span_usec", pending->span_usec);
	set_text(json, "scope", grant_scope_name(pending->scope));
	set_int(json, "decide_ms", now_usec > since ? (now_usec - since) / USEC_PER_MSEC : 0);
	set_text(json, "note", note);
	set_int(who, "uid", approver->uid);
	set_int(who, "pid", (uint64_t)approver->pid);
	set_int(who, "pid_start", approver->start_ticks);
	set_text(who, "exe", approver->exe);
	set_text(who, "channel", channel);
	json_object_set(json, "approver", who);
	return json;
}

json_t *record_decision(const struct request *request, const struct rule *rule,
	const struct session *session, const char *decision, const char *why)
{
	json_t *json = record_new("decision");

	if (!json)
		return NULL;
	set_text(json, "session", session->id);
	set_text(json, "agent", session_agent(session));
	put_request(json, request);
	put_rule(json, rule);
	set_text(json, "policy_digest", session->policy_digest);
	set_text(json, "decision", decision);
	set_text(json, "outcome", !strcmp(decision, "allow") ? "allowed" : "denied");
	set_text(json, "why", why);
	set_text(json, "approver", "none");
	set_int(json, "count", 1);
	return json;
}

json_t *record_peer_refused(const struct peer *peer, enum peer_verdict verdict,
	const struct session *session, const char *method)
{
	json_t *json = record_new("peer.refused");

	if (!json)
		return NULL;
	set_int(json, "pid", (uint64_t)peer->pid);
	set_int(json, "pid_start", peer->start_ticks);
	set_int(json, "uid", peer->uid);
	set_text(json, "exe", peer->exe);
	set_text(json, "why", peer_verdict_text(verdict));
	set_text(json, "method", method);
	if (session) {
		set_text(json, "session", session->id);
		set_text(json, "agent", session_agent(session));
	}
	set_text(json, "decision", "deny");
	return json;
}

static void put_denial(json_t *json, const struct request *request, const struct rule *rule,
	const char *session, uint64_t realtime_usec)
{
	set_int(json, "time_usec", realtime_usec);
	set_text(json, "session", session);
	put_request(json, request);
	put_rule(json, rule);
	set_text(json, "rule_text", rule->text);
}

json_t *denial_from_request(const struct request *request, const struct rule *rule,
	const char *session, const char *why, uint64_t realtime_usec)
{
	json_t *json = json_object();

	if (!json)
		return NULL;
	put_denial(json, request, rule, session, realtime_usec);
	set_text(json, "outcome", "denied");
	set_text(json, "reason", why);
	return json;
}

json_t *denial_from_pending(const struct pending *pending, uint64_t realtime_usec)
{
	static const char *const reasons[_OUTCOME_N] = {
		[OUTCOME_DENIED] = "it was asked and answered with deny",
		[OUTCOME_TIMEOUT] = "it was asked and nobody answered in time",
		[OUTCOME_WITHDRAWN] = "it was asked and withdrawn before an answer",
	};
	json_t *json = json_object();

	if (!json)
		return NULL;
	put_denial(json, pending->request, pending->rule, pending->session, realtime_usec);
	set_text(json, "outcome", outcome_name(pending->outcome));
	set_text(json, "reason", reasons[pending->outcome]);
	set_text(json, "note", pending->note);
	set_text(json, "id", pending->id);
	return json;
}
