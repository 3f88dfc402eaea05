/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "supervisord/broker/decide.h"

#include <errno.h>
#include <string.h>

#include "supervisord/base/log.h"
#include "supervisord/base/proc.h"
#include "supervisord/broker/link.h"
#include "supervisord/broker/recent.h"
#include "supervisord/broker/record.h"
#include "supervisord/broker/target.h"

/* Enough of the subject for the policy and the record table; the rest is read only when something
 * is to be shown or recorded, because most decisions repeat. */
static int decide_subject(struct notification *n, struct request *request)
{
	int r;

	r = target_ids(n);
	if (r < 0)
		return r;
	request->pid = n->tgid;
	if (!request->program)
		r = proc_link(n->tgid, "exe", &request->program);
	if (r < 0)
		return r;
	return notification_valid(n) ? 0 : -ESRCH;
}

/* Records a refusal and makes it durable. A record that cannot be kept changes nothing: it stays a
 * refusal. */
static enum verdict decide_deny(struct notification *n, struct request *request,
	const struct policy_rule_info *rule, const char *outcome)
{
	struct broker *b = n->broker;
	_cleanup_(freep) char *remedy = NULL;
	json_t *json;

	if (!record_table_first(b->records, request, rule->id, VERDICT_DENY, request->pid))
		return VERDICT_DENY;
	if (target_describe(n, request) < 0)
		log_debug("the requester of a denied operation is gone");
	target_describe_command(n, request);
	remedy = policy_set_remedy(b->policies, request);
	json = record_decision(request, VERDICT_DENY, rule, outcome, remedy);
	if (!json || link_record(b->link, json, true) < 0)
		log_error("a denial could not be recorded");
	return VERDICT_DENY;
}

/* An allow that cannot be recorded is not released. */
static enum verdict decide_allow(struct notification *n, struct request *request,
	const struct policy_rule_info *rule, enum verdict verdict, const char *outcome)
{
	struct broker *b = n->broker;
	json_t *json;

	if (!record_table_first(b->records, request, rule->id, verdict, 0) && !rule->log_each)
		return verdict;
	if (target_describe(n, request) < 0)
		return VERDICT_DENY; /* the requester is gone */
	json = record_decision(request, verdict, rule, outcome, NULL);
	if (!json || link_record(b->link, json, false) < 0) {
		log_error("an operation is refused because it cannot be recorded");
		return VERDICT_DENY;
	}
	return verdict;
}

static const char *answer_outcome(enum link_answer answer)
{
	switch (answer) {
	case LINK_ALLOWED:
		return "approved";
	case LINK_DENIED:
		return "denied";
	case LINK_TIMEOUT:
		return "timeout";
	case LINK_WITHDRAWN:
		return "withdrawn";
	case LINK_NO_DAEMON:
		return "no-daemon";
	case LINK_REFUSED:
		return "refused";
	}
	return "refused";
}

static enum verdict decide_ask(
	struct notification *n, struct request *request, const struct policy_rule_info *rule)
{
	struct broker *b = n->broker;
	struct link_result result = {.answer = LINK_REFUSED};
	enum verdict verdict;
	int r;

	if (b->spec->no_ask)
		return decide_deny(n, request, rule, "no-ask");
	if (!worker_may_block(n))
		return decide_deny(n, request, rule, "too-many-waiting");
	r = target_describe(n, request);
	if (r < 0)
		return VERDICT_DENY;
	if (recent_has(request, rule->id))
		return decide_deny(n, request, rule, "denied just before");
	target_describe_command(n, request);
	r = link_ask(
		b->link, request, rule, b->policy_digest, notification_still_wanted, n, &result);
	if (r == 0 && result.answer == LINK_ALLOWED && notification_valid(n))
		verdict = decide_allow(
			n, request, rule, VERDICT_ALLOW, answer_outcome(result.answer));
	else if (result.answer == LINK_WITHDRAWN)
		verdict = VERDICT_DENY; /* on record as withdrawn */
	else
		verdict = decide_deny(n, request, rule, answer_outcome(result.answer));
	if (result.answer == LINK_DENIED || result.answer == LINK_TIMEOUT)
		recent_add(request, rule->id);
	link_result_deinit(&result);
	return verdict;
}

static enum verdict decide_by(struct notification *n, struct request *request, enum verdict verdict,
	const struct policy_rule_info *rule)
{
	switch (verdict) {
	case VERDICT_ALLOW:
	case VERDICT_HIDE:
		return decide_allow(n, request, rule, verdict, NULL);
	case VERDICT_ASK:
		return decide_ask(n, request, rule);
	case VERDICT_DENY:
	case _VERDICT_N:
		break;
	}
	return decide_deny(n, request, rule, NULL);
}

enum verdict decide(struct notification *n, struct request *request)
{
	struct request *const one[] = {request};

	return decide_all(n, one, 1);
}

enum verdict decide_all(struct notification *n, struct request *const *requests, size_t n_requests)
{
	const struct policy_rule_info *rules[DECIDE_MAX];
	enum verdict verdicts[DECIDE_MAX];
	enum verdict strictest = VERDICT_ALLOW;
	size_t at = 0;

	if (n_requests == 0 || n_requests > DECIDE_MAX)
		return VERDICT_DENY;
	for (size_t i = 0; i < n_requests; i++) {
		if (!requests[i] || decide_subject(n, requests[i]) < 0)
			return VERDICT_DENY;
		verdicts[i] = policy_set_eval(n->broker->policies, requests[i], &rules[i]);
		if (verdicts[i] > strictest) {
			strictest = verdicts[i];
			at = i;
		}
	}
	/* A refusal needs no question and no record of what would have been allowed. */
	if (strictest == VERDICT_DENY || strictest == VERDICT_HIDE)
		return decide_by(n, requests[at], strictest, rules[at]);
	for (size_t i = 0; i < n_requests; i++) {
		enum verdict verdict = decide_by(n, requests[i], verdicts[i], rules[i]);

		if (verdict != VERDICT_ALLOW)
			return verdict;
	}
	return VERDICT_ALLOW;
}

void decide_record_event(
	struct notification *n, const char *type, const struct request *request, const char *detail)
{
	_cleanup_(json_decrefp) json_t *json = json_object();
	_cleanup_(freep) char *object = request ? request_object_text(request) : NULL;
	_cleanup_(freep) char *program = NULL;
	int r = 0;

	if (!json)
		return;
	/* An attack is always on record; a refusal that repeats is counted. */
	if (request && strncmp(type, "attack.", 7) != 0 && target_ids(n) == 0 &&
		!record_table_first(n->broker->records, request, type, VERDICT_DENY, n->tgid))
		return;
	r |= json_object_set_new(json, "type", json_string(type));
	r |= json_object_set_new(json, "rule", json_string(type));
	r |= json_object_set_new(json, "layer", json_string(policy_layer_name(LAYER_BUILTIN)));
	r |= json_set_bytes(json, "reason", detail, strlen(detail));
	if (target_ids(n) == 0) {
		r |= json_object_set_new(json, "pid", json_integer(n->tgid));
		if (proc_link(n->tgid, "exe", &program) == 0)
			r |= json_set_bytes(json, "program", program, strlen(program));
	}
	if (object) {
		r |= json_object_set_new(json, "op", json_string(op_name(request->op)));
		r |= json_object_set_new(json, "object", json_string(object));
		r |= json_object_set_new(json, "request", request_to_json(request));
	}
	if (r != 0 || link_record(n->broker->link, TAKE_PTR(json), true) < 0)
		log_error("event %s could not be recorded", type);
}
