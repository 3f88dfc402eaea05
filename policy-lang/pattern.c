/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "policy-lang/pattern.h"

#include <string.h>

/* One bit of a 64-bit set for a component: a pattern can only match a path that has all its bits.
 */
static uint64_t component_bit(const char *text, size_t size)
{
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ (unsigned char)text[i]) * 16777619u;
	return 1ULL << ((hash ^ hash >> 15) & 63);
}

void path_view_init(struct path_view *view, const char *path)
{
	size_t size = path ? strlen(path) : 0;
	size_t i = 0;

	view->path = path;
	view->size = size;
	view->n = 0;
	view->bloom = 0;
	view->dots = false;
	view->abstract = size && path[0] == '@';
	view->bad = !size || size > PATH_VIEW_SIZE_MAX || (path[0] != '/' && !view->abstract);
	if (view->bad || view->abstract)
		return;
	while (i < size) {
		size_t start;

		if (path[i] == '/') {
			i++;
			continue;
		}
		start = i;
		while (i < size && path[i] != '/')
			i++;
		if (i - start == 1 && path[start] == '.')
			continue;
		if (i - start == 2 && path[start] == '.' && path[start + 1] == '.') {
			view->dots = true;
			view->n -= view->n ? 1 : 0;
			continue;
		}
		if (view->n == PATH_VIEW_COMPONENTS_MAX) {
			view->bad = true;
			return;
		}
		view->start[view->n] = (uint16_t)start;
		view->length[view->n] = (uint16_t)(i - start);
		view->n++;
		view->bloom |= component_bit(path + start, i - start);
	}
}

static bool build_prefix(struct arena *arena, struct path_pattern *pattern)
{
	size_t size = 0;
	char *prefix, *p;

	for (size_t i = 0; i < pattern->n_prefix; i++)
		size += pattern->components[i].size + 1;
	prefix = arena_alloc(arena, size + 2);
	if (!prefix)
		return false;
	p = prefix;
	for (size_t i = 0; i < pattern->n_prefix; i++) {
		*p++ = '/';
		memcpy(p, pattern->components[i].text, pattern->components[i].size);
		p += pattern->components[i].size;
	}
	if (p == prefix)
		*p++ = '/';
	pattern->prefix = prefix;
	pattern->prefix_size = (size_t)(p - prefix);
	return true;
}

struct path_pattern *path_pattern_new(
	struct arena *arena, const struct component *components, size_t n)
{
	struct path_pattern *pattern = arena_alloc(arena, sizeof(*pattern));
	struct component *copy = arena_alloc(arena, n * sizeof(*copy));
	bool in_prefix = true;

	if (!pattern || !copy || n > PATTERN_COMPONENTS_MAX)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		copy[i] = components[i];
		copy[i].text = arena_copy(arena, components[i].text, components[i].size);
		if (!copy[i].text)
			return NULL;
		in_prefix = in_prefix && copy[i].kind == COMPONENT_LITERAL;
		if (in_prefix)
			pattern->n_prefix++;
		if (copy[i].kind == COMPONENT_LITERAL)
			pattern->bloom |= component_bit(copy[i].text, copy[i].size);
	}
	pattern->components = copy;
	pattern->n = n;
	pattern->is_literal = pattern->n_prefix == n;
	return build_prefix(arena, pattern) ? pattern : NULL;
}

/* Does the glob (with \ before literal bytes) match the whole of TEXT? */
static bool glob_match(const struct component *glob, const char *text, size_t size)
{
	const char *p = glob->text, *p_end = glob->text + glob->size;
	const char *t = text, *t_end = text + size;
	const char *star = NULL, *star_t = NULL;

	for (;;) {
		if (p < p_end && *p == '*') {
			star = ++p;
			star_t = t;
			continue;
		}
		if (t == t_end) {
			if (p == p_end)
				return true;
			return false;
		}
		if (p < p_end) {
			const char *c = *p == '\\' && p + 1 < p_end ? p + 1 : p;

			if (*c == *t) {
				p = c + 1;
				t++;
				continue;
			}
		}
		if (!star)
			return false;
		p = star;
		t = ++star_t;
	}
}

static bool component_match(const struct component *component, const char *text, size_t size)
{
	if (component->kind == COMPONENT_LITERAL)
		return component->size == size && (size == 0 || component->text[0] == text[0]) &&
		       !memcmp(component->text, text, size);
	return component->kind == COMPONENT_GLOB && glob_match(component, text, size);
}

/* The components behind the literal prefix; greedy with one point of return, which suffices because
 * a later "**" can take whatever an earlier one could have taken more. */
static bool match_rest(const struct path_pattern *pattern, const struct path_view *view)
{
	size_t p = pattern->n_prefix, v = p;
	size_t span = SIZE_MAX, span_v = 0;

	for (;;) {
		if (p < pattern->n && pattern->components[p].kind == COMPONENT_SPAN) {
			span = ++p;
			span_v = v;
			if (p == pattern->n)
				return true;
			continue;
		}
		if (v == view->n)
			return p == pattern->n;
		if (p < pattern->n && component_match(&pattern->components[p],
					      view->path + view->start[v], view->length[v])) {
			p++;
			v++;
			continue;
		}
		if (span == SIZE_MAX)
			return false;
		p = span;
		v = ++span_v;
	}
}

bool path_pattern_match(const struct path_pattern *pattern, const struct path_view *view)
{
	if (pattern->abstract || view->abstract)
		return pattern->abstract && view->abstract && !view->bad &&
		       component_match(&pattern->components[0], view->path, view->size);
	if (view->bad || (pattern->bloom & ~view->bloom) || view->n < pattern->n_prefix)
		return false;
	for (size_t i = pattern->n_prefix; i-- > 0;)
		if (!component_match(
			    &pattern->components[i], view->path + view->start[i], view->length[i]))
			return false;
	return match_rest(pattern, view);
}

/* Automaton: state i = the first i components are done. */

/* A span may also match nothing. */
static uint64_t close_states(const struct path_pattern *pattern, uint64_t states)
{
	for (size_t i = 0; i < pattern->n; i++)
		if ((states & (1ULL << i)) && pattern->components[i].kind == COMPONENT_SPAN)
			states |= 1ULL << (i + 1);
	return states;
}

static bool component_includes(const struct component *outer, const struct component *inner)
{
	if (inner->kind == COMPONENT_LITERAL)
		return component_match(outer, inner->text, inner->size);
	if (outer->kind != COMPONENT_GLOB)
		return false;
	if (outer->size == 1 && outer->text[0] == '*')
		return true;
	return outer->size == inner->size && !memcmp(outer->text, inner->text, inner->size);
}

/* States in which PATTERN surely is after any name that COMPONENT stands for. */
static uint64_t step_states(
	const struct path_pattern *pattern, uint64_t states, const struct component *component)
{
	uint64_t next = 0;

	for (size_t i = 0; i < pattern->n; i++) {
		if (!(states & (1ULL << i)))
			continue;
		if (pattern->components[i].kind == COMPONENT_SPAN)
			next |= 1ULL << i;
		else if (component->kind != COMPONENT_SPAN &&
			 component_includes(&pattern->components[i], component))
			next |= 1ULL << (i + 1);
	}
	return close_states(pattern, next);
}

bool path_pattern_includes(const struct path_pattern *outer, const struct path_pattern *inner)
{
	uint64_t states;

	if (outer->abstract || inner->abstract)
		return outer->abstract && inner->abstract &&
		       component_includes(&outer->components[0], &inner->components[0]);
	states = close_states(outer, 1);
	for (size_t i = 0; i < inner->n && states; i++)
		states = step_states(outer, states, &inner->components[i]);
	return states & (1ULL << outer->n);
}

/* States after the components of TREE. Every one of them can be completed by some name below. */
static uint64_t tree_states(const struct path_pattern *pattern, const struct path_view *tree)
{
	uint64_t states;

	/* Most patterns part from most trees in their first words. */
	for (size_t i = 0; i < pattern->n_prefix && i < tree->n; i++)
		if (!component_match(
			    &pattern->components[i], tree->path + tree->start[i], tree->length[i]))
			return 0;
	states = close_states(pattern, 1);
	for (size_t i = 0; i < tree->n && states; i++) {
		const struct component component = {
			.kind = COMPONENT_LITERAL,
			.text = tree->path + tree->start[i],
			.size = tree->length[i],
		};

		states = step_states(pattern, states, &component);
	}
	return states;
}

bool path_pattern_covers_tree(const struct path_pattern *pattern, const struct path_view *tree)
{
	uint64_t states;

	if (pattern->abstract || tree->abstract || tree->bad || !pattern->n)
		return false;
	states = tree_states(pattern, tree);
	return (states & (1ULL << (pattern->n - 1))) &&
	       pattern->components[pattern->n - 1].kind == COMPONENT_SPAN;
}

bool path_pattern_meets_tree(const struct path_pattern *pattern, const struct path_view *tree)
{
	if (pattern->abstract || tree->abstract)
		return false;
	return tree->bad || tree_states(pattern, tree);
}
