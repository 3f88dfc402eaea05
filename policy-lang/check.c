/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "policy-lang/set.h"

#include <stdio.h>
#include <string.h>

#include "policy-lang/suggest.h"

/* What the grammar does not say: which layer may write what, and whether each word means something
 * here. Everything wrong is reported, not only the first. */

struct checker {
	const struct ast_policy *policy;
	struct diag_list *diags;
	struct bind_context context;
	bool *used; /* one per set */
	bool fault;
};

enum name_kind {
	NAME_PATH,
	NAME_SOCKET,
	NAME_HOST,
};

#define complain(checker, line, column, ...)                                                       \
	do {                                                                                       \
		(checker)->fault = true;                                                           \
		ast_diag((checker)->diags, DIAG_ERROR, (checker)->policy, (line), (column),        \
			__VA_ARGS__);                                                              \
	} while (0)

/* A string as a pattern of KIND. 0 or -ENOMEM; *PATTERNP is NULL after a message and for hosts. */
static int check_string(struct checker *checker, enum name_kind kind,
	const struct ast_string *string, const struct path_pattern **patternp)
{
	const char *message = NULL;

	*patternp = NULL;
	if (!string->size) {
		complain(checker, string->line, string->column, "an empty string names nothing");
		return 0;
	}
	if (kind == NAME_HOST) {
		if (!host_pattern_new(checker->context.arena, string->text, &message) && !message)
			return -ENOMEM;
	} else {
		*patternp = kind == NAME_SOCKET ? bind_socket(&checker->context, string, &message)
						: bind_path(&checker->context, string, &message);
		if (!*patternp && !message)
			return -ENOMEM;
	}
	if (message)
		complain(checker, string->line, string->column, "%s", message);
	return 0;
}

struct pattern_list {
	const struct path_pattern **items;
	const struct ast_string **strings;
	size_t n;
};

static int push_pattern(struct checker *checker, struct pattern_list *list,
	const struct path_pattern *pattern, const struct ast_string *string)
{
	struct arena *arena = checker->context.arena;
	const struct path_pattern **items;
	const struct ast_string **strings;

	if (!pattern)
		return 0;
	items = arena_grow(arena, list->items, list->n, sizeof(const struct path_pattern *));
	strings = arena_grow(arena, list->strings, list->n, sizeof(const struct ast_string *));
	if (!items || !strings)
		return -ENOMEM;
	list->items = items;
	list->strings = strings;
	list->items[list->n] = pattern;
	list->strings[list->n++] = string;
	return 0;
}

static void unknown_set(struct checker *checker, const struct ast_string *name)
{
	const struct ast_policy *policy = checker->policy;
	const char **words =
		arena_alloc(checker->context.arena, (policy->n_sets + 1) * sizeof(*words));
	const char *near = NULL;

	for (size_t i = 0; words && i < policy->n_sets; i++)
		words[i] = policy->sets[i].name.text;
	if (words)
		near = suggest_word(name->text, words);
	complain(checker, name->line, name->column,
		near ? "there is no set \"%s\" in this file; did you mean \"@%s\"?"
		     : "there is no set \"%s\" in this file",
		name->text, near);
}

static int check_targets(struct checker *checker, enum name_kind kind,
	const struct ast_targets *targets, struct pattern_list *list)
{
	for (size_t i = 0; i < targets->n; i++) {
		const struct ast_target *target = &targets->items[i];
		const struct ast_strings one = {.n = 1};
		const struct ast_strings *strings = &one;
		const struct ast_set *set = NULL;

		if (target->is_set) {
			set = ast_find_set(checker->policy, target->string.text);
			if (!set) {
				unknown_set(checker, &target->string);
				continue;
			}
			checker->used[set - checker->policy->sets] = true;
			strings = &set->members;
		}
		for (size_t j = 0; j < strings->n; j++) {
			const struct ast_string *string =
				set ? &strings->items[j] : &target->string;
			const struct path_pattern *pattern;

			if (check_string(checker, kind, string, &pattern) < 0 ||
				push_pattern(checker, list, pattern, string) < 0)
				return -ENOMEM;
		}
	}
	return 0;
}

static bool may_stand(enum policy_layer layer, enum ast_rule_kind kind)
{
	switch (kind) {
	case AST_GRANT:
		return layer == LAYER_USER;
	case AST_ALLOW:
		return layer != LAYER_PROJECT;
	case AST_ASK:
	case AST_DENY:
	case AST_HIDE:
		break;
	}
	return true;
}

static void check_rule_layer(struct checker *checker, const struct ast_rule *rule)
{
	enum policy_layer layer = checker->policy->layer;

	if (may_stand(layer, rule->kind))
		return;
	if (layer == LAYER_PROJECT)
		complain(checker, rule->line, rule->column,
			"a project's policy can only narrow: it may ask, deny and hide, not %s",
			rule->kind == AST_GRANT ? "grant" : "allow");
	else
		complain(checker, rule->line, rule->column,
			"a grant is a person's answer: it stands in the user layer only");
}

static int check_rule(struct checker *checker, const struct ast_rule *rule)
{
	enum name_kind kind = rule->protos & (1u << NET_UNIX) ? NAME_SOCKET
			      : rule->protos                  ? NAME_HOST
							      : NAME_PATH;
	struct pattern_list targets = {.n = 0}, excepts = {.n = 0}, by = {.n = 0};

	check_rule_layer(checker, rule);
	if (check_targets(checker, kind, &rule->targets, &targets) < 0 ||
		check_targets(checker, kind, &rule->excepts, &excepts) < 0 ||
		check_targets(checker, NAME_PATH, &rule->by, &by) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < targets.n; i++) {
		for (size_t j = 0; j < excepts.n; j++) {
			if (!path_pattern_includes(excepts.items[j], targets.items[i]))
				continue;
			ast_diag(checker->diags, DIAG_WARNING, checker->policy, rule->line,
				rule->column,
				"\"%s\" is wholly excepted: the rule says nothing about it",
				targets.strings[i]->text);
			break;
		}
	}
	return 0;
}

static void check_default(struct checker *checker, const struct ast_default *item)
{
	enum policy_layer layer = checker->policy->layer;

	if (item->defer && layer != LAYER_ORG)
		complain(checker, item->line, item->column,
			"\"defer\" belongs to the org layer; leave the default out instead");
	else if (layer == LAYER_PROJECT && item->verdict == VERDICT_ALLOW)
		complain(checker, item->line, item->column,
			"a project's policy can only narrow: it has no default allow");
}

static int check_env(struct checker *checker, const struct ast_env *env)
{
	enum policy_layer layer = checker->policy->layer;
	const char *message = NULL;

	if (layer == LAYER_PROJECT && env->kind != AST_ENV_DENY)
		complain(checker, env->line, env->column,
			"a project's policy can only narrow: it may deny variables, not add them");
	for (size_t i = 0; i < env->names.n; i++) {
		const struct ast_string *name = &env->names.items[i];
		const char *fault = env_pattern_fault(name->text);

		if (fault)
			complain(checker, name->line, name->column, "%s", fault);
		else if (env->kind != AST_ENV_DENY && env_is_never_passed(name->text))
			complain(checker, name->line, name->column,
				"%s makes programs load or run something else; it is never passed "
				"into a session",
				name->text);
	}
	if (env->kind != AST_ENV_SET)
		return 0;
	if (!bind_text(&checker->context, env->value.text, &message)) {
		if (!message)
			return -ENOMEM;
		complain(checker, env->value.line, env->value.column, "%s", message);
	}
	return 0;
}

static void check_names(struct checker *checker)
{
	const struct ast_policy *policy = checker->policy;

	for (size_t i = 0; i < policy->n_rules; i++)
		for (size_t j = 0; policy->rules[i].name && j < i; j++)
			if (policy->rules[j].name &&
				!strcmp(policy->rules[i].name, policy->rules[j].name)) {
				complain(checker, policy->rules[i].line, policy->rules[i].column,
					"there already is a rule \"%s\", at line %u",
					policy->rules[i].name, policy->rules[j].line);
				break;
			}
	for (size_t i = 0; i < policy->n_tests; i++)
		for (size_t j = 0; j < i; j++)
			if (!strcmp(policy->tests[i].name.text, policy->tests[j].name.text)) {
				complain(checker, policy->tests[i].name.line,
					policy->tests[i].name.column,
					"there already is a test \"%s\", at line %u",
					policy->tests[i].name.text, policy->tests[j].name.line);
				break;
			}
}

static void check_sets(struct checker *checker)
{
	const struct ast_policy *policy = checker->policy;

	for (size_t i = 0; i < policy->n_sets; i++)
		if (!checker->used[i])
			ast_diag(checker->diags, DIAG_WARNING, policy, policy->sets[i].name.line,
				policy->sets[i].name.column, "no rule uses the set \"%s\"",
				policy->sets[i].name.text);
}

static void check_whole(struct checker *checker)
{
	const struct ast_policy *policy = checker->policy;

	if (policy->uses.n && policy->layer == LAYER_PROJECT)
		complain(checker, policy->uses.items[0].line, policy->uses.items[0].column,
			"a project's policy cannot choose shipped policies");
	for (size_t i = 0; i < policy->uses.n; i++)
		for (size_t j = 0; j < i; j++)
			if (!strcmp(policy->uses.items[i].text, policy->uses.items[j].text))
				complain(checker, policy->uses.items[i].line,
					policy->uses.items[i].column, "\"%s\" is used twice",
					policy->uses.items[i].text);
	if (!policy->n_rules && !policy->n_defaults && !policy->n_envs && !policy->uses.n)
		ast_diag(checker->diags, DIAG_WARNING, policy, 0, 0,
			"this policy has no rules: it decides nothing");
}

int policy_check(const struct policy_set *set, struct arena *arena, const struct ast_policy *policy,
	struct diag_list *diags)
{
	struct checker checker = {
		.policy = policy,
		.diags = diags,
		.context = {.arena = arena, .vars = set->vars},
		.used = arena_alloc(arena, policy->n_sets + 1),
	};

	if (!checker.used)
		return -ENOMEM;
	for (size_t i = 0; i < policy->n_rules; i++)
		if (check_rule(&checker, &policy->rules[i]) < 0)
			return -ENOMEM;
	for (size_t i = 0; i < policy->n_defaults; i++)
		check_default(&checker, &policy->defaults[i]);
	for (size_t i = 0; i < policy->n_envs; i++)
		if (check_env(&checker, &policy->envs[i]) < 0)
			return -ENOMEM;
	check_names(&checker);
	check_sets(&checker);
	check_whole(&checker);
	return checker.fault ? POLICY_E_INVALID : 0;
}
