/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
/* agentctl why: which rule refused the last operations, and what would change that. */

#include <string.h>

#include "agentctl/connect.h"
#include "agentctl/output.h"
#include "supervisord/base/clock.h"
#include "supervisord/base/parse.h"

static const char help[] =
	"usage: agentctl why [--json] [-n N] [last | SESSION]\n"
	"\n"
	"Tells why something was denied: the rule, its file and line, its layer, its reason, and\n"
	"the smallest line that would change the answer, with who may write it.\n"
	"\n"
	"  last         the last denial of any session (the default)\n"
	"  SESSION      the last denials of this session\n"
	"  -n N         so many denials, newest first (1 for last, 5 for a session)\n"
	"      --json   an array of objects\n"
	"\n"
	"  agentctl why\n"
	"  agentctl why s7 -n 20\n"
	"  agentctl why last --json | jq -r '.[0].rule'\n";

enum {
	OPT_JSON,
	OPT_N,
};

static const struct option_def options_[] = {
	[OPT_JSON] = {"json", 0, NULL},
	[OPT_N] = {"lines", 'n', "N"},
};

static const char *who_may_change(const char *layer)
{
	static const struct {
		const char *layer, *who;
	} table[] = {
		{"builtin", "you; \"agentctl run --policy FILE\" tries it for one session"},
		{"org", "your organisation (/etc/agent-supervisor)"},
		{"user", "you (policy.d in your configuration folder, or the --policy file)"},
		{"project", "whoever may edit .agent-policy of the project"},
		{"session", "you: it was an answer in this session"},
	};

	for (size_t i = 0; layer && i < ARRAY_LEN(table); i++)
		if (strcmp(layer, table[i].layer) == 0)
			return table[i].who;
	return NULL;
}

static void line(const json_t *denial, const char *label, const char *key)
{
	const char *value = json_string_value(json_object_get(denial, key));
	_cleanup_(freep) char *safe = NULL;

	if (!value || !*value)
		return;
	safe = out_safe(value);
	printf("  %-10s %s\n", label, safe);
}

static void print_rule(const json_t *denial)
{
	_cleanup_(freep) char *rule = out_member(denial, "rule");
	_cleanup_(freep) char *text = out_member(denial, "rule_text");
	bool has_text = json_is_string(json_object_get(denial, "rule_text"));

	printf("  %-10s %s%s%s\n", "rule", rule, has_text ? "  " : "", has_text ? text : "");
}

static void print_denial(const json_t *denial)
{
	_cleanup_(freep) char *op = out_member(denial, "op");
	_cleanup_(freep) char *object = out_member(denial, "object");
	const char *layer = json_string_value(json_object_get(denial, "layer"));
	const char *who = who_may_change(layer);
	const char *remedy = json_string_value(json_object_get(denial, "remedy"));
	uint64_t when = (uint64_t)json_integer_value(json_object_get(denial, "time_usec"));
	char text[CLOCK_TEXT_MAX] = "-";

	if (when > 0)
		clock_format_utc(when, text);
	printf("denied  %s %s\n", op, object);
	printf("  %-10s %s\n", "when", text);
	line(denial, "session", "session");
	line(denial, "program", "program");
	print_rule(denial);
	line(denial, "layer", "layer");
	line(denial, "outcome", "outcome");
	line(denial, "because", "reason");
	line(denial, "note", "note");
	if (!remedy || !*remedy) {
		printf("  %-10s %s\n", "to change", "no line of yours can change this answer");
		return;
	}
	line(denial, "to change", "remedy");
	if (who)
		printf("  %-10s %s\n", "by", who);
}

static int why(const char *session, uint64_t n, bool json)
{
	_cleanup_(client_closep) struct client *client = NULL;
	_cleanup_(json_decrefp) json_t *denials = NULL;
	json_t *query;
	struct dirs dirs;
	int r;

	connect_dirs(&dirs);
	r = connect_required(&dirs, &client);
	dirs_deinit(&dirs);
	if (r < 0)
		return EXIT_FAILED;
	query = json_pack("{s:I}", "last", (json_int_t)n);
	if (!query)
		out_of_memory();
	if (session && json_object_set_new(query, "session", json_string(session)) < 0) {
		json_decref(query);
		out_error("a session id is plain text");
		return EXIT_USAGE;
	}
	if (connect_call(client, "Why", query, &denials) < 0)
		return EXIT_FAILED;
	if (json)
		out_json(denials);
	else if (json_array_size(denials) == 0)
		puts("nothing was denied");
	for (size_t i = 0; !json && i < json_array_size(denials); i++) {
		if (i > 0)
			(void)fputc('\n', stdout);
		print_denial(json_array_get(denials, i));
	}
	return EXIT_OK;
}

static int verb_main(const struct verb *verb, struct options *options)
{
	const char *value, *session = NULL;
	uint64_t n = 0;
	bool json = false;
	int id;

	while ((id = options_next(options, &value)) >= 0) {
		if (id == OPT_JSON)
			json = true;
		else if (parse_u64(value, 256, &n) < 0 || n == 0)
			return out_usage(verb, "-n takes a number from 1 to 256");
	}
	if (id != OPTIONS_END)
		return out_options(verb, options, id);
	if (options->n_operands > 1)
		return out_usage(verb, "takes \"last\" or one session");
	if (options->n_operands == 1 && strcmp(options->operands[0], "last") != 0)
		session = options->operands[0];
	if (n == 0)
		n = session ? 5 : 1;
	return why(session, n, json);
}

const struct verb verb_why = {
	.name = "why",
	.summary = "tell why something was denied",
	.help = help,
	.options = options_,
	.n_options = ARRAY_LEN(options_),
	.usage_status = EXIT_USAGE,
	.main = verb_main,
};
