/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
/* An answer for the whole session: the rule that would hold, and a capital Y. */

#include <curses.h>
#include <string.h>

#include "tui/tui.h"

static const json_t *scopes_of(const struct tui *tui)
{
	return json_object_get(tui_request(tui), "scopes");
}

static const char *scope_name(const struct tui *tui)
{
	return json_string_value(json_array_get(scopes_of(tui), tui->scope));
}

static bool offers_session(const struct tui *tui)
{
	const json_t *durations = json_object_get(tui_request(tui), "durations");

	for (size_t i = 0; i < json_array_size(durations); i++) {
		const char *word = json_string_value(json_array_get(durations, i));

		if (word && strcmp(word, "session") == 0)
			return true;
	}
	return false;
}

static void build(struct tui *tui)
{
	const json_t *request = tui_request(tui);
	const char *scope = scope_name(tui);
	const char *rule = scope ? json_string_value(json_object_get(
					   json_object_get(request, "scope_rules"), scope))
				 : NULL;

	page_clear(tui);
	tui->top = 0;
	tui->end_seen = false;
	page_add(tui, "", "This would be allowed until the session ends:");
	page_add(tui, "", "");
	page_add(tui, "rule", rule ? rule : "(the request exactly as shown)");
	page_add(tui, "scope", scope ? scope : "exact");
	page_add(tui, "session", json_string_value(json_object_get(request, "session")));
	page_add(tui, "object", json_string_value(json_object_get(request, "object")));
	page_add(tui, "kept", "in memory only; it ends with the session");
}

static void enter(struct tui *tui)
{
	tui->scope = 0;
	build(tui);
}

static void draw(struct tui *tui)
{
	if (!tui_request(tui)) {
		tui_go(tui, &screen_list);
		tui_status(tui, "%s",
			tui->model.closed[0] ? tui->model.closed : "the request is over");
		tui->screen->draw(tui);
		return;
	}
	draw_bar(0, "ALLOW FOR THE SESSION");
	page_draw(tui, 2, LINES - 4);
	draw_text(LINES - 2, 0, COLS,
		!offers_session(tui) ? "the rule does not offer an answer for the session"
		: !tui->end_seen     ? "MORE BELOW: Space, j, PgDn"
		: tui_is_quiet(tui)  ? "Y becomes active in a moment"
				     : tui->status);
	if (COLS < 60)
		draw_bar(LINES - 1, "Y allow  e scope  any other: back");
	else
		draw_bar(LINES - 1,
			json_array_size(scopes_of(tui)) > 1
				? "Y allow (capital)   e other scope   any other key: back"
				: "Y allow (capital)   any other key: back");
	move(2, 0);
}

static void key(struct tui *tui, int pressed)
{
	size_t n = json_array_size(scopes_of(tui));

	if (page_key(tui, pressed))
		return;
	switch (pressed) {
	case 'Y':
		if (!offers_session(tui))
			return;
		if (tui_allow(tui, "session", scope_name(tui)))
			tui_go(tui, &screen_list);
		break;
	case 'e':
		if (n > 1)
			tui->scope = (tui->scope + 1) % n;
		build(tui);
		tui_hush(tui);
		break;
	case KEY_RESIZE:
		build(tui);
		break;
	default:
		tui_go(tui, &screen_details);
	}
}

const struct screen screen_confirm = {.name = "confirm", .enter = enter, .draw = draw, .key = key};
