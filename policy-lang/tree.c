/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "policy-lang/tree.h"

#include "policy-lang/eval.h"

/* A tree is judged ALLOW only where that holds for every resolved name in it, for every program and
 * every argv. The name by which a request came to the object plays no part: who may reach an object
 * by its own name gains nothing by another. What is left of "every name of one object" are hard
 * links: while a file that a narrowing rule names has several, no tree is judged ALLOW. */

static bool meets(const struct names *names, const struct path_view *tree)
{
	for (size_t i = 0; i < names->n_paths; i++)
		if (path_pattern_meets_tree(names->paths[i], tree))
			return true;
	return false;
}

static bool covers(const struct names *names, const struct path_view *tree)
{
	for (size_t i = 0; i < names->n_paths; i++)
		if (path_pattern_covers_tree(names->paths[i], tree))
			return true;
	return false;
}

/* Does the rule speak of all names in the tree, under any circumstances? */
static bool rule_covers(const struct rule *rule, const struct path_view *tree)
{
	const struct ast_rule *source = rule->source;

	if (rule->grant || rule->by.n_paths || rule->repo)
		return false;
	if (source &&
		(source->n_tokens || (source->has_args && !(source->args_open && !source->n_args))))
		return false;
	return covers(&rule->targets, tree) && !meets(&rule->excepts, tree);
}

/* Could the rule speak of some name in the tree? */
static bool rule_meets(const struct rule *rule, const struct path_view *tree)
{
	return !rule->grant && meets(&rule->targets, tree) && !covers(&rule->excepts, tree);
}

/* Is the builtin RULE set aside by a user rule for all of the tree? */
static bool lifted_for_tree(const struct compiled *compiled, const struct rule_list *list,
	const struct rule *rule, const struct path_view *tree)
{
	if (rule->info.layer != LAYER_BUILTIN || rule->hard || compiled->has_org ||
		rule->info.verdict != VERDICT_ASK)
		return false;
	for (size_t i = 0; i < list->n_user; i++)
		if (list->items[i]->info.verdict == VERDICT_ALLOW &&
			rule_covers(list->items[i], tree))
			return true;
	return false;
}

/* Could a user rule set the builtin RULE aside for some of the tree? */
static bool liftable(const struct compiled *compiled, const struct rule_list *list,
	const struct rule *rule, const struct path_view *tree)
{
	if (rule->info.layer != LAYER_BUILTIN || rule->hard || compiled->has_org)
		return false;
	for (size_t i = 0; i < list->n_user; i++)
		if (!list->items[i]->grant && !rule_is_strict(list->items[i]) &&
			rule_meets(list->items[i], tree))
			return true;
	return false;
}

/* Is allow what answers for a name that no rule speaks of? */
static bool default_allows(const struct compiled *compiled, enum op op)
{
	const struct rule *org = compiled->defaults[LAYER_ORG][op];

	return (org ? org : compiled_default(compiled, op))->info.verdict == VERDICT_ALLOW;
}

/* An org default speaks wherever no org rule does. */
static bool org_default_bars(
	const struct compiled *compiled, enum op op, const struct path_view *tree)
{
	const struct rule *rule = compiled->defaults[LAYER_ORG][op];
	const struct rule_list *list = &compiled->lists[op];

	if (!rule || rule->info.verdict == VERDICT_ALLOW)
		return false;
	for (size_t i = 0; i < list->n; i++)
		if (list->items[i]->info.layer == LAYER_ORG && rule_covers(list->items[i], tree))
			return false;
	return true;
}

enum policy_tree compiled_judge_tree(const struct compiled *compiled, enum op op, const char *tree)
{
	const struct rule_list *list = &compiled->lists[op];
	bool all_allowed = default_allows(compiled, op), some_allowed = all_allowed;
	bool barred = false, refused = false;
	struct path_view view;

	path_view_init(&view, tree);
	if (view.bad || view.abstract || view.dots)
		return POLICY_TREE_MIXED;
	for (size_t i = 0; i < list->n; i++) {
		const struct rule *rule = list->items[i];

		/* Grants only ever turn an ask into allow: no bar, but not certain either. */
		if (rule->grant && meets(&rule->targets, &view))
			some_allowed = true;
		if (rule->grant || !rule_meets(rule, &view))
			continue;
		if (!rule_is_strict(rule)) {
			some_allowed = true;
			all_allowed = all_allowed || rule_covers(rule, &view);
			continue;
		}
		barred = barred || !lifted_for_tree(compiled, list, rule, &view);
		refused = refused ||
			  (rule_covers(rule, &view) && !liftable(compiled, list, rule, &view) &&
				  rule->info.verdict != VERDICT_ASK);
	}
	if (refused || !some_allowed)
		return POLICY_TREE_REFUSE;
	if (!all_allowed || barred || org_default_bars(compiled, op, &view) ||
		(compiled->linked_ops & OP_MASK(op)))
		return POLICY_TREE_MIXED;
	return POLICY_TREE_ALLOW;
}
