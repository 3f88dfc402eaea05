/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
/* agentctl run: from a command line to the command's exit status. */

#include "agentctl/run.h"

#include <stdio.h>
#include <string.h>

#include "agentctl/connect.h"
#include "agentctl/output.h"
#include "agentctl/run_options.h"
#include "agentctl/run_spec.h"
#include "supervisord/base/error.h"

static const char help[] =
	"usage: agentctl run [OPTIONS] [--] COMMAND [ARGUMENTS]\n"
	"\n"
	"Runs COMMAND under supervision, in this folder and on this terminal. The supervisor is\n"
	"started when none runs.\n"
	"\n"
	"  -p, --policy FILE          add a policy of yours to this session; may be repeated\n"
	"      --profile NAME         the shipped policy to start from (core)\n"
	"  -w, --workspace DIR        the folder that counts as the project (the current one)\n"
	"      --no-ask               deny at once whatever would be asked\n"
	"  -t, --timeout SPAN         end the session after 30s, 10m, 2h ...\n"
	"      --allow-reduced LAYER  go on without a layer of protection that this system lacks:\n"
	"                             userns (user namespaces)\n"
	"  -v, --verbose              show what was denied, also when the command succeeded or\n"
	"                             nobody looks at a terminal\n"
	"\n"
	"Exit status: that of COMMAND; 128+N when signal N ended it; 125 when the supervisor "
	"failed;\n"
	"126 when COMMAND cannot be executed, 127 when it is not found; 78 when a policy is "
	"unusable.\n"
	"\n"
	"  agentctl run -- bash -i\n"
	"  agentctl run --no-ask --timeout 10m -- make -j2\n"
	"  agentctl run --policy ~/ci.policy -- npm test\n"
	"  agentctl run -w ~/src/app -- sh -c 'git status; make'\n";

static void explain_launch(int r)
{
	if (r == -ENOENT)
		out_error(
			"agent-broker is not beside this program: the installation is incomplete");
	else
		out_error("the session could not be started: %s", strerror(-r));
}

/* Runs the session of SPEC and returns the exit status. */
static int run_session(const struct dirs *dirs, const struct session_spec *spec, bool verbose)
{
	struct run run = {.broker_pidfd = -1,
		.sock = -1,
		.signal_fd = -1,
		.master_fd = -1,
		.status = EXIT_SUPERVISOR};
	int r;

	buf_init(&run.notices, 65536);
	r = run_signals_block(&run, spec->pty);
	if (r == 0)
		r = run_launch(&run, spec, spec->pty);
	if (r < 0) {
		explain_launch(r);
		run_deinit(&run);
		return EXIT_SUPERVISOR;
	}
	if (spec->pty)
		run_pty(&run);
	else
		run_plain(&run);
	if (run.notices.size > 0)
		(void)fputs(run.notices.data, stderr);
	if (verbose || (run.status != 0 && isatty(STDERR_FILENO)))
		run_footer(&run, dirs->control);
	run_deinit(&run);
	return run.status;
}

static int run_command(
	const struct run_options *options, const struct dirs *dirs, char **command, size_t n)
{
	_cleanup_(policy_set_freep) struct policy_set *set = NULL;
	_cleanup_(spec_freep) struct session_spec *spec = NULL;
	int status = run_spec_make(&verb_run, options, dirs, command, n, &spec, &set);

	if (status >= 0)
		return status;
	if (connect_start(dirs) < 0)
		return EXIT_SUPERVISOR;
	return run_session(dirs, spec, options->verbose);
}

static int verb_main(const struct verb *verb, struct options *options)
{
	struct run_options run_options;
	struct dirs dirs;
	int status = run_options_read(verb, options, &run_options);

	if (status < 0 && options->n_operands == 0)
		status = out_usage(verb, "there is no command to run");
	if (status < 0 && connect_inside_session()) {
		out_error("already supervised: a session cannot start another one");
		status = EXIT_SUPERVISOR;
	}
	if (status < 0) {
		connect_dirs(&dirs);
		status = run_command(
			&run_options, &dirs, options->operands, (size_t)options->n_operands);
		dirs_deinit(&dirs);
	}
	run_options_deinit(&run_options);
	return status;
}

const struct verb verb_run = {
	.name = "run",
	.summary = "run a command under supervision",
	.help = help,
	.options = run_option_defs,
	.n_options = RUN_OPTIONS_N - 1,
	.usage_status = EXIT_SUPERVISOR,
	.stop_at_operand = true,
	.main = verb_main,
};
