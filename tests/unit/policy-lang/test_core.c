/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "tests/unit/policy-lang/support.h"

/* The shipped policy, and what people can do with it. */

static struct policy_set *core_with(const char *user)
{
	struct policy_set *set;
	struct diag_list diags;
	int r;

	diag_list_init(&diags);
	assert_int_equal(policy_set_new(&sample_vars, &set), 0);
	assert_int_equal(policy_set_add_builtin(set, "core", &diags), 0);
	r = user ? add_text(set, "user.policy", LAYER_USER, user, &diags) : 0;
	if (!r)
		r = policy_set_seal(set, &diags);
	if (r)
		diag_list_print(&diags, stderr);
	assert_int_equal(r, 0);
	diag_list_deinit(&diags);
	return set;
}

static void every_shipped_policy_passes_its_own_tests_without_a_warning(void **state)
{
	(void)state;
	for (const char *const *name = policy_builtin_names(); *name; name++) {
		struct policy_set *set;
		struct diag_list diags;
		size_t size;
		const char *text = policy_builtin_text(*name, &size);
		int r;

		assert_non_null(text);
		diag_list_init(&diags);
		assert_int_equal(policy_set_new(&sample_vars, &set), 0);
		/* Not as a shipped one: those are not tested again at every start. */
		r = policy_set_add(set, *name, text, size, LAYER_BUILTIN, &diags);
		if (!r)
			r = policy_set_seal(set, &diags);
		if (r || diags.n_items)
			diag_list_print(&diags, stderr);
		assert_int_equal(r, 0);
		assert_int_equal(diags.n_items, 0);
		policy_set_free(set);
		diag_list_deinit(&diags);
	}
	assert_null(policy_builtin_text("nothing", &(size_t){0}));
}

static void each_protected_path_can_be_opened_by_name_and_alone(void **state)
{
	struct policy_set *set =
		core_with("allow write,rename,create,delete \"$PROJECT/.git/config\"\n"
			  "ask create,write \"$PROJECT/.git/hooks/pre-commit\" offer once\n"
			  "allow read \"~/.ssh/known_hosts\"\n");

	(void)state;
	expect_verdict(set, "write /home/user/project/.git/config", VERDICT_ALLOW);
	expect_verdict(set, "rename /home/user/project/.git/config", VERDICT_ALLOW);
	expect_verdict(set, "write /home/user/project/sub/.git/config", VERDICT_DENY);
	expect_verdict(set, "create /home/user/project/.git/hooks/pre-commit", VERDICT_ASK);
	expect_verdict(set, "create /home/user/project/.git/hooks/pre-push", VERDICT_DENY);
	expect_verdict(set, "read /home/user/.ssh/known_hosts", VERDICT_ALLOW);
	expect_verdict(set, "read /home/user/.ssh/id_rsa", VERDICT_DENY);
	expect_verdict(set, "write /home/user/.ssh/known_hosts", VERDICT_DENY);
	policy_set_free(set);
}

static void a_user_opens_what_is_only_asked_for(void **state)
{
	struct policy_set *set = core_with("allow read,list,write,create \"~/docs/**\"\n"
					   "allow read \"~/**\"\n"
					   "allow connect tcp \"127.0.0.0/8\" port 5432\n"
					   "allow exec \"/usr/bin/git\" args \"push\" \"origin\"\n"
					   "allow write \"/srv/data/**\"\n");

	(void)state;
	expect_verdict(set, "write /home/user/docs/a", VERDICT_ALLOW);
	expect_verdict(set, "read /home/user/notes.txt", VERDICT_ALLOW);
	expect_verdict(set, "read /home/user/.aws/credentials", VERDICT_DENY);
	expect_verdict(set, "connect tcp 127.0.0.1 port 5432", VERDICT_ALLOW);
	expect_verdict(set, "connect tcp 127.0.0.1 port 5433", VERDICT_ASK);
	expect_verdict(set, "exec /usr/bin/git push origin", VERDICT_ALLOW);
	expect_verdict(set, "exec /usr/bin/git push other", VERDICT_ASK);
	expect_verdict(set, "write /srv/data/x", VERDICT_ALLOW);
	expect_verdict(set, "write /srv/other", VERDICT_DENY);
	policy_set_free(set);
}

static void a_users_deny_wins_over_what_is_shipped(void **state)
{
	struct policy_set *set = core_with("deny read \"/usr/share/doc/**\" because \"mine\"\n"
					   "deny write \"$PROJECT/vendor/**\"\n"
					   "deny read \"~/**\" except \"$PROJECT/**\"\n");

	(void)state;
	expect_verdict(set, "read /usr/share/doc/x", VERDICT_DENY);
	expect_verdict(set, "write /home/user/project/vendor/x", VERDICT_DENY);
	expect_verdict(set, "write /home/user/project/x", VERDICT_ALLOW);
	/* A pattern for the whole home reaches the home itself and hidden names. */
	expect_verdict(set, "read /home/user/.bashrc", VERDICT_DENY);
	expect_verdict(set, "read /home/user/x", VERDICT_DENY);
	policy_set_free(set);
}

static void slashes_and_dots_in_a_rule_change_nothing(void **state)
{
	static const char *const forms[] = {"/d/", "//d", "/d/.", "/d/../d", "/x/../d/"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		char body[64];
		struct policy_set *set;

		(void)snprintf(
			body, sizeof(body), "deny write \"%s\"\ndefault allow write\n", forms[i]);
		set = sealed_one(LAYER_USER, body);
		expect_verdict(set, "write /d", VERDICT_DENY);
		expect_verdict(set, "write /d2", VERDICT_ALLOW);
		policy_set_free(set);
	}
}

static void a_fresh_repository_may_be_set_up(void **state)
{
	struct policy_set *set = core_with(NULL);
	const struct policy_rule_info *rule;
	struct request request = {.op = OP_CREATE, .fresh_repo = true};
	static const char *const names[] = {"/home/user/project/.git/config",
		"/home/user/project/.git/hooks/pre-commit.sample", "/home/user/project/.git"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		request.path = strdup(names[i]);
		for (unsigned op = OP_WRITE; op <= OP_CHMOD; op++) {
			request.op = (enum op)op;
			assert_int_equal(policy_set_eval(set, &request, &rule), VERDICT_ALLOW);
		}
		free(request.path);
	}
	/* Only repositories: other code that runs later stays closed. */
	request.path = strdup("/home/user/project/.vscode/tasks.json");
	assert_int_equal(policy_set_eval(set, &request, &rule), VERDICT_DENY);
	free(request.path);
	policy_set_free(set);
}

static void the_floor_for_system_and_workspace_is_whole(void **state)
{
	static const struct {
		enum op op;
		const char *tree;
	} allowed[] = {
		{OP_READ, "/usr"},
		{OP_LIST, "/usr"},
		{OP_READ, "/opt"},
		{OP_READ, "/proc"},
		{OP_READ, "/etc/alternatives"},
		{OP_READ, "/home/user/project"},
		{OP_LIST, "/home/user/project"},
		{OP_READ, "/tmp"},
		{OP_WRITE, "/tmp"},
		{OP_CREATE, "/tmp"},
		{OP_DELETE, "/tmp"},
		{OP_RENAME, "/tmp"},
		{OP_LINK, "/tmp"},
		{OP_CHMOD, "/tmp"},
		{OP_WRITE, "/dev/shm"},
	};
	struct policy_set *set = core_with(NULL);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(allowed); i++)
		if (policy_set_judge_tree(set, allowed[i].op, allowed[i].tree) != POLICY_TREE_ALLOW)
			fail_msg("%s %s", op_name(allowed[i].op), allowed[i].tree);
	assert_int_not_equal(policy_set_judge_tree(set, OP_READ, "/home/user"), POLICY_TREE_ALLOW);
	assert_int_not_equal(policy_set_judge_tree(set, OP_READ, "/etc"), POLICY_TREE_ALLOW);
	assert_int_not_equal(
		policy_set_judge_tree(set, OP_WRITE, "/home/user/project"), POLICY_TREE_ALLOW);
	policy_set_free(set);
}

static void secret_looking_variables_need_their_own_name(void **state)
{
	struct policy_set *set = core_with("allow env \"*\"\nallow env \"GITHUB_TOKEN\"\n"
					   "set env MY_SETTING \"$PROJECT/x\"\n"
					   "set env PIP_CACHE_DIR \"/elsewhere\"\n");
	const char *name, *value;
	bool found = false, replaced = false;

	(void)state;
	assert_true(policy_set_env_allowed(set, "ANYTHING"));
	assert_true(policy_set_env_allowed(set, "GITHUB_TOKEN"));
	assert_false(policy_set_env_allowed(set, "GITLAB_TOKEN"));
	assert_false(policy_set_env_allowed(set, "DB_PASSWORD"));
	assert_false(policy_set_env_allowed(set, "LD_PRELOAD"));
	assert_false(policy_set_env_allowed(set, "NODE_OPTIONS"));
	assert_false(policy_set_env_allowed(set, "BASH_FUNC_ls%%"));
	for (size_t i = 0; policy_set_env_get(set, i, &name, &value); i++) {
		found = found ||
			(!strcmp(name, "MY_SETTING") && !strcmp(value, "/home/user/project/x"));
		replaced = replaced ||
			   (!strcmp(name, "PIP_CACHE_DIR") && !strcmp(value, "/elsewhere"));
	}
	assert_true(found);
	assert_true(replaced);
	policy_set_free(set);
}

static void explains_what_would_change_an_answer(void **state)
{
	static const struct {
		const char *request, *begins;
	} cases[] = {
		{"read /home/user/notes.txt", "allow read \"~/notes.txt\""},
		{"write /home/user/project/.git/config", "allow write \"$PROJECT/.git/config\""},
		{"exec /usr/bin/git push origin",
			"allow exec \"/usr/bin/git\" args \"push\" \"origin\""},
		{"connect tcp example.org port 443", "allow connect tcp \"example.org\" port 443"},
		{"read /srv/x", "allow read \"/srv/x\""},
		{"read /usr/x", "deny read \"/usr/x\""},
		{"write /home/user/mine", "change or remove your own rule at user.policy:2"},
	};
	struct policy_set *set = core_with("deny write \"~/mine\"\n");
	struct request *request;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char *text;

		request = request_of(set, cases[i].request);
		text = policy_set_remedy(set, request);
		if (!text || strncmp(text, cases[i].begins, strlen(cases[i].begins)) != 0)
			fail_msg("%s: %s", cases[i].request, text ? text : "nothing");
		free(text);
		request_free(request);
	}
	request = request_of(set, "read /home/user/.config/agent-supervisor/x");
	assert_null(policy_set_remedy(set, request));
	request_free(request);
	policy_set_free(set);
}

/* A remedy that does not help would send people in circles. */
static void each_remedy_works(void **state)
{
	static const char *const requests[] = {
		"read /home/user/notes.txt",
		"write /home/user/project/.git/config",
		"create /home/user/project/.vscode/x*y",
		"exec /usr/bin/git push origin",
		"exec /usr/bin/sudo id",
		"exec /srv/x",
		"connect tcp example.org port 443",
		"connect tcp 169.254.169.254 port 80",
		"connect udp 192.0.2.1 port 53",
		"connect unix /run/docker.sock",
		"listen tcp 0.0.0.0 port 80",
		"read /etc/shadow",
		"delete /home/user/project/.git",
	};
	struct policy_set *set = core_with(NULL);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(requests); i++) {
		struct request *request = request_of(set, requests[i]);
		char *text = policy_set_remedy(set, request);
		struct policy_set *changed;
		char *end;

		if (!text)
			fail_msg("%s: nothing", requests[i]);
		end = strstr(text, "   (in a user policy");
		assert_non_null(end);
		strcpy(end, "\n");
		changed = core_with(text);
		expect_verdict(changed, requests[i], VERDICT_ALLOW);
		policy_set_free(changed);
		free(text);
		request_free(request);
	}
	policy_set_free(set);
}

static void a_trace_begins_with_the_rule_that_decides(void **state)
{
	struct policy_set *set = core_with("allow read \"~/docs/**\"\ndeny read \"~/docs/x\"\n");
	struct request *request = request_of(set, "read /home/user/docs/x");
	const struct policy_rule_info **trace;
	size_t n;
	unsigned layers = 0;

	(void)state;
	assert_int_equal(policy_set_trace(set, request, &trace, &n), 0);
	assert_true(n >= 3);
	assert_string_equal(trace[0]->text, "deny read \"~/docs/x\"");
	for (size_t i = 0; i < n; i++) {
		layers |= 1u << trace[i]->layer;
		for (size_t j = 0; j < i; j++)
			assert_ptr_not_equal(trace[i], trace[j]);
	}
	assert_int_equal(layers, 1u << LAYER_BUILTIN | 1u << LAYER_USER);
	free(trace);
	request_free(request);
	policy_set_free(set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_shipped_policy_passes_its_own_tests_without_a_warning),
		cmocka_unit_test(each_protected_path_can_be_opened_by_name_and_alone),
		cmocka_unit_test(a_user_opens_what_is_only_asked_for),
		cmocka_unit_test(a_users_deny_wins_over_what_is_shipped),
		cmocka_unit_test(slashes_and_dots_in_a_rule_change_nothing),
		cmocka_unit_test(a_fresh_repository_may_be_set_up),
		cmocka_unit_test(the_floor_for_system_and_workspace_is_whole),
		cmocka_unit_test(secret_looking_variables_need_their_own_name),
		cmocka_unit_test(explains_what_would_change_an_answer),
		cmocka_unit_test(each_remedy_works),
		cmocka_unit_test(a_trace_begins_with_the_rule_that_decides),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
