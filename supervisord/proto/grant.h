/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_PROTO_GRANT_H
#define SUPERVISORD_PROTO_GRANT_H

/* A standing answer to an ask: which later requests it covers, for how long.
 *
 * Scopes by kind, narrowest first:
 *   files           exact (this path and operation) · dir (everything below its folder)
 *   exec            exact (this argv) · subcommand (program and the arguments up to the first that
 * is no option: options in front of it may change what it does) · program (any argv) connect,
 * listen exact (address and port) · host (any port) A grant never crosses an operation, and covers
 * only requests that the same rule asks about. */

#include "supervisord/proto/request.h"

enum grant_scope {
	GRANT_EXACT,
	GRANT_DIR,
	GRANT_SUBCOMMAND,
	GRANT_PROGRAM,
	GRANT_HOST,
	_GRANT_SCOPE_N,
};

enum grant_duration {
	GRANT_ONCE,
	GRANT_SESSION,
	GRANT_SPAN,    /* until deadline_usec */
	GRANT_FOREVER, /* written to grants.policy by the daemon */
	_GRANT_DURATION_N,
};

struct grant {
	char *id;
	enum grant_scope scope;
	enum grant_duration duration;
	uint64_t deadline_usec; /* CLOCK_BOOTTIME; 0 = none */
	char *rule;             /* "FILE:LINE" of the rule that asked */
	struct request *like;   /* the request that was answered */
};

const char *grant_scope_name(enum grant_scope scope);
int grant_scope_from_name(const char *name, enum grant_scope *scopep) _must_use_;
const char *grant_duration_name(enum grant_duration duration);

/* The scopes that make sense for REQUEST: a set of 1u << scope. */
unsigned grant_scopes_for(const struct request *request);

/* The policy line that the grant amounts to ("grant read \"~/notes.txt\""), owned by the caller. */
char *grant_rule_text(const struct request *request, enum grant_scope scope);

/* Does the grant cover REQUEST, asked by RULE, at NOW_USEC (CLOCK_BOOTTIME)? */
bool grant_covers(const struct grant *grant, const struct request *request, const char *rule,
	uint64_t now_usec);

json_t *grant_to_json(const struct grant *grant);
int grant_from_json(json_t *json, struct grant **grantp) _must_use_;
void grant_free(struct grant *grant);
DEFINE_CLEANUP(struct grant *, grant_free);

#endif
