/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_BROKER_TARGET_H
#define SUPERVISORD_BROKER_TARGET_H

/* The requester's memory, descriptors, folder and identity. Everything is copied or duplicated
 * once; nothing here may be read a second time after a decision. All functions check that the
 * notification is still valid after they touched /proc or the memory, so that a recycled pid is
 * never used (-ESRCH). */

#include <stddef.h>
#include <stdint.h>

#include "supervisord/broker/notification.h"

/* Copies exactly SIZE bytes at ADDR. 0, -EFAULT, -ESRCH. */
int target_read(struct notification *n, uint64_t addr, void *data, size_t size) _must_use_;
/* Copies a string with its NUL into DATA of SIZE bytes. Its length, or -EFAULT, -ENAMETOOLONG (no
 * NUL in SIZE bytes), -ESRCH. Never touches a page behind the one with the NUL. */
ssize_t target_read_string(
	struct notification *n, uint64_t addr, char *data, size_t size) _must_use_;
/* Copies SIZE bytes to ADDR. 0, -EFAULT, -ESRCH. */
int target_write(struct notification *n, uint64_t addr, const void *data, size_t size) _must_use_;

/* A duplicate of the requester's descriptor FD (same open file description), close-on-exec. 0,
 * -EBADF, -ESRCH, -errno. */
int target_dup_fd(struct notification *n, int fd, int *fdp) _must_use_;
/* O_PATH of the folder that relative paths start from: DIR_FD of the requester, or its cwd for
 * AT_FDCWD. 0, -EBADF, -ESRCH, -errno. */
int target_open_base(struct notification *n, int dir_fd, int *fdp) _must_use_;

/* Thread-group id (in our namespace) and umask. 0 or -ESRCH. */
int target_ids(struct notification *n) _must_use_;
/* pidfd of the thread group, borrowed (n->pidfd). 0 or -ESRCH. */
int target_pidfd(struct notification *n, int *fdp) _must_use_;

/* Fills in the subject of REQUEST (pid, inner_pid, start, uid, program, cwd). 0, -ESRCH, -ENOMEM.
 */
int target_describe(struct notification *n, struct request *request) _must_use_;
/* Fills in the requester's command line, as far as it can be had; cut at TARGET_COMMAND_MAX bytes.
 * For people and the log only: the requester can write it. */
#define TARGET_COMMAND_MAX 16384
void target_describe_command(struct notification *n, struct request *request);

#endif
