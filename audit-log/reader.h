/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef AUDIT_LOG_READER_H
#define AUDIT_LOG_READER_H

/* Streams the lines of the segments seg/<first index>.jsonl in order, with a fixed amount of memory
 * whatever the files hold. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "supervisord/base/cleanup.h"

#define AUDIT_SEGMENT_DIR "seg"
#define AUDIT_SEGMENT_RECORDS 65536 /* records in a segment that is closed */
#define AUDIT_SEGMENT_NAME_MAX 32
#define AUDIT_READER_BUFFER (1U << 20)

enum {
	AUDIT_READER_END = 1, /* no more lines */
	AUDIT_READER_TORN,    /* the last line has no newline: *LINEP is what there is */
	AUDIT_READER_LONG,    /* a line above AUDIT_LINE_MAX: passed over and counted; *LINEP is its
			       * beginning */
};

struct audit_reader {
	int dir_fd;          /* borrowed: the folder seg */
	int fd;              /* the current segment */
	uint64_t segment;    /* its first index */
	uint64_t index;      /* of the line that comes next */
	uint64_t line_start; /* offset in the segment of the line that was given last */
	uint64_t offset;     /* offset in the segment of buffer[start] */
	char *buffer;
	size_t start, end;
	bool at_eof;
};

/* "000000065536.jsonl" */
void audit_segment_name(uint64_t first, char out[AUDIT_SEGMENT_NAME_MAX]);
/* The first index that a file name speaks of. 0 or -EINVAL. */
int audit_segment_parse(const char *name, uint64_t *firstp) _must_use_;
/* Opens a regular file below DIR_FD for reading without following links or waiting. fd or -errno.
 */
int audit_open_regular(int dir_fd, const char *name);

/* Starts at record FROM, which the reader reaches through the last segment that begins at or before
 * it. DIR_FD is borrowed. 0; AUDIT_READER_END (there is no such record); -errno. */
int audit_reader_init(struct audit_reader *reader, int dir_fd, uint64_t from) _must_use_;
void audit_reader_deinit(struct audit_reader *reader);

/* The next line, borrowed until the next call, not terminated. 0 and index + 1; or one of the
 * results above; -errno. */
int audit_reader_next(struct audit_reader *reader, const char **linep, size_t *sizep) _must_use_;

#endif
