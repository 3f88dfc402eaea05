/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
/* A pending request as people's programs get it. Every text is escaped here already. */

#include <string.h>

#include "supervisord/base/clock.h"
#include "supervisord/base/display.h"
#include "supervisord/base/error.h"
#include "supervisord/base/parse.h"
#include "supervisord/daemon/queue.h"

static void set_text(json_t *json, const char *key, const char *value, unsigned *flagsp)
{
	_cleanup_(freep) char *text = NULL;
	unsigned flags = 0;

	if (!value) {
		json_object_set_new(json, key, json_null());
		return;
	}
	text = display_escape(value, strlen(value), &flags);
	*flagsp |= flags;
	json_object_set_new(json, key, text ? json_string(text) : json_null());
}

/* Of an exec what would run; of everything else the command line of the program that asks. */
static json_t *argv_to_json(const struct request *request, unsigned *flagsp)
{
	bool exec = request->op == OP_EXEC;
	char *const *argv = exec ? request->argv : request->command;
	size_t n = exec ? request->n_argv : request->n_command;
	json_t *array = json_array();

	for (size_t i = 0; i < n; i++) {
		_cleanup_(freep) char *text = NULL;
		unsigned flags = 0;

		text = display_escape(argv[i], strlen(argv[i]), &flags);
		*flagsp |= flags;
		if (text)
			json_array_append_new(array, json_string(text));
	}
	return array;
}

static void put_scopes(json_t *json, const struct pending *pending)
{
	unsigned scopes = rule_scopes(pending->rule, pending->request);
	json_t *names = json_array(), *rules = json_object();

	for (unsigned s = 0; s < _GRANT_SCOPE_N; s++) {
		const char *name = grant_scope_name((enum grant_scope)s);
		_cleanup_(freep) char *text = NULL;

		if (!(scopes & (1u << s)))
			continue;
		json_array_append_new(names, json_string(name));
		text = grant_rule_text(pending->request, (enum grant_scope)s);
		json_object_set_new(rules, name, text ? json_string(text) : json_null());
	}
	json_object_set_new(json, "scopes", names);
	json_object_set_new(json, "scope_rules", rules);
}

/* By class of rule and operation, never by a model: what cannot be taken back or leaves traces
 * beyond the session is high. */
static const char *risk_of(const struct pending *pending, unsigned flags)
{
	bool forever = pending->rule->durations & (1u << GRANT_FOREVER);

	if (flags & (DISPLAY_ESCAPED | DISPLAY_MIXED_SCRIPT))
		return "high";
	switch (pending->request->op) {
	case OP_DELETE:
	case OP_LISTEN:
		return "high";
	case OP_READ:
	case OP_LIST:
		return forever ? "medium" : "low";
	case OP_WRITE:
	case OP_CREATE:
	case OP_RENAME:
	case OP_LINK:
	case OP_CHMOD:
	case OP_EXEC:
	case OP_CONNECT:
	case OP_SIGNAL:
	case _OP_N:
		break;
	}
	return "medium";
}

static void put_request(json_t *json, const struct request *request, unsigned *flagsp)
{
	_cleanup_(freep) char *object = request_object_text(request);

	json_object_set_new(json, "op", json_string(op_name(request->op)));
	json_object_set_new(json, "object", object ? json_string(object) : json_null());
	set_text(json, "real_path", request->path, flagsp);
	set_text(json, "asked_path", request->alias ? request->alias : request->path, flagsp);
	set_text(json, "other", request->other, flagsp);
	set_text(json, "interpreter", request->interpreter, flagsp);
	set_text(json, "program", request->program, flagsp);
	set_text(json, "cwd", request->cwd, flagsp);
	json_object_set_new(json, "argv", argv_to_json(request, flagsp));
	json_object_set_new(json, "pid", json_integer(request->pid));
	json_object_set_new(json, "inner_pid", json_integer(request->inner_pid));
	json_object_set_new(json, "uid", json_integer(request->uid));
}

static void put_rule(json_t *json, const struct pending *pending, unsigned *flagsp)
{
	const struct rule *rule = pending->rule;
	json_t *spans = json_array();

	set_text(json, "rule", rule->id, flagsp);
	set_text(json, "rule_text", rule->text, flagsp);
	set_text(json, "reason", rule->reason, flagsp);
	json_object_set_new(json, "layer", json_string(policy_layer_name(rule->layer)));
	json_object_set_new(json, "durations", rule_durations_to_json(rule));
	for (size_t i = 0; i < rule->n_spans; i++)
		json_array_append_new(spans, json_integer((json_int_t)rule->spans_usec[i]));
	json_object_set_new(json, "spans_usec", spans);
	put_scopes(json, pending);
}

static void put_time(
	json_t *json, const struct pending *pending, uint64_t now_usec, uint64_t now_realtime_usec)
{
	uint64_t left = 0;

	if (pending->deadline_usec > now_usec)
		left = pending->deadline_usec - now_usec;
	json_object_set_new(
		json, "created_usec", json_integer((json_int_t)pending->created_realtime_usec));
	json_object_set_new(json, "deadline",
		json_integer((json_int_t)((now_realtime_usec + left) / USEC_PER_SEC)));
	json_object_set_new(json, "remaining_ms", json_integer((json_int_t)(left / USEC_PER_MSEC)));
}

/* Bytes of TEXT where it is shown TIMES times: escaped by us, by quotes or as a rule, and by JSON,
 * one byte becomes at most five. */
static size_t shown(const char *text, size_t times)
{
	size_t size = 8;

	for (const char *p = text ? text : ""; *p; p++)
		size += *p >= 0x20 && *p < 0x7f && !strchr("\"'\\*?[]{}$", *p) ? 1 : 5;
	return times * size;
}

size_t pending_shown_size(const struct request *request, const struct rule *rule, const char *agent)
{
	/* The object, two paths, and one rule of each scope. */
	enum { FIXED = 2048, WORD = 32, PATH_TIMES = 3 + _GRANT_SCOPE_N, WORD_TIMES = 4 };
	size_t size = FIXED + shown(agent, 1) + shown(rule->id, 1) + shown(rule->text, 1) +
		      shown(rule->reason, 1) + rule->n_spans * 64;

	size += shown(request->path, PATH_TIMES) + shown(request->host, PATH_TIMES) +
		shown(request->alias, 1) + shown(request->other, 2) +
		shown(request->interpreter, 1) + shown(request->program, 1) +
		shown(request->cwd, 1);
	for (size_t i = 0; i < request->n_argv; i++)
		size += WORD + shown(request->argv[i], WORD_TIMES);
	for (size_t i = 0; i < request->n_command; i++)
		size += WORD + shown(request->command[i], 1);
	return size;
}

json_t *pending_to_json(const struct pending *pending, const char *agent, uint64_t now_usec,
	uint64_t now_realtime_usec)
{
	_cleanup_(json_decrefp) json_t *json = json_object();
	char fingerprint[65];
	unsigned flags = 0, ignored = 0;

	if (!json)
		return NULL;
	format_hex(pending->fingerprint, sizeof(pending->fingerprint), fingerprint);
	json_object_set_new(json, "id", json_string(pending->id));
	json_object_set_new(json, "session", json_string(pending->session));
	set_text(json, "agent", agent, &ignored);
	put_request(json, pending->request, &flags);
	put_rule(json, pending, &ignored);
	put_time(json, pending, now_usec, now_realtime_usec);
	json_object_set_new(json, "fingerprint", json_string(fingerprint));
	json_object_set_new(json, "count", json_integer((json_int_t)pending->n_waiters));
	json_object_set_new(json, "hidden_chars", json_boolean(flags & DISPLAY_ESCAPED));
	json_object_set_new(json, "mixed_script", json_boolean(flags & DISPLAY_MIXED_SCRIPT));
	json_object_set_new(json, "risk", json_string(risk_of(pending, flags)));
	return TAKE_PTR(json);
}
