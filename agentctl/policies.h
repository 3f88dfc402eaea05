/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef AGENTCTL_POLICIES_H
#define AGENTCTL_POLICIES_H

/* Finds the policy files of a session, reads each once, and checks them as a whole. What was read
 * here is what the broker gets: the files are never opened again. */

#include "agentctl/run_options.h"
#include "policy-lang/policy.h"
#include "supervisord/base/dirs.h"
#include "supervisord/proto/spec.h"

/* Appends to SPEC, in this order: the organisation's files (/etc/agent-supervisor), the user's
 * (policy.d in the configuration folder, then grants.policy), the FILES of the command line (user),
 * .agent-policy of SPEC->workspace (project). Folders give their "*.policy", sorted by name. -1, or
 * the exit status after a message. */
int policies_read(const struct dirs *dirs, const char *const *files, size_t n_files,
	struct session_spec *spec) _must_use_;

/* One file, appended to SPEC as LAYER. -1, or the exit status after a message. */
int policies_read_file(
	struct session_spec *spec, const char *file, enum policy_layer layer) _must_use_;

/* Profile and policies of SPEC as a sealed set. Messages go to standard error. -1, or the exit
 * status (EXIT_POLICY; for an unknown profile too). */
int policies_load(const struct dirs *dirs, const struct session_spec *spec,
	struct policy_set **setp) _must_use_;

/* What the variables of a policy stand for in this environment. */
struct policies_vars {
	struct policy_vars vars; /* borrows from the members below, from DIRS and WORKSPACE */
	char *config, *state, *data, *cache, *runtime;
};
void policies_vars_init(struct policies_vars *vars, const struct dirs *dirs, const char *workspace);
void policies_vars_deinit(struct policies_vars *vars);

#endif
