/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef AGENTCTL_OPTIONS_H
#define AGENTCTL_OPTIONS_H

/* Command lines: "--name VALUE", "--name=VALUE", "-n VALUE", flags, operands, "--". An option is
 * never abbreviated, so that a new one cannot change what an old script means. */

#include <stdbool.h>
#include <stddef.h>

#include "supervisord/base/cleanup.h"

struct option_def {
	const char *name;     /* without the dashes */
	char letter;          /* 0 = none */
	const char *argument; /* what the value is called; NULL = a flag */
};

enum {
	OPTIONS_END = -1,
	OPTIONS_ERROR = -2, /* options->error says what */
	OPTIONS_HELP = -3,
};

struct options {
	const struct option_def *defs;
	size_t n_defs;
	char **argv; /* borrowed; argv[next] is looked at next */
	int argc;
	int next;
	bool stop_at_operand;
	const char *letters; /* the rest of a cluster of flags, or NULL */
	char **operands;     /* pointers into argv, followed by NULL; set as options_next() goes */
	int n_operands;
	char error[256];
};

/* Starts at ARGV[0], which is the first word behind the verb. STOP_AT_OPERAND: everything from the
 * first operand on is an operand. 0 or -ENOMEM. */
int options_init(struct options *options, const struct option_def *defs, size_t n_defs, int argc,
	char **argv, bool stop_at_operand) _must_use_;
void options_deinit(struct options *options);

/* The next option as an index into defs (with *VALUEP, borrowed, when it takes a value), or
 * OPTIONS_END (operands are complete), OPTIONS_HELP, OPTIONS_ERROR. */
int options_next(struct options *options, const char **valuep);

#endif
