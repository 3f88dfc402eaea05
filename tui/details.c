/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
/* One request with all its facts. Allow stays inactive until its end was on the screen. */

#include <curses.h>
#include <stdio.h>
#include <string.h>

#include "tui/tui.h"

static const char *member(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text && *text ? text : NULL;
}

static const char *if_other(const json_t *request, const char *key, const char *other)
{
	const char *a = member(request, key), *b = member(request, other);

	return a && b && strcmp(a, b) != 0 ? a : NULL;
}

static void add_argv(struct tui *tui, const json_t *request)
{
	const json_t *argv = json_object_get(request, "argv");

	for (size_t i = 0; i < json_array_size(argv); i++) {
		const char *word = json_string_value(json_array_get(argv, i));
		_cleanup_(freep) char *text = NULL;

		if (asprintf(&text, "[%zu] %s", i, word ? word : "?") >= 0)
			page_add(tui, i == 0 ? "argv" : "", text);
	}
}

static void add_list(struct tui *tui, const char *label, const json_t *list)
{
	char text[256] = "";
	size_t used = 0;

	for (size_t i = 0; i < json_array_size(list) && used < sizeof(text) - 1; i++) {
		const char *word = json_string_value(json_array_get(list, i));
		int n = snprintf(
			text + used, sizeof(text) - used, "%s%s", i ? ", " : "", word ? word : "?");

		used += n > 0 ? (size_t)n : 0;
	}
	page_add(tui, label, text);
}

static void add_warnings(struct tui *tui, const json_t *request)
{
	if (json_is_true(json_object_get(request, "hidden_chars")))
		page_add(tui, "WARNING",
			"HIDDEN CHARACTERS: some are shown as \\x.. or \\u{..}; it is not what it "
			"looks like");
	if (json_is_true(json_object_get(request, "mixed_script")))
		page_add(tui, "WARNING",
			"MIXED ALPHABETS: letters of several alphabets in one word look alike");
}

static void build(struct tui *tui, const json_t *request)
{
	char text[64];

	page_clear(tui);
	add_warnings(tui, request);
	page_add(tui, "operation", member(request, "op"));
	page_add(tui, "object", member(request, "object"));
	page_add(tui, "real path", if_other(request, "real_path", "object"));
	page_add(tui, "asked as", if_other(request, "asked_path", "real_path"));
	page_add(tui, "other end", member(request, "other"));
	page_add(tui, "program", member(request, "program"));
	page_add(tui, "script by", member(request, "interpreter"));
	add_argv(tui, request);
	page_add(tui, "folder", member(request, "cwd"));
	(void)snprintf(text, sizeof(text), "%lld",
		(long long)json_integer_value(json_object_get(request, "pid")));
	page_add(tui, "pid", text);
	page_add(tui, "session", member(request, "session"));
	page_add(tui, "agent", member(request, "agent"));
	page_add(tui, "rule", member(request, "rule"));
	page_add(tui, "says", member(request, "rule_text"));
	page_add(tui, "layer", member(request, "layer"));
	page_add(tui, "because", member(request, "reason"));
	page_add(tui, "risk", member(request, "risk"));
	add_list(tui, "offers", json_object_get(request, "durations"));
	add_list(tui, "scopes", json_object_get(request, "scopes"));
}

static void enter(struct tui *tui)
{
	const json_t *request = tui_request(tui);

	tui->top = 0;
	tui->end_seen = false;
	free(tui->fingerprint);
	tui->fingerprint = NULL;
	if (!request)
		return;
	tui->fingerprint =
		strdup(member(request, "fingerprint") ? member(request, "fingerprint") : "");
	build(tui, request);
}

/* Another fingerprint under the same id: what was read is not what would be decided. */
static bool has_changed(const struct tui *tui, const json_t *request)
{
	const char *now = member(request, "fingerprint");

	return !tui->fingerprint || !now || strcmp(now, tui->fingerprint) != 0;
}

static const char *hint(const struct tui *tui)
{
	if (!tui->end_seen)
		return COLS >= 70 ? "MORE BELOW: Space, j, PgDn; allow is inactive until the end "
				    "was shown"
				  : "MORE BELOW: Space, j, PgDn";
	if (tui_is_quiet(tui))
		return "allow becomes active in a moment";
	return tui->status;
}

static void draw(struct tui *tui)
{
	json_t *request = tui_request(tui);
	_cleanup_(freep) char *title = NULL;
	uint64_t left;

	if (!request) {
		tui_status(tui, "%s",
			tui->model.closed[0] ? tui->model.closed : "the request is over");
		tui_go(tui, &screen_list);
		tui->screen->draw(tui);
		return;
	}
	if (has_changed(tui, request)) {
		enter(tui);
		tui_hush(tui);
		tui_status(tui, "the request has changed");
	}
	left = model_seconds_left(&tui->model, request);
	if (asprintf(&title, "REQUEST %s   expires in %llu:%02llu", tui->id,
		    (unsigned long long)left / 60, (unsigned long long)left % 60) < 0)
		return;
	draw_bar(0, title);
	page_draw(tui, 2, LINES - 4);
	draw_text(LINES - 2, 0, COLS, hint(tui));
	draw_bar(LINES - 1,
		COLS >= 70 ? "a allow once   s allow for session   d deny   w rule   q back"
			   : "a once  s session  d deny  q back");
	move(2, 0);
}

static void key(struct tui *tui, int pressed)
{
	if (page_key(tui, pressed))
		return;
	switch (pressed) {
	case 'a':
		if (tui_allow(tui, "once", NULL))
			tui_go(tui, &screen_list);
		break;
	case 's':
		if (tui_may_allow(tui))
			tui_go(tui, &screen_confirm);
		break;
	case 'd':
		tui_deny(tui);
		tui_go(tui, &screen_list);
		break;
	case 'w':
		tui->back = &screen_details;
		tui_go(tui, &screen_rule);
		break;
	case '?':
		tui->back = &screen_details;
		tui_go(tui, &screen_help);
		break;
	case 'q':
	case 27:
		tui_go(tui, &screen_list);
		break;
	case KEY_RESIZE:
		/* The text is wrapped anew: what was below the edge may have moved. */
		enter(tui);
		break;
	default:
		break;
	}
}

const struct screen screen_details = {.name = "details", .enter = enter, .draw = draw, .key = key};
