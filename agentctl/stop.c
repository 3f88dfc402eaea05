/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
/* agentctl stop: ends one session, whole. */

#include "agentctl/connect.h"
#include "agentctl/output.h"

static const char help[] =
	"usage: agentctl stop [--reason TEXT] SESSION\n"
	"\n"
	"Ends a session: the command and everything it started. \"agentctl ps\" lists\n"
	"sessions; the beginning of an id is enough where it is unique.\n"
	"\n"
	"  -r, --reason TEXT   for the log\n"
	"\n"
	"  agentctl stop s7\n"
	"  agentctl stop --reason 'wrong branch' s7\n";

static const struct option_def options_[] = {{"reason", 'r', "TEXT"}};

static int stop(const char *session, const char *reason)
{
	_cleanup_(client_closep) struct client *client = NULL;
	_cleanup_(json_decrefp) json_t *result = NULL;
	json_t *parameter;
	struct dirs dirs;
	int r;

	connect_dirs(&dirs);
	r = connect_required(&dirs, &client);
	dirs_deinit(&dirs);
	if (r < 0)
		return EXIT_FAILED;
	parameter = json_pack("{s:s, s:s}", "session", session, "reason", reason);
	if (!parameter) {
		out_error("the session or the reason is not valid UTF-8");
		return EXIT_USAGE;
	}
	if (connect_call(client, "Stop", parameter, &result) < 0)
		return EXIT_FAILED;
	printf("stopping\n");
	return EXIT_OK;
}

static int verb_main(const struct verb *verb, struct options *options)
{
	const char *value, *reason = "stopped by a person";
	int id;

	while ((id = options_next(options, &value)) >= 0)
		reason = value;
	if (id != OPTIONS_END)
		return out_options(verb, options, id);
	if (options->n_operands != 1)
		return out_usage(verb, "needs one session");
	return stop(options->operands[0], reason);
}

const struct verb verb_stop = {
	.name = "stop",
	.summary = "end a session",
	.help = help,
	.options = options_,
	.n_options = ARRAY_LEN(options_),
	.usage_status = EXIT_USAGE,
	.main = verb_main,
};
