/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "tests/unit/policy-lang/support.h"

#include <arpa/inet.h>

#define A VERDICT_ALLOW
#define Q VERDICT_ASK
#define H VERDICT_HIDE
#define D VERDICT_DENY

struct expectation {
	const char *request;
	enum verdict verdict;
};

static void expect_all(
	const struct policy_set *set, const struct expectation *expectations, size_t n)
{
	for (size_t i = 0; i < n; i++)
		expect_verdict(set, expectations[i].request, expectations[i].verdict);
}

static void within_a_layer_the_strictest_wins_in_any_order(void **state)
{
	static const char *const rules[] = {
		"allow read \"/a/**\"\n",
		"ask read \"/a/b/**\"\n",
		"deny read \"/a/b/c/**\"\n",
		"hide \"/a/h/**\"\n",
		"deny read \"/a/x\"\n",
	};
	static const struct expectation expectations[] = {
		{"read /a/z", A},
		{"read /a/b/z", Q},
		{"read /a/b/c/z", D},
		{"read /a/h/z", H},
		{"list /a/h", H},
		{"write /a/h/z", D},
		{"read /a/x", D},
		{"read /q", D},
	};
	size_t order[] = {0, 1, 2, 3, 4};

	(void)state;
	srand(1);
	for (int round = 0; round < 40; round++) {
		char body[512] = "";
		struct policy_set *set;

		for (size_t i = 4; i > 0; i--) {
			size_t j = (size_t)rand() % (i + 1), swap = order[i];

			order[i] = order[j];
			order[j] = swap;
		}
		for (size_t i = 0; i < 5; i++)
			strcat(body, rules[order[i]]);
		set = sealed_one(LAYER_USER, body);
		expect_all(set, expectations, ARRAY_LEN(expectations));
		policy_set_free(set);
	}
}

static void the_same_rule_speaks_in_any_order(void **state)
{
	const struct policy_rule_info *first, *second;
	struct policy_set *a = sealed_one(LAYER_USER,
		"ask read \"/a/**\" offer once\nask read \"/a/b/**\" offer once,session\n");
	struct policy_set *b = sealed_one(LAYER_USER,
		"ask read \"/a/b/**\" offer once,session\nask read \"/a/**\" offer once\n");

	(void)state;
	expect_rule(a, "read /a/b/c", Q, &first);
	expect_rule(b, "read /a/b/c", Q, &second);
	assert_string_equal(first->text, second->text);
	assert_string_equal(first->text, "ask read \"/a/b/**\" offer once,session");
	policy_set_free(a);
	policy_set_free(b);
}

static void exceptions_belong_to_their_rule(void **state)
{
	static const struct expectation expectations[] = {
		{"read /a/x", D},
		{"read /a/ok", A},
		{"read /a/ok2", D},
	};
	struct policy_set *set = sealed_one(LAYER_USER,
		"allow read \"/a/**\"\ndeny read \"/a/**\" except \"/a/ok\" \"/a/ok2\"\n"
		"deny read \"/a/ok2\"\n");

	(void)state;
	expect_all(set, expectations, ARRAY_LEN(expectations));
	policy_set_free(set);
}

static void a_user_rule_replaces_what_the_builtin_layer_asks(void **state)
{
	static const struct layer_text texts[] = {
		{LAYER_BUILTIN,
			"ask read \"/a/**\"\ndeny read \"/a/secret/**\"\ndefault deny write\n"
			"default ask read\nhide \"/a/hidden\"\n"},
		{LAYER_USER, "allow read \"/a/**\"\nallow write \"/w\"\nask write \"/q\"\n"
			     "allow read \"/a/secret/known\"\nask read \"/a/secret/asked\"\n"},
	};
	static const struct expectation expectations[] = {
		{"read /a/x", A},
		{"read /a/secret/x", D},
		{"read /a/secret/known", A},
		{"read /a/secret/asked", Q},
		{"read /a/secret", D},
		{"read /a/hidden", H},
		{"write /w", A},
		{"write /q", Q},
		{"write /other", D},
		{"read /other", Q},
	};
	struct policy_set *set = sealed(&sample_vars, texts, 2);

	(void)state;
	expect_all(set, expectations, ARRAY_LEN(expectations));
	policy_set_free(set);
}

static void a_wider_user_rule_does_not_lift_a_builtin_deny(void **state)
{
	static const struct layer_text texts[] = {
		{LAYER_BUILTIN, "deny read,write \"$PROJECT/**/.git/config\"\n"
				"deny connect tcp \"169.254.0.0/16\"\n"},
		{LAYER_USER, "allow read \"$PROJECT/**\"\nallow write \"$PROJECT/.git/config\"\n"
			     "allow connect tcp \"169.254.1.1\" port 80\n"
			     "allow connect tcp \"0.0.0.0/0\"\n"},
	};
	static const struct expectation expectations[] = {
		{"read /home/user/project/.git/config", D},
		{"write /home/user/project/.git/config", A},
		{"write /home/user/project/sub/.git/config", D},
		{"connect tcp 169.254.1.1 port 80", A},
		{"connect tcp 169.254.1.1 port 81", D},
		{"connect tcp 169.254.1.2 port 80", D},
		{"connect tcp 192.0.2.1 port 80", A},
	};
	struct policy_set *set = sealed(&sample_vars, texts, 2);

	(void)state;
	expect_all(set, expectations, ARRAY_LEN(expectations));
	policy_set_free(set);
}

static void a_narrow_target_does_not_lift_for_a_wide_one_beside_it(void **state)
{
	static const struct layer_text texts[] = {
		{LAYER_BUILTIN, "deny read,list \"/a/secret/**\"\n"
				"deny connect tcp \"169.254.0.0/16\"\n"},
		{LAYER_USER, "allow read \"/a/**\" \"/a/secret/known\"\n"
			     "ask list \"/a/secret/known\" \"/a/**\"\n"
			     "allow connect tcp \"0.0.0.0/0\" \"169.254.1.1\"\n"},
	};
	static const struct expectation expectations[] = {
		{"read /a/x", A},
		{"read /a/secret/known", A},
		{"read /a/secret/x", D},
		{"list /a/secret/known", Q},
		{"list /a/secret/x", D},
		{"connect tcp 169.254.1.1 port 80", A},
		{"connect tcp 169.254.1.2 port 80", D},
		{"connect tcp 192.0.2.1 port 80", A},
	};
	struct policy_set *set = sealed(&sample_vars, texts, 2);

	(void)state;
	expect_all(set, expectations, ARRAY_LEN(expectations));
	policy_set_free(set);
}

static void a_users_own_deny_is_not_lifted(void **state)
{
	static const struct layer_text texts[] = {
		{LAYER_BUILTIN, "allow read \"/a/**\"\nask read \"/b/**\"\n"},
		{LAYER_USER, "deny read \"/a/x\"\nallow read \"/a/x\"\nallow read \"/b/**\"\n"
			     "deny read \"/b/y\"\nask read \"/a/z\"\n"},
	};
	static const struct expectation expectations[] = {
		{"read /a/x", D},
		{"read /a/y", A},
		{"read /a/z", Q},
		{"read /b/x", A},
		{"read /b/y", D},
	};
	struct policy_set *set = sealed(&sample_vars, texts, 2);

	(void)state;
	expect_all(set, expectations, ARRAY_LEN(expectations));
	policy_set_free(set);
}

static void with_an_org_layer_nothing_is_lifted(void **state)
{
	static const struct layer_text texts[] = {
		{LAYER_BUILTIN, "ask read \"/a/**\"\nallow read \"/b/**\"\ndefault deny read\n"},
		{LAYER_ORG, "deny read \"/b/x\"\nallow read \"/c/**\"\nask read \"/d/**\"\n"},
		{LAYER_USER, "allow read \"/a/**\" \"/b/**\" \"/c/**\" \"/d/**\" \"/e/**\"\n"},
	};
	static const struct expectation expectations[] = {
		{"read /a/x", Q},
		{"read /b/x", D},
		{"read /b/y", A},
		{"read /c/x", A},
		{"read /d/x", Q},
		{"read /e/x", A},
		{"read /f", D},
	};
	struct policy_set *set = sealed(&sample_vars, texts, 3);

	(void)state;
	expect_all(set, expectations, ARRAY_LEN(expectations));
	policy_set_free(set);
}

static void an_org_default_bounds_what_the_org_does_not_name(void **state)
{
	static const struct layer_text texts[] = {
		{LAYER_BUILTIN, "allow read,write \"/a/**\"\n"},
		{LAYER_ORG, "allow read \"/a/b/**\"\ndefault ask read\ndefault defer write\n"},
		{LAYER_USER, "allow read \"/u/**\"\n"},
	};
	static const struct expectation expectations[] = {
		{"read /a/b/x", A},
		{"read /a/x", Q},
		{"read /u/x", Q},
		{"write /a/x", A},
	};
	struct policy_set *set = sealed(&sample_vars, texts, 3);

	(void)state;
	expect_all(set, expectations, ARRAY_LEN(expectations));
	policy_set_free(set);
}

static void a_project_only_ever_narrows(void **state)
{
	static const struct layer_text texts[] = {
		{LAYER_BUILTIN, "allow read \"/a/**\"\ndeny read \"/b\"\nask read \"/c\"\n"
				"default allow list\n"},
		{LAYER_USER, "allow read \"/c\"\n"},
		{LAYER_PROJECT, "ask read \"/a/x\" offer forever\ndeny read \"/a/y\"\n"
				"ask read \"/b\"\nask read \"/c\"\ndefault deny list\n"},
	};
	static const struct expectation expectations[] = {
		{"read /a/x", Q},
		{"read /a/y", D},
		{"read /a/z", A},
		{"read /b", D},
		{"read /c", Q},
		{"list /x", D},
	};
	struct policy_set *set = sealed(&sample_vars, texts, 3);

	(void)state;
	expect_all(set, expectations, ARRAY_LEN(expectations));
	policy_set_free(set);
}

static void a_default_speaks_where_no_rule_of_any_layer_does(void **state)
{
	static const struct layer_text texts[] = {
		{LAYER_BUILTIN, "allow read \"/a/**\"\ndefault ask read,write\n"},
		{LAYER_USER, "default deny read\n"},
	};
	static const struct expectation expectations[] = {
		{"read /a/x", A},
		{"read /b", D},
		{"write /b", Q},
		{"exec /b", D},
	};
	const struct policy_rule_info *rule;
	struct policy_set *set = sealed(&sample_vars, texts, 2);

	(void)state;
	expect_all(set, expectations, ARRAY_LEN(expectations));
	expect_rule(set, "exec /b", D, &rule);
	assert_string_equal(rule->id, "builtin:default");
	policy_set_free(set);
}

static void the_supervisors_own_places_are_closed_to_all(void **state)
{
	static const struct layer_text texts[] = {
		{LAYER_BUILTIN, "default allow read,write,create,rename,delete,link,connect\n"},
		{LAYER_USER, "allow read,write,rename \"/**\"\n"
			     "allow read \"~/.config/agent-supervisor/policy.d/x\"\n"
			     "allow connect unix \"$XDG_RUNTIME_DIR/agent-supervisor/control\"\n"},
	};
	static const struct expectation expectations[] = {
		{"read /home/user/.config/agent-supervisor/policy.d/x", D},
		{"write /home/user/.local/state/agent-supervisor/audit/default/log", D},
		{"connect unix /run/user/1000/agent-supervisor/control", D},
		{"write /etc/agent-supervisor/base.policy", D},
		{"read /etc/agent-supervisor/base.policy", A},
		{"rename /home/user/.config", D},
		{"rename /home/user/.local", D},
		{"delete /home/user", D},
		{"read /home/user/.config/other", A},
		{"rename /home/user/.config/other", A},
	};
	const struct policy_rule_info *rule;
	struct policy_set *set = sealed(&sample_vars, texts, 2);

	(void)state;
	expect_all(set, expectations, ARRAY_LEN(expectations));
	expect_rule(set, "read /home/user/.config/agent-supervisor/x", D, &rule);
	assert_string_equal(rule->id, "builtin:self");
	policy_set_free(set);
}

static void a_folder_above_what_is_guarded_is_not_renamed(void **state)
{
	static const struct layer_text texts[] = {
		{LAYER_BUILTIN, "allow rename,read \"/**\"\ndeny read \"/a/b/c/**\" \"/a/b/d\"\n"
				"deny connect unix \"/s/t/u\"\nhide \"/h/i\"\n"},
		{LAYER_USER, "ask write \"/q/r/s\"\nallow rename \"/h\"\n"},
	};
	static const struct expectation expectations[] = {
		{"rename /a", D},
		{"rename /a/b", D},
		{"rename /a/b/c", A},
		{"rename /a/b/x", A},
		{"rename /a/x", A},
		{"rename /s/t", A},
		{"rename /q/r", Q},
		{"rename /q", Q},
		{"rename /h", A},
		{"read /a", A},
	};
	struct policy_set *set = sealed(&sample_vars, texts, 2);

	(void)state;
	expect_all(set, expectations, ARRAY_LEN(expectations));
	policy_set_free(set);
}

static void what_may_not_be_read_or_written_is_not_moved_or_replaced(void **state)
{
	static const struct expectation expectations[] = {
		{"rename /a/read", D},
		{"link /a/read", D},
		{"write /a/read", A},
		{"delete /a/read", A},
		{"create /a/write", D},
		{"rename /a/write", D},
		{"link /a/write", D},
		{"read /a/write", A},
		{"create /a/ask", Q},
		{"create /a/x", A},
	};
	struct policy_set *set = sealed_one(LAYER_USER,
		"allow read,write,create,delete,rename,link \"/a/**\"\ndeny read \"/a/read\"\n"
		"deny write \"/a/write\"\nask write \"/a/ask\"\n");

	(void)state;
	expect_all(set, expectations, ARRAY_LEN(expectations));
	policy_set_free(set);
}

static void matches_arguments(void **state)
{
	static const struct expectation expectations[] = {
		{"exec /p/git status", A},
		{"exec /p/git status -s", A},
		{"exec /p/git", D},
		{"exec /p/git push origin", Q},
		{"exec /p/git push -f origin", D},
		{"exec /p/git push origin --force", D},
		{"exec /p/git -C dir push", Q},
		{"exec /p/one", A},
		{"exec /p/one x", D},
		{"exec /p/two a x", A},
		{"exec /p/two a x y", D},
		{"exec /p/two a", D},
		{"exec /p/any", A},
		{"exec /p/any x y", A},
		{"exec /p/no secret", D},
		{"exec /p/no open", A},
	};
	struct policy_set *set = sealed_one(LAYER_USER,
		"allow exec \"/p/git\" args \"status\"|\"push\" ...\n"
		"ask exec \"/p/git\" has \"push\"\n"
		"deny exec \"/p/git\" args \"push\" ... has \"--force\"|\"-f\"\n"
		"allow exec \"/p/one\" args\n"
		"allow exec \"/p/two\" args \"a\"|\"b\" *\n"
		"allow exec \"/p/any\" args ...\n"
		"allow exec \"/p/no\" lacks \"secret\"\n");

	(void)state;
	expect_all(set, expectations, ARRAY_LEN(expectations));
	policy_set_free(set);
}

static void matches_ports_and_protocols(void **state)
{
	static const struct expectation expectations[] = {
		{"connect tcp a.example port 80", A},
		{"connect tcp a.example port 8000", A},
		{"connect tcp a.example port 8010", D},
		{"connect udp a.example port 80", D},
		{"listen tcp 127.0.0.1 port 8080", A},
		{"connect tcp 127.0.0.1 port 8080", D},
		{"connect tcp b.example port 1", A},
		{"connect unix /s/x", A},
		{"connect unix @abstract-1", A},
		{"connect unix @other", D},
		{"listen unix /s/x", D},
	};
	struct policy_set *set =
		sealed_one(LAYER_USER, "allow connect tcp \"a.example\" port 80,8000-8009\n"
				       "allow listen tcp,udp \"127.0.0.0/8\"\n"
				       "allow connect tcp \"b.example\" port any\n"
				       "allow connect unix \"/s/**\" \"@abstract-*\"\n");

	(void)state;
	expect_all(set, expectations, ARRAY_LEN(expectations));
	policy_set_free(set);
}

static void rules_by_a_program_need_that_program(void **state)
{
	static const struct expectation expectations[] = {
		{"connect tcp a.example port 443 by /p/curl", A},
		{"connect tcp a.example port 443 by /p/python3", D},
		{"connect tcp a.example port 443", D},
		{"read /x by /p/bad", D},
		{"read /x by /p/good", A},
		/* a program that is not known could be the bad one */
		{"read /x", D},
	};
	struct policy_set *set = sealed_one(LAYER_USER,
		"bin curl = { \"/p/curl\" }\nallow connect tcp \"a.example\" by @curl\n"
		"allow read \"/x\"\ndeny read \"/x\" by \"/p/bad\"\n");

	(void)state;
	expect_all(set, expectations, ARRAY_LEN(expectations));
	policy_set_free(set);
}

static enum verdict eval_alias(const struct policy_set *set, const char *path, const char *alias)
{
	const struct policy_rule_info *rule;
	struct request *request = request_new(OP_READ);
	enum verdict verdict;

	assert_non_null(request);
	request->path = strdup(path);
	request->alias = alias ? strdup(alias) : NULL;
	verdict = policy_set_eval(set, request, &rule);
	request_free(request);
	return verdict;
}

static void narrowing_rules_match_every_name_and_widening_ones_the_real_one(void **state)
{
	struct policy_set *set = sealed_one(LAYER_USER,
		"allow read \"/open/**\" except \"/open/not\"\ndeny read \"/closed/**\"\n"
		"default ask read\n");

	(void)state;
	assert_int_equal(eval_alias(set, "/open/x", NULL), A);
	assert_int_equal(eval_alias(set, "/open/x", "/link"), A);
	assert_int_equal(eval_alias(set, "/open/x", "/closed/link"), D);
	assert_int_equal(eval_alias(set, "/open/x", "/open/not"), Q);
	assert_int_equal(eval_alias(set, "/closed/x", "/open/link"), D);
	assert_int_equal(eval_alias(set, "/other", "/open/link"), Q);
	policy_set_free(set);
}

static void what_cannot_be_understood_is_denied(void **state)
{
	struct policy_set *set = sealed_one(
		LAYER_USER, "allow read,write \"/**\"\ndefault allow read,exec,connect\n");
	const struct policy_rule_info *rule;
	char deep[4096] = "";
	struct request request = {.op = OP_READ};

	(void)state;
	assert_int_equal(policy_set_eval(set, &request, &rule), D);
	request.path = (char[]){"relative"};
	assert_int_equal(policy_set_eval(set, &request, &rule), D);
	request.path = (char[]){"/a/../b"};
	assert_int_equal(policy_set_eval(set, &request, &rule), D);
	for (int i = 0; i < 1000; i++)
		strcat(deep, "/a");
	request.path = deep;
	assert_int_equal(policy_set_eval(set, &request, &rule), D);
	request.path = (char[]){"/a"};
	assert_int_equal(policy_set_eval(set, &request, &rule), A);
	request.alias = deep;
	assert_int_equal(policy_set_eval(set, &request, &rule), D);
	request = (struct request){.op = OP_CONNECT, .proto = NET_TCP};
	assert_int_equal(policy_set_eval(set, &request, &rule), D);
	request = (struct request){.op = OP_EXEC, .path = (char[]){"/memfd:x (deleted)"}};
	assert_int_equal(policy_set_eval(set, &request, &rule), A);
	request.path = (char[]){"memfd:x"};
	assert_int_equal(policy_set_eval(set, &request, &rule), D);
	policy_set_free(set);
}

static void a_script_needs_its_interpreter_too(void **state)
{
	struct policy_set *set = sealed_one(LAYER_USER,
		"allow exec \"/p/script\" \"/p/other\"\nallow exec \"/p/sh\"\n"
		"ask exec \"/p/sh\" args \"/p/other\" ...\n");
	char *argv[] = {(char[]){"script"}, (char[]){"-x"}};
	struct request request = {.op = OP_EXEC,
		.path = (char[]){"/p/script"},
		.argv = argv,
		.n_argv = 2,
		.interpreter = (char[]){"/p/sh"}};
	const struct policy_rule_info *rule;

	(void)state;
	assert_int_equal(policy_set_eval(set, &request, &rule), A);
	request.interpreter = (char[]){"/p/bad"};
	assert_int_equal(policy_set_eval(set, &request, &rule), D);
	request.interpreter = (char[]){"/p/sh"};
	request.path = (char[]){"/p/other"};
	assert_int_equal(policy_set_eval(set, &request, &rule), Q);
	policy_set_free(set);
}

static void guards_of_repositories_step_back_for_fresh_ones(void **state)
{
	static const struct layer_text texts[] = {
		{LAYER_BUILTIN, "allow write \"/p/**\"\nrepo-a: deny write \"/p/**/.git/config\"\n"
				"other: deny write \"/p/no\"\n"},
		{LAYER_USER, "repo-b: deny write \"/p/mine\"\n"},
	};
	struct policy_set *set = sealed(&sample_vars, texts, 2);
	struct request request = {.op = OP_WRITE, .path = (char[]){"/p/.git/config"}};
	const struct policy_rule_info *rule;

	(void)state;
	assert_int_equal(policy_set_eval(set, &request, &rule), D);
	request.fresh_repo = true;
	assert_int_equal(policy_set_eval(set, &request, &rule), A);
	request.path = (char[]){"/p/no"};
	assert_int_equal(policy_set_eval(set, &request, &rule), D);
	request.path = (char[]){"/p/mine"};
	assert_int_equal(policy_set_eval(set, &request, &rule), D);
	policy_set_free(set);
}

static void a_grant_answers_what_offers_it(void **state)
{
	static const struct layer_text texts[] = {
		{LAYER_BUILTIN,
			"ask read \"/a/**\" offer once,forever\nask read \"/b/**\" offer once,1h\n"
			"ask read \"/c/**\" offer once\ndeny read \"/d/**\"\n"},
		{LAYER_USER, "grant read \"/a/x\" \"/b/x\" \"/c/x\" \"/d/x\"\n"
			     "grant read \"/b/y\" \"/a/y\" until 2999-01-01T00:00:00Z\n"
			     "grant read \"/b/z\" \"/a/z\" until 2020-01-01T00:00:00Z\n"},
	};
	static const struct expectation expectations[] = {
		{"read /a/x", A},
		{"read /b/x", Q},
		{"read /c/x", Q},
		{"read /d/x", D},
		{"read /b/y", A},
		{"read /a/y", A},
		{"read /b/z", Q},
		{"read /a/z", Q},
	};
	struct policy_set *set = sealed(&sample_vars, texts, 2);

	(void)state;
	expect_all(set, expectations, ARRAY_LEN(expectations));
	policy_set_free(set);
}

static void an_ask_carries_what_it_offers(void **state)
{
	const struct policy_rule_info *rule;
	struct policy_set *set = sealed_one(LAYER_USER,
		"ask read \"/a\" offer once,session,1h,7d scope exact,dir timeout 5m log each "
		"because \"why\"\nask read \"/b\"\n");

	(void)state;
	expect_rule(set, "read /a", Q, &rule);
	assert_int_equal(
		rule->durations, 1u << GRANT_ONCE | 1u << GRANT_SESSION | 1u << GRANT_SPAN);
	assert_int_equal(rule->n_spans, 2);
	assert_true(rule->spans_usec[0] == 3600ULL * 1000000);
	assert_int_equal(rule->scopes, 1u << GRANT_EXACT | 1u << GRANT_DIR);
	assert_true(rule->timeout_usec == 300ULL * 1000000);
	assert_true(rule->log_each);
	assert_string_equal(rule->reason, "why");
	assert_string_equal(rule->id, "user-0.policy:2");
	assert_int_equal(rule->line, 2);
	expect_rule(set, "read /b", Q, &rule);
	assert_int_equal(rule->durations, 1u << GRANT_ONCE | 1u << GRANT_SESSION);
	assert_true(rule->timeout_usec == 120ULL * 1000000);
	policy_set_free(set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(within_a_layer_the_strictest_wins_in_any_order),
		cmocka_unit_test(the_same_rule_speaks_in_any_order),
		cmocka_unit_test(exceptions_belong_to_their_rule),
		cmocka_unit_test(a_user_rule_replaces_what_the_builtin_layer_asks),
		cmocka_unit_test(a_wider_user_rule_does_not_lift_a_builtin_deny),
		cmocka_unit_test(a_narrow_target_does_not_lift_for_a_wide_one_beside_it),
		cmocka_unit_test(a_users_own_deny_is_not_lifted),
		cmocka_unit_test(with_an_org_layer_nothing_is_lifted),
		cmocka_unit_test(an_org_default_bounds_what_the_org_does_not_name),
		cmocka_unit_test(a_project_only_ever_narrows),
		cmocka_unit_test(a_default_speaks_where_no_rule_of_any_layer_does),
		cmocka_unit_test(the_supervisors_own_places_are_closed_to_all),
		cmocka_unit_test(a_folder_above_what_is_guarded_is_not_renamed),
		cmocka_unit_test(what_may_not_be_read_or_written_is_not_moved_or_replaced),
		cmocka_unit_test(matches_arguments),
		cmocka_unit_test(matches_ports_and_protocols),
		cmocka_unit_test(rules_by_a_program_need_that_program),
		cmocka_unit_test(narrowing_rules_match_every_name_and_widening_ones_the_real_one),
		cmocka_unit_test(what_cannot_be_understood_is_denied),
		cmocka_unit_test(a_script_needs_its_interpreter_too),
		cmocka_unit_test(guards_of_repositories_step_back_for_fresh_ones),
		cmocka_unit_test(a_grant_answers_what_offers_it),
		cmocka_unit_test(an_ask_carries_what_it_offers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
