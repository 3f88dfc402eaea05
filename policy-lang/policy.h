/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef POLICY_LANG_POLICY_H
#define POLICY_LANG_POLICY_H

/* The policy language as the rest of the program sees it: a set of layered policies, sealed once,
 * then asked. Enforcement, explanation, plan and replay all go through policy_set_eval(). A sealed
 * set is immutable and may be used by several threads. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "supervisord/base/diag.h"
#include "supervisord/base/json.h"
#include "supervisord/proto/op.h"
#include "supervisord/proto/request.h"

#define POLICY_TEXT_MAX (1024 * 1024)

struct policy_set;

/* What "~", "$PROJECT" and so on stand for. All absolute, resolved; borrowed for the call. */
struct policy_vars {
	const char *home;
	const char *project;
	const char *tmp;
	const char *xdg_config, *xdg_state, *xdg_data, *xdg_cache, *xdg_runtime;
	/* TMP is the folder that the host and other users see (reduced mode), not the session's
	 * own. */
	bool tmp_shared;
};

/* An empty set. 0 or -ENOMEM. */
int policy_set_new(const struct policy_vars *vars, struct policy_set **setp) _must_use_;
void policy_set_free(struct policy_set *set);
DEFINE_CLEANUP(struct policy_set *, policy_set_free);

/* Reads one policy file. TEXT is copied. The file's own "layer" word must be LAYER. Errors go to
 * DIAGS. 0; POLICY_E_INVALID (see DIAGS); -ENOMEM. */
int policy_set_add(struct policy_set *set, const char *file, const char *text, size_t size,
	enum policy_layer layer, struct diag_list *diags) _must_use_;
/* The shipped policy NAME ("core"). POLICY_E_UNKNOWN when there is none by that name. */
int policy_set_add_builtin(
	struct policy_set *set, const char *name, struct diag_list *diags) _must_use_;

/* Resolves `use`, checks across layers, binds the variables, runs the inline tests. Literal
 * prefixes of path patterns are also resolved through symbolic links (as of now), and existing
 * objects that are named literally by a deny, hide or ask rule are remembered by device and inode.
 * 0, POLICY_E_INVALID, -ENOMEM. Must be called once before anything below. */
int policy_set_seal(struct policy_set *set, struct diag_list *diags) _must_use_;

enum {
	POLICY_E_INVALID = 1,
	POLICY_E_UNKNOWN = 2,
};

/* Names of the shipped policies, NULL-terminated; and the text of one (static), or NULL. */
const char *const *policy_builtin_names(void);
const char *policy_builtin_text(const char *name, size_t *sizep);

/* A rule as people see it. Everything is borrowed from the set. */
struct policy_rule_info {
	enum verdict verdict;
	enum policy_layer layer;
	const char *file;
	unsigned line;
	const char *id;     /* "FILE:LINE", unique in the set; for a default "FILE:LINE" or
			       "builtin:default" */
	const char *text;   /* the statement as written, one line */
	const char *reason; /* "because", or NULL */
	bool log_each;
	/* ask only */
	unsigned durations;         /* set of 1u << enum grant_duration */
	const uint64_t *spans_usec; /* the offered spans */
	size_t n_spans;
	unsigned scopes; /* set of 1u << enum grant_scope; 0 = the narrowest only */
	uint64_t timeout_usec;
};

/* Answers a request. *RULEP is the rule or default that decides (never NULL). A rename, link or
 * exec is judged by its request alone: the caller sends each end as a request of its own. */
enum verdict policy_set_eval(const struct policy_set *set, const struct request *request,
	const struct policy_rule_info **rulep);

/* Is the object with this device and inode one that a stricter rule names literally? Then *PATHP is
 * that name (borrowed): judge it as an alias. False otherwise. */
bool policy_set_inode_alias(
	const struct policy_set *set, uint64_t dev, uint64_t ino, const char **pathp);

/* How a verdict came about: every rule that matches, in all layers, the deciding one first. *TRACEP
 * is an array of *NP pointers, freed by the caller with free(). */
int policy_set_trace(const struct policy_set *set, const struct request *request,
	const struct policy_rule_info ***tracep, size_t *np) _must_use_;
/* The smallest line that would change the answer, and in which layer it may stand; NULL when
 * nothing in the user's reach can. Owned by the caller. */
char *policy_set_remedy(const struct policy_set *set, const struct request *request);

/* For the plan: what OP may get anywhere in the tree at the absolute path TREE (itself included),
 * over all names, programs and layers. */
enum policy_tree {
	POLICY_TREE_ALLOW,  /* every object below is allowed, also ones that do not exist yet */
	POLICY_TREE_MIXED,  /* some may be asked, denied or hidden */
	POLICY_TREE_REFUSE, /* nothing below is allowed outright */
};
/* Does an object that a stricter rule about OP names have further names that cannot be known? Then
 * no tree is judged POLICY_TREE_ALLOW for OP: each object's inode has to be looked at. */
bool policy_set_links_matter(const struct policy_set *set, enum op op);
enum policy_tree policy_set_judge_tree(const struct policy_set *set, enum op op, const char *tree);
/* Candidates for the floor: the absolute literal prefixes of allow rules for OP, sorted, unique.
 * *TREESP is an array of *NP borrowed strings, freed by the caller with free(). */
int policy_set_allow_trees(const struct policy_set *set, enum op op, const char *const **treesp,
	size_t *np) _must_use_;
/* Can any request of OP be answered by something else than allow (or, with VERDICT_ALLOW, by
 * allow)? */
bool policy_set_may_answer(const struct policy_set *set, enum op op, enum verdict verdict);

/* Environment. Is NAME passed into the session? Variables to set: name and value by index, false
 * past the end. */
bool policy_set_env_allowed(const struct policy_set *set, const char *name);
/* Can no policy pass it on: LD_PRELOAD and its like? */
bool policy_env_never_passed(const char *name);
bool policy_set_env_get(
	const struct policy_set *set, size_t index, const char **namep, const char **valuep);

/* BLAKE2b-256 over all texts in force, layers and bound variables. */
void policy_set_digest(const struct policy_set *set, uint8_t out[32]);

/* Reads a request as people write it (the grammar's `request`): WORDS such as {"read","~/x"},
 * {"exec",
 * "/usr/bin/git","push"}, {"connect","tcp","example.org","port","443"}. Relative paths are taken
 * from CWD. 0; POLICY_E_INVALID with *MESSAGEP owned by the caller; -ENOMEM. */
int policy_request_parse(const struct policy_set *set, const char *const *words, size_t n_words,
	const char *cwd, struct request **requestp, char **messagep) _must_use_;

#endif
