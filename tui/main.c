/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
/* agent-tui: the loop, and the few acts that all screens share.
 *
 * MUST:
 *  1. Nothing is decided by Enter, Space, Esc, q or y.
 *  2. Allow works only when the facts were shown to their end and the quiet time is over.
 *  3. Every answer carries the fingerprint of what was shown.
 *  4. Leaving, a hang-up or a lost supervisor decide nothing. */

#include <curses.h>
#include <locale.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "supervisord/base/clock.h"
#include "supervisord/base/display.h"
#include "supervisord/base/log.h"
#include "tui/tui.h"

void tui_status(struct tui *tui, const char *format, ...)
{
	_cleanup_(freep) char *text = NULL;
	va_list ap;

	va_start(ap, format);
	if (vasprintf(&text, format, ap) < 0)
		text = NULL;
	va_end(ap);
	(void)snprintf(tui->status, sizeof(tui->status), "%s", text ? text : "");
}

void tui_hush(struct tui *tui)
{
	tui->quiet_until = clock_monotonic_usec() + TUI_QUIET_USEC;
	flushinp();
}

bool tui_is_quiet(const struct tui *tui)
{
	return clock_monotonic_usec() < tui->quiet_until;
}

void tui_go(struct tui *tui, const struct screen *screen)
{
	tui->screen = screen;
	if (screen != &screen_list)
		tui->status[0] = '\0';
	if (screen->enter)
		screen->enter(tui);
	tui_hush(tui);
}

void tui_select(struct tui *tui, const char *id)
{
	char *copy = id ? strdup(id) : NULL;

	free(tui->id);
	tui->id = copy;
}

json_t *tui_request(const struct tui *tui)
{
	return model_find(&tui->model, tui->id);
}

static void decide(
	struct tui *tui, json_t *request, bool allow, const char *duration, const char *scope)
{
	_cleanup_(json_decrefp) json_t *held = json_incref(request);
	const char *object = json_string_value(json_object_get(held, "object"));
	struct client_error error;
	int r = model_decide(&tui->model, held, allow, duration, scope, &error);

	if (r == 0)
		tui_status(tui, "%s: %s", allow ? "allowed" : "denied", object ? object : "");
	else
		tui_status(tui, "not decided: %s",
			error.message[0] ? error.message : strerror(r < 0 ? -r : EIO));
}

void tui_deny(struct tui *tui)
{
	json_t *request = tui_request(tui);

	if (request)
		decide(tui, request, false, "once", NULL);
}

bool tui_may_allow(struct tui *tui)
{
	if (!tui->end_seen) {
		tui_status(tui, "read the request to its end first");
		return false;
	}
	/* Shown when the quiet time is over: until then its own hint stands there. */
	if (tui_is_quiet(tui)) {
		tui_status(tui, "that was too early; now the key counts");
		return false;
	}
	return true;
}

bool tui_allow(struct tui *tui, const char *duration, const char *scope)
{
	json_t *request = tui_request(tui);
	const char *now = json_string_value(json_object_get(request, "fingerprint"));

	if (!request || !now || !tui->fingerprint)
		return false;
	if (!tui_may_allow(tui))
		return false;
	if (strcmp(now, tui->fingerprint) != 0) {
		tui_status(tui, "the request has changed");
		return false;
	}
	decide(tui, request, true, duration, scope);
	return true;
}

static void redraw(struct tui *tui)
{
	erase();
	if (LINES < TUI_ROWS_MIN || COLS < TUI_COLUMNS_MIN) {
		char text[64];

		(void)snprintf(
			text, sizeof(text), "%zu pending", json_array_size(tui->model.requests));
		draw_text(0, 0, COLS, text);
		if (LINES > 1)
			draw_text(1, 0, COLS,
				COLS < 30 ? "enlarge" : "enlarge, or: agentctl approve");
		/* What cannot be shown cannot be allowed. */
		tui->end_seen = false;
	} else {
		tui->screen->draw(tui);
	}
	refresh();
}

/* All keys that have come. False when the terminal is gone. */
static bool handle_keys(struct tui *tui, short revents)
{
	bool any = false;
	int key;

	while ((key = getch()) != ERR) {
		any = true;
		if (key == KEY_RESIZE)
			tui_hush(tui);
		if (LINES >= TUI_ROWS_MIN && COLS >= TUI_COLUMNS_MIN)
			tui->screen->key(tui, key);
		else if (key == 'q')
			tui->quit = true;
		if (tui->quit)
			break;
		redraw(tui);
	}
	return any || !(revents & (POLLHUP | POLLERR | POLLNVAL));
}

static void loop(struct tui *tui)
{
	while (!tui->quit) {
		struct pollfd fds[2] = {{.fd = -1}, {.fd = STDIN_FILENO, .events = POLLIN}};
		int timeout;

		model_refresh(&tui->model);
		redraw(tui);
		model_prepare(&tui->model, &fds[0], &timeout);
		/* The line that says "in a moment" must go when the moment is over. */
		if (tui_is_quiet(tui) && timeout > 100)
			timeout = 100;
		if (poll(fds, 2, timeout) < 0 && errno != EINTR)
			return;
		model_process(&tui->model);
		if (!handle_keys(tui, fds[1].revents))
			return;
	}
}

static const char usage[] =
	"usage: agent-tui\n"
	"\n"
	"A screen where requests of supervised programs are read and answered. ? shows the keys.\n"
	"\"agentctl approve\" does the same line by line.\n";

int main(int argc, char **argv)
{
	static struct tui tui = {.screen = &screen_list};
	const char *term = getenv("TERM");

	(void)setlocale(LC_CTYPE, "");
	log_init("agent-tui");
	log_set_fd(-1); /* the screen is not for log lines */
	if (argc > 1) {
		bool help = strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0;

		if (!help)
			(void)fputs("agent-tui: takes no arguments\n", stderr);
		(void)fputs(usage, help ? stdout : stderr);
		return help ? 0 : 2;
	}
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || !term || strcmp(term, "dumb") == 0) {
		(void)fputs(
			"agent-tui: this needs a terminal with a screen; use: agentctl approve\n",
			stderr);
		return 1;
	}
	if (model_init(&tui.model) < 0) {
		(void)fputs("agent-tui: cannot start: no home folder or no memory\n", stderr);
		return 1;
	}
	set_escdelay(25);
	initscr();
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	tui_hush(&tui);
	loop(&tui);
	endwin();
	page_clear(&tui);
	free(tui.id);
	free(tui.fingerprint);
	model_deinit(&tui.model);
	return 0;
}
