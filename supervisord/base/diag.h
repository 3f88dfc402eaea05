/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_BASE_DIAG_H
#define SUPERVISORD_BASE_DIAG_H

/* Messages for people about a text they wrote (a policy, a command line): file, line, column, what
 * is wrong and, where there is one, what to do. Collected in a list so that one run reports
 * several. */

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "supervisord/base/cleanup.h"

#define DIAG_MAX 64 /* further messages are counted, not kept */

enum diag_severity {
	DIAG_ERROR,
	DIAG_WARNING,
};

struct diag {
	enum diag_severity severity;
	char *file; /* as the person named it; never NULL */
	unsigned line;
	unsigned column; /* in characters, from 1; 0 with line 0 = about the file as a whole */
	char *message;
	char *source; /* the offending line without its newline, for a caret; may be NULL */
};

struct diag_list {
	struct diag items[DIAG_MAX];
	size_t n_items;
	size_t n_errors; /* all errors, also those beyond DIAG_MAX */
	size_t n_dropped;
};

/* An empty list. */
void diag_list_init(struct diag_list *list);
/* Frees what the list holds; idempotent. */
void diag_list_deinit(struct diag_list *list);

/* Adds a message; copies all strings. An allocation failure still counts the error. */
void diag_add(struct diag_list *list, enum diag_severity severity, const char *file, unsigned line,
	unsigned column, const char *source, const char *format, ...) _printf_(7, 8);

/* Prints every message as "FILE:LINE:COL: error: message" and the source line with a caret under
 * the column. Untrusted bytes are escaped. */
void diag_list_print(const struct diag_list *list, FILE *out);

#endif
