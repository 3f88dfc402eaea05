/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
/* The first screen: what waits for an answer, and what runs. */

#include <curses.h>
#include <stdio.h>
#include <string.h>

#include "tui/tui.h"

static const char *member(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "-";
}

static long long number(const json_t *object, const char *key)
{
	return (long long)json_integer_value(json_object_get(object, key));
}

/* Index of the selected request; the first one where the selected one is gone. */
static size_t selected_index(struct tui *tui)
{
	const json_t *requests = tui->model.requests;

	for (size_t i = 0; tui->id && i < json_array_size(requests); i++)
		if (strcmp(member(json_array_get(requests, i), "id"), tui->id) == 0)
			return i;
	tui_select(
		tui, json_array_size(requests) ? member(json_array_get(requests, 0), "id") : NULL);
	return 0;
}

static void draw_request(struct tui *tui, int row, const json_t *request, bool selected)
{
	uint64_t left = model_seconds_left(&tui->model, request);
	long long count = number(request, "count");
	_cleanup_(freep) char *head = NULL, *tail = NULL;
	int head_width, tail_width;

	if (asprintf(&head, "%c %-5.5s %-8.8s ", selected ? '>' : ' ', member(request, "id"),
		    member(request, "op")) < 0)
		return;
	if (asprintf(&tail, "%s %-12.12s %4llu:%02llu", count > 1 ? " (more)" : "",
		    member(request, "session"), (unsigned long long)left / 60,
		    (unsigned long long)left % 60) < 0)
		return;
	head_width = (int)strlen(head);
	tail_width = COLS >= 60 ? (int)strlen(tail) : 0;
	if (selected)
		attron(A_REVERSE);
	mvhline(row, 0, ' ', COLS);
	draw_text(row, 0, head_width, head);
	draw_text(row, head_width, COLS - head_width - tail_width - 1, member(request, "object"));
	if (tail_width)
		draw_text(row, COLS - tail_width, tail_width, tail);
	if (selected)
		attroff(A_REVERSE);
}

static void draw_sessions(struct tui *tui, int first, int last)
{
	const json_t *sessions = tui->model.sessions;

	for (size_t i = 0; i < json_array_size(sessions) && first + (int)i <= last; i++) {
		const json_t *session = json_array_get(sessions, i);
		_cleanup_(freep) char *line = NULL;

		if (asprintf(&line, "  %-12s %-10s %lld allowed  %lld asked  %lld denied  %s",
			    member(session, "id"), member(session, "agent"),
			    number(session, "allows"), number(session, "asks"),
			    number(session, "denies"), member(session, "workspace")) < 0)
			return;
		draw_text(first + (int)i, 0, COLS, line);
	}
}

/* The pending part gets what the sessions leave, at least half. */
static int pending_rows(const struct tui *tui)
{
	int body = LINES - 5, sessions = (int)json_array_size(tui->model.sessions);

	if (sessions > body / 2)
		sessions = body / 2;
	return body - (sessions > 0 ? sessions : 1);
}

static void draw(struct tui *tui)
{
	const json_t *requests = tui->model.requests;
	size_t n = json_array_size(requests), selected = selected_index(tui);
	int rows = pending_rows(tui), cursor = 2;
	size_t n_sessions = json_array_size(tui->model.sessions);
	char text[128];

	(void)snprintf(text, sizeof(text), "agent-supervisor   %zu pending   %zu %s%s", n,
		n_sessions, n_sessions == 1 ? "session" : "sessions",
		tui->model.client ? "" : "   NO SUPERVISOR RUNS, waiting for one");
	draw_bar(0, text);
	draw_text(1, 0, COLS, "PENDING");
	if (selected < tui->list_top)
		tui->list_top = selected;
	if (selected >= tui->list_top + (size_t)rows)
		tui->list_top = selected + 1 - (size_t)rows;
	if (n == 0)
		draw_text(2, 2, COLS - 2, "nothing waits for an answer");
	for (size_t i = tui->list_top; i < n && i < tui->list_top + (size_t)rows; i++) {
		int row = 2 + (int)(i - tui->list_top);

		draw_request(tui, row, json_array_get(requests, i), i == selected);
		if (i == selected)
			cursor = row;
	}
	draw_text(2 + rows, 0, COLS, "SESSIONS");
	if (json_array_size(tui->model.sessions) == 0)
		draw_text(3 + rows, 2, COLS - 2, "no session runs");
	draw_sessions(tui, 3 + rows, LINES - 3);
	draw_text(LINES - 2, 0, COLS, tui->status);
	draw_bar(LINES - 1, "Enter details   d deny   w rule   j k move   ? help   q quit");
	/* Braille displays follow the cursor: it stands on the focused row. */
	move(cursor, 0);
}

static void move_selection(struct tui *tui, long by)
{
	long n = (long)json_array_size(tui->model.requests), to = (long)selected_index(tui) + by;

	if (n == 0)
		return;
	if (to < 0)
		to = 0;
	if (to >= n)
		to = n - 1;
	tui_select(tui, member(json_array_get(tui->model.requests, (size_t)to), "id"));
}

static void key(struct tui *tui, int pressed)
{
	switch (pressed) {
	case 'j':
	case KEY_DOWN:
		move_selection(tui, 1);
		break;
	case 'k':
	case KEY_UP:
		move_selection(tui, -1);
		break;
	case KEY_NPAGE:
		move_selection(tui, pending_rows(tui));
		break;
	case KEY_PPAGE:
		move_selection(tui, -pending_rows(tui));
		break;
	case 'g':
	case KEY_HOME:
		move_selection(tui, -1000000);
		break;
	case 'G':
	case KEY_END:
		move_selection(tui, 1000000);
		break;
	case '\n':
	case '\r':
	case KEY_ENTER:
		if (tui_request(tui))
			tui_go(tui, &screen_details);
		break;
	case 'a':
	case 's':
		/* Nothing is allowed from a list that does not show all of it. */
		if (tui_request(tui)) {
			tui_go(tui, &screen_details);
			tui_status(tui, "read the request to its end, then %c allows it",
				(char)pressed);
		}
		break;
	case 'd':
		tui_deny(tui);
		break;
	case 'w':
		if (tui_request(tui)) {
			tui->back = &screen_list;
			tui_go(tui, &screen_rule);
		}
		break;
	case '?':
		tui->back = &screen_list;
		tui_go(tui, &screen_help);
		break;
	case 'q':
		tui->quit = true;
		break;
	default:
		break;
	}
}

const struct screen screen_list = {.name = "list", .draw = draw, .key = key};
