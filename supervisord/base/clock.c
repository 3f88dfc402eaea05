/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */

#include "supervisord/base/clock.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "supervisord/base/cleanup.h"

static uint64_t clock_usec(clockid_t id)
{
	struct timespec now = {0};

	/* Cannot fail for the three clocks below and a valid pointer. */
	(void)clock_gettime(id, &now);
	return (uint64_t)now.tv_sec * USEC_PER_SEC + (uint64_t)now.tv_nsec / 1000;
}

uint64_t clock_realtime_usec(void)
{
	return clock_usec(CLOCK_REALTIME);
}

uint64_t clock_boottime_usec(void)
{
	return clock_usec(CLOCK_BOOTTIME);
}

uint64_t clock_monotonic_usec(void)
{
	return clock_usec(CLOCK_MONOTONIC);
}

void clock_format_utc(uint64_t realtime_usec, char out[CLOCK_TEXT_MAX])
{
	time_t seconds = (time_t)(realtime_usec / USEC_PER_SEC);
	unsigned msec = (unsigned)(realtime_usec % USEC_PER_SEC / USEC_PER_MSEC);
	struct tm tm;

	/* Only years beyond 9999 do not fit; those are no times of ours. */
	if (!gmtime_r(&seconds, &tm) || tm.tm_year > 9999 - 1900) {
		(void)snprintf(out, CLOCK_TEXT_MAX, "9999-12-31T23:59:59.999Z");
		return;
	}
	(void)snprintf(out, CLOCK_TEXT_MAX, "%04u-%02u-%02uT%02u:%02u:%02u.%03uZ",
		((unsigned)tm.tm_year + 1900) % 10000, ((unsigned)tm.tm_mon + 1) % 100,
		(unsigned)tm.tm_mday % 100, (unsigned)tm.tm_hour % 100, (unsigned)tm.tm_min % 100,
		(unsigned)tm.tm_sec % 100, msec % 1000);
}

void clock_boot_id(char out[37])
{
	_cleanup_(closep) int fd = -1;
	char text[37] = {0};

	memcpy(out, "00000000-0000-0000-0000-000000000000", 37);
	fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (read(fd, text, 36) != 36 || strspn(text, "0123456789abcdef-") != 36)
		return;
	memcpy(out, text, 37);
}
