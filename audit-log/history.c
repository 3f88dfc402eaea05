/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "audit-log/history.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "audit-log/note.h"
#include "audit-log/origin.h"
#include "audit-log/reader.h"
#include "supervisord/base/error.h"

#define HISTORY_BUFFER (4 * AUDIT_NOTE_MAX)

int audit_history_init(struct audit_history *history, int dir_fd)
{
	struct stat st;

	*history = (struct audit_history){.fd = -1};
	history->fd = audit_open_regular(dir_fd, AUDIT_HISTORY_FILE);
	if (history->fd < 0)
		return history->fd;
	if (fstat(history->fd, &st) < 0)
		return err_trace(-errno);
	history->left = (uint64_t)st.st_size;
	history->buffer = malloc(HISTORY_BUFFER);
	return history->buffer ? 0 : err_trace(-ENOMEM);
}

void audit_history_deinit(struct audit_history *history)
{
	history->fd = close_fd(history->fd);
	free(history->buffer);
	history->buffer = NULL;
}

static int fill(struct audit_history *history)
{
	size_t have = history->end - history->start, room = HISTORY_BUFFER - have;
	ssize_t n;

	memmove(history->buffer, history->buffer + history->start, have);
	history->start = 0;
	history->end = have;
	if (room > history->left)
		room = (size_t)history->left;
	do
		n = read(history->fd, history->buffer + have, room);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return err_trace(-errno);
	history->end += (size_t)n;
	/* Shorter than it was: what is there is all. */
	history->left = n == 0 ? 0 : history->left - (uint64_t)n;
	return 0;
}

int audit_history_next(struct audit_history *history, const char **datap, size_t *sizep)
{
	for (;;) {
		const char *data = history->buffer + history->start;
		size_t have = history->end - history->start;
		size_t n = have > 0 ? audit_note_measure(data, have) : 0;
		int r;

		/* A note that ends where the buffer ends may have another signature line. */
		if (n > 0 && (n < have || history->left == 0)) {
			*datap = data;
			*sizep = n;
			history->start += n;
			return 0;
		}
		if (history->left == 0 || have > AUDIT_NOTE_MAX) {
			*datap = data;
			*sizep = have;
			return have > 0 ? AUDIT_HISTORY_TORN : AUDIT_HISTORY_END;
		}
		r = fill(history);
		if (r < 0)
			return r;
	}
}
