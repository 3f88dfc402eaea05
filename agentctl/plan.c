/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
/* agentctl plan: what a run with the same options would enforce, and where. Starts nothing. */

#include "supervisord/sandbox/plan.h"

#include <string.h>

#include "agentctl/connect.h"
#include "agentctl/output.h"
#include "agentctl/run_spec.h"
#include "supervisord/base/parse.h"
#include "supervisord/sandbox/probe.h"

static const char help[] =
	"usage: agentctl plan [--json] [OPTIONS of run] [-- COMMAND [ARGUMENTS]]\n"
	"\n"
	"Prints the steps that \"agentctl run\" with the same options would take on this kernel:\n"
	"what the kernel alone enforces and what the broker answers. Starts nothing.\n"
	"\n"
	"  --json   the plan as one object\n"
	"\n"
	"  agentctl plan\n"
	"  agentctl plan --policy ~/ci.policy -- npm test\n";

static int print_plan(const struct plan *plan, bool json)
{
	_cleanup_(json_decrefp) json_t *object = NULL;
	uint8_t digest[32];
	char hex[65];

	if (!json)
		return plan_print(plan, stdout) < 0 ? EXIT_FAILED : EXIT_OK;
	object = plan_to_json(plan);
	if (!object)
		out_of_memory();
	plan_digest(plan, digest);
	format_hex(digest, sizeof(digest), hex);
	json_object_set_new(object, "digest", json_string(hex));
	out_json(object);
	return EXIT_OK;
}

static int make_plan(
	const struct verb *verb, const struct run_options *run_options, char **command, size_t n)
{
	_cleanup_(policy_set_freep) struct policy_set *set = NULL;
	_cleanup_(spec_freep) struct session_spec *spec = NULL;
	_cleanup_(plan_freep) struct plan *plan = NULL;
	_cleanup_(freep) char *message = NULL;
	struct probe probe;
	struct dirs dirs;
	int r, status;

	connect_dirs(&dirs);
	status = run_spec_make(verb, run_options, &dirs, command, n, &spec, &set);
	dirs_deinit(&dirs);
	if (status >= 0)
		return status;
	r = probe_run(&probe);
	if (r < 0) {
		out_error("this system cannot be probed: %s", strerror(-r));
		return EXIT_FAILED;
	}
	r = plan_build(&probe, set, spec, &plan, &message);
	if (r == 0)
		return print_plan(plan, run_options->json);
	out_error("%s", message ? message : r < 0 ? strerror(-r) : "the plan was refused");
	return EXIT_FAILED;
}

static int verb_main(const struct verb *verb, struct options *options)
{
	struct run_options run_options;
	int status = run_options_read(verb, options, &run_options);

	if (status < 0)
		status = make_plan(
			verb, &run_options, options->operands, (size_t)options->n_operands);
	run_options_deinit(&run_options);
	return status;
}

const struct verb verb_plan = {
	.name = "plan",
	.summary = "show what a run would enforce, and where",
	.help = help,
	.options = run_option_defs,
	.n_options = RUN_OPTIONS_N,
	.usage_status = EXIT_USAGE,
	.stop_at_operand = true,
	.main = verb_main,
};
