/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef AGENTCTL_APPROVE_SHOW_H
#define AGENTCTL_APPROVE_SHOW_H

/* A pending request in full, as lines of text. */

#include <jansson.h>
#include <stddef.h>

/* Prints every fact of REQUEST, which is number N of TOTAL, and what may be answered. */
void approve_show(const json_t *request, size_t n, size_t total);
/* One line each. */
void approve_show_list(const json_t *requests);

#endif
