/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "supervisord/base/file.h"
#include "supervisord/daemon/denials.h"
#include "supervisord/daemon/grants.h"
#include "supervisord/daemon/replay.h"
#include "supervisord/daemon/sessions.h"

static struct request *make_request(const char *path)
{
	struct request *request = request_new(OP_READ);

	request->path = strdup(path);
	return request;
}

static struct grants *new_grants(void)
{
	struct grants *grants = malloc(sizeof(*grants));

	grants_init(grants);
	return grants;
}

static void a_span_ends_at_its_deadline(void **state)
{
	struct grants *grants = new_grants();
	struct request *request = make_request("/d/x");
	struct grant *grant = NULL;

	(void)state;
	assert_int_equal(
		grant_make("g1", request, "r:1", GRANT_EXACT, GRANT_SPAN, 1000, &grant), 0);
	assert_int_equal(grants_add(grants, grant), 0);
	assert_non_null(grants_find(grants, request, "r:1", 999));
	assert_null(grants_find(grants, request, "r:2", 999));
	assert_null(grants_find(grants, request, "r:1", 1000));
	assert_int_equal(grants->n_items, 0);
	request_free(request);
	grants_deinit(grants);
	free(grants);
}

static void a_folder_grant_covers_its_files_and_can_be_removed(void **state)
{
	struct grants *grants = new_grants();
	struct request *a = make_request("/d/a"), *b = make_request("/d/b"),
		       *c = make_request("/e/c");
	struct grant *grant = NULL;

	(void)state;
	assert_int_equal(grant_make("g1", a, "r:1", GRANT_DIR, GRANT_SESSION, 0, &grant), 0);
	assert_int_equal(grants_add(grants, grant), 0);
	assert_non_null(grants_find(grants, b, "r:1", 5));
	assert_null(grants_find(grants, c, "r:1", 5));
	assert_false(grants_remove(grants, "g2"));
	assert_true(grants_remove(grants, "g1"));
	assert_null(grants_find(grants, b, "r:1", 5));
	request_free(a);
	request_free(b);
	request_free(c);
	grants_deinit(grants);
	free(grants);
}

static void the_third_refusal_comes_without_asking(void **state)
{
	struct grants *grants = new_grants();
	const uint8_t key[32] = {1}, other[32] = {2};

	(void)state;
	assert_false(grants_is_refused(grants, key));
	grants_note_refusal(grants, key, false);
	assert_false(grants_is_refused(grants, key));
	grants_note_refusal(grants, key, false);
	assert_true(grants_is_refused(grants, key));
	assert_false(grants_is_refused(grants, other));
	grants_note_refusal(grants, other, true);
	assert_true(grants_is_refused(grants, other));
	free(grants);
}

static void a_stored_grant_is_a_line_with_who_and_when(void **state)
{
	struct request *request = make_request("/home/u/a\nallow everything");
	char dir[] = "/tmp/test-grants-XXXXXX", path[64];
	struct request *other = make_request("/home/u/b");
	struct dirs dirs = {0};
	char *text = NULL;
	size_t size, lines = 0;

	(void)state;
	assert_non_null(mkdtemp(dir));
	dirs.home = dirs.state = dirs.runtime = dirs.config = dir;
	assert_int_equal(grants_store(&dirs, request, GRANT_EXACT, "agentctl (pid 7)", 0), 0);
	assert_int_equal(grants_store(&dirs, request, GRANT_EXACT, "agentctl (pid 7)", 0), 0);
	assert_int_equal(grants_store(&dirs, other, GRANT_EXACT, "agentctl (pid 7)", 0), 0);
	assert_int_equal(grants_store(&dirs, request, GRANT_EXACT, "a\nb", 0), -EINVAL);
	snprintf(path, sizeof(path), "%s/grants.policy", dir);
	assert_int_equal(file_read(AT_FDCWD, path, 4096, &text, &size), 0);
	for (const char *p = text; *p; p++)
		lines += *p == '\n';
	assert_int_equal(lines, 6);
	assert_non_null(
		strstr(text, "# 1970-01-01T00:00:00.000Z, given by agentctl (pid 7)\ngrant read "));
	assert_null(strstr(text, "\nallow"));
	free(text);
	unlink(path);
	rmdir(dir);
	request_free(other);
	request_free(request);
}

static void every_kind_of_answer_can_be_stored(void **state)
{
	char dir[] = "/tmp/test-grants-XXXXXX", path[64];
	struct request *exec = request_new(OP_EXEC), *tcp = request_new(OP_CONNECT);
	struct request *name = request_new(OP_CONNECT), *file = make_request("/home/u/a b*\"?");
	struct dirs dirs = {.home = dir, .state = dir, .runtime = dir, .config = dir};

	(void)state;
	assert_non_null(mkdtemp(dir));
	exec->path = strdup("/usr/bin/git");
	exec->n_argv = 3;
	exec->argv = calloc(4, sizeof(*exec->argv));
	exec->argv[0] = strdup("git");
	exec->argv[1] = strdup("push");
	exec->argv[2] = strdup("--force");
	tcp->addr[10] = tcp->addr[11] = 0xff;
	tcp->addr[12] = 127;
	tcp->addr[15] = 1;
	tcp->port = 5432;
	name->host = strdup("example.org");
	name->port = 443;
	assert_int_equal(grants_store(&dirs, exec, GRANT_EXACT, "x", 0), 0);
	assert_int_equal(grants_store(&dirs, exec, GRANT_SUBCOMMAND, "x", 0), 0);
	assert_int_equal(grants_store(&dirs, exec, GRANT_PROGRAM, "x", 0), 0);
	assert_int_equal(grants_store(&dirs, tcp, GRANT_EXACT, "x", 0), 0);
	assert_int_equal(grants_store(&dirs, tcp, GRANT_HOST, "x", 0), 0);
	assert_int_equal(grants_store(&dirs, name, GRANT_EXACT, "x", 0), 0);
	assert_int_equal(grants_store(&dirs, file, GRANT_EXACT, "x", 0), 0);
	assert_int_equal(grants_store(&dirs, file, GRANT_DIR, "x", 0), 0);
	snprintf(path, sizeof(path), "%s/grants.policy", dir);
	unlink(path);
	rmdir(dir);
	request_free(exec);
	request_free(tcp);
	request_free(name);
	request_free(file);
}

static void sessions_are_found_by_unique_prefix(void **state)
{
	struct sessions sessions = {0};
	struct session *a, *b, *found;
	json_t *spec = json_pack("{s:s}", "agent", "claude");

	(void)state;
	assert_int_equal(sessions_add(&sessions, "bcdfghjk", 10, 1, -1, spec, &a), 0);
	assert_int_equal(sessions_add(&sessions, "bcdfghjm", 11, 1, -1, spec, &b), 0);
	assert_int_equal(sessions_add(&sessions, "bcdfghjm", 12, 1, -1, spec, &found), -EEXIST);
	assert_int_equal(sessions_find(&sessions, "bcd", &found), SESSIONS_E_AMBIGUOUS);
	assert_int_equal(sessions_find(&sessions, "x", &found), SESSIONS_E_UNKNOWN);
	assert_int_equal(sessions_find(&sessions, "bcdfghjm", &found), 0);
	assert_ptr_equal(found, b);
	assert_string_equal(session_agent(a), "claude");
	sessions_remove(&sessions, b);
	assert_int_equal(sessions_find(&sessions, "bcd", &found), 0);
	assert_ptr_equal(found, a);
	sessions_deinit(&sessions);
	json_decref(spec);
}

static void fresh_session_ids_are_valid_and_file_names_are_not_ids(void **state)
{
	struct sessions sessions = {0};
	struct session *a;
	json_t *spec = json_object();

	(void)state;
	assert_int_equal(sessions_add(&sessions, NULL, 10, 1, -1, spec, &a), 0);
	assert_true(session_id_is_valid(a->id));
	assert_false(session_id_is_valid("../../x/"));
	assert_false(session_id_is_valid(""));
	sessions_deinit(&sessions);
	json_decref(spec);
}

static json_t *make_denial(int pid, int64_t time)
{
	return json_pack("{s:s,s:s,s:s,s:i,s:I}", "op", "read", "object", "/x", "rule", "r:1",
		"pid", pid, "time_usec", (json_int_t)time);
}

static void refusals_are_listed_newest_first_and_told_once(void **state)
{
	struct denials *denials = malloc(sizeof(*denials));
	json_t *array = json_array(), *more = make_denial(2, 1000001);

	(void)state;
	denials_init(denials);
	denials_add(denials, make_denial(1, 1));
	denials_add(denials, make_denial(2, 1000000));
	json_object_set_new(more, "remedy", json_string("allow read \"/x\""));
	denials_add(denials, more);
	denials_list(denials, 10, 0, array);
	assert_int_equal(json_array_size(array), 2);
	assert_non_null(json_object_get(json_array_get(array, 0), "remedy"));
	json_array_clear(array);
	denials_list(denials, 10, 1, array);
	assert_int_equal(json_array_size(array), 1);
	json_array_clear(array);
	for (int i = 0; i < 1000; i++)
		denials_add(denials, make_denial(i, (int64_t)i * 10000000));
	denials_list(denials, 10000, 0, array);
	assert_int_equal(json_array_size(array), DENIALS_MAX);
	assert_int_equal(json_integer_value(json_object_get(json_array_get(array, 0), "pid")), 999);
	json_decref(array);
	denials_deinit(denials);
	free(denials);
}

static void brokers_cannot_write_the_daemons_records(void **state)
{
	(void)state;
	assert_true(replay_type_is_brokers("decision"));
	assert_true(replay_type_is_brokers("finding"));
	assert_false(replay_type_is_brokers("approval"));
	assert_false(replay_type_is_brokers("approval.void"));
	assert_false(replay_type_is_brokers("ask"));
	assert_false(replay_type_is_brokers("session.start"));
	assert_false(replay_type_is_brokers("log.key"));
	assert_false(replay_type_is_brokers(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_span_ends_at_its_deadline),
		cmocka_unit_test(a_folder_grant_covers_its_files_and_can_be_removed),
		cmocka_unit_test(the_third_refusal_comes_without_asking),
		cmocka_unit_test(a_stored_grant_is_a_line_with_who_and_when),
		cmocka_unit_test(every_kind_of_answer_can_be_stored),
		cmocka_unit_test(sessions_are_found_by_unique_prefix),
		cmocka_unit_test(fresh_session_ids_are_valid_and_file_names_are_not_ids),
		cmocka_unit_test(refusals_are_listed_newest_first_and_told_once),
		cmocka_unit_test(brokers_cannot_write_the_daemons_records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
