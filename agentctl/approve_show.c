/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
/* Shows requests line by line: nothing is cut, nothing is coloured, every value is on a line that
 * begins with what it is. Facts first, the rule after them.
 *
 * A terminal would break a long value anywhere, and what stands behind the break would begin a line
 * as a label does: long values are broken here, and each further line begins with "...". */

#include "agentctl/approve_show.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "agentctl/output.h"

#define LABEL_WIDTH 13 /* "  object     " */
#define GOES_ON "..."

static const char *text_of(const json_t *request, const char *key)
{
	const char *text = json_string_value(json_object_get(request, key));

	return text && *text ? text : NULL;
}

/* Columns for a value; SIZE_MAX where nobody breaks lines. */
static size_t value_width(void)
{
	struct winsize size = {0};

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
		return SIZE_MAX;
	return size.ws_col > LABEL_WIDTH ? size.ws_col - LABEL_WIDTH : 1;
}

/* How many bytes of TEXT fit into WIDTH columns, at least one character. One beyond ASCII counts as
 * two columns, whatever it is: rather too early than by the terminal. */
static size_t fitting(const char *text, size_t width)
{
	size_t size = 0, columns = 0;

	while (text[size]) {
		size_t n = 1;

		while (((unsigned char)text[size + n] & 0xc0) == 0x80)
			n++;
		columns += (unsigned char)text[size] < 0x80 ? 1 : 2;
		if (columns > width && size > 0)
			break;
		size += n;
	}
	return size;
}

/* TEXT is safe to show. */
static void put(const char *label, const char *text)
{
	size_t width = value_width();

	do {
		size_t size = fitting(text, width);

		printf("  %-10s %.*s\n", label, (int)size, text);
		text += size;
		label = GOES_ON;
	} while (*text);
}

/* The same behind a text of our own. */
static void put_behind(const char *label, const char *front, const char *text)
{
	_cleanup_(freep) char *all = NULL;

	if (asprintf(&all, "%s%s", front, text) < 0)
		out_of_memory();
	put(label, all);
}

static void fact(const json_t *request, const char *label, const char *key)
{
	_cleanup_(freep) char *safe = NULL;

	if (!text_of(request, key))
		return;
	safe = out_member(request, key);
	put(label, safe);
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
		char number[32];

		(void)snprintf(number, sizeof(number), "[%zu] ", i);
		put_behind(i == 0 ? "argv" : "", number, safe);
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
		_cleanup_(freep) char *front = NULL;

		if (rule)
			safe_rule = out_safe(rule);
		if (asprintf(&front, "%s%s", safe_name, rule ? ": " : "") < 0)
			out_of_memory();
		put_behind(i == 0 ? "scope" : "", front, rule ? safe_rule : "");
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
