/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "tests/unit/policy-lang/support.h"

#include <sys/stat.h>
#include <unistd.h>

/* Sets over real files: links, other names, the account's home. */

struct place {
	char root[64];
	char home[80];
	char project[96];
	struct policy_vars vars;
};

static void run_in(const struct place *place, const char *script)
{
	char command[1024];

	(void)snprintf(command, sizeof(command), "cd '%s' && %s", place->root, script);
	/* A fixture of folders and links is shortest as the commands that people know. */
	assert_int_equal(system(command), 0);
}

static int set_up(void **state)
{
	struct place *place = calloc(1, sizeof(*place));

	if (!place)
		return -1;
	strcpy(place->root, "/var/tmp/policy-set-test.XXXXXX");
	if (!mkdtemp(place->root))
		return -1;
	(void)snprintf(place->home, sizeof(place->home), "%s/home", place->root);
	(void)snprintf(place->project, sizeof(place->project), "%s/project", place->home);
	place->vars =
		(struct policy_vars){.home = place->home, .project = place->project, .tmp = "/tmp"};
	run_in(place, "mkdir -p home/project home/dots outside");
	*state = place;
	return 0;
}

static int tear_down(void **state)
{
	struct place *place = *state;

	run_in(place, "rm -rf home outside");
	(void)rmdir(place->root);
	free(place);
	return 0;
}

static struct policy_set *sealed_in(const struct place *place, const char *user)
{
	const struct layer_text text = {LAYER_USER, user};

	return sealed(&place->vars, &text, 1);
}

/* The verdict for a path below the root, not looked up. */
static enum verdict eval_at(
	const struct place *place, const struct policy_set *set, enum op op, const char *relative)
{
	const struct policy_rule_info *rule;
	struct request *request = request_new(op);
	enum verdict verdict;

	assert_non_null(request);
	assert_true(asprintf(&request->path, "%s/%s", place->root, relative) > 0);
	verdict = policy_set_eval(set, request, &rule);
	request_free(request);
	return verdict;
}

static void a_deny_through_a_link_holds_for_the_real_name(void **state)
{
	const struct place *place = *state;
	struct policy_set *set;

	run_in(place, "mkdir home/r && ln -s r home/l && echo k >home/r/key");
	set = sealed_in(place, "deny read \"~/l/key\"\ndeny read \"~/l/sub/**\"\n"
			       "default allow read\n");
	assert_int_equal(eval_at(place, set, OP_READ, "home/r/key"), VERDICT_DENY);
	assert_int_equal(eval_at(place, set, OP_READ, "home/l/key"), VERDICT_DENY);
	assert_int_equal(eval_at(place, set, OP_READ, "home/r/sub/not/there"), VERDICT_DENY);
	assert_int_equal(eval_at(place, set, OP_READ, "home/r/other"), VERDICT_ALLOW);
	policy_set_free(set);
}

static void a_protected_link_protects_what_it_points_to(void **state)
{
	const struct place *place = *state;
	struct policy_set *set;

	run_in(place, "echo >home/dots/rc && ln -s dots/rc home/.rc && ln -s missing home/.gone");
	set = sealed_in(place, "deny write \"~/.rc\" \"~/.gone\"\ndefault allow write\n");
	assert_int_equal(eval_at(place, set, OP_WRITE, "home/dots/rc"), VERDICT_DENY);
	assert_int_equal(eval_at(place, set, OP_WRITE, "home/.rc"), VERDICT_DENY);
	assert_int_equal(eval_at(place, set, OP_WRITE, "home/.gone"), VERDICT_DENY);
	policy_set_free(set);
}

static void a_link_in_the_workspace_widens_nothing(void **state)
{
	const struct place *place = *state;
	struct policy_set *set;

	run_in(place, "ln -s \"$PWD/outside\" home/project/data && ln -s ../outside home/ext");
	set = sealed_in(place, "allow write \"$PROJECT/data/**\"\nallow read \"~/ext/**\"\n");
	assert_int_equal(eval_at(place, set, OP_WRITE, "outside/x"), VERDICT_DENY);
	/* A link that only its owner can aim is followed. */
	assert_int_equal(eval_at(place, set, OP_READ, "outside/x"), VERDICT_ALLOW);
	policy_set_free(set);
}

static void knows_another_name_of_a_file_that_a_rule_names(void **state)
{
	const struct place *place = *state;
	struct policy_set *set;
	struct stat st;
	char path[160];
	const char *name = NULL;

	run_in(place, "echo s >home/secret && ln home/secret home/project/innocent");
	set = sealed_in(place, "allow read \"$PROJECT/**\"\ndeny read \"~/secret\"\n");
	(void)snprintf(path, sizeof(path), "%s/innocent", place->project);
	assert_int_equal(stat(path, &st), 0);
	assert_true(policy_set_inode_alias(set, st.st_dev, st.st_ino, &name));
	(void)snprintf(path, sizeof(path), "%s/secret", place->home);
	assert_string_equal(name, path);
	assert_false(policy_set_inode_alias(set, st.st_dev, st.st_ino + 1000000, &name));
	/* The kernel alone would not see the other name. */
	assert_int_equal(policy_set_judge_tree(set, OP_READ, place->project), POLICY_TREE_MIXED);
	policy_set_free(set);
}

static void bin_and_usr_bin_are_one_where_they_are_merged(void **state)
{
	const struct place *place = *state;
	struct policy_set *set;
	char real[4096];

	if (!realpath("/bin", real) || strcmp(real, "/usr/bin") != 0)
		skip();
	set = sealed_in(place, "deny exec \"/bin/su\"\nallow exec \"/bin/sh\" \"/usr/bin/env\"\n");
	expect_verdict(set, "exec /usr/bin/su", VERDICT_DENY);
	expect_verdict(set, "exec /bin/su", VERDICT_DENY);
	expect_verdict(set, "exec /bin/env", VERDICT_ALLOW);
	policy_set_free(set);
}

static void what_is_denied_below_the_home_is_denied_below_the_accounts_home(void **state)
{
	const struct place *place = *state;
	struct policy_set *set = sealed_in(
		place, "deny read \"~/.ssh/**\"\nallow read \"~/ok\"\ndefault ask read\n");
	struct request request = {.op = OP_READ};
	const struct policy_rule_info *rule;
	const char *home = getuid() ? NULL : "/root";

	if (!home)
		skip();
	request.path = strdup("/root/.ssh/id");
	assert_int_equal(policy_set_eval(set, &request, &rule), VERDICT_DENY);
	free(request.path);
	request.path = strdup("/root/ok");
	assert_int_equal(policy_set_eval(set, &request, &rule), VERDICT_ASK);
	free(request.path);
	policy_set_free(set);
}

static void a_special_character_in_a_folders_name_is_no_wildcard(void **state)
{
	const struct place *place = *state;
	struct policy_vars vars = place->vars;
	const struct layer_text text = {LAYER_USER, "allow read \"$PROJECT/**\"\n"};
	struct policy_set *set;
	char project[128];

	(void)snprintf(project, sizeof(project), "%s/a*b", place->home);
	vars.project = project;
	set = sealed(&vars, &text, 1);
	assert_int_equal(eval_at(place, set, OP_READ, "home/a*b/x"), VERDICT_ALLOW);
	assert_int_equal(eval_at(place, set, OP_READ, "home/aXb/x"), VERDICT_DENY);
	policy_set_free(set);
}

static void uses_a_shipped_policy_once(void **state)
{
	const struct place *place = *state;
	struct policy_set *set = sealed_in(place, "use \"core\"\n");

	assert_int_equal(eval_at(place, set, OP_READ, "home/notes.txt"), VERDICT_ASK);
	policy_set_free(set);
}

static void the_digest_follows_texts_layers_and_places(void **state)
{
	static const struct layer_text one = {LAYER_USER, "allow read \"/x\"\n"};
	static const struct layer_text two = {LAYER_USER, "allow read \"/y\"\n"};
	static const struct layer_text three = {LAYER_ORG, "allow read \"/x\"\n"};
	const struct place *place = *state;
	struct policy_set *sets[5] = {
		sealed(&sample_vars, &one, 1),
		sealed(&sample_vars, &two, 1),
		sealed(&sample_vars, &three, 1),
		sealed(&place->vars, &one, 1),
		sealed(&sample_vars, &one, 1),
	};
	uint8_t digests[5][32];

	for (size_t i = 0; i < 5; i++)
		policy_set_digest(sets[i], digests[i]);
	for (size_t i = 1; i < 4; i++)
		assert_memory_not_equal(digests[0], digests[i], 32);
	assert_memory_equal(digests[0], digests[4], 32);
	for (size_t i = 0; i < 5; i++)
		policy_set_free(sets[i]);
}

static void reads_requests_as_people_write_them(void **state)
{
	static const struct {
		const char *words[6];
		size_t n;
		const char *message;
	} faults[] = {
		{{"reed", "/x"}, 2, "did you mean \"read\"?"},
		{{"read"}, 1, "a path is missing"},
		{{"read", "/x", "/y"}, 3, "one word too many"},
		{{"connect", "tcp"}, 2, "are expected"},
		{{"connect", "ftp", "x"}, 3, "none of tcp"},
		{{"connect", "tcp", "x", "port", "y"}, 5, "not a port"},
		{{"connect", "tcp", "a/b"}, 3, "not the name"},
		{{"exec"}, 1, "a program is missing"},
		{{"exec", "no-such-program-here"}, 2, "no program"},
		{{"read", "$FOO/x"}, 2, "unknown variable"},
		{{"env", "X"}, 2, "one name"},
		{{""}, 0, "an operation is missing"},
	};
	const struct place *place = *state;
	struct policy_set *set = sealed_in(place, "allow read \"/x\"\n");
	struct request *request;
	char *message;

	for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
		assert_int_equal(policy_request_parse(set, faults[i].words, faults[i].n, "/",
					 &request, &message),
			POLICY_E_INVALID);
		if (!strstr(message, faults[i].message))
			fail_msg("%s: %s", faults[i].message, message);
		free(message);
	}
	run_in(place, "echo >home/file && ln -sf file home/link");
	assert_int_equal(policy_request_parse(set, (const char *const[]){"read", "~/link"}, 2, "/",
				 &request, &message),
		0);
	assert_non_null(strstr(request->path, "/home/file"));
	assert_non_null(strstr(request->alias, "/home/link"));
	request_free(request);
	/* What acts on the link itself does not follow it. */
	assert_int_equal(policy_request_parse(set, (const char *const[]){"delete", "link"}, 2,
				 place->home, &request, &message),
		0);
	assert_non_null(strstr(request->path, "/home/link"));
	assert_null(request->alias);
	request_free(request);
	policy_set_free(set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define PLACED(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
		PLACED(a_deny_through_a_link_holds_for_the_real_name),
		PLACED(a_protected_link_protects_what_it_points_to),
		PLACED(a_link_in_the_workspace_widens_nothing),
		PLACED(knows_another_name_of_a_file_that_a_rule_names),
		PLACED(bin_and_usr_bin_are_one_where_they_are_merged),
		PLACED(what_is_denied_below_the_home_is_denied_below_the_accounts_home),
		PLACED(a_special_character_in_a_folders_name_is_no_wildcard),
		PLACED(uses_a_shipped_policy_once),
		PLACED(the_digest_follows_texts_layers_and_places),
		PLACED(reads_requests_as_people_write_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
