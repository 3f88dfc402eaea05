/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef POLICY_LANG_COMPILE_H
#define POLICY_LANG_COMPILE_H

/* Rules in the form in which they are asked: patterns bound to this machine, sorted by operation.
 */

#include "policy-lang/ast.h"
#include "policy-lang/bind.h"
#include "policy-lang/host.h"
#include "policy-lang/pattern.h"
#include "policy-lang/policy.h"

#define ASK_TIMEOUT_USEC (120ULL * 1000000)

/* Targets, exceptions or programs of a rule. */
struct names {
	const struct path_pattern **paths;
	size_t n_paths;
	const struct host_pattern **hosts;
	size_t n_hosts;
};

struct rule {
	struct policy_rule_info info; /* first: people's view of the rule is the rule's address */
	unsigned ops;
	unsigned protos;
	bool hard;  /* nothing lifts it */
	bool repo;  /* guards existing repositories only */
	bool grant; /* turns an ask into allow, nothing else; info.verdict is allow */
	uint64_t until_usec;
	const struct ast_rule *source; /* argv, ports; NULL for rules without */
	struct names targets, excepts, by;
};

struct rule_list {
	struct rule **items; /* user, org, project, builtin */
	size_t n, n_user;
};

/* A file or folder that a stricter rule names literally. */
struct known_object {
	uint64_t dev, ino;
	const char *path;
	unsigned ops;
	bool many_names; /* a file with other hard links */
};

struct compiled {
	struct rule_list lists[_OP_N];
	struct rule *defaults[_LAYER_N][_OP_N]; /* NULL = says nothing */
	struct rule *fallback[_OP_N];
	bool has_org;
	struct known_object *objects;
	size_t n_objects;
	unsigned linked_ops; /* operations with a known object that has many names */
};

/* Compiles POLICIES, only those of LAST and the layers that come before it, into CONTEXT's arena.
 * The policies were checked. 0 or -ENOMEM. */
int compile_policies(const struct bind_context *context, struct ast_policy *const *policies,
	size_t n_policies, enum policy_layer last, struct compiled **compiledp) _must_use_;

/* Is the rule one that narrows: does it match every name of an object? */
static inline bool rule_is_strict(const struct rule *rule)
{
	return rule->info.verdict != VERDICT_ALLOW;
}

#endif
