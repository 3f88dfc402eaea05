/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_SANDBOX_MOUNTS_H
#define SUPERVISORD_SANDBOX_MOUNTS_H

/* The session's view of the file system: the host's tree with private and masked places over it. */

#include <stddef.h>

#include "supervisord/base/cleanup.h"

struct plan;

/* Carries out PLAN's PLAN_MOUNT steps in the calling process, which must be alone in a mount
 * namespace that its user namespace owns. On failure *WHATP (static, or of the plan) names the
 * place. 0 or -errno. */
int mounts_apply(const struct plan *plan, const char **whatp) _must_use_;

/* mounts_dev.c: a minimal /dev over the host's. */
int mounts_make_dev(const char **whatp) _must_use_;

/* mounts_proc.c: a fresh /proc; and what is dangerous in the /proc that is there read-only or
 * empty. */
int mounts_make_proc(const char **whatp) _must_use_;
int mounts_close_proc(const char **whatp) _must_use_;

/* Covers the folder PATH with one that is empty and read-only. 0 (also when there is no such
 * folder) or -errno. */
int mounts_mask_folder(const char *path) _must_use_;

#endif
