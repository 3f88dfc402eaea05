/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef POLICY_LANG_BIND_H
#define POLICY_LANG_BIND_H

/* From a string of a policy to the patterns that it stands for on this machine: variables, dots and
 * slashes, and the same place reached without symbolic links. */

#include "policy-lang/ast.h"
#include "policy-lang/pattern.h"
#include "policy-lang/policy.h"
#include "policy-lang/resolve.h"

struct bind_context {
	struct arena *arena;
	const struct policy_vars *vars; /* every member set */
	/* Where the same variables point for somebody who ignores the environment, or NULL: what is
	 * denied is denied there too. */
	const struct policy_vars *usual_vars;
	struct resolver *resolver; /* NULL = do not look at the file system */
};

/* A copy of VARS in ARENA with every member set: what is missing gets its usual value below the
 * home. NULL: no memory. */
const struct policy_vars *bind_copy_vars(struct arena *arena, const struct policy_vars *vars);

/* The same folders by the account database and the usual places below its home; NULL when VARS says
 * the same, or with *FAILEDP when memory is short. */
const struct policy_vars *bind_usual_vars(
	struct arena *arena, const struct policy_vars *vars, bool *failedp);

/* The path pattern that STRING stands for. NULL with *MESSAGEP set (in the arena or static); NULL
 * with *MESSAGEP NULL: no memory. */
struct path_pattern *bind_path(
	const struct bind_context *context, const struct ast_string *string, const char **messagep);
/* The same for a unix socket: also "@name", an abstract one. */
struct path_pattern *bind_socket(
	const struct bind_context *context, const struct ast_string *string, const char **messagep);

/* The pattern with its literal prefix resolved through symbolic links, as of now; NULL when that
 * changes nothing, or with *FAILEDP set when memory is short.
 *
 * With WIDEN the pattern is used to let something through. Then a link below the workspace or the
 * session's temporary folder is not followed: who can write there could aim it anywhere. */
struct path_pattern *bind_resolve(const struct bind_context *context,
	const struct path_pattern *pattern, bool widen, bool *failedp);

/* TEXT with a leading variable replaced ("$TMP/x"), in the arena. NULL as above. */
const char *bind_text(const struct bind_context *context, const char *text, const char **messagep);

/* A normal form of an absolute path: no empty components, no "." and "..". Owned by the caller;
 * NULL when PATH is not absolute or memory is short. */
char *bind_clean_path(const char *path);

#endif
