/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_BROKER_OPEN_H
#define SUPERVISORD_BROKER_OPEN_H

/* The parts of handle_open(): arguments, special files. */

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "supervisord/broker/path.h"

/* An open of any of the four calls, copied once. */
struct open_call {
	int dir_fd;
	uint64_t flags; /* as the kernel takes them: unknown ones and those beside O_PATH dropped */
	bool nofollow;  /* O_NOFOLLOW, or a creation with O_EXCL */
	mode_t mode;
	uint64_t resolve;
	char path[PATH_MAX];
};

/* Copies the arguments (but for O_PATH, not the path). 0 or -errno as the kernel gives it (EINVAL,
 * E2BIG, EFAULT, ENAMETOOLONG).
 */
int open_call_read(struct notification *n, struct open_call *call) _must_use_;

bool open_reads(const struct open_call *call);
/* Writes, appends or truncates. */
bool open_writes(const struct open_call *call);

/* Is an open of this object out of the question, whatever the policy says: settings of the kernel,
 * other processes, raw devices? WHY (static) says so. */
bool open_is_refused(struct notification *n, const struct path *path, const struct open_call *call,
	const char **whyp);

/* Opens the pinned object with the caller's flags, waiting as the kernel would (FIFO, lease, line)
 * without keeping other requests waiting. *FDP is owned by the caller. 0 or -errno. */
int open_object(struct notification *n, const struct path *path, const struct open_call *call,
	int *fdp) _must_use_;
/* What stands for a hidden object: an empty file or an empty folder. 0 or -errno. */
int open_hidden(struct notification *n, bool folder, int *fdp) _must_use_;

/* For a moment after a handover both the requester and the broker have the file open. Waits
 * (briefly) until the broker's are closed: before an exec, which fails while its file is open for
 * writing. */
void open_settle(void);

#endif
