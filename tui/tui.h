/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef TUI_TUI_H
#define TUI_TUI_H

/* agent-tui: the screens, and what they share. Each screen is a file with one struct screen. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tui/model.h"

#define TUI_ROWS_MIN 12
#define TUI_COLUMNS_MIN 40
/* Allow is inactive this long after a request is shown or changes. */
#define TUI_QUIET_USEC 800000

struct tui;

struct screen {
	const char *name;
	void (*enter)(struct tui *tui); /* NULL = nothing to prepare */
	void (*draw)(struct tui *tui);
	void (*key)(struct tui *tui, int key);
};

extern const struct screen screen_list, screen_details, screen_confirm, screen_rule, screen_help;

struct tui {
	struct model model;
	const struct screen *screen;
	const struct screen *back; /* where help and rule return to */
	bool quit;
	char status[256]; /* one line for the person, already safe */

	/* the request that is selected (list) or shown (details, confirm, rule) */
	char *id;
	char *fingerprint; /* of what is shown */
	size_t list_top;

	/* details and other pages of text */
	char **lines;
	size_t n_lines, top;
	bool end_seen;
	uint64_t quiet_until; /* monotonic */

	size_t scope; /* confirm: index into the offered scopes */
};

/* Changes the screen; what was typed before is void. */
void tui_go(struct tui *tui, const struct screen *screen);
void tui_status(struct tui *tui, const char *format, ...) _printf_(2, 3);
/* Selects by id (copied); NULL = nothing. */
void tui_select(struct tui *tui, const char *id);
/* The selected request, or NULL when it is gone. Borrowed. */
json_t *tui_request(const struct tui *tui);
/* Starts the quiet time again, and throws typed keys away. */
void tui_hush(struct tui *tui);
bool tui_is_quiet(const struct tui *tui);
/* Deny works at once, from every screen. */
void tui_deny(struct tui *tui);
/* Was the request shown to its end, and long enough? A status line says what is missing. */
bool tui_may_allow(struct tui *tui);
/* Allows what is shown. False (with a status line) when that is not possible yet. */
bool tui_allow(struct tui *tui, const char *duration, const char *scope);

/* pages of text (page.c) */
void page_clear(struct tui *tui);
/* Adds "LABEL TEXT", wrapped to the screen's width, made safe. TEXT may be NULL: nothing is added.
 */
void page_add(struct tui *tui, const char *label, const char *text);
/* Draws rows FIRST to LAST of the screen from the page's top on; notes when the end was shown. */
void page_draw(struct tui *tui, int first, int last);
/* Handles the scrolling keys. True when KEY was one. */
bool page_key(struct tui *tui, int key);

/* drawing (draw.c) */
/* Puts TEXT (made safe) at ROW, COLUMN, cut to WIDTH columns with the end kept visible. */
void draw_text(int row, int column, int width, const char *text);
/* A full-width line in reverse video. */
void draw_bar(int row, const char *text);
/* Splits TEXT, which is safe, after at most WIDTH columns; the bytes of the first part. */
size_t draw_fit(const char *text, int width);

#endif
