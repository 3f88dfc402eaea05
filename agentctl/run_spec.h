/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef AGENTCTL_RUN_SPEC_H
#define AGENTCTL_RUN_SPEC_H

/* A session's specification from the command line, the caller's environment and the policy files.
 */

#include "agentctl/run_options.h"
#include "policy-lang/policy.h"
#include "supervisord/base/dirs.h"
#include "supervisord/proto/spec.h"

/* COMMAND (N words; may be empty for plan and explain) becomes the argv. Reads and checks the
 * policies. Everything is copied. -1 with *SPECP and *SETP owned by the caller; or the exit status
 * after a message (EXIT_POLICY, or VERB's status for a wrong command line). */
int run_spec_make(const struct verb *verb, const struct run_options *options,
	const struct dirs *dirs, char *const *command, size_t n, struct session_spec **specp,
	struct policy_set **setp) _must_use_;

#endif
