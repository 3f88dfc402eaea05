/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
/* Moves bytes one way, unchanged. Never looks at them. */

#include "agentctl/relay.h"

#include <errno.h>
#include <string.h>

void relay_init(struct relay *relay, int from_fd, int to_fd)
{
	relay->from_fd = from_fd;
	relay->to_fd = to_fd;
	relay->write_max = 0;
	relay->start = 0;
	relay->size = 0;
}

bool relay_wants_read(const struct relay *relay)
{
	return relay->from_fd >= 0 && relay->size < RELAY_BUF_SIZE;
}

bool relay_wants_write(const struct relay *relay)
{
	return relay->size > 0;
}

enum relay_result relay_read(struct relay *relay)
{
	ssize_t n;

	if (!relay_wants_read(relay))
		return RELAY_NOTHING;
	if (relay->start > 0) {
		memmove(relay->data, relay->data + relay->start, relay->size);
		relay->start = 0;
	}
	n = read(relay->from_fd, relay->data + relay->size, RELAY_BUF_SIZE - relay->size);
	if (n > 0) {
		relay->size += (size_t)n;
		return RELAY_PROGRESS;
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return RELAY_NOTHING;
	if (n == 0)
		errno = 0;
	relay->from_fd = -1;
	return RELAY_END;
}

enum relay_result relay_write(struct relay *relay)
{
	size_t size = relay->size;
	ssize_t n;

	if (size == 0)
		return RELAY_NOTHING;
	if (relay->to_fd < 0) {
		relay->size = 0;
		return RELAY_PROGRESS;
	}
	if (relay->write_max > 0 && size > relay->write_max)
		size = relay->write_max;
	n = write(relay->to_fd, relay->data + relay->start, size);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return RELAY_NOTHING;
	if (n < 0) {
		relay->to_fd = -1;
		relay->size = 0;
		return RELAY_END;
	}
	relay->start += (size_t)n;
	relay->size -= (size_t)n;
	if (relay->size == 0)
		relay->start = 0;
	return n > 0 ? RELAY_PROGRESS : RELAY_NOTHING;
}
