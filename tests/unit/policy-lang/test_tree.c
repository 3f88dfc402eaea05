/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "tests/unit/policy-lang/support.h"

static const char *const parts[] = {"a", "b", "c", ".git", "x.c"};

static unsigned pick(unsigned n)
{
	return (unsigned)rand() % n;
}

/* A path of up to DEPTH random components. */
static void random_path(char *path, size_t size, unsigned depth)
{
	unsigned n = pick(depth + 1);

	path[0] = '\0';
	for (unsigned i = 0; i < n; i++) {
		strncat(path, "/", size - strlen(path) - 1);
		strncat(path, parts[pick(5)], size - strlen(path) - 1);
	}
	if (!n)
		strcpy(path, "/");
}

static void random_pattern(char *pattern, size_t size)
{
	static const char *const globs[] = {"*", "**", "*.c", "a", "b", "c", ".git"};
	unsigned n = 1 + pick(4);

	pattern[0] = '\0';
	for (unsigned i = 0; i < n; i++) {
		strncat(pattern, "/", size - strlen(pattern) - 1);
		strncat(pattern, globs[i == 0 ? 3 + pick(3) : pick(7)], size - strlen(pattern) - 1);
	}
	if (pick(2))
		strncat(pattern, "/**", size - strlen(pattern) - 1);
}

/* Random rules in LAYER; ORG and USER may widen. */
static void random_body(char *body, size_t size, bool narrow_only)
{
	static const char *const verbs[] = {"allow", "allow", "ask", "deny"};
	unsigned n = 1 + pick(4);

	body[0] = '\0';
	for (unsigned i = 0; i < n; i++) {
		char pattern[64], other[64], except[80] = "", line[256];

		random_pattern(pattern, sizeof(pattern));
		random_pattern(other, sizeof(other));
		if (!pick(3))
			(void)snprintf(except, sizeof(except), " except \"%s\"", other);
		(void)snprintf(line, sizeof(line), "%s read \"%s\"%s%s\n",
			verbs[narrow_only ? 2 + pick(2) : pick(4)], pattern, except,
			pick(4) ? "" : " by \"/p/q\"");
		strncat(body, line, size - strlen(body) - 1);
	}
	if (!pick(3))
		strncat(body, narrow_only ? "default ask read\n" : "default allow read\n",
			size - strlen(body) - 1);
}

/* What holds for a tree holds for what lies in it. */
static void check_round(unsigned round)
{
	char bodies[4][2048];
	struct layer_text texts[4];
	size_t n = 0;
	struct policy_set *set;

	for (enum policy_layer layer = LAYER_BUILTIN; layer <= LAYER_PROJECT; layer++) {
		if (pick(layer == LAYER_ORG ? 4 : 2))
			continue;
		random_body(bodies[n], sizeof(bodies[n]), layer == LAYER_PROJECT);
		texts[n] = (struct layer_text){layer, bodies[n]};
		n++;
	}
	set = sealed(&sample_vars, texts, n);
	for (int i = 0; i < 60; i++) {
		char tree[128], below[256];
		enum policy_tree judged;

		random_path(tree, sizeof(tree), 3);
		judged = policy_set_judge_tree(set, OP_READ, tree);
		for (int j = 0; j < 20 && judged != POLICY_TREE_MIXED; j++) {
			const struct policy_rule_info *rule;
			struct request request = {.op = OP_READ, .path = below};
			char tail[128], program[] = "/p/q";
			enum verdict verdict;

			random_path(tail, sizeof(tail), 3);
			(void)snprintf(below, sizeof(below), "%s%s", strcmp(tree, "/") ? tree : "",
				strcmp(tail, "/") || !strcmp(tree, "/") ? tail : "");
			if (pick(2))
				request.program = program;
			verdict = policy_set_eval(set, &request, &rule);
			if ((judged == POLICY_TREE_ALLOW) == (verdict == VERDICT_ALLOW))
				continue;
			for (size_t k = 0; k < n; k++)
				fprintf(stderr, "%s:\n%s", policy_layer_name(texts[k].layer),
					texts[k].body);
			fail_msg("round %u: tree %s is judged %d, but %s is %s by %s", round, tree,
				judged, below, verdict_name(verdict), rule->text);
		}
	}
	policy_set_free(set);
}

static void a_judged_tree_agrees_with_every_name_in_it(void **state)
{
	(void)state;
	srand(7);
	for (unsigned round = 0; round < 600; round++)
		check_round(round);
}

static void is_precise_for_literal_trees(void **state)
{
	static const struct {
		const char *tree;
		enum policy_tree judged;
	} cases[] = {
		{"/usr", POLICY_TREE_ALLOW},
		{"/usr/lib", POLICY_TREE_ALLOW},
		{"/", POLICY_TREE_MIXED},
		{"/home/user", POLICY_TREE_MIXED},
		{"/home/user/project", POLICY_TREE_ALLOW},
		{"/home/user/other", POLICY_TREE_REFUSE},
		{"/home/user/.ssh", POLICY_TREE_REFUSE},
		{"/srv", POLICY_TREE_REFUSE},
		{"/opened/by/user", POLICY_TREE_ALLOW},
	};
	static const struct layer_text texts[] = {
		{LAYER_BUILTIN,
			"allow read \"/usr/**\" \"$PROJECT/**\"\nask read \"~/**\" except "
			"\"$PROJECT/**\"\n"
			"deny read \"~/.ssh/**\"\nask read \"/opened/**\"\ndefault ask read\n"},
		{LAYER_USER, "allow read \"/opened/by/**\"\n"},
	};
	struct policy_set *set = sealed(&sample_vars, texts, 2);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (policy_set_judge_tree(set, OP_READ, cases[i].tree) != cases[i].judged)
			fail_msg("%s", cases[i].tree);
	policy_set_free(set);
}

static void names_the_trees_that_rules_allow(void **state)
{
	static const char *const expected[] = {"/a", "/a/b", "/c"};
	struct policy_set *set = sealed_one(LAYER_USER,
		"allow read \"/c/*/x\" \"/a/**\" \"/a/b/**\" \"/a/**\"\ndeny read \"/d/**\"\n");
	const char *const *trees;
	size_t n;

	(void)state;
	assert_int_equal(policy_set_allow_trees(set, OP_READ, &trees, &n), 0);
	assert_int_equal(n, 3);
	for (size_t i = 0; i < n; i++)
		assert_string_equal(trees[i], expected[i]);
	free((void *)(uintptr_t)trees);
	assert_true(policy_set_may_answer(set, OP_READ, VERDICT_ALLOW));
	assert_false(policy_set_may_answer(set, OP_EXEC, VERDICT_ALLOW));
	assert_true(policy_set_may_answer(set, OP_READ, VERDICT_ASK));
	policy_set_free(set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_judged_tree_agrees_with_every_name_in_it),
		cmocka_unit_test(is_precise_for_literal_trees),
		cmocka_unit_test(names_the_trees_that_rules_allow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
