/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "policy-lang/set.h"

#include <stdio.h>
#include <string.h>

#include "policy-lang/eval.h"
#include "supervisord/base/error.h"

/* `test` in a policy. A test sees its own layer and those before it, a workspace at ~/project that
 * is never looked up, and no file system: what it says holds in every workspace, and nothing that
 * an agent leaves behind can make it fail. */

struct tester {
	const struct policy_set *set;
	const struct compiled *compiled;
	const struct policy_vars *vars;
	struct arena *arena;
	struct diag_list *diags;
	bool fault;
};

static const char *sample_project(struct arena *arena, const char *home)
{
	return arena_printf(arena, "%s/project", strcmp(home, "/") != 0 ? home : "");
}

/* The variables that tests of the layer see. */
static const struct policy_vars *test_vars(
	const struct policy_set *set, struct arena *arena, enum policy_layer layer)
{
	struct policy_vars vars = *set->vars;

	/* Shipped policies are tested for a home that has nothing unusual. */
	if (layer == LAYER_BUILTIN)
		vars = (struct policy_vars){.home = "/home/user", .xdg_runtime = "/run/user/1000"};
	vars.tmp = "/tmp";
	vars.project = sample_project(arena, vars.home);
	return vars.project ? bind_copy_vars(arena, &vars) : NULL;
}

static void test_env(
	struct tester *tester, const struct ast_policy *policy, const struct ast_expect *expect)
{
	bool allowed = env_allowed(tester->set, policy->layer, expect->words.items[0].text);

	if (allowed == (expect->verdict == VERDICT_ALLOW))
		return;
	tester->fault = true;
	ast_diag(tester->diags, DIAG_ERROR, policy, expect->line, expect->column,
		"this test expects %s, but the answer is %s", verdict_name(expect->verdict),
		allowed ? "allow" : "deny");
}

static int test_request(struct tester *tester, const struct ast_policy *policy,
	const struct ast_expect *expect, const char *const *words, size_t n)
{
	_cleanup_(request_freep) struct request *request = NULL;
	_cleanup_(freep) char *message = NULL;
	const struct rule *rule;
	enum verdict verdict;
	int r = request_build(tester->vars, words, n, NULL, false, &request, &message);

	if (r < 0)
		return r;
	if (r) {
		tester->fault = true;
		ast_diag(tester->diags, DIAG_ERROR, policy, expect->line, expect->column, "%s",
			message);
		return 0;
	}
	if (expect->has_by && !request->program) {
		request->program = strdup(expect->by.text);
		if (!request->program)
			return -ENOMEM;
	}
	verdict = compiled_eval(tester->compiled, request, &rule);
	if (verdict == expect->verdict)
		return 0;
	tester->fault = true;
	ast_diag(tester->diags, DIAG_ERROR, policy, expect->line, expect->column,
		"this test expects %s, but the answer is %s, by %s: %s",
		verdict_name(expect->verdict), verdict_name(verdict), rule->info.id,
		rule->info.text);
	return 0;
}

static int test_expect(
	struct tester *tester, const struct ast_policy *policy, const struct ast_expect *expect)
{
	const char **words = arena_alloc(tester->arena, (expect->words.n + 1) * sizeof(*words));

	if (!words)
		return -ENOMEM;
	if (expect->is_env) {
		test_env(tester, policy, expect);
		return 0;
	}
	for (size_t i = 0; i < expect->words.n; i++)
		words[i] = expect->words.items[i].text;
	return test_request(tester, policy, expect, words, expect->words.n);
}

static int test_policy(struct tester *tester, const struct ast_policy *policy)
{
	for (size_t i = 0; i < policy->n_tests; i++) {
		for (size_t j = 0; j < policy->tests[i].n_expects; j++) {
			int r = test_expect(tester, policy, &policy->tests[i].expects[j]);

			if (r < 0)
				return r;
		}
	}
	return 0;
}

static int test_layer(
	const struct policy_set *set, enum policy_layer layer, struct diag_list *diags)
{
	_cleanup_(arena_deinit) struct arena arena;
	struct tester tester = {.set = set, .diags = diags, .arena = &arena};
	struct bind_context context = {.arena = &arena};
	struct compiled *compiled;
	int r;

	arena_init(&arena);
	tester.vars = test_vars(set, &arena, layer);
	context.vars = tester.vars;
	if (!tester.vars)
		return -ENOMEM;
	r = compile_policies(&context, set->policies, set->n_policies, layer, &compiled);
	if (r)
		return r;
	tester.compiled = compiled;
	for (size_t i = 0; i < set->n_policies && !r; i++)
		if (set->policies[i]->layer == layer && !set->policies[i]->shipped)
			r = test_policy(&tester, set->policies[i]);
	return r ? r : tester.fault ? POLICY_E_INVALID : 0;
}

int policy_run_tests(const struct policy_set *set, struct diag_list *diags)
{
	bool has_tests[_LAYER_N] = {false};
	int result = 0;

	/* The tests of what is built in were run when the program was built. */
	for (size_t i = 0; i < set->n_policies; i++)
		if (set->policies[i]->n_tests && !set->policies[i]->shipped)
			has_tests[set->policies[i]->layer] = true;
	for (unsigned layer = 0; layer < _LAYER_N; layer++) {
		int r = has_tests[layer] ? test_layer(set, (enum policy_layer)layer, diags) : 0;

		if (r < 0)
			return err_trace(r);
		if (r)
			result = r;
	}
	return result;
}
