/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "policy-lang/eval.h"
#include "policy-lang/set.h"
#include "supervisord/base/error.h"

/* Explanations: the same matching as a decision, all of it instead of the last word. */

static size_t collect(const struct compiled *compiled, const struct query *query,
	const struct policy_rule_info **trace, size_t n)
{
	const struct rule_list *list = &compiled->lists[query->request->op];
	const struct policy_rule_info *first = trace[0];

	for (size_t i = 0; i < list->n; i++) {
		size_t weight;
		bool known = &list->items[i]->info == first;

		for (size_t j = 1; j < n && !known; j++)
			known = trace[j] == &list->items[i]->info;
		if (!known && rule_match(list->items[i], query, &weight))
			trace[n++] = &list->items[i]->info;
	}
	return n;
}

int policy_set_trace(const struct policy_set *set, const struct request *request,
	const struct policy_rule_info ***tracep, size_t *np)
{
	const struct compiled *compiled = set->compiled;
	const struct rule_list *list = &compiled->lists[request->op];
	const struct policy_rule_info **trace =
		calloc(list->n + 1, sizeof(const struct policy_rule_info *));
	struct query_views views;
	struct query query;
	const struct rule *rule;
	size_t n = 1;

	if (!trace)
		return err_trace(-ENOMEM);
	(void)compiled_eval(compiled, request, &rule);
	trace[0] = &rule->info;
	if (query_init(&query, &views, request, false))
		n = collect(compiled, &query, trace, n);
	if (request->op == OP_EXEC && request->interpreter &&
		query_init(&query, &views, request, true))
		n = collect(compiled, &query, trace, n);
	*tracep = trace;
	*np = n;
	return 0;
}
