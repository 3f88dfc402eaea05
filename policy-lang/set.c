/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "policy-lang/set.h"

#include <string.h>

#include "policy-lang/eval.h"
#include "policy-lang/parser.h"
#include "policy-lang/suggest.h"
#include "policy-lang/tree.h"
#include "supervisord/base/error.h"

int policy_set_new(const struct policy_vars *vars, struct policy_set **setp)
{
	_cleanup_(policy_set_freep) struct policy_set *set = calloc(1, sizeof(*set));

	if (!set)
		return err_trace(-ENOMEM);
	arena_init(&set->arena);
	set->vars = bind_copy_vars(&set->arena, vars);
	if (!set->vars)
		return err_trace(-ENOMEM);
	*setp = TAKE_PTR(set);
	return 0;
}

void policy_set_free(struct policy_set *set)
{
	if (!set)
		return;
	arena_deinit(&set->arena);
	free(set);
}

static int set_push(struct policy_set *set, struct ast_policy *policy)
{
	struct ast_policy **policies = arena_grow(
		&set->arena, set->policies, set->n_policies, sizeof(struct ast_policy *));

	if (!policies)
		return -ENOMEM;
	set->policies = policies;
	set->policies[set->n_policies++] = policy;
	return 0;
}

static int set_add(struct policy_set *set, const char *file, const char *text, size_t size,
	enum policy_layer layer, bool shipped, struct diag_list *diags)
{
	struct ast_policy *policy = arena_alloc(&set->arena, sizeof(*policy));
	int r, c;

	if (size > POLICY_TEXT_MAX) {
		diag_add(diags, DIAG_ERROR, file, 0, 0, NULL,
			"the file is larger than 1 MiB, the most that a policy may have");
		return POLICY_E_INVALID;
	}
	if (set->n_policies >= POLICY_FILES_MAX) {
		diag_add(diags, DIAG_ERROR, file, 0, 0, NULL, "more than %d policy files",
			POLICY_FILES_MAX);
		return POLICY_E_INVALID;
	}
	if (!policy)
		return err_trace(-ENOMEM);
	policy->file = arena_copy(&set->arena, file, strlen(file));
	policy->text = arena_copy(&set->arena, text, size);
	policy->size = size;
	policy->layer = layer;
	policy->shipped = shipped;
	if (!policy->file || !policy->text)
		return err_trace(-ENOMEM);
	r = policy_parse(policy, &set->arena, diags);
	if (r < 0)
		return err_trace(r);
	/* What was read is also checked, so that one run shows as much as possible. A set that
	 * could not be read would only give messages about its absence. */
	if (r)
		return r;
	c = policy_check(set, &set->arena, policy, diags);
	if (c < 0)
		return err_trace(c);
	return c ? c : set_push(set, policy);
}

int policy_set_add(struct policy_set *set, const char *file, const char *text, size_t size,
	enum policy_layer layer, struct diag_list *diags)
{
	return set_add(set, file, text, size, layer, false, diags);
}

static bool has_shipped(const struct policy_set *set, const char *file)
{
	for (size_t i = 0; i < set->n_policies; i++)
		if (set->policies[i]->shipped && !strcmp(set->policies[i]->file, file))
			return true;
	return false;
}

int policy_set_add_builtin(struct policy_set *set, const char *name, struct diag_list *diags)
{
	size_t size;
	const char *text = policy_builtin_text(name, &size);
	const char *file;

	if (!text)
		return POLICY_E_UNKNOWN;
	file = arena_printf(&set->arena, "%s.policy", name);
	if (!file)
		return err_trace(-ENOMEM);
	if (has_shipped(set, file))
		return 0;
	return set_add(set, file, text, size, LAYER_BUILTIN, true, diags);
}

static int resolve_uses(struct policy_set *set, struct diag_list *diags)
{
	int result = 0;

	/* The list grows while it is read: shipped policies may use others. */
	for (size_t i = 0; i < set->n_policies; i++) {
		const struct ast_policy *policy = set->policies[i];

		for (size_t j = 0; j < policy->uses.n; j++) {
			const struct ast_string *name = &policy->uses.items[j];
			const char *near;
			int r = policy_set_add_builtin(set, name->text, diags);

			if (r < 0)
				return r;
			if (!r)
				continue;
			result = POLICY_E_INVALID;
			if (r != POLICY_E_UNKNOWN)
				continue;
			near = suggest_word(name->text, policy_builtin_names());
			ast_diag(diags, DIAG_ERROR, policy, name->line, name->column,
				"there is no shipped policy \"%s\"%s%s%s", name->text,
				near ? "; did you mean \"" : "", near ? near : "",
				near ? "\"?" : "");
		}
	}
	return result;
}

int policy_set_seal(struct policy_set *set, struct diag_list *diags)
{
	struct resolver resolver = {.arena = &set->arena};
	struct bind_context context = {
		.arena = &set->arena, .vars = set->vars, .resolver = &resolver};
	struct compiled *compiled;
	bool failed = false;
	int r;

	context.usual_vars = bind_usual_vars(&set->arena, set->vars, &failed);
	if (failed)
		return err_trace(-ENOMEM);
	r = resolve_uses(set, diags);
	if (!r)
		r = policy_run_tests(set, diags);
	if (!r)
		r = env_collect(set);
	if (!r)
		r = compile_policies(
			&context, set->policies, set->n_policies, LAYER_PROJECT, &compiled);
	if (r)
		return r < 0 ? err_trace(r) : r;
	set->compiled = compiled;
	return 0;
}

enum verdict policy_set_eval(const struct policy_set *set, const struct request *request,
	const struct policy_rule_info **rulep)
{
	const struct rule *rule;
	enum verdict verdict = compiled_eval(set->compiled, request, &rule);

	*rulep = &rule->info;
	return verdict;
}

bool policy_set_inode_alias(
	const struct policy_set *set, uint64_t dev, uint64_t ino, const char **pathp)
{
	const struct compiled *compiled = set->compiled;
	size_t low = 0, high = compiled->n_objects;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct known_object *object = &compiled->objects[middle];

		if (object->dev == dev && object->ino == ino) {
			*pathp = object->path;
			return true;
		}
		if (object->dev < dev || (object->dev == dev && object->ino < ino))
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

enum policy_tree policy_set_judge_tree(const struct policy_set *set, enum op op, const char *tree)
{
	return compiled_judge_tree(set->compiled, op, tree);
}

bool policy_set_links_matter(const struct policy_set *set, enum op op)
{
	return set->compiled->linked_ops & OP_MASK(op);
}

static int compare_strings(const void *a, const void *b)
{
	const char *x, *y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return strcmp(x, y);
}

int policy_set_allow_trees(
	const struct policy_set *set, enum op op, const char *const **treesp, size_t *np)
{
	const struct rule_list *list = &set->compiled->lists[op];
	const char **trees;
	size_t n = 0, unique = 0;

	for (size_t i = 0; i < list->n; i++)
		n += list->items[i]->targets.n_paths;
	trees = calloc(n + 1, sizeof(*trees));
	if (!trees)
		return err_trace(-ENOMEM);
	n = 0;
	for (size_t i = 0; i < list->n; i++) {
		const struct rule *rule = list->items[i];

		if (rule_is_strict(rule) || rule->grant)
			continue;
		for (size_t j = 0; j < rule->targets.n_paths; j++)
			if (!rule->targets.paths[j]->abstract)
				trees[n++] = rule->targets.paths[j]->prefix;
	}
	qsort(trees, n, sizeof(*trees), compare_strings);
	for (size_t i = 0; i < n; i++)
		if (!unique || strcmp(trees[i], trees[unique - 1]) != 0)
			trees[unique++] = trees[i];
	*treesp = trees;
	*np = unique;
	return 0;
}

bool policy_set_may_answer(const struct policy_set *set, enum op op, enum verdict verdict)
{
	const struct rule_list *list = &set->compiled->lists[op];
	bool allow = verdict == VERDICT_ALLOW;

	if ((compiled_default(set->compiled, op)->info.verdict == VERDICT_ALLOW) == allow)
		return true;
	for (size_t i = 0; i < list->n; i++)
		if (!rule_is_strict(list->items[i]) == allow)
			return true;
	return false;
}
