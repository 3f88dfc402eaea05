/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_BROKER_JUDGE_H
#define SUPERVISORD_BROKER_JUDGE_H

/* The requests that one file operation amounts to: each object under each of its names, decided as
 * one.
 */

#include <stdbool.h>
#include <stddef.h>

#include "supervisord/broker/decide.h"
#include "supervisord/broker/path.h"

#define JUDGE_MAX 16

struct judge {
	struct notification *n;
	struct request *requests[JUDGE_MAX]; /* owned */
	size_t n_requests;
	const struct path *repo; /* borrowed: where a fresh repository's own code may be written */
	char *program;           /* of the requester, read once */
	int error;               /* the first failure: then nothing is allowed */
};

void judge_init(struct judge *judge, struct notification *n);
void judge_deinit(struct judge *judge);

/* Adds OP on PATH, once more for each other name that counts. OTHER (may be NULL) is the other end,
 * for people. */
void judge_add(struct judge *judge, const struct path *path, enum op op, const char *other);
/* Adds the strictest of several OPS that stand for the same act on PATH. */
void judge_add_strictest(struct judge *judge, const struct path *path, const enum op *ops,
	size_t n_ops, const char *other);
/* Adds OP on a mere name below a moved folder. */
void judge_add_name(struct judge *judge, enum op op, const char *name, bool fresh);
/* A name of an object gives its content away: adds read and write of SOURCE where the policy is
 * looser about TARGET. */
void judge_add_laundering(
	struct judge *judge, const struct path *source, const struct path *target);

/* What the policy alone says about OP on NAME (and ALIAS, or NULL). */
enum verdict judge_peek(
	struct judge *judge, enum op op, const char *name, const char *alias, bool fresh);

/* Decides. VERDICT_ALLOW, VERDICT_HIDE or VERDICT_DENY. */
enum verdict judge_run(struct judge *judge);
/* The same for an act that cannot be hidden: false, and the call answered with EACCES, when it may
 * not take place. */
bool judge_allows(struct judge *judge);

/* May the call go on in the kernel, because the floor alone decides about ACCESS to PATH? */
bool judge_floor(struct notification *n, const struct path *path, unsigned access);

#endif
