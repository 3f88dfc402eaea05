/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef POLICY_LANG_EVAL_H
#define POLICY_LANG_EVAL_H

/* The one function that decides, and its parts that explanations use. */

#include "policy-lang/compile.h"

/* A request taken apart. Lives on the stack of one evaluation. */
struct query {
	const struct request *request;
	const struct path_view *path;    /* NULL for addresses */
	const struct path_view *alias;   /* or NULL */
	const struct path_view *program; /* NULL = unknown */
	struct host_view host;
	const char *script; /* stands before argv[1]: the file that an interpreter gets */
};

struct query_views {
	struct path_view path, alias, program;
};

/* Prepares QUERY for the object of REQUEST, or with INTERPRETER for the program that reads the
 * script. QUERY borrows from REQUEST and VIEWS. False when the request has no object to judge. */
bool query_init(struct query *query, struct query_views *views, const struct request *request,
	bool interpreter);

/* Does the rule speak of the request? *WEIGHTP: how particular the name is that matched. */
bool rule_match(const struct rule *rule, const struct query *query, size_t *weightp);

/* Is the builtin RULE set aside for this query by a user rule? */
bool rule_is_lifted(
	const struct compiled *compiled, const struct rule *rule, const struct query *query);

/* The verdict and the rule that decides. */
enum verdict compiled_eval(
	const struct compiled *compiled, const struct request *request, const struct rule **rulep);

/* What answers where no rule of any layer speaks of OP; never NULL. */
const struct rule *compiled_default(const struct compiled *compiled, enum op op);

#endif
