/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */

/* Whatever the bytes are: the shown text has no control byte, and showing is idempotent in safety:
 * no text that was shown needs an escape again but for its backslashes. */

#include <stdint.h>
#include <string.h>

#include "supervisord/base/display.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_safe(const char *shown)
{
	_cleanup_(freep) char *again = NULL;
	unsigned flags = 0;
	const char *p;

	for (p = shown; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			abort();
	again = display_escape(shown, strlen(shown), &flags);
	if (!again || (flags & DISPLAY_ESCAPED))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(freep) char *text = malloc(size + 1);
	_cleanup_(freep) char *shown = NULL;
	_cleanup_(freep) char *cut = NULL;
	_cleanup_(freep) char *line = NULL;
	const char *argv[2];

	if (!text)
		return 0;
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	shown = display_escape(text, size, NULL);
	if (!shown)
		abort();
	check_safe(shown);
	cut = display_escape_short(text, 80, NULL);
	if (!cut || strlen(cut) > 80)
		abort();
	check_safe(cut);
	argv[0] = text;
	argv[1] = text;
	line = display_argv(argv, 2);
	if (!line)
		abort();
	check_safe(line);
	return 0;
}
