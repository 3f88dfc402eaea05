/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef POLICY_LANG_AST_H
#define POLICY_LANG_AST_H

/* One policy file as it was written. Everything is owned by the arena it was parsed into. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy-lang/arena.h"
#include "supervisord/base/diag.h"
#include "supervisord/proto/grant.h"
#include "supervisord/proto/op.h"

#define POLICY_LANG_VERSION 1
#define POLICY_STRING_MAX 4096     /* bytes of one string, decoded */
#define POLICY_NAME_MAX 64         /* bytes of a word or name */
#define POLICY_STATEMENTS_MAX 8192 /* statements in one file */
#define POLICY_ITEMS_MAX 4096      /* members of a set, targets of a rule, tokens of an argv */
#define POLICY_EXPECTS_MAX 4096    /* lines of one inline test */

struct ast_string {
	const char *text; /* decoded bytes */
	size_t size;
	/* The same with \ before every byte that must not be read as a pattern character: "\x2a" in
	 * the source is a star and no wildcard. */
	const char *glob;
	unsigned line, column;
};

/* A string, or the name of a set. */
struct ast_target {
	bool is_set;
	struct ast_string string; /* the set's name where is_set */
};

struct ast_targets {
	struct ast_target *items;
	size_t n;
};

struct ast_strings {
	struct ast_string *items;
	size_t n;
};

struct ast_set {
	struct ast_string name;
	bool is_bin;
	struct ast_strings members;
};

/* One element of an argv: any of the alternatives, or any token at all. */
struct ast_argpat {
	bool any;
	struct ast_strings alternatives;
};

/* One "has" or "lacks" clause. */
struct ast_tokens {
	bool lacks;
	struct ast_strings alternatives;
};

struct ast_ports {
	uint16_t low, high;
};

enum ast_rule_kind {
	AST_ALLOW,
	AST_ASK,
	AST_DENY,
	AST_GRANT,
	AST_HIDE,
};

struct ast_rule {
	enum ast_rule_kind kind;
	const char *name; /* NULL where it has none */
	unsigned line, column;
	const char *text;
	unsigned ops;    /* set of OP_MASK */
	unsigned protos; /* set of 1u << enum net_proto, for connect and listen */
	struct ast_targets targets, excepts, by;

	bool has_args;  /* an "args" clause is there */
	bool args_open; /* ... at its end */
	struct ast_argpat *args;
	size_t n_args;
	struct ast_tokens *tokens;
	size_t n_tokens;

	bool has_ports;
	struct ast_ports *ports; /* none = any */
	size_t n_ports;

	bool has_offer;
	unsigned durations;
	uint64_t *spans_usec;
	size_t n_spans;
	unsigned scopes;
	uint64_t timeout_usec; /* 0 = the usual one */
	uint64_t until_usec;   /* grants: CLOCK_REALTIME, 0 = for ever */
	bool has_log, log_each;
	const char *because;
};

struct ast_default {
	bool defer;
	enum verdict verdict;
	unsigned ops;
	unsigned line, column;
	const char *text;
};

enum ast_env_kind {
	AST_ENV_ALLOW,
	AST_ENV_DENY,
	AST_ENV_SET,
};

struct ast_env {
	enum ast_env_kind kind;
	struct ast_strings names; /* set: exactly one */
	struct ast_string value;
	unsigned line, column;
};

struct ast_expect {
	enum verdict verdict;
	bool is_env;
	struct ast_strings words; /* as policy_request_parse() takes them; env: the name alone */
	bool has_by;
	struct ast_string by;
	unsigned line, column;
};

struct ast_test {
	struct ast_string name;
	struct ast_expect *expects;
	size_t n_expects;
};

struct ast_policy {
	const char *file;
	const char *text;
	size_t size;
	enum policy_layer layer;
	bool shipped; /* built into the program */
	struct ast_string name;
	struct ast_strings uses;
	struct ast_set *sets;
	size_t n_sets;
	struct ast_rule *rules;
	size_t n_rules;
	struct ast_default *defaults;
	size_t n_defaults;
	struct ast_env *envs;
	size_t n_envs;
	struct ast_test *tests;
	size_t n_tests;
};

/* Adds a message about a place in POLICY, with the source line. */
void ast_diag(struct diag_list *diags, enum diag_severity severity, const struct ast_policy *policy,
	unsigned line, unsigned column, const char *format, ...) _printf_(6, 7);

/* Set NAME of the policy, or NULL. */
const struct ast_set *ast_find_set(const struct ast_policy *policy, const char *name);

#endif
