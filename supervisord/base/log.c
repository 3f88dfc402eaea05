/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */

#include "supervisord/base/log.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "supervisord/base/display.h"

#define LOG_LINE_MAX 8192 /* bytes of one message's text; longer ones are cut in the middle */

static const struct {
	const char *name;
	unsigned priority; /* syslog's number, for the journal */
} log_levels[] = {
	[LOG_LEVEL_ERROR] = {"error", 3},
	[LOG_LEVEL_WARN] = {"warn", 4},
	[LOG_LEVEL_NOTICE] = {"notice", 5},
	[LOG_LEVEL_INFO] = {"info", 6},
	[LOG_LEVEL_DEBUG] = {"debug", 7},
};

static struct {
	const char *program;
	enum log_level level;
	int fd;
	bool journal;
} log_state = {.program = "agent-supervisor", .level = LOG_LEVEL_NOTICE, .fd = 2};

/* Is FD the stream that the service manager connected to the journal? It names that by device and
 * inode, because a program may have redirected its standard error since. */
static bool log_fd_is_journal(int fd)
{
	const char *stream = getenv("JOURNAL_STREAM");
	char expected[64];
	struct stat st;

	if (!stream || fd < 0 || fstat(fd, &st) < 0)
		return false;
	(void)snprintf(expected, sizeof(expected), "%" PRIu64 ":%" PRIu64, (uint64_t)st.st_dev,
		(uint64_t)st.st_ino);
	return strcmp(stream, expected) == 0;
}

void log_init(const char *program)
{
	const char *wanted = getenv("AGENT_SUPERVISOR_LOG");
	size_t i;

	log_state.program = program;
	log_state.journal = log_fd_is_journal(log_state.fd);
	for (i = 0; wanted && i < ARRAY_LEN(log_levels); i++)
		if (strcmp(wanted, log_levels[i].name) == 0)
			log_state.level = (enum log_level)i;
}

void log_set_fd(int fd)
{
	log_state.fd = fd;
	log_state.journal = log_fd_is_journal(fd);
}

void log_set_level(enum log_level level)
{
	log_state.level = level;
}

bool log_enabled(enum log_level level)
{
	return level <= log_state.level && log_state.fd >= 0;
}

/* One write for the whole line, so that lines of several processes do not mix. */
static void log_write(enum log_level level, const char *text)
{
	_cleanup_(freep) char *line = NULL;
	char prefix[8] = "";
	ssize_t n;
	int size;

	if (log_state.journal)
		(void)snprintf(prefix, sizeof(prefix), "<%u>", log_levels[level].priority);
	size = asprintf(&line, "%s%s[%d]: %s: %s\n", prefix, log_state.program, (int)getpid(),
		log_levels[level].name, text);
	if (size < 0) {
		line = NULL;
		return;
	}
	do {
		n = write(log_state.fd, line, (size_t)size);
	} while (n < 0 && errno == EINTR);
}

static const char *log_error_name(int r)
{
	const char *text = strerrordesc_np(r < 0 ? -r : r);

	return text ? text : "unknown error";
}

void log_message(enum log_level level, int r, const char *format, ...)
{
	_cleanup_(freep) char *raw = NULL;
	_cleanup_(freep) char *whole = NULL;
	_cleanup_(freep) char *text = NULL;
	int saved = errno;
	va_list args;
	int n;

	if (!log_enabled(level))
		return;
	va_start(args, format);
	n = vasprintf(&raw, format, args);
	va_end(args);
	if (n < 0) {
		raw = NULL;
		log_write(level, "(out of memory for a message)");
		errno = saved;
		return;
	}
	if (r) {
		if (asprintf(&whole, "%s: %s", raw, log_error_name(r)) < 0)
			whole = NULL;
	}
	text = display_escape_short(whole ? whole : raw, LOG_LINE_MAX, NULL);
	log_write(level, text ? text : "(out of memory for a message)");
	errno = saved;
}
