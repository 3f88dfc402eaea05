/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_BASE_LOG_H
#define SUPERVISORD_BASE_LOG_H

/* The program's own operational log (not the audit log, which is audit-log/).
 *
 * One line a message on standard error: "program[pid]: level: text", with a syslog priority prefix
 * "<N>" when standard error is the journal. Bytes that are not printable ASCII or UTF-8 letters are
 * escaped, so that a path from inside a session can be a %s argument. */

#include <stdbool.h>

#include "supervisord/base/cleanup.h"

enum log_level {
	LOG_LEVEL_ERROR,
	LOG_LEVEL_WARN,
	LOG_LEVEL_NOTICE,
	LOG_LEVEL_INFO,
	LOG_LEVEL_DEBUG,
};

/* Sets the program's name in messages (borrowed, must live on) and the level from
 * AGENT_SUPERVISOR_LOG (error, warn, notice, info, debug; default notice). */
void log_init(const char *program);
/* Where messages go; default 2. Borrows FD. -1 = nowhere. */
void log_set_fd(int fd);
void log_set_level(enum log_level level);
bool log_enabled(enum log_level level);

void log_message(enum log_level level, int r, const char *format, ...) _printf_(3, 4);

#define log_error(...) log_message(LOG_LEVEL_ERROR, 0, __VA_ARGS__)
#define log_warn(...) log_message(LOG_LEVEL_WARN, 0, __VA_ARGS__)
#define log_notice(...) log_message(LOG_LEVEL_NOTICE, 0, __VA_ARGS__)
#define log_info(...) log_message(LOG_LEVEL_INFO, 0, __VA_ARGS__)
#define log_debug(...) log_message(LOG_LEVEL_DEBUG, 0, __VA_ARGS__)
/* The same with ": strerror(-r)" behind the text. */
#define log_error_r(r, ...) log_message(LOG_LEVEL_ERROR, (r), __VA_ARGS__)
#define log_warn_r(r, ...) log_message(LOG_LEVEL_WARN, (r), __VA_ARGS__)
#define log_debug_r(r, ...) log_message(LOG_LEVEL_DEBUG, (r), __VA_ARGS__)

#endif
