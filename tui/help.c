/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
/* The keys. */

#include <curses.h>

#include "tui/tui.h"

static void enter(struct tui *tui)
{
	static const char *const keys[][2] = {
		{"j k", "down, up (also the arrows, PgDn, PgUp, g, G)"},
		{"Enter", "all facts of a request"},
		{"a", "allow once (only where the facts were shown to their end)"},
		{"s", "allow for the session; shows the rule, asks for a capital Y"},
		{"d", "deny once, at once"},
		{"w", "the rule that asks"},
		{"q Esc", "back; q on the list leaves"},
		{"?", "this page"},
		{"", ""},
		{"", "Enter, Space, Esc, q and y never decide anything. Allow is inactive for"},
		{"", "0.8 seconds after a request is shown or changes, and keys typed before"},
		{"", "are thrown away. A request that nobody answers is denied when its time"},
		{"", "is over. Leaving this screen decides nothing."},
	};

	page_clear(tui);
	tui->top = 0;
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		page_add(tui, keys[i][0], keys[i][1]);
}

static void draw(struct tui *tui)
{
	draw_bar(0, "KEYS");
	page_draw(tui, 2, LINES - 3);
	draw_bar(LINES - 1, "j k scroll   any other key: back");
	move(2, 0);
}

static void key(struct tui *tui, int pressed)
{
	if (pressed == KEY_RESIZE)
		enter(tui);
	else if (!page_key(tui, pressed))
		tui_go(tui, tui->back ? tui->back : &screen_list);
}

const struct screen screen_help = {.name = "help", .enter = enter, .draw = draw, .key = key};
