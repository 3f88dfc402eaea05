/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
/* After a command that failed: what was denied, so that nobody has to guess it from error texts. */

#include "agentctl/run.h"

#include <stdio.h>
#include <string.h>

#include "agentctl/output.h"
#include "supervisord/client/client.h"
#include "supervisord/proto/bus.h"

#define FOOTER_DENIALS 5

static void print_denial(const json_t *denial)
{
	_cleanup_(freep) char *op = out_member(denial, "op");
	_cleanup_(freep) char *object = out_member(denial, "object");
	_cleanup_(freep) char *rule = out_member(denial, "rule");

	(void)fprintf(stderr, "  denied  %s %s  (%s)\n", op, object, rule);
	if (json_is_string(json_object_get(denial, "note"))) {
		_cleanup_(freep) char *note = out_member(denial, "note");

		(void)fprintf(stderr, "          note: %s\n", note);
	}
}

void run_footer(const struct run *run, const char *control)
{
	_cleanup_(client_closep) struct client *client = NULL;
	_cleanup_(json_decrefp) json_t *query = NULL, *denials = NULL;
	struct client_error error;
	size_t n;

	/* A footer is a courtesy: without a daemon there is none. */
	if (!run->session[0] || client_connect(control, &client) < 0)
		return;
	query = json_pack("{s:s, s:i}", "session", run->session, "last", FOOTER_DENIALS);
	if (!query || client_call(client, BUS_CONTROL, "Why", query, &denials, &error) < 0)
		return;
	n = json_array_size(denials);
	if (n == 0)
		return;
	if (n > FOOTER_DENIALS)
		n = FOOTER_DENIALS;
	(void)fprintf(stderr, "agentctl: %zu %s in this session, newest first:\n", n,
		n == 1                ? "denial"
		: n == FOOTER_DENIALS ? "last denials"
				      : "denials");
	for (size_t i = 0; i < n; i++)
		print_denial(json_array_get(denials, i));
	(void)fprintf(stderr, "agentctl: \"agentctl why %s\" tells more\n", run->session);
}
