/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
/* Why this is asked: the rule, and what each answer would amount to. */

#include <curses.h>
#include <string.h>

#include "tui/tui.h"

static const char *member(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text && *text ? text : NULL;
}

static void enter(struct tui *tui)
{
	const json_t *request = tui_request(tui);
	const json_t *rules = json_object_get(request, "scope_rules");
	const json_t *scopes = json_object_get(request, "scopes");

	page_clear(tui);
	tui->top = 0;
	page_add(tui, "rule", member(request, "rule"));
	page_add(tui, "says", member(request, "rule_text"));
	page_add(tui, "layer", member(request, "layer"));
	page_add(tui, "because", member(request, "reason"));
	page_add(tui, "", "");
	page_add(tui, "", "Answers longer than once would add:");
	for (size_t i = 0; i < json_array_size(scopes); i++) {
		const char *name = json_string_value(json_array_get(scopes, i));

		if (name)
			page_add(tui, name, member(rules, name));
	}
	page_add(tui, "", "");
	page_add(tui, "", "agentctl policy explain shows every rule that matches.");
}

static void draw(struct tui *tui)
{
	draw_bar(0, "THE RULE THAT ASKS");
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

const struct screen screen_rule = {.name = "rule", .enter = enter, .draw = draw, .key = key};
