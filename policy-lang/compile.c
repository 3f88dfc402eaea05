/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "policy-lang/compile.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct compiler {
	const struct bind_context *context;
	struct arena *arena;
	struct compiled *compiled;
};

/* What the names are for. */
enum name_use {
	USE_WIDEN,  /* they let something through */
	USE_NARROW, /* they ask, or take something from what is let through */
	USE_DENY,
};

static int push_path(
	struct compiler *compiler, struct names *names, const struct path_pattern *pattern)
{
	const struct path_pattern **paths = arena_grow(
		compiler->arena, names->paths, names->n_paths, sizeof(const struct path_pattern *));

	if (!paths || !pattern)
		return -ENOMEM;
	names->paths = paths;
	names->paths[names->n_paths++] = pattern;
	return 0;
}

static int push_host(
	struct compiler *compiler, struct names *names, const struct ast_string *string)
{
	const struct host_pattern **hosts = arena_grow(
		compiler->arena, names->hosts, names->n_hosts, sizeof(const struct host_pattern *));
	const char *message;
	struct host_pattern *pattern = host_pattern_new(compiler->arena, string->text, &message);

	if (!hosts || !pattern)
		return -ENOMEM;
	names->hosts = hosts;
	names->hosts[names->n_hosts++] = pattern;
	return 0;
}

/* What kind of thing a string names. */
enum name_kind {
	NAME_PATH,
	NAME_SOCKET,
	NAME_HOST,
};

static int add_bound(struct compiler *compiler, const struct bind_context *context,
	struct names *names, enum name_kind kind, const struct ast_string *string, bool widen)
{
	struct path_pattern *pattern, *resolved;
	const char *message;
	bool failed = false;
	int r;

	pattern = kind == NAME_SOCKET ? bind_socket(context, string, &message)
				      : bind_path(context, string, &message);
	/* The checker accepted the string with these variables; a message cannot come here but for
	 * values that make the path too deep, and then nothing may be guessed. */
	r = push_path(compiler, names, pattern);
	if (r < 0)
		return r;
	resolved = bind_resolve(context, pattern, widen, &failed);
	if (failed)
		return -ENOMEM;
	return resolved ? push_path(compiler, names, resolved) : 0;
}

static int add_string(struct compiler *compiler, struct names *names, enum name_kind kind,
	const struct ast_string *string, enum name_use use)
{
	struct bind_context usual = *compiler->context;
	int r;

	if (kind == NAME_HOST)
		return push_host(compiler, names, string);
	r = add_bound(compiler, compiler->context, names, kind, string, use == USE_WIDEN);
	if (r < 0 || use != USE_DENY || !usual.usual_vars ||
		(string->glob[0] != '~' && strncmp(string->glob, "$XDG_", 5) != 0))
		return r;
	usual.vars = usual.usual_vars;
	return add_bound(compiler, &usual, names, kind, string, false);
}

static int add_targets(struct compiler *compiler, const struct ast_policy *policy,
	struct names *names, enum name_kind kind, const struct ast_targets *targets,
	enum name_use use)
{
	for (size_t i = 0; i < targets->n; i++) {
		const struct ast_target *target = &targets->items[i];
		const struct ast_set *set;
		int r = 0;

		if (!target->is_set) {
			r = add_string(compiler, names, kind, &target->string, use);
			if (r < 0)
				return r;
			continue;
		}
		set = ast_find_set(policy, target->string.text);
		for (size_t j = 0; set && !r && j < set->members.n; j++)
			r = add_string(compiler, names, kind, &set->members.items[j], use);
		if (r < 0)
			return r;
	}
	return 0;
}

static int list_push(struct compiler *compiler, struct rule *rule)
{
	for (unsigned op = 0; op < _OP_N; op++) {
		struct rule_list *list = &compiler->compiled->lists[op];
		struct rule **items;

		if (!(rule->ops & OP_MASK(op)))
			continue;
		items = arena_grow(compiler->arena, list->items, list->n, sizeof(struct rule *));
		if (!items)
			return -ENOMEM;
		list->items = items;
		list->items[list->n++] = rule;
	}
	return 0;
}

static int describe(struct compiler *compiler, struct rule *rule, const struct ast_policy *policy,
	unsigned line, const char *text)
{
	rule->info.layer = policy->layer;
	rule->info.file = policy->file;
	rule->info.line = line;
	rule->info.text = text;
	rule->info.id = arena_printf(compiler->arena, "%s:%u", policy->file, line);
	return rule->info.id ? 0 : -ENOMEM;
}

static enum verdict kind_verdict(enum ast_rule_kind kind)
{
	switch (kind) {
	case AST_ALLOW:
	case AST_GRANT:
		return VERDICT_ALLOW;
	case AST_ASK:
		return VERDICT_ASK;
	case AST_HIDE:
		return VERDICT_HIDE;
	case AST_DENY:
		break;
	}
	return VERDICT_DENY;
}

static void set_offer(struct rule *rule, const struct ast_rule *source)
{
	rule->info.durations = source && source->has_offer ? source->durations
							   : 1u << GRANT_ONCE | 1u << GRANT_SESSION;
	rule->info.spans_usec = source ? source->spans_usec : NULL;
	rule->info.n_spans = source ? source->n_spans : 0;
	rule->info.scopes = source ? source->scopes : 0;
	rule->info.timeout_usec =
		source && source->timeout_usec ? source->timeout_usec : ASK_TIMEOUT_USEC;
}

/* Remembers what a literal pattern of a stricter rule names now. */
static int remember_objects(struct compiler *compiler, const struct rule *rule)
{
	struct compiled *compiled = compiler->compiled;

	if (!compiler->context->resolver || !rule_is_strict(rule))
		return 0;
	for (size_t i = 0; i < rule->targets.n_paths; i++) {
		const struct path_pattern *pattern = rule->targets.paths[i];
		struct known_object *objects;
		struct stat st;

		if (!pattern->is_literal || pattern->abstract || !pattern->n ||
			lstat(pattern->prefix, &st) < 0)
			continue;
		objects = arena_grow(
			compiler->arena, compiled->objects, compiled->n_objects, sizeof(*objects));
		if (!objects)
			return -ENOMEM;
		compiled->objects = objects;
		compiled->objects[compiled->n_objects++] = (struct known_object){
			.dev = st.st_dev,
			.ino = st.st_ino,
			.path = pattern->prefix,
			.ops = rule->ops,
			.many_names = S_ISREG(st.st_mode) && st.st_nlink > 1,
		};
		if (S_ISREG(st.st_mode) && st.st_nlink > 1)
			compiled->linked_ops |= rule->ops;
	}
	return 0;
}

static int fill_names(struct compiler *compiler, const struct ast_policy *policy, struct rule *rule)
{
	const struct ast_rule *source = rule->source;
	enum name_kind kind = source->protos & (1u << NET_UNIX) ? NAME_SOCKET
			      : source->protos                  ? NAME_HOST
								: NAME_PATH;
	enum name_use use = !rule_is_strict(rule)               ? USE_WIDEN
			    : rule->info.verdict == VERDICT_ASK ? USE_NARROW
								: USE_DENY;
	int r;

	r = add_targets(compiler, policy, &rule->targets, kind, &source->targets, use);
	if (!r)
		r = add_targets(compiler, policy, &rule->excepts, kind, &source->excepts,
			use == USE_WIDEN ? USE_NARROW : USE_WIDEN);
	if (!r)
		r = add_targets(compiler, policy, &rule->by, NAME_PATH, &source->by, use);
	return r ? r : remember_objects(compiler, rule);
}

static bool has_path(const struct names *names, const char *path)
{
	for (size_t i = 0; i < names->n_paths; i++)
		if (!strcmp(names->paths[i]->prefix, path))
			return true;
	return false;
}

/* The folders above what PATTERN begins with, each once. */
static int push_parents(
	struct compiler *compiler, struct names *names, const struct path_pattern *pattern)
{
	for (size_t n = pattern->n_prefix; n-- > 1;) {
		const struct path_pattern *parent =
			path_pattern_new(compiler->arena, pattern->components, n);

		if (!parent)
			return -ENOMEM;
		if (has_path(names, parent->prefix))
			return 0;
		if (push_path(compiler, names, parent) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Renaming a folder above what a rule guards would give that a name which the rule does not know:
 * the rule speaks of such renames as well. */
static int compile_parents(struct compiler *compiler, const struct rule *rule)
{
	struct rule *parents;

	if (!rule_is_strict(rule) || !(rule->ops & OP_MASK_FILE))
		return 0;
	parents = arena_alloc(compiler->arena, sizeof(*parents));
	if (!parents)
		return -ENOMEM;
	*parents = *rule;
	parents->ops = OP_MASK(OP_RENAME);
	parents->targets = (struct names){.n_paths = 0};
	parents->excepts = (struct names){.n_paths = 0};
	if (rule->info.verdict == VERDICT_HIDE)
		parents->info.verdict = VERDICT_DENY;
	for (size_t i = 0; i < rule->targets.n_paths; i++)
		if (push_parents(compiler, &parents->targets, rule->targets.paths[i]) < 0)
			return -ENOMEM;
	return parents->targets.n_paths ? list_push(compiler, parents) : 0;
}

/* What amounts to the same by another way: a file that may not be read must not be moved or linked
 * to a name where it may be; one that may not be written must not be replaced. Shipped policies say
 * all they mean. */
static unsigned implied_ops(enum policy_layer layer, unsigned ops)
{
	unsigned implied = 0;

	if (layer == LAYER_BUILTIN)
		return 0;
	if (ops & OP_MASK(OP_READ))
		implied |= OP_MASK(OP_RENAME) | OP_MASK(OP_LINK);
	if (ops & OP_MASK(OP_WRITE))
		implied |= OP_MASK(OP_CREATE) | OP_MASK(OP_RENAME) | OP_MASK(OP_LINK);
	return implied;
}

static int compile_rule(struct compiler *compiler, const struct ast_policy *policy,
	const struct ast_rule *source, unsigned ops, enum verdict verdict)
{
	struct rule *rule = arena_alloc(compiler->arena, sizeof(*rule));
	int r;

	if (!rule)
		return -ENOMEM;
	rule->source = source;
	rule->ops = ops;
	if (verdict != VERDICT_ALLOW && verdict != VERDICT_HIDE)
		rule->ops |= implied_ops(policy->layer, ops);
	rule->protos = source->protos;
	rule->info.verdict = verdict;
	rule->info.reason = source->because;
	rule->info.log_each = source->log_each;
	rule->grant = source->kind == AST_GRANT;
	rule->until_usec = source->until_usec;
	rule->repo = policy->layer == LAYER_BUILTIN && source->name &&
		     !strncmp(source->name, "repo-", 5);
	if (verdict == VERDICT_ASK)
		set_offer(rule, source);
	r = describe(compiler, rule, policy, source->line, source->text);
	if (!r)
		r = fill_names(compiler, policy, rule);
	if (!r)
		r = list_push(compiler, rule);
	return r ? r : compile_parents(compiler, rule);
}

static int compile_source(
	struct compiler *compiler, const struct ast_policy *policy, const struct ast_rule *source)
{
	const unsigned reading = OP_MASK(OP_READ) | OP_MASK(OP_LIST);
	int r;

	if (source->kind != AST_HIDE)
		return compile_rule(
			compiler, policy, source, source->ops, kind_verdict(source->kind));
	/* What reads as empty cannot be changed or run either. */
	r = compile_rule(compiler, policy, source, reading, VERDICT_HIDE);
	return r ? r : compile_rule(compiler, policy, source, source->ops & ~reading, VERDICT_DENY);
}

static int compile_default(struct compiler *compiler, const struct ast_policy *policy,
	const struct ast_default *source)
{
	for (unsigned op = 0; op < _OP_N; op++) {
		struct rule *rule, *old = compiler->compiled->defaults[policy->layer][op];

		if (!(source->ops & OP_MASK(op)) || source->defer)
			continue;
		/* Several files of a layer may speak; the strictest counts. */
		if (old && old->info.verdict >= source->verdict)
			continue;
		rule = arena_alloc(compiler->arena, sizeof(*rule));
		if (!rule)
			return -ENOMEM;
		rule->info.verdict = source->verdict;
		rule->ops = OP_MASK(op);
		if (source->verdict == VERDICT_ASK)
			set_offer(rule, NULL);
		if (describe(compiler, rule, policy, source->line, source->text) < 0)
			return -ENOMEM;
		compiler->compiled->defaults[policy->layer][op] = rule;
	}
	return 0;
}

static int compile_fallback(struct compiler *compiler)
{
	for (unsigned op = 0; op < _OP_N; op++) {
		struct rule *rule = arena_alloc(compiler->arena, sizeof(*rule));

		if (!rule)
			return -ENOMEM;
		rule->ops = OP_MASK(op);
		rule->info = (struct policy_rule_info){
			.verdict = VERDICT_DENY,
			.layer = LAYER_BUILTIN,
			.file = "builtin",
			.id = "builtin:default",
			.text = arena_printf(
				compiler->arena, "default deny %s", op_name((enum op)op)),
			.reason = "no rule speaks of this",
		};
		if (!rule->info.text)
			return -ENOMEM;
		compiler->compiled->fallback[op] = rule;
	}
	return 0;
}

static int hard_rule(struct compiler *compiler, unsigned ops, const char *const *paths, size_t n,
	const char *suffix)
{
	struct rule *rule = arena_alloc(compiler->arena, sizeof(*rule));
	const struct bind_context *context = compiler->context;

	if (!rule)
		return -ENOMEM;
	rule->ops = ops;
	rule->hard = true;
	rule->info = (struct policy_rule_info){
		.verdict = VERDICT_DENY,
		.layer = LAYER_BUILTIN,
		.file = "builtin",
		.id = "builtin:self",
		.text = "deny what belongs to the supervisor itself",
		.reason = "the supervisor's own files and sockets; no policy can open them",
	};
	if (ops & (OP_MASK(OP_CONNECT) | OP_MASK(OP_LISTEN)))
		rule->protos = 1u << NET_UNIX;
	for (size_t i = 0; i < n; i++) {
		const char *message;
		const char *glob = arena_printf(context->arena, "%s%s", paths[i], suffix);
		struct ast_string string = {.text = glob, .glob = glob};
		struct path_pattern *pattern;
		bool failed = false;

		if (!glob)
			return -ENOMEM;
		pattern = bind_path(context, &string, &message);
		if (push_path(compiler, &rule->targets, pattern) < 0)
			return -ENOMEM;
		pattern = bind_resolve(context, pattern, false, &failed);
		if (failed || (pattern && push_path(compiler, &rule->targets, pattern) < 0))
			return -ENOMEM;
	}
	return list_push(compiler, rule);
}

/* The folders above PATH. Renaming one of them would give what is below other names. */
static int push_ancestors(
	struct compiler *compiler, const char *path, const char ***listp, size_t *np)
{
	for (size_t i = strlen(path); i > 1; i--) {
		const char **list;

		if (path[i - 1] != '/')
			continue;
		list = arena_grow(compiler->arena, *listp, *np, sizeof(*list));
		if (!list)
			return -ENOMEM;
		*listp = list;
		list[*np] = arena_copy(compiler->arena, path, i - 1);
		if (!list[(*np)++])
			return -ENOMEM;
	}
	return 0;
}

/* Escapes what a path could hold of pattern characters. */
static const char *literal(struct arena *arena, const char *path, const char *suffix)
{
	char *text = arena_alloc(arena, 2 * strlen(path) + strlen(suffix) + 1);
	char *out = text;

	if (!text)
		return NULL;
	for (; *path; path++) {
		if (*path == '*' || *path == '\\')
			*out++ = '\\';
		*out++ = *path;
	}
	memcpy(out, suffix, strlen(suffix) + 1);
	return text;
}

/* Is /tmp the host's, where the supervisor keeps its sockets when it has no other folder for them?
 * A rule about a name in /tmp costs: it keeps the kernel from deciding alone about a session's own.
 */
static bool sees_host_tmp(const struct policy_vars *vars)
{
	const char *project = vars->project;
	size_t size = strlen(project);

	return vars->tmp_shared || !strcmp(project, "/") || strcmp(vars->tmp, "/tmp") != 0 ||
	       (!strncmp(vars->tmp, project, size) && (!vars->tmp[size] || vars->tmp[size] == '/'));
}

static int compile_hard(struct compiler *compiler)
{
	const struct policy_vars *vars = compiler->context->vars;
	const struct policy_vars *usual =
		compiler->context->usual_vars ? compiler->context->usual_vars : vars;
	struct arena *arena = compiler->arena;
	const unsigned uid = (unsigned)getuid();
	const unsigned changing = (OP_MASK_FILE & ~(OP_MASK(OP_READ) | OP_MASK(OP_LIST)));
	const char *own[] = {
		literal(arena, vars->xdg_config, "/agent-supervisor"),
		literal(arena, vars->xdg_state, "/agent-supervisor"),
		literal(arena, vars->xdg_runtime, "/agent-supervisor"),
		literal(arena, usual->xdg_config, "/agent-supervisor"),
		literal(arena, usual->xdg_state, "/agent-supervisor"),
		arena_printf(arena, "/run/user/%u/agent-supervisor", uid),
		/* The last: the folder for sockets where there is no other. */
		arena_printf(arena, "/tmp/agent-supervisor-%u", uid),
	};
	const size_t n_own = ARRAY_LEN(own) - !sees_host_tmp(vars);
	const char *const org[] = {"/etc/agent-supervisor"};
	const char **above = NULL;
	size_t n_above = 0;
	int r = 0;

	for (size_t i = 0; i < ARRAY_LEN(own); i++)
		if (!own[i])
			return -ENOMEM;
	for (size_t i = 0; i < 5 && !r; i++)
		r = push_ancestors(compiler, own[i], &above, &n_above);
	if (!r)
		r = hard_rule(compiler, OP_MASK_FILE | OP_MASK(OP_EXEC), own, n_own, "/**");
	if (!r)
		r = hard_rule(
			compiler, OP_MASK(OP_CONNECT) | OP_MASK(OP_LISTEN), own, n_own, "/**");
	if (!r)
		r = hard_rule(compiler, changing, org, ARRAY_LEN(org), "/**");
	if (!r)
		r = hard_rule(compiler, OP_MASK(OP_RENAME) | OP_MASK(OP_DELETE) | OP_MASK(OP_LINK),
			above, n_above, "");
	return r;
}

static int compare_objects(const void *a, const void *b)
{
	const struct known_object *x = a, *y = b;

	if (x->dev != y->dev)
		return x->dev < y->dev ? -1 : 1;
	if (x->ino != y->ino)
		return x->ino < y->ino ? -1 : 1;
	return strcmp(x->path, y->path);
}

/* Rules are kept in the order in which evaluation wants to see the layers. */
static const enum policy_layer layer_order[] = {
	LAYER_USER, LAYER_ORG, LAYER_PROJECT, LAYER_BUILTIN};

static int compile_layer(struct compiler *compiler, struct ast_policy *const *policies,
	size_t n_policies, enum policy_layer layer)
{
	for (size_t i = 0; i < n_policies; i++) {
		const struct ast_policy *policy = policies[i];
		int r = 0;

		if (policy->layer != layer)
			continue;
		if (layer == LAYER_ORG)
			compiler->compiled->has_org = true;
		for (size_t j = 0; j < policy->n_rules && !r; j++)
			r = compile_source(compiler, policy, &policy->rules[j]);
		for (size_t j = 0; j < policy->n_defaults && !r; j++)
			r = compile_default(compiler, policy, &policy->defaults[j]);
		if (r)
			return r;
	}
	return 0;
}

int compile_policies(const struct bind_context *context, struct ast_policy *const *policies,
	size_t n_policies, enum policy_layer last, struct compiled **compiledp)
{
	struct compiler compiler = {.context = context, .arena = context->arena};
	int r;

	compiler.compiled = arena_alloc(context->arena, sizeof(*compiler.compiled));
	if (!compiler.compiled)
		return -ENOMEM;
	r = compile_fallback(&compiler);
	for (size_t i = 0; i < ARRAY_LEN(layer_order) && !r; i++) {
		if (layer_order[i] <= last)
			r = compile_layer(&compiler, policies, n_policies, layer_order[i]);
		for (unsigned op = 0; op < _OP_N && !i; op++)
			compiler.compiled->lists[op].n_user = compiler.compiled->lists[op].n;
	}
	if (!r)
		r = compile_hard(&compiler);
	if (r)
		return r;
	if (compiler.compiled->n_objects)
		qsort(compiler.compiled->objects, compiler.compiled->n_objects,
			sizeof(*compiler.compiled->objects), compare_objects);
	*compiledp = compiler.compiled;
	return 0;
}
