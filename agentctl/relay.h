/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef AGENTCTL_RELAY_H
#define AGENTCTL_RELAY_H

/* One direction of a terminal relay: bytes from one descriptor to another through a bounded buffer.
 * Back pressure: while the buffer is full, nothing more is read. Both descriptors should be
 * non-blocking; a blocking one works, a little at a time, after poll(2). */

#include <stdbool.h>
#include <stddef.h>

#include "supervisord/base/cleanup.h"

#define RELAY_BUF_SIZE 16384

enum relay_result {
	RELAY_PROGRESS, /* some bytes moved */
	RELAY_NOTHING,  /* would block, or nothing to do */
	RELAY_END,      /* end of file, hang-up or error: this side is over */
};

struct relay {
	int from_fd;      /* borrowed; -1 = no more input */
	int to_fd;        /* borrowed; -1 = what comes is thrown away */
	size_t write_max; /* bytes at once towards a blocking descriptor; 0 = no limit */
	size_t start, size;
	char data[RELAY_BUF_SIZE];
};

void relay_init(struct relay *relay, int from_fd, int to_fd);
/* Would reading, or writing, make sense now? */
bool relay_wants_read(const struct relay *relay);
bool relay_wants_write(const struct relay *relay);
/* Reads once. RELAY_END also sets from_fd to -1; errno tells why, 0 at end of file. */
enum relay_result relay_read(struct relay *relay);
/* Writes once what is there. RELAY_END (the reader is gone) drops it and sets to_fd to -1. */
enum relay_result relay_write(struct relay *relay);

#endif
