/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "audit-log/reader.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "audit-log/record.h"
#include "supervisord/base/error.h"

void audit_segment_name(uint64_t first, char out[AUDIT_SEGMENT_NAME_MAX])
{
	(void)snprintf(out, AUDIT_SEGMENT_NAME_MAX, "%012" PRIu64 ".jsonl", first);
}

int audit_segment_parse(const char *name, uint64_t *firstp)
{
	uint64_t first = 0;
	size_t n = strspn(name, "0123456789");

	if (n < 12 || n > 18 || strcmp(name + n, ".jsonl") != 0)
		return -EINVAL;
	for (size_t i = 0; i < n; i++)
		first = first * 10 + (uint64_t)(name[i] - '0');
	*firstp = first;
	return 0;
}

int audit_open_regular(int dir_fd, const char *name)
{
	_cleanup_(closep) int fd =
		openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	return TAKE_FD(fd);
}

/* The last segment that begins at or before INDEX. 0, AUDIT_READER_END, -errno. */
static int find_segment(int dir_fd, uint64_t index, uint64_t *firstp)
{
	struct dirent *entry;
	bool found = false;
	DIR *dir;
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	dir = fdopendir(fd);
	if (!dir) {
		close_fd(fd);
		return err_errno();
	}
	while ((entry = readdir(dir)) != NULL) {
		uint64_t first;

		if (audit_segment_parse(entry->d_name, &first) < 0 || first > index)
			continue;
		if (!found || first > *firstp)
			*firstp = first;
		found = true;
	}
	closedir(dir);
	return found ? 0 : AUDIT_READER_END;
}

static int open_segment(struct audit_reader *reader, uint64_t first)
{
	char name[AUDIT_SEGMENT_NAME_MAX];
	int fd;

	audit_segment_name(first, name);
	fd = audit_open_regular(reader->dir_fd, name);
	if (fd < 0)
		return fd;
	close_fd(reader->fd);
	reader->fd = fd;
	reader->segment = first;
	reader->index = first;
	reader->offset = 0;
	reader->start = reader->end = 0;
	reader->at_eof = false;
	return 0;
}

int audit_reader_init(struct audit_reader *reader, int dir_fd, uint64_t from)
{
	uint64_t first = 0;
	const char *line;
	size_t size;
	int r;

	*reader = (struct audit_reader){.dir_fd = dir_fd, .fd = -1};
	r = find_segment(dir_fd, from, &first);
	if (r != 0)
		return r;
	reader->buffer = malloc(AUDIT_READER_BUFFER);
	if (!reader->buffer)
		return -ENOMEM;
	r = open_segment(reader, first);
	while (r == 0 && reader->index < from) {
		r = audit_reader_next(reader, &line, &size);
		if (r == AUDIT_READER_LONG)
			r = 0;
		else if (r > 0)
			r = AUDIT_READER_END;
	}
	if (r != 0)
		audit_reader_deinit(reader);
	return r;
}

void audit_reader_deinit(struct audit_reader *reader)
{
	reader->fd = close_fd(reader->fd);
	free(reader->buffer);
	reader->buffer = NULL;
}

/* Reads more behind what the buffer holds. */
static int fill(struct audit_reader *reader)
{
	ssize_t n;

	if (reader->start > 0) {
		memmove(reader->buffer, reader->buffer + reader->start,
			reader->end - reader->start);
		reader->end -= reader->start;
		reader->start = 0;
	}
	do
		n = read(reader->fd, reader->buffer + reader->end,
			AUDIT_READER_BUFFER - reader->end);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return err_trace(-errno);
	reader->end += (size_t)n;
	reader->at_eof = n == 0;
	return 0;
}

static void consume(struct audit_reader *reader, size_t size)
{
	reader->start += size;
	reader->offset += size;
}

/* The buffer holds AUDIT_LINE_MAX + 1 bytes without a newline: drop up to the next one. The first
 * bytes stay where they are for the caller to look at, so only what follows is overwritten. */
static int skip_long(struct audit_reader *reader, const char **linep, size_t *sizep)
{
	const size_t keep = 256;

	memmove(reader->buffer, reader->buffer + reader->start, keep);
	*linep = reader->buffer;
	*sizep = keep;
	for (;;) {
		char *end =
			memchr(reader->buffer + reader->start, '\n', reader->end - reader->start);
		ssize_t n;

		if (end) {
			consume(reader, (size_t)(end + 1 - (reader->buffer + reader->start)));
			reader->index++;
			return AUDIT_READER_LONG;
		}
		reader->offset += reader->end - reader->start;
		reader->start = reader->end = keep;
		do
			n = read(reader->fd, reader->buffer + keep, AUDIT_READER_BUFFER - keep);
		while (n < 0 && errno == EINTR);
		if (n < 0)
			return err_trace(-errno);
		if (n == 0) {
			reader->at_eof = true;
			return AUDIT_READER_TORN;
		}
		reader->end += (size_t)n;
	}
}

int audit_reader_next(struct audit_reader *reader, const char **linep, size_t *sizep)
{
	for (;;) {
		const char *line = reader->buffer + reader->start;
		size_t have = reader->end - reader->start;
		const char *end = memchr(line, '\n', have);
		int r;

		if (end && end - line <= AUDIT_LINE_MAX) {
			*linep = line;
			*sizep = (size_t)(end - line);
			reader->line_start = reader->offset;
			consume(reader, *sizep + 1);
			reader->index++;
			return 0;
		}
		if (end || have > AUDIT_LINE_MAX) {
			reader->line_start = reader->offset;
			return skip_long(reader, linep, sizep);
		}
		if (!reader->at_eof) {
			r = fill(reader);
			if (r < 0)
				return r;
			continue;
		}
		if (have > 0) {
			*linep = line;
			*sizep = have;
			reader->line_start = reader->offset;
			return AUDIT_READER_TORN;
		}
		/* A segment that ended: the next one is named by the index that we have reached. */
		if (reader->index == reader->segment)
			return AUDIT_READER_END;
		r = open_segment(reader, reader->index);
		if (r == -ENOENT)
			return AUDIT_READER_END;
		if (r < 0)
			return err_trace(r);
	}
}
