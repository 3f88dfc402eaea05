/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef POLICY_LANG_PATTERN_H
#define POLICY_LANG_PATTERN_H

/* Patterns over the components of a path. A literal component matches itself, one with `*` any run
 * of bytes inside one component (a leading dot too), `**` any number of whole components, also
 * none: so
 * "/a/b/" followed by "**" matches /a/b and everything below. There are no other pattern
 * characters.
 *
 * Inclusion and overlap are answered by simulating the pattern as an automaton over components. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy-lang/arena.h"

#define PATTERN_COMPONENTS_MAX 62    /* states of a pattern fit one machine word */
#define PATH_VIEW_COMPONENTS_MAX 512 /* deeper names match no looser rule and are refused */
#define PATH_VIEW_SIZE_MAX 65535

enum component_kind {
	COMPONENT_LITERAL,
	COMPONENT_GLOB, /* text keeps \ before literal special bytes */
	COMPONENT_SPAN, /* ** */
};

struct component {
	enum component_kind kind;
	const char *text;
	size_t size;
};

struct path_pattern {
	const struct component *components;
	size_t n;
	size_t n_prefix;    /* leading literal components */
	const char *prefix; /* these as a path: "/usr/lib"; "/" when there are none */
	size_t prefix_size;
	uint64_t bloom;  /* of all literal components */
	bool abstract;   /* an abstract socket name: one component, matched as a whole */
	bool is_literal; /* no wildcard at all */
};

/* A path taken apart once, to be matched many times. Borrows the path. */
struct path_view {
	const char *path;
	size_t size;
	uint64_t bloom;
	bool abstract;
	bool bad;  /* not absolute, too deep or too long: nothing may be concluded from it */
	bool dots; /* had ".." in it, which was taken as text: no resolved name has that */
	size_t n;
	uint16_t start[PATH_VIEW_COMPONENTS_MAX];
	uint16_t length[PATH_VIEW_COMPONENTS_MAX];
};

void path_view_init(struct path_view *view, const char *path);

/* A pattern from N COMPONENTS (copied). NULL when memory is short. N is at most
 * PATTERN_COMPONENTS_MAX. */
struct path_pattern *path_pattern_new(
	struct arena *arena, const struct component *components, size_t n);

bool path_pattern_match(const struct path_pattern *pattern, const struct path_view *view);

/* Is every name that INNER matches also matched by OUTER? False when that is not certain. */
bool path_pattern_includes(const struct path_pattern *outer, const struct path_pattern *inner);

/* The tree at TREE: itself and every name below it. */
bool path_pattern_covers_tree(const struct path_pattern *pattern, const struct path_view *tree);
/* Could PATTERN match some name in the tree? */
bool path_pattern_meets_tree(const struct path_pattern *pattern, const struct path_view *tree);

#endif
