/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "policy-lang/bind.h"

#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

#include "policy-lang/suggest.h"

static const struct {
	const char *name;
	size_t offset;
} variables[] = {
	{"PROJECT", offsetof(struct policy_vars, project)},
	{"TMP", offsetof(struct policy_vars, tmp)},
	{"HOME", offsetof(struct policy_vars, home)},
	{"XDG_CONFIG", offsetof(struct policy_vars, xdg_config)},
	{"XDG_CONFIG_HOME", offsetof(struct policy_vars, xdg_config)},
	{"XDG_STATE", offsetof(struct policy_vars, xdg_state)},
	{"XDG_STATE_HOME", offsetof(struct policy_vars, xdg_state)},
	{"XDG_DATA", offsetof(struct policy_vars, xdg_data)},
	{"XDG_DATA_HOME", offsetof(struct policy_vars, xdg_data)},
	{"XDG_CACHE", offsetof(struct policy_vars, xdg_cache)},
	{"XDG_CACHE_HOME", offsetof(struct policy_vars, xdg_cache)},
	{"XDG_RUNTIME", offsetof(struct policy_vars, xdg_runtime)},
	{"XDG_RUNTIME_DIR", offsetof(struct policy_vars, xdg_runtime)},
};

static const char *variable_value(const struct policy_vars *vars, size_t i)
{
	const char *value;

	memcpy(&value, (const char *)vars + variables[i].offset, sizeof(value));
	return value;
}

/* One directory variable: as given, or HOME/DEFAULT. */
static const char *copy_var(
	struct arena *arena, const char *given, const char *home, const char *fallback)
{
	_cleanup_(freep) char *clean = NULL;
	_cleanup_(freep) char *joined = NULL;

	if (!given && asprintf(&joined, "%s/%s", home, fallback) < 0)
		joined = NULL;
	clean = bind_clean_path(given ? given : joined);
	return clean ? arena_copy(arena, clean, strlen(clean)) : NULL;
}

const struct policy_vars *bind_copy_vars(struct arena *arena, const struct policy_vars *vars)
{
	struct policy_vars *copy = arena_alloc(arena, sizeof(*copy));
	char runtime[64];

	if (!copy)
		return NULL;
	copy->tmp_shared = vars->tmp_shared;
	(void)snprintf(runtime, sizeof(runtime), "/run/user/%u", (unsigned)getuid());
	copy->home = copy_var(arena, vars->home ? vars->home : "/nonexistent", "", "");
	if (!copy->home)
		return NULL;
	copy->project =
		copy_var(arena, vars->project ? vars->project : "/nonexistent/project", "", "");
	copy->tmp = copy_var(arena, vars->tmp ? vars->tmp : "/tmp", "", "");
	copy->xdg_config = copy_var(arena, vars->xdg_config, copy->home, ".config");
	copy->xdg_state = copy_var(arena, vars->xdg_state, copy->home, ".local/state");
	copy->xdg_data = copy_var(arena, vars->xdg_data, copy->home, ".local/share");
	copy->xdg_cache = copy_var(arena, vars->xdg_cache, copy->home, ".cache");
	copy->xdg_runtime =
		copy_var(arena, vars->xdg_runtime ? vars->xdg_runtime : runtime, copy->home, "");
	if (!copy->project || !copy->tmp || !copy->xdg_config || !copy->xdg_state ||
		!copy->xdg_data || !copy->xdg_cache || !copy->xdg_runtime)
		return NULL;
	return copy;
}

const struct policy_vars *bind_usual_vars(
	struct arena *arena, const struct policy_vars *vars, bool *failedp)
{
	struct policy_vars usual = {
		.home = vars->home,
		.project = vars->project,
		.tmp = vars->tmp,
		.tmp_shared = vars->tmp_shared,
		.xdg_runtime = vars->xdg_runtime,
	};
	const struct policy_vars *copy;
	struct passwd entry, *found = NULL;
	char buffer[4096];

	if (!getpwuid_r(getuid(), &entry, buffer, sizeof(buffer), &found) && found &&
		entry.pw_dir && entry.pw_dir[0] == '/')
		usual.home = entry.pw_dir;
	copy = bind_copy_vars(arena, &usual);
	*failedp = !copy;
	if (!copy ||
		(!strcmp(copy->home, vars->home) && !strcmp(copy->xdg_config, vars->xdg_config) &&
			!strcmp(copy->xdg_state, vars->xdg_state) &&
			!strcmp(copy->xdg_data, vars->xdg_data) &&
			!strcmp(copy->xdg_cache, vars->xdg_cache)))
		return NULL;
	return copy;
}

char *bind_clean_path(const char *path)
{
	char *clean, *end;

	if (!path || path[0] != '/')
		return NULL;
	clean = malloc(strlen(path) + 2);
	if (!clean)
		return NULL;
	end = clean;
	while (*path) {
		size_t size = strcspn(path, "/");

		if (size == 2 && path[0] == '.' && path[1] == '.') {
			while (end > clean && *--end != '/')
				;
		} else if (size && !(size == 1 && path[0] == '.')) {
			*end++ = '/';
			memcpy(end, path, size);
			end += size;
		}
		path += size;
		path += *path == '/';
	}
	if (end == clean)
		*end++ = '/';
	*end = '\0';
	return clean;
}

/* What TEXT begins with: its value and where the rest starts. NULL with a message when the
 * beginning is none that a path may have. An absolute path has the value "". */
static const char *read_root(const struct bind_context *context, const char *text,
	const char **restp, const char **messagep)
{
	const char *names[ARRAY_LEN(variables) + 1];
	char name[32];
	size_t size;
	const char *near;

	*restp = text;
	if (text[0] == '/' || (text[0] == '*' && text[1] == '*' && (!text[2] || text[2] == '/')))
		return "";
	if (text[0] == '~' && (!text[1] || text[1] == '/')) {
		*restp = text + 1;
		return context->vars->home;
	}
	if (text[0] != '$') {
		*messagep =
			text[0] == '~'
				? "only \"~/\", the own home, is known; write other homes in full"
				: "a path begins with / ~/ $PROJECT/ $TMP/ $XDG_.../ or **/";
		return NULL;
	}
	size = strcspn(text + 1, "/");
	for (size_t i = 0; i < ARRAY_LEN(variables); i++) {
		if (strlen(variables[i].name) == size &&
			!memcmp(variables[i].name, text + 1, size)) {
			*restp = text + 1 + size;
			return variable_value(context->vars, i);
		}
		names[i] = variables[i].name;
	}
	names[ARRAY_LEN(variables)] = NULL;
	(void)snprintf(name, sizeof(name), "%.*s", (int)(size > 31 ? 31 : size), text + 1);
	near = suggest_word(name, names);
	*messagep = near ? arena_printf(context->arena, "unknown variable $%s; did you mean $%s?",
				   name, near)
			 : arena_printf(context->arena, "unknown variable $%s", name);
	return NULL;
}

/* Appends SIZE bytes of escaped glob as one component. A message, or NULL. */
static const char *add_component(struct component *components, size_t *np, char *buffer,
	size_t *usedp, const char *text, size_t size)
{
	struct component component = {.kind = COMPONENT_LITERAL, .text = buffer + *usedp};
	bool star = false, stars = false;
	char *out = buffer + *usedp;

	if (size == 2 && !memcmp(text, "**", 2)) {
		component.kind = COMPONENT_SPAN;
		/* Two spans in a row are one. */
		if (*np && components[*np - 1].kind == COMPONENT_SPAN)
			return NULL;
	}
	for (size_t i = 0; i < size; i++) {
		if (text[i] == '\\' && i + 1 < size) {
			i++;
		} else if (text[i] == '*') {
			star = true;
			stars = stars || (i + 1 < size && text[i + 1] == '*');
		}
	}
	if (stars && component.kind != COMPONENT_SPAN)
		return "** spans whole components: it stands between slashes";
	if (star && component.kind == COMPONENT_LITERAL)
		component.kind = COMPONENT_GLOB;
	for (size_t i = 0; i < size; i++) {
		if (component.kind == COMPONENT_LITERAL && text[i] == '\\' && i + 1 < size)
			i++;
		*out++ = text[i];
	}
	component.size = (size_t)(out - component.text);
	*usedp += component.size;
	if (*np >= PATTERN_COMPONENTS_MAX)
		return "this path has more than 62 components";
	components[(*np)++] = component;
	return NULL;
}

/* Adds the components of PATH, an escaped glob. A message, or NULL. */
static const char *add_path(
	struct component *components, size_t *np, char *buffer, size_t *usedp, const char *path)
{
	while (*path) {
		size_t size = strcspn(path, "/");
		const char *fault = NULL;

		if (size == 2 && path[0] == '.' && path[1] == '.') {
			if (*np && components[*np - 1].kind != COMPONENT_LITERAL)
				return "\"..\" behind a wildcard has no meaning";
			*np -= *np ? 1 : 0;
		} else if (size && !(size == 1 && path[0] == '.')) {
			fault = add_component(components, np, buffer, usedp, path, size);
		}
		if (fault)
			return fault;
		path += size;
		path += *path == '/';
	}
	return NULL;
}

/* A literal path as an escaped glob, in the arena. */
static const char *escape_literal(struct arena *arena, const char *text)
{
	char *escaped = arena_alloc(arena, 2 * strlen(text) + 1);
	char *out = escaped;

	if (!escaped)
		return NULL;
	for (; *text; text++) {
		if (*text == '*' || *text == '\\')
			*out++ = '\\';
		*out++ = *text;
	}
	return escaped;
}

struct path_pattern *bind_path(
	const struct bind_context *context, const struct ast_string *string, const char **messagep)
{
	struct component components[PATTERN_COMPONENTS_MAX];
	_cleanup_(freep) char *buffer = NULL;
	size_t n = 0, used = 0;
	const char *root, *rest;

	*messagep = NULL;
	root = read_root(context, string->glob, &rest, messagep);
	if (!root)
		return NULL;
	root = escape_literal(context->arena, root);
	if (!root)
		return NULL;
	buffer = malloc(strlen(root) + strlen(rest) + 1);
	if (!buffer)
		return NULL;
	*messagep = add_path(components, &n, buffer, &used, root);
	if (!*messagep)
		*messagep = add_path(components, &n, buffer, &used, rest);
	return *messagep ? NULL : path_pattern_new(context->arena, components, n);
}

struct path_pattern *bind_socket(
	const struct bind_context *context, const struct ast_string *string, const char **messagep)
{
	struct component component = {.kind = COMPONENT_LITERAL, .text = string->glob};
	struct path_pattern *pattern;

	*messagep = NULL;
	if (string->glob[0] != '@')
		return bind_path(context, string, messagep);
	component.size = strlen(string->glob);
	if (strpbrk(string->glob, "*\\"))
		component.kind = COMPONENT_GLOB;
	pattern = path_pattern_new(context->arena, &component, 1);
	if (!pattern)
		return NULL;
	pattern->abstract = true;
	return pattern;
}

static bool is_below(const char *path, const char *root)
{
	size_t size = strlen(root);

	if (!strcmp(root, "/"))
		return true;
	return !strncmp(path, root, size) && (!path[size] || path[size] == '/');
}

struct path_pattern *bind_resolve(const struct bind_context *context,
	const struct path_pattern *pattern, bool widen, bool *failedp)
{
	const char *real;
	struct component components[PATTERN_COMPONENTS_MAX];
	struct path_pattern *resolved;
	size_t n = 0;

	if (!context->resolver || pattern->abstract || !pattern->n_prefix)
		return NULL;
	if (widen && (is_below(pattern->prefix, context->vars->project) ||
			     is_below(pattern->prefix, context->vars->tmp)))
		return NULL;
	real = resolver_resolve(context->resolver, pattern->prefix);
	if (!real) {
		*failedp = true;
		return NULL;
	}
	if (!strcmp(real, pattern->prefix))
		return NULL;
	for (const char *p = real; *p;) {
		size_t size = strcspn(p, "/");

		if (size && n < PATTERN_COMPONENTS_MAX)
			components[n++] = (struct component){
				.kind = COMPONENT_LITERAL, .text = p, .size = size};
		p += size;
		p += *p == '/';
	}
	for (size_t i = pattern->n_prefix; i < pattern->n; i++) {
		if (n == PATTERN_COMPONENTS_MAX)
			return NULL;
		components[n++] = pattern->components[i];
	}
	resolved = path_pattern_new(context->arena, components, n);
	if (!resolved)
		*failedp = true;
	return resolved;
}

const char *bind_text(const struct bind_context *context, const char *text, const char **messagep)
{
	const char *root, *rest;

	*messagep = NULL;
	if (text[0] != '~' && text[0] != '$')
		return arena_copy(context->arena, text, strlen(text));
	root = read_root(context, text, &rest, messagep);
	return root ? arena_printf(context->arena, "%s%s", root, rest) : NULL;
}
