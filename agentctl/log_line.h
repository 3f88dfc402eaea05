/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef AGENTCTL_LOG_LINE_H
#define AGENTCTL_LOG_LINE_H

/* One record of the audit log, for people. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct log_filter {
	const char *session; /* how its id begins; NULL = all */
	const char
		*type; /* this type, or those below it ("log" also means "log.open"); NULL = all */
	bool json;     /* print the exact line */
};

/* Prints the record LINE unless the filter leaves it out. False when it did. */
bool log_line_print(const struct log_filter *filter, uint64_t index, const char *line, size_t size);

#endif
