/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
/* agentctl approve --json: for programs that show requests in a way of their own. */

#include "agentctl/approve.h"

#include <stdio.h>
#include <string.h>

#include "agentctl/output.h"

static void event(json_t *object)
{
	if (!object)
		out_of_memory();
	out_json(object);
	json_decref(object);
	(void)fflush(stdout);
}

void approve_json_request(json_t *request)
{
	event(json_pack("{s:s, s:O}", "event", "request", "request", request));
}

void approve_json_closed(const json_t *closed)
{
	_cleanup_(freep) char *id = out_member(closed, "id");
	_cleanup_(freep) char *outcome = out_member(closed, "outcome");
	_cleanup_(freep) char *by = out_member(closed, "by");

	event(json_pack(
		"{s:s, s:s, s:s, s:s}", "event", "closed", "id", id, "outcome", outcome, "by", by));
}

static bool refuse(const char *id, const char *message)
{
	event(json_pack("{s:s, s:s?, s:s}", "event", "error", "id", id, "message", message));
	return true;
}

bool approve_json_line(struct approve *approve, const char *text)
{
	_cleanup_(json_decrefp) json_t *line = NULL, *request = NULL, *result = NULL;
	struct json_reader reader;
	struct answer answer = {0};
	const char *id, *decision, *fingerprint;

	if (json_parse_strict(text, strlen(text), APPROVE_LINE_MAX, &line) < 0 ||
		!json_is_object(line))
		return refuse(NULL, "not a JSON object");
	json_reader_init(&reader, line);
	id = json_read_str(&reader, "id", true);
	decision = json_read_str(&reader, "decision", true);
	fingerprint = json_read_str(&reader, "fingerprint", false);
	answer.duration = json_read_str(&reader, "for", false);
	answer.scope = json_read_str(&reader, "scope", false);
	answer.note = json_read_str(&reader, "note", false);
	if (json_reader_finish(&reader) < 0)
		return refuse(id, "members are id, decision, for, scope, note, fingerprint");
	answer.allow = strcmp(decision, "allow") == 0;
	if (!answer.allow && strcmp(decision, "deny") != 0)
		return refuse(id, "the decision is allow or deny");
	request = json_incref(approve_find(approve, id));
	if (!request)
		return refuse(id, "no such request waits");
	if (fingerprint && strcmp(fingerprint,
				   json_string_value(json_object_get(request, "fingerprint"))) != 0)
		return refuse(id, "the request has changed since");
	if (!approve->client || approve_decide(approve, request, &answer, &result) < 0)
		return refuse(id, "the supervisor refused the answer");
	event(json_pack("{s:s, s:s, s:O?}", "event", "decided", "id", id, "outcome",
		json_object_get(result, "outcome")));
	return true;
}
