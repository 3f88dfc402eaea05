/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_BASE_PROC_H
#define SUPERVISORD_BASE_PROC_H

/* Facts about a process from our own /proc. Each is a snapshot: hold a pidfd and check that it is
 * alive afterwards where the answer matters. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "supervisord/base/cleanup.h"

/* Parent's pid; 0 for the first process. 0, -ESRCH, -errno. */
int proc_parent(pid_t pid, pid_t *parentp) _must_use_;
/* Start time in clock ticks since boot (field 22 of stat, proc(5)). */
int proc_start_ticks(pid_t pid, uint64_t *ticksp) _must_use_;
/* Thread-group id of a thread, and its file mode creation mask (either pointer may be NULL). */
int proc_tgid_umask(pid_t tid, pid_t *tgidp, mode_t *umaskp) _must_use_;
/* The same, and NStgid as proc_inner_ids() gives it, from one snapshot. *INNERP is 0 when the list
 * of groups is so long that it takes a read of its own. */
int proc_ids(pid_t tid, pid_t *tgidp, mode_t *umaskp, pid_t *innerp) _must_use_;

/* Pid of TID's thread group, and of the thread, in the innermost pid namespace (NStgid, NSpid). */
int proc_inner_ids(pid_t tid, pid_t *tgidp, pid_t *tidp) _must_use_;
/* Device and inode of /proc/PID/ns/NAME ("user", "pid", "mnt"). */
int proc_namespace(pid_t pid, const char *name, uint64_t *devp, uint64_t *inop) _must_use_;
/* Target of /proc/PID/exe or cwd, owned by the caller. */
int proc_link(pid_t pid, const char *name, char **targetp) _must_use_;
/* Is ANCESTOR the process itself or one of its ancestors? 1, 0 or -errno. */
int proc_is_descendant(pid_t pid, pid_t ancestor) _must_use_;
/* Does the process that PIDFD names still exist (not a zombie)? */
bool proc_pidfd_alive(int pidfd);

#endif
