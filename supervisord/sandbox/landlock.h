/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_SANDBOX_LANDLOCK_H
#define SUPERVISORD_SANDBOX_LANDLOCK_H

/* The floor: what the kernel lets the session's processes do with files, TCP ports, signals and
 * abstract sockets, whatever the broker says or whether it lives. */

#include "supervisord/base/cleanup.h"

struct plan;

/* The kernel's ABI version (1 and up), or -errno (-ENOSYS, -EOPNOTSUPP). */
int landlock_abi(void);

/* Puts the calling process under PLAN's PLAN_ALLOW, PLAN_NET_CLOSED and PLAN_SCOPED steps;
 * no_new_privs must be set. TMP_DIR stands in for the plan's PLAN_SESSION_TMP (NULL = none). Paths
 * that do not exist grant nothing. Safe after fork. 0 or -errno. */
int landlock_apply(const struct plan *plan, const char *tmp_dir) _must_use_;

#endif
