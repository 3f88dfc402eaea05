/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
/* A page of text that may be longer than the screen. */

#include <curses.h>
#include <stdio.h>
#include <string.h>

#include "supervisord/base/display.h"
#include "tui/tui.h"

#define LABEL_WIDTH 11
/* Stands in front of a line that goes on with the text above it, where no text of an agent ever
 * stands: "x   [3] --dry-run" is not to look like one argument more when the screen breaks it. */
#define LABEL_GOES_ON "..."
#define LINES_MAX 200000

void page_clear(struct tui *tui)
{
	for (size_t i = 0; i < tui->n_lines; i++)
		free(tui->lines[i]);
	free(tui->lines);
	tui->lines = NULL;
	tui->n_lines = 0;
}

static bool add_line(struct tui *tui, const char *label, const char *text, size_t size)
{
	char **lines = reallocarray(tui->lines, tui->n_lines + 1, sizeof(char *));
	char *line = NULL;

	if (!lines)
		return false;
	tui->lines = lines;
	if (tui->n_lines >= LINES_MAX ||
		asprintf(&line, "%-*s%.*s", LABEL_WIDTH, label, (int)size, text) < 0)
		return false;
	tui->lines[tui->n_lines++] = line;
	return true;
}

void page_add(struct tui *tui, const char *label, const char *text)
{
	_cleanup_(freep) char *safe = NULL;
	const char *rest;

	if (!text)
		return;
	safe = display_reescape(text);
	rest = safe;
	if (rest && !*rest)
		add_line(tui, label, "", 0);
	while (rest && *rest) {
		size_t n = draw_fit(rest, COLS - LABEL_WIDTH - 2);

		if (n == 0)
			n = 1;
		if (!add_line(tui, label, rest, n)) {
			/* What does not fit in memory must not be allowed unseen. */
			tui->end_seen = false;
			return;
		}
		label = LABEL_GOES_ON;
		rest += n;
	}
}

void page_draw(struct tui *tui, int first, int last)
{
	size_t rows = last >= first ? (size_t)(last - first + 1) : 0;

	if (tui->top + rows > tui->n_lines)
		tui->top = tui->n_lines > rows ? tui->n_lines - rows : 0;
	for (size_t i = 0; i < rows && tui->top + i < tui->n_lines; i++)
		draw_text(first + (int)i, 1, COLS - 1, tui->lines[tui->top + i]);
	if (tui->top + rows >= tui->n_lines)
		tui->end_seen = true;
}

bool page_key(struct tui *tui, int key)
{
	size_t page = LINES > 8 ? (size_t)LINES - 7 : 1;

	switch (key) {
	case 'j':
	case KEY_DOWN:
		tui->top++;
		return true;
	case 'k':
	case KEY_UP:
		tui->top -= tui->top > 0;
		return true;
	case ' ':
	case KEY_NPAGE:
		tui->top += page;
		return true;
	case KEY_PPAGE:
		tui->top -= tui->top < page ? tui->top : page;
		return true;
	case 'g':
	case KEY_HOME:
		tui->top = 0;
		return true;
	case 'G':
	case KEY_END:
		tui->top = tui->n_lines;
		return true;
	default:
		return false;
	}
}
