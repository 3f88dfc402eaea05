/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef POLICY_LANG_SET_H
#define POLICY_LANG_SET_H

/* The inside of struct policy_set. */

#include "policy-lang/ast.h"
#include "policy-lang/compile.h"
#include "policy-lang/policy.h"

#define POLICY_FILES_MAX 512 /* files in one set */

struct env_value {
	const char *name, *value;
};

struct policy_set {
	struct arena arena;
	const struct policy_vars *vars;
	struct ast_policy **policies;
	size_t n_policies;
	struct compiled *compiled; /* NULL until sealed */
	struct env_value *env;
	size_t n_env;
};

/* check.c: what one file may say, and whether it means something. 0; POLICY_E_INVALID; -ENOMEM. */
int policy_check(const struct policy_set *set, struct arena *arena, const struct ast_policy *policy,
	struct diag_list *diags) _must_use_;

/* inline_test.c: runs the tests of all files. As above. */
int policy_run_tests(const struct policy_set *set, struct diag_list *diags) _must_use_;

/* env.c */
/* Is the pattern one that a variable's name can have? A message, or NULL. */
const char *env_pattern_fault(const char *pattern);
/* Variables that make programs run or load something else; no policy passes them. */
bool env_is_never_passed(const char *name);
/* The same answer for only the layers up to LAST. */
bool env_allowed(const struct policy_set *set, enum policy_layer last, const char *name);
/* Collects what `set env` gives. 0 or -ENOMEM. */
int env_collect(struct policy_set *set) _must_use_;

/* request_parse.c: as policy_request_parse(), with VARS instead of a set; with RESOLVE the name is
 * looked up in the file system. */
int request_build(const struct policy_vars *vars, const char *const *words, size_t n_words,
	const char *cwd, bool resolve, struct request **requestp, char **messagep) _must_use_;

#endif
