/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
/* agentctl ps: the sessions that run. */

#include <string.h>

#include "agentctl/connect.h"
#include "agentctl/output.h"
#include "supervisord/base/clock.h"

static const char help[] = "usage: agentctl ps [--json]\n"
			   "\n"
			   "Lists the sessions that run now.\n"
			   "\n"
			   "  --json   an array of objects\n"
			   "\n"
			   "  agentctl ps\n"
			   "  agentctl ps --json | jq -r '.[].id'\n";

static const struct option_def options_[] = {{"json", 0, NULL}};

/* A number as text; "-" when it is none. */
static void number(const json_t *object, const char *key, char *out, size_t size)
{
	const json_t *value = json_object_get(object, key);

	if (json_is_integer(value))
		(void)snprintf(out, size, "%lld", (long long)json_integer_value(value));
	else
		(void)snprintf(out, size, "-");
}

static void age(const json_t *session, char *out, size_t size)
{
	uint64_t started = (uint64_t)json_integer_value(json_object_get(session, "started_usec"));
	uint64_t now = clock_realtime_usec();

	if (started == 0 || started > now)
		(void)snprintf(out, size, "-");
	else if (now - started < USEC_PER_SEC * 120)
		(void)snprintf(out, size, "%us", (unsigned)((now - started) / USEC_PER_SEC));
	else
		(void)snprintf(out, size, "%um", (unsigned)((now - started) / USEC_PER_SEC / 60));
}

static char *command_line(const json_t *session)
{
	const json_t *argv = json_object_get(session, "argv");
	char *text = strdup("");

	for (size_t i = 0; text && i < json_array_size(argv); i++) {
		_cleanup_(freep) char *before = text;
		const char *word = json_string_value(json_array_get(argv, i));

		text = NULL;
		if (asprintf(&text, "%s%s%s", before, i ? " " : "", word ? word : "?") < 0)
			text = NULL;
	}
	if (!text)
		out_of_memory();
	return text;
}

static void print_table(const json_t *sessions)
{
	static const char *const headings[] = {
		"SESSION", "AGENT", "PID", "AGE", "PENDING", "WORKSPACE", "COMMAND"};
	_cleanup_(out_table_freep) struct out_table *table = out_table_new(ARRAY_LEN(headings));

	for (size_t i = 0; i < ARRAY_LEN(headings); i++)
		out_table_add(table, headings[i]);
	for (size_t i = 0; i < json_array_size(sessions); i++) {
		const json_t *session = json_array_get(sessions, i);
		_cleanup_(freep) char *command = command_line(session);
		char text[32];

		out_table_add(table, json_string_value(json_object_get(session, "id")));
		out_table_add(table, json_string_value(json_object_get(session, "agent")));
		number(session, "pid", text, sizeof(text));
		out_table_add(table, text);
		age(session, text, sizeof(text));
		out_table_add(table, text);
		number(session, "pending", text, sizeof(text));
		out_table_add(table, text);
		out_table_add(table, json_string_value(json_object_get(session, "workspace")));
		out_table_add(table, command);
	}
	out_table_print(table, stdout);
}

static int verb_main(const struct verb *verb, struct options *options)
{
	bool json = false;
	int status = out_one_flag(verb, options, &json);

	return status >= 0 ? status
			   : connect_list("Sessions", json, "no session runs", print_table);
}

const struct verb verb_ps = {
	.name = "ps",
	.summary = "list the sessions that run",
	.help = help,
	.options = options_,
	.n_options = ARRAY_LEN(options_),
	.usage_status = EXIT_USAGE,
	.main = verb_main,
};
