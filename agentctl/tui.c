/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
/* agentctl tui: becomes agent-tui. */

#include <string.h>

#include "agentctl/output.h"
#include "supervisord/base/dirs.h"

static const char help[] = "usage: agentctl tui\n"
			   "\n"
			   "Opens the screen where requests are read and answered (agent-tui).\n"
			   "\"agentctl approve\" does the same line by line.\n"
			   "\n"
			   "  agentctl tui\n";

static int verb_main(const struct verb *verb, struct options *options)
{
	_cleanup_(freep) char *program = NULL;
	const char *value;
	int id = options_next(options, &value);

	if (id != OPTIONS_END)
		return out_options(verb, options, id);
	if (options->n_operands > 0)
		return out_usage(verb, "takes no arguments");
	if (dirs_find_program("agent-tui", &program) < 0) {
		out_error("agent-tui is not beside this program: the installation is incomplete");
		return EXIT_FAILED;
	}
	execl(program, "agent-tui", (char *)NULL);
	out_error("%s cannot be started: %s", program, strerror(errno));
	return EXIT_FAILED;
}

const struct verb verb_tui = {
	.name = "tui",
	.summary = "answer requests on a full screen",
	.help = help,
	.usage_status = EXIT_USAGE,
	.main = verb_main,
};
