/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef AGENTCTL_VERB_H
#define AGENTCTL_VERB_H

/* The verbs of agentctl: one file each, one struct verb each, all named in main.c's table. */

#include <stddef.h>

#include "agentctl/options.h"

/* Exit statuses that scripts rely on. */
enum {
	EXIT_OK = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,        /* verbs other than run */
	EXIT_POLICY = 78,      /* unusable policy: nothing was started */
	EXIT_SUPERVISOR = 125, /* run: the supervisor itself failed */
	EXIT_CANNOT_EXEC = 126,
	EXIT_NOT_FOUND = 127,
	EXIT_SIGNAL_BASE = 128,
};

struct verb {
	const char *name;    /* one or two words: "run", "log verify" */
	const char *summary; /* for the list of verbs */
	const char *help;    /* usage, options, examples */
	const struct option_def *options;
	size_t n_options;
	int usage_status;     /* exit status for a wrong command line */
	bool stop_at_operand; /* what follows the first operand belongs to another command */
	/* Runs the verb; OPTIONS is ready for options_next(). Returns the exit status. */
	int (*main)(const struct verb *verb, struct options *options);
};

extern const struct verb verb_run, verb_ps, verb_stop, verb_pending, verb_allow, verb_deny,
	verb_approve, verb_why, verb_plan, verb_doctor, verb_policy_check, verb_policy_explain,
	verb_log_show, verb_log_tail, verb_log_verify, verb_daemon_start, verb_daemon_stop,
	verb_daemon_status, verb_version, verb_tui;

#endif
