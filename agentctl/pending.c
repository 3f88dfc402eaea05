/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
/* agentctl pending: the requests that wait for an answer. */

#include "agentctl/connect.h"
#include "agentctl/output.h"

static const char help[] =
	"usage: agentctl pending [--json]\n"
	"\n"
	"Lists the requests that wait for an answer, oldest first.\n"
	"\n"
	"  --json   an array of objects: id session op object real_path program argv pid cwd rule\n"
	"           layer reason deadline durations scopes fingerprint count and more\n"
	"\n"
	"  agentctl pending\n"
	"  agentctl allow \"$(agentctl pending --json | jq -r '.[0].id')\"\n";

static const struct option_def options_[] = {{"json", 0, NULL}};

static void print_table(const json_t *requests)
{
	static const char *const headings[] = {
		"ID", "OP", "LEFT", "SESSION", "PID", "PROGRAM", "RULE", "OBJECT"};
	_cleanup_(out_table_freep) struct out_table *table = out_table_new(ARRAY_LEN(headings));

	for (size_t i = 0; i < ARRAY_LEN(headings); i++)
		out_table_add(table, headings[i]);
	for (size_t i = 0; i < json_array_size(requests); i++) {
		const json_t *request = json_array_get(requests, i);
		json_int_t count = json_integer_value(json_object_get(request, "count"));
		_cleanup_(freep) char *object = out_member(request, "object"), *cell = NULL;
		char text[32];

		out_table_add(table, json_string_value(json_object_get(request, "id")));
		out_table_add(table, json_string_value(json_object_get(request, "op")));
		out_time_left(request, text, sizeof(text));
		out_table_add(table, text);
		out_table_add(table, json_string_value(json_object_get(request, "session")));
		(void)snprintf(text, sizeof(text), "%lld",
			(long long)json_integer_value(json_object_get(request, "pid")));
		out_table_add(table, text);
		out_table_add(table, json_string_value(json_object_get(request, "program")));
		out_table_add(table, json_string_value(json_object_get(request, "rule")));
		if (count > 1 && asprintf(&cell, "%s  (x%lld)", object, (long long)count) < 0)
			out_of_memory();
		out_table_add(table, cell ? cell : object);
	}
	out_table_print(table, stdout);
}

static int verb_main(const struct verb *verb, struct options *options)
{
	bool json = false;
	int status = out_one_flag(verb, options, &json);

	return status >= 0
		       ? status
		       : connect_list("Requests", json, "nothing waits for an answer", print_table);
}

const struct verb verb_pending = {
	.name = "pending",
	.summary = "list the requests that wait for an answer",
	.help = help,
	.options = options_,
	.n_options = ARRAY_LEN(options_),
	.usage_status = EXIT_USAGE,
	.main = verb_main,
};
