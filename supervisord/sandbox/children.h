/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_SANDBOX_CHILDREN_H
#define SUPERVISORD_SANDBOX_CHILDREN_H

/* Descendants, for a session without a pid namespace. */

#include <sys/types.h>

/* Kills every process whose ancestor is PARENT, as /proc shows it now. Call again until there is
 * none: what forks meanwhile comes back to PARENT when that is a child subreaper. */
void children_kill(pid_t parent);

#endif
