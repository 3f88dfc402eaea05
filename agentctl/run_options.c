/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
/* Options that describe a session. */

#include "agentctl/run_options.h"

#include <string.h>

#include "agentctl/output.h"
#include "supervisord/base/parse.h"

enum {
	OPT_POLICY,
	OPT_PROFILE,
	OPT_WORKSPACE,
	OPT_TIMEOUT,
	OPT_NO_ASK,
	OPT_ALLOW_REDUCED,
	OPT_VERBOSE,
	OPT_JSON,
};

const struct option_def run_option_defs[RUN_OPTIONS_N] = {
	[OPT_POLICY] = {"policy", 'p', "FILE"},
	[OPT_PROFILE] = {"profile", 0, "NAME"},
	[OPT_WORKSPACE] = {"workspace", 'w', "DIR"},
	[OPT_TIMEOUT] = {"timeout", 't', "SPAN"},
	[OPT_NO_ASK] = {"no-ask", 0, NULL},
	[OPT_ALLOW_REDUCED] = {"allow-reduced", 0, "LAYER"},
	[OPT_VERBOSE] = {"verbose", 'v', NULL},
	[OPT_JSON] = {"json", 0, NULL},
};

/* -1, or the exit status of a wrong value. */
static int take(const struct verb *verb, int id, const char *value, struct run_options *out)
{
	switch (id) {
	case OPT_POLICY:
		out->policies[out->n_policies++] = value;
		return -1;
	case OPT_PROFILE:
		out->profile = value;
		return -1;
	case OPT_WORKSPACE:
		out->workspace = value;
		return -1;
	case OPT_TIMEOUT:
		if (parse_span(value, &out->timeout_usec) < 0)
			return out_usage(verb,
				"--timeout takes a number with s, m, h or d, not \"%s\"", value);
		return -1;
	case OPT_NO_ASK:
		out->no_ask = true;
		return -1;
	case OPT_ALLOW_REDUCED:
		if (strcmp(value, "userns") != 0)
			return out_usage(verb,
				"--allow-reduced knows the layer \"userns\" (user namespaces), not "
				"\"%s\"",
				value);
		out->reduced_userns = true;
		return -1;
	case OPT_VERBOSE:
		out->verbose = true;
		return -1;
	default:
		out->json = true;
		return -1;
	}
}

int run_options_read(const struct verb *verb, struct options *options, struct run_options *out)
{
	const char *value;
	int id;

	*out = (struct run_options){.profile = "core"};
	out->policies = calloc((size_t)options->argc + 1, sizeof(char *));
	if (!out->policies)
		out_of_memory();
	while ((id = options_next(options, &value)) >= 0) {
		int status = take(verb, id, value, out);

		if (status >= 0)
			return status;
	}
	return id == OPTIONS_END ? -1 : out_options(verb, options, id);
}

void run_options_deinit(struct run_options *options)
{
	free(options->policies);
	options->policies = NULL;
}
