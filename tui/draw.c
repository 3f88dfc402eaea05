/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
/* Text on the screen: always made safe first, always cut by columns, never coloured. */

#include <curses.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "supervisord/base/display.h"
#include "tui/tui.h"

/* One character at TEXT: its bytes, and its columns. What this locale cannot show counts as one. */
static size_t next_char(const char *text, wchar_t *wc, int *columns)
{
	mbstate_t state;
	size_t n;

	memset(&state, 0, sizeof(state));
	n = mbrtowc(wc, text, strlen(text), &state);
	if (n == (size_t)-1 || n == (size_t)-2 || n == 0) {
		*wc = L'?';
		*columns = 1;
		return 1;
	}
	*columns = wcwidth(*wc);
	if (*columns < 0) {
		*wc = L'?';
		*columns = 1;
	}
	return n;
}

size_t draw_fit(const char *text, int width)
{
	size_t used = 0;
	int columns = 0;

	while (text[used]) {
		wchar_t wc;
		int w;
		size_t n = next_char(text + used, &wc, &w);

		if (columns + w > width)
			break;
		columns += w;
		used += n;
	}
	return used;
}

static void put(int row, int column, const char *text, size_t size)
{
	move(row, column);
	for (size_t i = 0; i < size;) {
		wchar_t wc[2] = {0};
		int w;

		i += next_char(text + i, &wc[0], &w);
		addnwstr(wc, 1);
	}
}

void draw_text(int row, int column, int width, const char *text)
{
	_cleanup_(freep) char *safe = display_reescape(text ? text : "-");
	size_t size, length, tail, start;

	if (!safe || width <= 0)
		return;
	length = strlen(safe);
	size = draw_fit(safe, width);
	if (size == length || width < 12) {
		put(row, column, safe, size);
		return;
	}
	/* Too long: the beginning and the end stay, the middle goes. */
	tail = (size_t)width / 2;
	start = length - tail;
	while (start < length && ((unsigned char)safe[start] & 0xc0) == 0x80)
		start++;
	while (start < length && draw_fit(safe + start, (int)tail) < length - start)
		start++;
	size = draw_fit(safe, width - (int)tail - 3);
	put(row, column, safe, size);
	addstr("...");
	put(row, column + width - (int)tail, safe + start, length - start);
}

void draw_bar(int row, const char *text)
{
	attron(A_REVERSE);
	mvhline(row, 0, ' ', COLS);
	draw_text(row, 1, COLS - 2, text);
	attroff(A_REVERSE);
}
