/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
/* agentctl version. */

#include "agentctl/output.h"
#include "supervisord/base/json.h"

static const char help[] = "usage: agentctl version [--json]\n"
			   "\n"
			   "Prints the version of this program.\n"
			   "\n"
			   "  agentctl version\n";

static const struct option_def options_[] = {{"json", 0, NULL}};

static int verb_main(const struct verb *verb, struct options *options)
{
	_cleanup_(json_decrefp) json_t *object = NULL;
	bool json = false;
	int status = out_one_flag(verb, options, &json);

	if (status >= 0)
		return status;
	if (!json) {
		puts("agentctl (agent-supervisor) " AGENT_SUPERVISOR_VERSION);
		return EXIT_OK;
	}
	object = json_pack("{s:s}", "version", AGENT_SUPERVISOR_VERSION);
	if (!object)
		out_of_memory();
	out_json(object);
	return EXIT_OK;
}

const struct verb verb_version = {
	.name = "version",
	.summary = "print the version",
	.help = help,
	.options = options_,
	.n_options = ARRAY_LEN(options_),
	.usage_status = EXIT_USAGE,
	.main = verb_main,
};
