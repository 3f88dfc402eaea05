/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
/* Shows requests line by line: nothing is cut, nothing is coloured, every value is on a line that
 * begins with what it is. Facts first, the rule after them. */

#include "agentctl/approve_show.h"

#include <stdio.h>
#include <string.h>

#include "agentctl/output.h"

static const char *text_of(const json_t *request, const char *key)
{
	const char *text = json_string_value(json_object_get(request, key));

	return text && *text ? text : NULL;
}

static void fact(const json_t *request, const char *label, const char *key)
{
	_cleanup_(freep) char *safe = NULL;

	if (!text_of(request, key))
		return;
	safe = out_member(request, key);
	printf("  %-10s %s\n", label, safe);
}

/* Only where it differs from another member. */
static void fact_if_other(
	const json_t *request, const char *label, const char *key, const char *other)
{
	const char *a = text_of(request, key), *b = text_of(request, other);

	if (a && b && strcmp(a, b) != 0)
		fact(request, label, key);
}

static void show_argv(const json_t *request)
{
	const json_t *argv = json_object_get(request, "argv");

	for (size_t i = 0; i < json_array_size(argv); i++) {
		_cleanup_(freep) char *safe = out_safe(json_string_value(json_array_get(argv, i)));

		printf("  %-10s [%zu] %s\n", i == 0 ? "argv" : "", i, safe);
	}
}

static void show_offers(const json_t *request)
{
	const json_t *durations = json_object_get(request, "durations");
	const json_t *scopes = json_object_get(request, "scopes");
	const json_t *rules = json_object_get(request, "scope_rules");

	printf("  %-10s", "for");
	for (size_t i = 0; i < json_array_size(durations); i++) {
		_cleanup_(freep) char *safe =
			out_safe(json_string_value(json_array_get(durations, i)));

		printf(" %s", safe);
	}
	(void)fputc('\n', stdout);
	for (size_t i = 0; i < json_array_size(scopes); i++) {
		const char *name = json_string_value(json_array_get(scopes, i));
		const char *rule = name ? json_string_value(json_object_get(rules, name)) : NULL;
		_cleanup_(freep) char *safe_name = out_safe(name), *safe_rule = NULL;

		if (rule)
			safe_rule = out_safe(rule);
		printf("  %-10s %s%s%s\n", i == 0 ? "scope" : "", safe_name, rule ? ": " : "",
			rule ? safe_rule : "");
	}
}

static void show_warnings(const json_t *request)
{
	if (json_is_true(json_object_get(request, "hidden_chars")))
		puts("  HIDDEN CHARACTERS: some are shown as \\x.. or \\u{..}; it is not what it "
		     "looks "
		     "like");
	if (json_is_true(json_object_get(request, "mixed_script")))
		puts("  MIXED ALPHABETS: letters of several alphabets in one word look alike");
}

void approve_show(const json_t *request, size_t n, size_t total)
{
	_cleanup_(freep) char *id = out_member(request, "id");
	_cleanup_(freep) char *op = out_member(request, "op");
	json_int_t count = json_integer_value(json_object_get(request, "count"));
	char left[32];

	out_time_left(request, left, sizeof(left));
	printf("\nrequest %s: %s   (%zu of %zu, expires in %s)\n", id, op, n, total, left);
	fact(request, "object", "object");
	fact_if_other(request, "real path", "real_path", "object");
	fact_if_other(request, "asked as", "asked_path", "real_path");
	fact(request, "other end", "other");
	fact(request, "program", "program");
	fact(request, "script by", "interpreter");
	show_argv(request);
	fact(request, "folder", "cwd");
	printf("  %-10s %lld\n", "pid",
		(long long)json_integer_value(json_object_get(request, "pid")));
	if (count > 1)
		printf("  %-10s %lld times\n", "waiting", (long long)count);
	fact(request, "session", "session");
	fact(request, "agent", "agent");
	fact(request, "rule", "rule");
	fact(request, "says", "rule_text");
	fact(request, "layer", "layer");
	fact(request, "because", "reason");
	fact(request, "risk", "risk");
	show_warnings(request);
	show_offers(request);
	printf("type: allow %s [for DURATION] [scope NAME], deny %s [NOTE], skip, ?\n", id, id);
	(void)fflush(stdout);
}

void approve_show_list(const json_t *requests)
{
	if (json_array_size(requests) == 0)
		puts("nothing waits for an answer");
	for (size_t i = 0; i < json_array_size(requests); i++) {
		const json_t *request = json_array_get(requests, i);
		_cleanup_(freep) char *id = out_member(request, "id");
		_cleanup_(freep) char *op = out_member(request, "op");
		_cleanup_(freep) char *object = out_member(request, "object");

		printf("%s: %s %s\n", id, op, object);
	}
	(void)fflush(stdout);
}
