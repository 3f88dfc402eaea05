/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
/* agentctl approve: one request after another, as plain lines: for every terminal and for screen
 * readers.
 *
 * MUST:
 *  1. An answer is a typed verb and the id of the request that is shown; nothing else decides.
 *  2. What was typed before a prompt was there, or within 800 ms after, is never an answer.
 *  3. The end of input, a hang-up, a lost supervisor decide nothing.
 *  4. Every answer carries the fingerprint of what was shown. */

#include "agentctl/approve.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "agentctl/approve_line.h"
#include "agentctl/approve_show.h"
#include "agentctl/connect.h"
#include "agentctl/output.h"
#include "supervisord/base/error.h"
#include "supervisord/proto/bus.h"

#define RECONNECT_MS 1000

static const char help[] =
	"usage: agentctl approve [--json]\n"
	"\n"
	"Shows one pending request after another and reads typed answers. Waits for new ones;\n"
	"Ctrl-D or \"quit\" leaves, and decides nothing.\n"
	"\n"
	"  allow ID [for DURATION] [scope NAME]   as \"agentctl allow\"\n"
	"  deny ID [NOTE]                         as \"agentctl deny\"\n"
	"  skip, show, list, ?, quit\n"
	"\n"
	"The id must be typed. Enter, Space and y decide nothing, and what was typed before a\n"
	"request was shown, or in the 800 ms after, is thrown away.\n"
	"\n"
	"      --json   events as JSON lines on standard output, answers as JSON lines on "
	"standard\n"
	"               input: "
	"{\"id\":\"7c41xk\",\"decision\":\"allow\",\"for\":\"session\",\"scope\":\"dir\"}\n"
	"\n"
	"  agentctl approve\n"
	"  agentctl approve --json | my-approver\n";

static const struct option_def options_[] = {{"json", 0, NULL}};

static const char typed_help[] =
	"  allow ID                  this once\n"
	"  allow ID for session      also session, 10m, forever: what the request "
	"offers\n"
	"  allow ID scope dir        a wider scope that the request offers\n"
	"  deny ID [NOTE]            refuse; \"agentctl why\" and the log tell the note\n"
	"  skip                      the next request; this one stays\n"
	"  show, list                this request again; all that wait\n"
	"  quit                      leave; nothing is decided\n";

json_t *approve_find(const struct approve *approve, const char *id)
{
	json_t *request = NULL;

	if (id && answer_find(approve->requests, id, &request) == 0 &&
		strcmp(json_string_value(json_object_get(request, "id")), id) == 0)
		return request;
	return NULL;
}

static size_t index_of(const struct approve *approve, const char *id)
{
	for (size_t i = 0; i < json_array_size(approve->requests); i++) {
		const char *other = json_string_value(
			json_object_get(json_array_get(approve->requests, i), "id"));

		if (other && id && strcmp(other, id) == 0)
			return i;
	}
	return SIZE_MAX;
}

static bool was_skipped(const struct approve *approve, const json_t *request)
{
	const char *id = json_string_value(json_object_get(request, "id"));

	return !id || json_object_get(approve->skipped, id);
}

/* Shows the first request that was not skipped; says once that there is none. */
static void show_next(struct approve *approve)
{
	size_t n = json_array_size(approve->requests);

	for (size_t i = 0; i < n; i++) {
		const json_t *request = json_array_get(approve->requests, i);

		if (was_skipped(approve, request))
			continue;
		free(approve->current);
		approve->current = strdup(json_string_value(json_object_get(request, "id")));
		if (!approve->current)
			out_of_memory();
		approve_show(request, i + 1, n);
		approve->said_empty = false;
		approve_input_prompted(&approve->input);
		return;
	}
	if (!approve->said_empty) {
		puts(n ? "the rest was skipped; \"list\" shows it, waiting for new requests"
		       : "nothing waits for an answer; waiting for requests (Ctrl-D leaves)");
		(void)fflush(stdout);
	}
	approve->said_empty = true;
}

static void forget_current(struct approve *approve)
{
	free(approve->current);
	approve->current = NULL;
}

static void on_added(struct approve *approve, json_t *request)
{
	const char *id = json_string_value(json_object_get(request, "id"));

	if (!id || index_of(approve, id) != SIZE_MAX)
		return;
	if (json_array_append(approve->requests, request) < 0)
		out_of_memory();
	if (approve->json) {
		approve_json_request(request);
	} else if (approve->current) {
		_cleanup_(freep) char *safe = out_safe(id);

		printf("(one more request waits: %s)\n", safe);
		(void)fflush(stdout);
	}
}

static void print_closed(const json_t *closed)
{
	_cleanup_(freep) char *text = client_closed_text(closed), *safe = NULL;

	if (!text)
		out_of_memory();
	safe = out_safe(text);
	printf("\n%s\n", safe);
}

static void on_closed(struct approve *approve, const json_t *closed)
{
	const char *id = json_string_value(json_object_get(closed, "id"));
	size_t i = index_of(approve, id);

	if (i == SIZE_MAX)
		return;
	if (approve->json)
		approve_json_closed(closed);
	else if (approve->deciding && strcmp(approve->deciding, id) == 0)
		; /* our own answer: its outcome is printed where it was given */
	else if (approve->current && strcmp(approve->current, id) == 0)
		print_closed(closed);
	if (approve->current && strcmp(approve->current, id) == 0)
		forget_current(approve);
	json_object_del(approve->skipped, id);
	json_array_remove(approve->requests, i);
	(void)fflush(stdout);
}

static void on_signal(void *userdata, const char *signal, json_t *payload)
{
	struct approve *approve = userdata;

	if (strcmp(signal, "RequestAdded") == 0)
		on_added(approve, payload);
	else if (strcmp(signal, "RequestClosed") == 0)
		on_closed(approve, payload);
}

static void disconnect(struct approve *approve)
{
	client_watch_stop(&approve->watch);
	if (approve->client)
		client_close(TAKE_PTR(approve->client));
	json_array_clear(approve->requests);
	forget_current(approve);
}

/* 0 also when no daemon runs: then approve->client stays NULL. */
static int try_connect(struct approve *approve)
{
	_cleanup_(json_decrefp) json_t *requests = NULL;
	int r = connect_daemon(&approve->dirs, &approve->client);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	r = client_watch_start(&approve->watch, approve->client, on_signal, approve);
	if (r == 0)
		r = connect_call(approve->client, "Requests", NULL, &requests);
	if (r < 0) {
		disconnect(approve);
		return r == -ECONNRESET ? 0 : r;
	}
	for (size_t i = 0; i < json_array_size(requests); i++)
		on_added(approve, json_array_get(requests, i));
	approve->said_gone = false;
	return 0;
}

int approve_decide(struct approve *approve, const json_t *request, const struct answer *answer,
	json_t **resultp)
{
	_cleanup_(freep) char *id = strdup(json_string_value(json_object_get(request, "id")));
	json_t *parameter = NULL;
	const char *why = NULL;
	int r;

	r = answer_make(request, answer, "agentctl approve", &parameter, &why);
	if (r < 0) {
		out_error("%s", why);
		return r;
	}
	approve->deciding = id;
	r = connect_call(approve->client, "Decide", parameter, resultp);
	/* The signal about our own answer may be on its way: it is handled here, as ours. */
	if (r == 0 && client_watch_process(&approve->watch) < 0)
		approve->lost = true;
	approve->deciding = NULL;
	if (r == 0 && index_of(approve, id) != SIZE_MAX) {
		json_array_remove(approve->requests, index_of(approve, id));
		if (approve->current && strcmp(approve->current, id) == 0)
			forget_current(approve);
	}
	return r;
}

static void answer_typed(struct approve *approve, const struct approve_line *line)
{
	_cleanup_(json_decrefp) json_t *result = NULL, *request = NULL;
	_cleanup_(freep) char *outcome = NULL, *object = NULL;

	/* The id must be that of the request on the screen: what is shown is what is decided. */
	if (!approve->current || strcmp(approve->current, line->id) != 0) {
		puts(approve->current ? "that is not the id of the request that is shown"
				      : "no request is shown");
		return;
	}
	request = json_incref(approve_find(approve, approve->current));
	if (!request || approve_decide(approve, request, &line->answer, &result) < 0)
		return;
	outcome = out_member(result, "outcome");
	object = out_member(request, "object");
	printf("%s: %s\n", outcome, object);
}

static bool on_line(void *userdata, char *text)
{
	struct approve *approve = userdata;
	struct approve_line line;

	if (approve->json)
		return approve_json_line(approve, text);
	approve_line_parse(text, &line);
	switch (line.word) {
	case APPROVE_NOTHING:
		break;
	case APPROVE_ANSWER:
		answer_typed(approve, &line);
		break;
	case APPROVE_SKIP:
		if (approve->current)
			json_object_set_new(approve->skipped, approve->current, json_true());
		forget_current(approve);
		break;
	case APPROVE_SHOW:
		json_object_clear(approve->skipped);
		forget_current(approve);
		approve->said_empty = false;
		break;
	case APPROVE_LIST:
		approve_show_list(approve->requests);
		break;
	case APPROVE_HELP:
		(void)fputs(typed_help, stdout);
		break;
	case APPROVE_QUIT:
		approve->input.ended = true;
		return false;
	case APPROVE_WRONG:
		puts(line.wrong);
		break;
	}
	(void)fflush(stdout);
	return true;
}

/* One wait: the daemon, the person, the end of the quiet time. */
static int wait_once(struct approve *approve)
{
	int timeout = RECONNECT_MS, quiet = approve_input_wait_ms(&approve->input);
	struct pollfd fds[2] = {{.fd = -1}, {.fd = STDIN_FILENO, .events = POLLIN}};

	if (approve->client && client_watch_prepare(&approve->watch, &fds[0], &timeout) < 0)
		approve->lost = true;
	if (approve->lost)
		timeout = 0;
	if (quiet >= 0) {
		fds[1].fd = -1;
		if (timeout < 0 || quiet < timeout)
			timeout = quiet;
	}
	if (poll(fds, 2, timeout) < 0 && errno != EINTR)
		return err_trace(err_errno());
	approve_input_tick(&approve->input);
	if (approve->client && client_watch_process(&approve->watch) < 0)
		approve->lost = true;
	if (fds[1].revents && quiet < 0)
		approve_input_read(&approve->input, on_line, approve);
	return 0;
}

static int approve_loop(struct approve *approve)
{
	while (!approve->input.ended) {
		if (!approve->client && try_connect(approve) < 0)
			return EXIT_FAILED;
		if (!approve->client && !approve->said_gone && !approve->json)
			puts("no supervisor runs; waiting for one (Ctrl-D leaves)");
		approve->said_gone = !approve->client;
		if (approve->client && !approve->current && !approve->json)
			show_next(approve);
		(void)fflush(stdout);
		if (ferror(stdout) || wait_once(approve) < 0)
			return EXIT_FAILED;
		if (approve->lost) {
			disconnect(approve);
			approve->lost = false;
			if (!approve->json)
				puts("\nthe supervisor has gone; nothing was decided here");
		}
	}
	return EXIT_OK;
}

static int verb_main(const struct verb *verb, struct options *options)
{
	static struct approve approve;
	const char *value;
	int id, status;

	while ((id = options_next(options, &value)) >= 0)
		approve.json = true;
	if (id != OPTIONS_END)
		return out_options(verb, options, id);
	if (options->n_operands > 0)
		return out_usage(
			verb, "takes no arguments; \"agentctl allow ID\" answers one request");
	connect_dirs(&approve.dirs);
	approve.requests = json_array();
	approve.skipped = json_object();
	if (!approve.requests || !approve.skipped)
		out_of_memory();
	approve_input_init(&approve.input);
	status = approve_loop(&approve);
	disconnect(&approve);
	json_decref(approve.requests);
	json_decref(approve.skipped);
	approve_input_deinit(&approve.input);
	dirs_deinit(&approve.dirs);
	return status;
}

const struct verb verb_approve = {
	.name = "approve",
	.summary = "answer requests one after another",
	.help = help,
	.options = options_,
	.n_options = ARRAY_LEN(options_),
	.usage_status = EXIT_USAGE,
	.main = verb_main,
};
