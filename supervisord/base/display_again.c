/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
/* The last check before a terminal, for text that came escaped from another program of ours. */

#include <string.h>

#include "supervisord/base/buf.h"
#include "supervisord/base/display.h"

#define TEXT_MAX ((size_t)64 * 1024 * 1024)

char *display_reescape(const char *text)
{
	struct buf buf;
	char *safe;

	/* display_escape doubles a backslash, and escaped text has some. So the pieces between them
	 * are escaped, and they stay. */
	buf_init(&buf, TEXT_MAX);
	while (*text && !buf.error) {
		size_t n = strcspn(text, "\\");

		if (n > 0) {
			_cleanup_(freep) char *piece = display_escape(text, n, NULL);

			if (!piece)
				buf.error = -ENOMEM;
			else
				buf_puts(&buf, piece);
		} else {
			n = 1;
			buf_putc(&buf, '\\');
		}
		text += n;
	}
	safe = buf.error ? NULL : buf.size ? buf_take(&buf) : strdup("");
	buf_deinit(&buf);
	return safe;
}
