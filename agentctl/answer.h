/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef AGENTCTL_ANSWER_H
#define AGENTCTL_ANSWER_H

/* An answer to a pending request: found by id, checked against what the rule offers, bound to the
 * fingerprint of what was seen. */

#include <stdbool.h>

#include "supervisord/client/client.h"

struct answer {
	bool allow;
	const char *duration; /* "once", "session", "forever" or a span; NULL = once */
	const char *scope;    /* NULL = the narrowest */
	const char *note;     /* for the agent, with a denial; may be NULL */
};

enum {
	ANSWER_E_UNKNOWN = 1,   /* no pending request has this id */
	ANSWER_E_AMBIGUOUS = 2, /* a prefix of several */
};

/* Letters of an id that allow takes at least. Fewer could fit a request that came, unseen, in the
 * place of the one that was read; the daemon keeps these apart. */
#define ANSWER_ALLOW_LETTERS 4

/* The request of REQUESTS (an array) whose id is PREFIX or alone begins with it; borrowed. 0 or
 * ANSWER_E_*. */
int answer_find(const json_t *requests, const char *prefix, json_t **requestp) _must_use_;

/* The parameter of Decide for REQUEST. *WHYP (static or NULL) says what is wrong with ANSWER. 0,
 * -EINVAL. *PARAMETERP is a new reference. */
int answer_make(const json_t *request, const struct answer *answer, const char *client,
	json_t **parameterp, const char **whyp) _must_use_;

/* Both, sent: fetches the requests, finds, decides, prints the outcome. Returns the exit status. */
int answer_send(const char *prefix, const struct answer *answer) _must_use_;

#endif
