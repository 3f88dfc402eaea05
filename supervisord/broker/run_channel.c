/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "supervisord/broker/run_channel.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "supervisord/base/display.h"
#include "supervisord/base/fdpass.h"
#include "supervisord/base/log.h"

void run_channel_send(int run_fd, enum run_message_kind kind, int value, int fd, const char *text)
{
	struct run_message message = {.kind = (uint32_t)kind, .value = value};
	int r;

	if (text) {
		/* Lines stay lines: each is escaped by itself. */
		size_t used = 0;

		while (*text && used + 1 < sizeof(message.text)) {
			size_t line = strcspn(text, "\n");
			_cleanup_(freep) char *escaped = display_escape(text, line, NULL);
			int n = snprintf(message.text + used, sizeof(message.text) - used, "%s%s",
				escaped ? escaped : "", text[line] ? "\n" : "");

			if (n < 0)
				break;
			used += (size_t)n;
			text += line + (text[line] ? 1 : 0);
		}
	}
	r = fdpass_send(run_fd, &message, sizeof(message), fd);
	if (r < 0 && r != -EPIPE && r != -ECONNRESET)
		log_warn_r(r, "cannot tell agentctl");
}

int run_channel_fail(int run_fd, int status, const char *format, ...)
{
	_cleanup_(freep) char *text = NULL;
	va_list args;
	int r;

	va_start(args, format);
	r = vasprintf(&text, format, args);
	va_end(args);
	if (r < 0)
		text = NULL;
	run_channel_send(run_fd, RUN_FAILED, status, -1, text ? text : "out of memory");
	return 1;
}
