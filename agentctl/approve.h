/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef AGENTCTL_APPROVE_H
#define AGENTCTL_APPROVE_H

/* The state of agentctl approve, shared with its JSON form. */

#include "agentctl/answer.h"
#include "agentctl/approve_input.h"
#include "supervisord/base/dirs.h"
#include "supervisord/client/watch.h"

struct approve {
	struct dirs dirs;
	struct client *client; /* NULL while no daemon runs */
	struct client_watch watch;
	struct approve_input input;
	json_t *requests;     /* those that wait, oldest first */
	json_t *skipped;      /* ids as keys */
	char *current;        /* id of the request that is shown */
	const char *deciding; /* id of the request that is just being answered */
	bool json;
	bool lost; /* the connection broke */
	bool said_empty, said_gone;
};

/* The request with exactly this id; borrowed, or NULL. */
json_t *approve_find(const struct approve *approve, const char *id);
/* Sends the answer. 0 with *RESULTP, or -errno after a message. */
int approve_decide(struct approve *approve, const json_t *request, const struct answer *answer,
	json_t **resultp) _must_use_;

/* approve_json.c: events out, answers in. */
void approve_json_request(json_t *request);
void approve_json_closed(const json_t *closed);
bool approve_json_line(struct approve *approve, const char *text);

#endif
