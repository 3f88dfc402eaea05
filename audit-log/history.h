/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef AUDIT_LOG_HISTORY_H
#define AUDIT_LOG_HISTORY_H

/* Streams the notes of the file "checkpoints", one behind the other, with a fixed amount of memory.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "supervisord/base/cleanup.h"

enum {
	AUDIT_HISTORY_END = 1,
	AUDIT_HISTORY_TORN, /* the rest is not a complete note: *DATAP is what there is */
};

struct audit_history {
	int fd;
	uint64_t left; /* bytes of the file that are still to be read; it may grow meanwhile */
	char *buffer;
	size_t start, end;
};

/* Opens "checkpoints" in DIR_FD (borrowed). Reads as far as the file reaches now. 0; -ENOENT;
 * -errno. */
int audit_history_init(struct audit_history *history, int dir_fd) _must_use_;
void audit_history_deinit(struct audit_history *history);
/* The next note, borrowed until the next call. 0, one of the results above, -errno. */
int audit_history_next(struct audit_history *history, const char **datap, size_t *sizep) _must_use_;

#endif
