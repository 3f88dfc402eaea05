/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef AGENTCTL_RUN_OPTIONS_H
#define AGENTCTL_RUN_OPTIONS_H

/* The options that describe a session: those of `run`, and of the verbs that tell what a run would
 * be (plan, policy explain). */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agentctl/verb.h"

struct run_options {
	const char **policies; /* --policy, in their order; pointers into argv */
	size_t n_policies;
	const char *profile;
	const char *workspace; /* NULL = the current folder */
	uint64_t timeout_usec;
	bool no_ask;
	bool reduced_userns;
	bool verbose;
	bool json;
};

/* All of them, --json last: run takes RUN_OPTIONS_N - 1. */
#define RUN_OPTIONS_N 8
extern const struct option_def run_option_defs[RUN_OPTIONS_N];

/* Reads the command line of VERB. -1, or the exit status to end with (help or error, printed). */
int run_options_read(
	const struct verb *verb, struct options *options, struct run_options *out) _must_use_;
void run_options_deinit(struct run_options *options);

#endif
