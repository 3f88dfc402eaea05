/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_SANDBOX_NAMESPACES_H
#define SUPERVISORD_SANDBOX_NAMESPACES_H

/* New namespaces, the identity inside them, and giving up privileges. */

#include <sys/types.h>

#include "supervisord/base/cleanup.h"

struct plan;

/* The clone(2) flags for PLAN's PLAN_NAMESPACE steps; 0 without any. */
unsigned long namespaces_flags(const struct plan *plan);

/* fork() into new namespaces: the child's pid, 0 in the child, or -errno. The caller must have one
 * thread. */
pid_t namespaces_fork(unsigned long flags);

/* In the child of namespaces_fork() with CLONE_NEWUSER: maps UID and GID, the caller's outside, to
 * themselves, and closes setgroups. Needs /proc. 0 or -errno. */
int namespaces_map_self(uid_t uid, gid_t gid) _must_use_;

/* Empties the ambient, bounding, effective, permitted and inheritable sets, and sets no_new_privs.
 * The bounding set stays where the process has no right to change it and nothing it could gain.
 * Safe after fork. 0 or -errno. */
int namespaces_drop_caps(void) _must_use_;

#endif
