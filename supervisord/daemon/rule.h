/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_DAEMON_RULE_H
#define SUPERVISORD_DAEMON_RULE_H

/* The rule that asks, as the broker sent it: what people see, and what they may answer. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "supervisord/base/json.h"
#include "supervisord/proto/grant.h"
#include "supervisord/proto/op.h"

#define RULE_SPANS_MAX 16
#define RULE_TEXT_MAX 4096
#define RULE_TIMEOUT_MIN_USEC 1000000ULL
#define RULE_TIMEOUT_MAX_USEC (24ULL * 3600 * 1000000)

struct rule {
	char *id;     /* "FILE:LINE" */
	char *text;   /* the statement */
	char *reason; /* "because", or NULL */
	enum policy_layer layer;
	unsigned durations; /* set of 1u << enum grant_duration */
	uint64_t spans_usec[RULE_SPANS_MAX];
	size_t n_spans;
	unsigned scopes; /* set of 1u << enum grant_scope; 0 = the narrowest only */
};

/* Reads {"id","layer","text","reason"?,"durations":[names],"spans_usec":[...],"scopes":[names]}. 0,
 * -EBADMSG, -ENOMEM. */
int rule_from_json(json_t *json, struct rule **rulep) _must_use_;
void rule_free(struct rule *rule);
DEFINE_CLEANUP(struct rule *, rule_free);

/* The scopes that may be chosen for REQUEST: those of the rule that make sense, at least the
 * narrowest. */
unsigned rule_scopes(const struct rule *rule, const struct request *request);
bool rule_offers_span(const struct rule *rule, uint64_t usec);
/* ["once","session","10m","forever"], narrowest first. New reference or NULL. */
json_t *rule_durations_to_json(const struct rule *rule);

#endif
