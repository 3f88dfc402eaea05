/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_BROKER_RECENT_H
#define SUPERVISORD_BROKER_RECENT_H

/* What a person just refused to a process: the same object under another name, or the same call at
 * once again, is one question. A search along PATH meets /bin/git after /usr/bin/git was refused; a
 * retry loop must not turn into a row of prompts. Thread-safe. */

#include <stdbool.h>

#include "supervisord/proto/request.h"

#define RECENT_MAX 64                        /* refusals remembered */
#define RECENT_USEC (10 * (uint64_t)1000000) /* for how long, CLOCK_BOOTTIME */

/* Remembers that REQUEST (subject filled in) was refused under RULE. */
void recent_add(const struct request *request, const char *rule);
/* Was the same operation on the same object refused to the same process within RECENT_USEC? */
bool recent_has(const struct request *request, const char *rule);

#endif
