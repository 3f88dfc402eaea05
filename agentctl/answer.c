/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
/* Answers, for allow, deny and approve. */

#include "agentctl/answer.h"

#include <string.h>

#include "agentctl/connect.h"
#include "agentctl/output.h"
#include "supervisord/base/error.h"
#include "supervisord/base/parse.h"
#include "supervisord/proto/grant.h"

int answer_find(const json_t *requests, const char *prefix, json_t **requestp)
{
	size_t length = strlen(prefix), n = 0;
	json_t *found = NULL;

	if (length == 0)
		return ANSWER_E_UNKNOWN;
	for (size_t i = 0; i < json_array_size(requests); i++) {
		json_t *request = json_array_get(requests, i);
		const char *id = json_string_value(json_object_get(request, "id"));

		if (!id || strncmp(id, prefix, length) != 0)
			continue;
		if (id[length] == '\0') {
			*requestp = request;
			return 0;
		}
		found = request;
		n++;
	}
	if (n == 0)
		return ANSWER_E_UNKNOWN;
	if (n > 1)
		return ANSWER_E_AMBIGUOUS;
	*requestp = found;
	return 0;
}

/* Puts "duration" and, for a span, "span_usec". */
static int put_duration(json_t *parameter, const char *duration)
{
	static const enum grant_duration named[] = {GRANT_ONCE, GRANT_SESSION, GRANT_FOREVER};
	uint64_t span;

	for (size_t i = 0; i < ARRAY_LEN(named); i++)
		if (strcmp(duration, grant_duration_name(named[i])) == 0)
			return json_object_set_new(parameter, "duration", json_string(duration));
	if (parse_span(duration, &span) < 0)
		return -1;
	if (json_object_set_new(parameter, "span_usec", json_integer((json_int_t)span)) < 0)
		return -1;
	return json_object_set_new(
		parameter, "duration", json_string(grant_duration_name(GRANT_SPAN)));
}

int answer_make(const json_t *request, const struct answer *answer, const char *client,
	json_t **parameterp, const char **whyp)
{
	_cleanup_(json_decrefp) json_t *parameter = json_object();
	json_t *id = json_object_get(request, "id");
	json_t *fingerprint = json_object_get(request, "fingerprint");
	json_t *scopes = json_object_get(request, "scopes");
	const char *narrowest = json_string_value(json_array_get(scopes, 0));
	const char *scope = answer->scope ? answer->scope : narrowest ? narrowest : "exact";

	*whyp = NULL;
	if (!parameter)
		out_of_memory();
	json_object_set(parameter, "id", id);
	json_object_set(parameter, "fingerprint", fingerprint);
	json_object_set_new(parameter, "decision", json_string(answer->allow ? "allow" : "deny"));
	json_object_set_new(parameter, "client", json_string(client));
	if (put_duration(parameter, answer->duration ? answer->duration : "once") < 0) {
		*whyp = "a duration is once, session, forever or a number with s, m, h or d";
		return -EINVAL;
	}
	if (json_object_set_new(parameter, "scope", json_string(scope)) < 0) {
		*whyp = "the scope is not a word";
		return -EINVAL;
	}
	if (answer->note && json_object_set_new(parameter, "note", json_string(answer->note)) < 0) {
		*whyp = "the note is not valid UTF-8";
		return -EINVAL;
	}
	*parameterp = TAKE_PTR(parameter);
	return 0;
}

/* The daemon remembers what became of a request that no longer waits, and says it. The fingerprint
 * of zeros fits nothing: this call cannot decide. */
static void tell_what_became(struct client *client, const char *prefix)
{
	static const char zeros[] =
		"0000000000000000000000000000000000000000000000000000000000000000";
	_cleanup_(json_decrefp) json_t *result = NULL;
	json_t *parameter = json_pack("{s:s, s:s, s:s, s:s}", "id", prefix, "decision", "allow",
		"fingerprint", zeros, "client", "agentctl");

	if (!parameter)
		out_error("\"%s\" is not an id; \"agentctl pending\" lists them", prefix);
	else if (connect_call(client, "Decide", parameter, &result) == 0)
		out_error("request \"%s\" cannot be answered", prefix);
}

static int find_failed(struct client *client, int r, const char *prefix)
{
	if (r == ANSWER_E_AMBIGUOUS)
		out_error("several requests begin with \"%s\"; give more of the id", prefix);
	else
		tell_what_became(client, prefix);
	return EXIT_FAILED;
}

static void print_outcome(const json_t *request, const struct answer *answer, const json_t *result)
{
	_cleanup_(freep) char *id = out_member(request, "id");
	_cleanup_(freep) char *op = out_member(request, "op");
	_cleanup_(freep) char *object = out_member(request, "object");
	_cleanup_(freep) char *outcome = out_member(result, "outcome");

	printf("%s  %s: %s %s", outcome, id, op, object);
	if (answer->allow)
		printf("  (%s%s%s)", answer->duration ? answer->duration : "once",
			answer->scope ? ", " : "", answer->scope ? answer->scope : "");
	(void)fputc('\n', stdout);
}

int answer_send(const char *prefix, const struct answer *answer)
{
	_cleanup_(client_closep) struct client *client = NULL;
	_cleanup_(json_decrefp) json_t *requests = NULL, *result = NULL;
	json_t *request = NULL, *parameter = NULL;
	struct dirs dirs;
	const char *why;
	int r;

	connect_dirs(&dirs);
	r = connect_required(&dirs, &client);
	dirs_deinit(&dirs);
	if (r < 0 || connect_call(client, "Requests", NULL, &requests) < 0)
		return EXIT_FAILED;
	r = answer_find(requests, prefix, &request);
	if (r != 0)
		return find_failed(client, r, prefix);
	if (answer->allow && strlen(prefix) < ANSWER_ALLOW_LETTERS) {
		out_error("to allow a request takes at least %d letters of its id: another one "
			  "may have come in the place of the one that you read",
			ANSWER_ALLOW_LETTERS);
		return EXIT_FAILED;
	}
	if (answer_make(request, answer, "agentctl", &parameter, &why) < 0) {
		out_error("%s", why);
		return EXIT_USAGE;
	}
	if (connect_call(client, "Decide", parameter, &result) < 0)
		return EXIT_FAILED;
	print_outcome(request, answer, result);
	return EXIT_OK;
}
