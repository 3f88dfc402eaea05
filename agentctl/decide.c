/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
/* agentctl allow and agentctl deny: answers by id. */

#include "agentctl/answer.h"
#include "agentctl/output.h"

static const char allow_help[] =
	"usage: agentctl allow [--for DURATION] [--scope NAME] ID\n"
	"\n"
	"Allows a pending request. Of its id the first four letters are enough.\n"
	"\n"
	"  -f, --for DURATION   once (the default), session, a span such as 10m, or forever;\n"
	"                       only what the rule offers\n"
	"  -s, --scope NAME     exact (the default), dir, subcommand, program, host; only what\n"
	"                       the rule offers\n"
	"\n"
	"  agentctl allow 7c41xk\n"
	"  agentctl allow 7c41 --for session --scope dir\n";

static const char deny_help[] =
	"usage: agentctl deny [--note TEXT] ID\n"
	"\n"
	"Denies a pending request, this once. The beginning of its id is enough where it is\n"
	"unique.\n"
	"\n"
	"  -n, --note TEXT   told when the command ends, by \"agentctl why\" and the log\n"
	"\n"
	"  agentctl deny 7\n"
	"  agentctl deny 7c41xk --note 'use the staging database'\n";

enum {
	ALLOW_FOR,
	ALLOW_SCOPE,
};

static const struct option_def allow_options[] = {
	[ALLOW_FOR] = {"for", 'f', "DURATION"},
	[ALLOW_SCOPE] = {"scope", 's', "NAME"},
};

static const struct option_def deny_options[] = {{"note", 'n', "TEXT"}};

static int allow_main(const struct verb *verb, struct options *options)
{
	struct answer answer = {.allow = true};
	const char *value;
	int id;

	while ((id = options_next(options, &value)) >= 0) {
		if (id == ALLOW_FOR)
			answer.duration = value;
		else
			answer.scope = value;
	}
	if (id != OPTIONS_END)
		return out_options(verb, options, id);
	if (options->n_operands != 1)
		return out_usage(verb, "needs one request id; \"agentctl pending\" lists them");
	return answer_send(options->operands[0], &answer);
}

static int deny_main(const struct verb *verb, struct options *options)
{
	struct answer answer = {.allow = false};
	const char *value;
	int id;

	while ((id = options_next(options, &value)) >= 0)
		answer.note = value;
	if (id != OPTIONS_END)
		return out_options(verb, options, id);
	if (options->n_operands != 1)
		return out_usage(verb, "needs one request id; \"agentctl pending\" lists them");
	return answer_send(options->operands[0], &answer);
}

const struct verb verb_allow = {
	.name = "allow",
	.summary = "allow a pending request",
	.help = allow_help,
	.options = allow_options,
	.n_options = ARRAY_LEN(allow_options),
	.usage_status = EXIT_USAGE,
	.main = allow_main,
};

const struct verb verb_deny = {
	.name = "deny",
	.summary = "deny a pending request",
	.help = deny_help,
	.options = deny_options,
	.n_options = ARRAY_LEN(deny_options),
	.usage_status = EXIT_USAGE,
	.main = deny_main,
};
