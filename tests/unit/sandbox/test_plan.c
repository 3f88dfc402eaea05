/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "tests/unit/sandbox/harness.h"

#include <limits.h>

static struct session s;

static char *printed(const struct plan *plan)
{
	char *text = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&text, &size);

	assert_non_null(stream);
	assert_int_equal(plan_print(plan, stream), 0);
	fclose(stream);
	return text;
}

static void make(const char *policy)
{
	session_init(&s, policy);
	session_command(&s, shell("true"));
	session_plan(&s);
}

static void the_same_input_gives_the_same_plan(void **state)
{
	uint8_t first[32], second[32], zero[32] = {0};
	struct plan *again = NULL;
	char *message = NULL;

	(void)state;
	make(POLICY_OPEN);
	assert_int_equal(plan_build(&s.probe, s.policies, &s.spec, &again, &message), 0);
	plan_digest(s.plan, first);
	plan_digest(again, second);
	assert_memory_equal(first, second, sizeof(first));
	assert_memory_not_equal(first, zero, sizeof(first));
	s.spec.pty = true;
	plan_free(again);
	s.spec.preload = (char *)(uintptr_t) "/usr/lib/x86_64-linux-gnu/libc.so.6";
	assert_int_equal(plan_build(&s.probe, s.policies, &s.spec, &again, &message), 0);
	plan_digest(again, second);
	assert_memory_not_equal(first, second, sizeof(first));
	plan_free(again);
	session_deinit(&s);
}

static void the_steps_come_in_the_order_of_their_use(void **state)
{
	(void)state;
	make(POLICY_OPEN);
	for (size_t i = 1; i < s.plan->n_steps; i++) {
		enum plan_step_kind before = s.plan->steps[i - 1].kind, now = s.plan->steps[i].kind;

		/* The mounts are among themselves in the order in which they are made. */
		if (now <= PLAN_MOUNT_DEV && now != PLAN_NAMESPACE)
			assert_true(before <= PLAN_MOUNT_DEV);
		else
			assert_true(before <= now);
		if (before == PLAN_ALLOW && now == PLAN_ALLOW)
			assert_true(strcmp(s.plan->steps[i - 1].path, s.plan->steps[i].path) < 0);
	}
	session_deinit(&s);
}

static void values_of_the_callers_environment_are_not_shown(void **state)
{
	char *text;
	json_t *json;

	(void)state;
	session_init(&s, POLICY_OPEN);
	s.env[2] = (char *)(uintptr_t) "WORD=mellon-friend";
	s.spec.n_env = 3;
	session_command(&s, shell("true"));
	session_plan(&s);
	assert_string_equal(plan_get_env(s.plan, "WORD"), "mellon-friend");
	text = printed(s.plan);
	assert_null(strstr(text, "mellon"));
	assert_non_null(strstr(text, "env WORD\n"));
	free(text);
	json = plan_to_json(s.plan);
	assert_non_null(json);
	text = json_dumps(json, 0);
	assert_null(strstr(text, "mellon"));
	free(text);
	json_decref(json);
	session_deinit(&s);
}

static void a_tree_with_a_hole_is_granted_around_it(void **state)
{
	(void)state;
	make("policy \"t\" lang 1 layer builtin\n"
	     "allow read,list \"/usr/**\" \"/etc/**\"\n"
	     "deny read,list \"/etc/ssl/**\" \"/etc/shadow\"\n");
	assert_true(plan_floor_covers(s.plan, PLAN_READ, "/usr/bin/true"));
	assert_true(plan_floor_covers(s.plan, PLAN_READ | PLAN_LIST, "/usr"));
	assert_true(plan_floor_covers(s.plan, PLAN_READ, "/etc/passwd"));
	assert_false(plan_floor_covers(s.plan, PLAN_READ, "/etc/shadow"));
	assert_false(plan_floor_covers(s.plan, PLAN_READ, "/etc/ssl/private/key"));
	assert_false(plan_floor_covers(s.plan, PLAN_LIST, "/etc/ssl"));
	/* A name that appears later is nobody's yet. */
	assert_false(plan_floor_covers(s.plan, PLAN_READ, "/etc/new-file"));
	assert_false(plan_floor_covers(s.plan, PLAN_READ, "/usrlocal"));
	assert_false(plan_floor_covers(s.plan, PLAN_READ, "/"));
	assert_false(plan_floor_covers(s.plan, PLAN_MODIFY, "/usr/bin/true"));
	assert_false(plan_floor_covers(s.plan, PLAN_READ, "usr/bin/true"));
	assert_false(plan_floor_covers(s.plan, 0, "/usr"));
	session_deinit(&s);
}

/* The search for the grant must agree with the plain reading of the list. */
static void the_cover_is_the_union_of_what_lies_above(void **state)
{
	static const char *const paths[] = {"/usr/bin/env", "/usr", "/etc/passwd", "/etc", "/tmp",
		"/tmp/a/b", "/dev/null", "/dev/pts/0", "/dev", "/proc/self/status", "/proc",
		"/home/dev/x", "/", "/dev/shm/x", "/sys/class", "/etcetera", "/etc/passwd-",
		"/etc/passwd/x"};
	static const unsigned sets[] = {PLAN_READ, PLAN_LIST, PLAN_MODIFY, PLAN_READ | PLAN_LIST,
		PLAN_READ | PLAN_MODIFY, PLAN_READ | PLAN_LIST | PLAN_MODIFY};

	(void)state;
	make(POLICY_OPEN);
	for (size_t p = 0; p < ARRAY_LEN(paths); p++) {
		unsigned have = 0;

		for (size_t i = 0; i < s.plan->n_steps; i++) {
			const struct plan_step *step = &s.plan->steps[i];
			size_t n = strlen(step->path);

			if (step->kind == PLAN_ALLOW && strncmp(paths[p], step->path, n) == 0 &&
				(paths[p][n] == '/' || paths[p][n] == '\0'))
				have |= step->access;
		}
		for (size_t a = 0; a < ARRAY_LEN(sets); a++)
			assert_int_equal(plan_floor_covers(s.plan, sets[a], paths[p]),
				(have & sets[a]) == sets[a]);
	}
	session_deinit(&s);
}

static void only_wholly_allowed_trees_are_writable_by_the_floor(void **state)
{
	(void)state;
	make("policy \"t\" lang 1 layer builtin\n"
	     "allow read,list,write,create,delete,rename,link,chmod \"/dev/shm/**\"\n"
	     "allow read,list,write,create,delete,rename,link \"/usr/src/**\"\n"
	     "allow read,list,write,create,delete,rename,link,chmod \"/srv/**\"\n"
	     "deny write \"/srv/**/.git/config\"\n");
	assert_true(plan_floor_covers(s.plan, PLAN_MODIFY, "/dev/shm/x"));
	s.plan->landlock_abi = 3;
	assert_true(plan_floor_covers(s.plan, PLAN_MODIFY | PLAN_TRUNCATE, "/dev/shm/x"));
	s.plan->landlock_abi = 2;
	assert_true(plan_floor_covers(s.plan, PLAN_MODIFY, "/dev/shm/x"));
	assert_false(plan_floor_covers(s.plan, PLAN_MODIFY | PLAN_TRUNCATE, "/dev/shm/x"));
	assert_false(plan_floor_covers(s.plan, PLAN_MODIFY, "/usr/src/x"));
	assert_false(plan_floor_covers(s.plan, PLAN_MODIFY, "/srv/x"));
	session_deinit(&s);
}

static void a_shared_tmp_is_never_writable_by_the_floor(void **state)
{
	(void)state;
	session_init(&s, POLICY_OPEN);
	s.spec.reduced_userns = s.spec.force_no_userns = true;
	session_command(&s, shell("true"));
	session_plan(&s);
	assert_false(plan_floor_covers(s.plan, PLAN_MODIFY, "/tmp/x"));
	assert_false(plan_floor_covers(s.plan, PLAN_MODIFY, "/dev/shm/x"));
	assert_non_null(s.plan->reduced);
	assert_false(s.plan->user_ns || s.plan->mount_ns || s.plan->pid_ns || s.plan->ipc_ns);
	session_deinit(&s);
}

static void a_workspace_with_a_pattern_in_it_can_still_start_programs(void **state)
{
	char work[] = "/var/tmp/sbx-plan-XXXXXX", file[64], policy[512];

	(void)state;
	assert_non_null(mkdtemp(work));
	snprintf(file, sizeof(file), "%s/made-later", work);
	snprintf(policy, sizeof(policy),
		"policy \"t\" lang 1 layer builtin\nallow read,list,write,create \"%s/**\" "
		"\"/usr/**\"\n"
		"allow exec \"/**\"\ndeny read \"%s/**/.env\"\n",
		work, work);
	session_init(&s, policy);
	s.spec.preload = (char *)(uintptr_t) "/usr/lib/x86_64-linux-gnu/libc.so.6";
	session_command(&s, shell("true"));
	session_plan(&s);
	assert_true(plan_floor_covers(s.plan, PLAN_START, file));
	/* Landlock gives more there than the policy, so no read goes on in the kernel, anywhere. */
	assert_false(s.plan->floor_reads);
	assert_false(s.plan->cookie);
	assert_false(plan_floor_covers(s.plan, PLAN_READ, file));
	assert_false(plan_floor_covers(s.plan, PLAN_READ, "/usr/bin/true"));
	assert_true(plan_floor_covers(s.plan, PLAN_START, "/usr/bin/true"));
	assert_false(plan_floor_covers(s.plan, PLAN_START, "/opt/x"));
	session_deinit(&s);
	rmdir(work);
}

static void a_pattern_that_may_match_anywhere_leaves_programs_startable(void **state)
{
	(void)state;
	session_init(&s,
		"policy \"t\" lang 1 layer builtin\nallow read,list \"/usr/**\" \"/etc/**\"\n"
		"allow exec \"/usr/**\"\ndefault deny exec,write,create\n"
		"deny read \"**/.env\"\n");
	session_command(&s, shell("true"));
	session_plan(&s);
	assert_true(plan_floor_covers(s.plan, PLAN_START, "/usr/bin/true"));
	assert_false(plan_floor_covers(s.plan, PLAN_READ, "/usr/bin/true"));
	assert_false(plan_floor_covers(s.plan, PLAN_START, "/etc/passwd"));
	assert_false(s.plan->floor_reads);
	session_deinit(&s);
}

/* A folder that is too large to grant its children one by one. */
static void programs_beside_a_denied_file_can_be_started(void **state)
{
	(void)state;
	session_init(&s, "policy \"t\" lang 1 layer builtin\nallow read,list \"/usr/**\"\n"
			 "allow exec \"/usr/**\"\ndefault deny exec,write,create\n"
			 "deny read \"/usr/bin/no-such-program\"\n");
	session_command(&s, shell("true"));
	session_plan(&s);
	assert_true(plan_floor_covers(s.plan, PLAN_START, "/usr/bin/true"));
	assert_true(plan_floor_covers(s.plan, PLAN_START, "/usr/lib/x"));
	session_deinit(&s);
}

static void a_missing_layer_is_refused_with_its_remedy(void **state)
{
	(void)state;
	session_init(&s, POLICY_OPEN);
	session_command(&s, shell("true"));
	s.spec.force_no_userns = true;
	assert_int_equal(
		plan_build(&s.probe, s.policies, &s.spec, &s.plan, &s.message), PLAN_E_REFUSED);
	assert_non_null(strstr(s.message, "user-namespace"));
	assert_non_null(strstr(s.message, "--allow-reduced userns"));
	free(s.message);
	s.spec.force_no_userns = false;
	s.probe.items[PROBE_LANDLOCK].ok = false;
	s.probe.items[PROBE_LANDLOCK].error = ENOSYS;
	assert_int_equal(
		plan_build(&s.probe, s.policies, &s.spec, &s.plan, &s.message), PLAN_E_REFUSED);
	assert_non_null(strstr(s.message, "landlock"));
	assert_null(s.plan);
	session_deinit(&s);
}

static void what_keeps_signals_inside_is_not_gone_without(void **state)
{
	(void)state;
	session_init(&s, POLICY_OPEN);
	session_command(&s, shell("true"));
	s.probe.items[PROBE_PIDNS].ok = false;
	s.probe.items[PROBE_LANDLOCK].value = 5;
	assert_int_equal(
		plan_build(&s.probe, s.policies, &s.spec, &s.plan, &s.message), PLAN_E_REFUSED);
	assert_non_null(strstr(s.message, "--allow-reduced userns"));
	free(s.message);
	s.message = NULL;
	s.spec.reduced_userns = true;
	assert_int_equal(plan_build(&s.probe, s.policies, &s.spec, &s.plan, &s.message), 0);
	assert_string_equal(s.plan->reduced, "pid namespace, signals kept inside");
	assert_true(s.plan->mount_ns);
	session_deinit(&s);
}

static void a_missing_pid_namespace_is_named_and_gone_without(void **state)
{
	(void)state;
	session_init(&s, POLICY_OPEN);
	session_command(&s, shell("true"));
	s.probe.items[PROBE_PIDNS].ok = false;
	session_plan(&s);
	assert_string_equal(s.plan->reduced, "pid namespace");
	assert_true(s.plan->mount_ns);
	session_run(&s, shell("echo x >/proc/sys/kernel/core_pattern; cat /proc/self/comm"));
	assert_non_null(strstr(s.text, "cat\n"));
	assert_non_null(strstr(s.text, "Read-only"));
	session_deinit(&s);
}

static void a_tmpdir_that_is_not_there_inside_is_replaced(void **state)
{
	(void)state;
	session_init(&s, POLICY_OPEN);
	s.env[2] = (char *)(uintptr_t) "TMPDIR=/tmp/of-the-host";
	s.spec.n_env = 3;
	session_command(&s, shell("true"));
	session_plan(&s);
	assert_string_equal(plan_get_env(s.plan, "TMPDIR"), "/tmp");
	session_deinit(&s);
	session_init(&s, POLICY_OPEN);
	s.env[2] = (char *)(uintptr_t) "TMPDIR=/var/tmp";
	s.spec.n_env = 3;
	session_command(&s, shell("true"));
	session_plan(&s);
	assert_string_equal(plan_get_env(s.plan, "TMPDIR"), "/var/tmp");
	session_deinit(&s);
}

static void the_environment_is_what_the_policy_lets_through(void **state)
{
	(void)state;
	session_init(&s, "policy \"t\" lang 1 layer builtin\nallow env \"PATH\" \"LC_*\"\nset env "
			 "MADE \"yes\"\n");
	s.env[2] = (char *)(uintptr_t) "LC_ALL=C";
	s.env[3] = (char *)(uintptr_t) "LD_PRELOAD=/x.so";
	s.env[4] = (char *)(uintptr_t) "PATH=/second";
	s.spec.n_env = 5;
	session_command(&s, shell("true"));
	session_plan(&s);
	assert_string_equal(plan_get_env(s.plan, "PATH"), "/usr/local/bin:/usr/bin:/bin");
	assert_string_equal(plan_get_env(s.plan, "LC_ALL"), "C");
	assert_string_equal(plan_get_env(s.plan, "MADE"), "yes");
	assert_null(plan_get_env(s.plan, "HOME"));
	assert_null(plan_get_env(s.plan, "LD_PRELOAD"));
	assert_int_equal(plan_set_env(s.plan, "MADE", "no"), 0);
	assert_string_equal(plan_get_env(s.plan, "MADE"), "no");
	assert_int_equal(plan_set_env(s.plan, "A=B", "no"), -EINVAL);
	session_deinit(&s);
}

static void the_cookie_comes_with_its_library(void **state)
{
	char library[PATH_MAX];

	(void)state;
	assert_non_null(realpath("/usr/lib/x86_64-linux-gnu/libc.so.6", library));
	session_init(&s, POLICY_OPEN);
	s.spec.preload = library;
	session_command(&s, shell("true"));
	session_plan(&s);
	assert_true(s.plan->notify_reads);
	assert_true(s.plan->cookie);
	assert_string_equal(plan_get_env(s.plan, "LD_PRELOAD"), library);
	assert_true(plan_floor_covers(s.plan, PLAN_READ, library));
	session_deinit(&s);
	session_init(&s, POLICY_OPEN);
	s.spec.preload = (char *)(uintptr_t) "/tmp/unseen.so";
	session_command(&s, shell("true"));
	session_plan(&s);
	assert_false(s.plan->cookie);
	assert_null(plan_get_env(s.plan, "LD_PRELOAD"));
	session_deinit(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_input_gives_the_same_plan),
		cmocka_unit_test(the_steps_come_in_the_order_of_their_use),
		cmocka_unit_test(values_of_the_callers_environment_are_not_shown),
		cmocka_unit_test(a_tree_with_a_hole_is_granted_around_it),
		cmocka_unit_test(the_cover_is_the_union_of_what_lies_above),
		cmocka_unit_test(only_wholly_allowed_trees_are_writable_by_the_floor),
		cmocka_unit_test(a_shared_tmp_is_never_writable_by_the_floor),
		cmocka_unit_test(a_workspace_with_a_pattern_in_it_can_still_start_programs),
		cmocka_unit_test(a_pattern_that_may_match_anywhere_leaves_programs_startable),
		cmocka_unit_test(programs_beside_a_denied_file_can_be_started),
		cmocka_unit_test(a_missing_layer_is_refused_with_its_remedy),
		cmocka_unit_test(what_keeps_signals_inside_is_not_gone_without),
		cmocka_unit_test(a_missing_pid_namespace_is_named_and_gone_without),
		cmocka_unit_test(a_tmpdir_that_is_not_there_inside_is_replaced),
		cmocka_unit_test(the_environment_is_what_the_policy_lets_through),
		cmocka_unit_test(the_cookie_comes_with_its_library),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
