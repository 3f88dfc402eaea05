/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <string.h>

#include <cmocka.h>

#include "supervisord/proto/request.h"

static char **new_argv(const char *const *items, size_t n)
{
	char **argv = calloc(n + 1, sizeof(*argv));
	size_t i;

	assert_non_null(argv);
	for (i = 0; i < n; i++)
		argv[i] = strdup(items[i]);
	return argv;
}

static struct request *new_file(void)
{
	struct request *request = request_new(OP_RENAME);

	assert_non_null(request);
	request->path = strdup("/home/u/\377\n\342\200\256");
	request->alias = strdup("/home/u/link");
	request->other = strdup("/home/u/back\\slash");
	request->pid = 4711;
	request->inner_pid = 12;
	request->start_ticks = 99999999999ULL;
	request->uid = 1500;
	request->program = strdup("/usr/bin/mv");
	request->cwd = strdup("/home/u");
	request->session = strdup("s1");
	return request;
}

static struct request *new_exec(void)
{
	static const char *const items[] = {"git", "push", "a\377b", ""};
	struct request *request = request_new(OP_EXEC);

	assert_non_null(request);
	request->path = strdup("/usr/bin/git");
	request->interpreter = strdup("/bin/sh");
	request->argv = new_argv(items, 4);
	request->n_argv = 4;
	return request;
}

static struct request *new_connect(void)
{
	struct request *request = request_new(OP_CONNECT);

	assert_non_null(request);
	request->proto = NET_UDP;
	request->host = strdup("example.org");
	memcpy(request->addr, "\0\0\0\0\0\0\0\0\0\0\377\377\001\002\003\004", 16);
	request->port = 53;
	return request;
}

static void assert_same_string(const char *a, const char *b)
{
	if (!a || !b)
		assert_ptr_equal(a, b);
	else
		assert_string_equal(a, b);
}

/* Through the text and back, every member the same. */
static void assert_round_trip(const struct request *request)
{
	_cleanup_(json_decrefp) json_t *json = request_to_json(request);
	_cleanup_(json_decrefp) json_t *parsed = NULL;
	_cleanup_(request_freep) struct request *back = NULL;
	_cleanup_(freep) char *text = json_write(json);

	assert_int_equal(json_parse_strict(text, strlen(text), REQUEST_JSON_MAX, &parsed), 0);
	assert_int_equal(request_from_json(parsed, &back), 0);
	assert_true(request_same(request, back));
	assert_same_string(back->cwd, request->cwd);
	assert_same_string(back->session, request->session);
	assert_int_equal(back->pid, request->pid);
	assert_int_equal(back->inner_pid, request->inner_pid);
	assert_int_equal(back->start_ticks, request->start_ticks);
	assert_int_equal(back->uid, request->uid);
}

static void json_round_trips_with_invalid_utf8(void **state)
{
	_cleanup_(request_freep) struct request *file = new_file();
	_cleanup_(request_freep) struct request *exec = new_exec();
	_cleanup_(request_freep) struct request *connect = new_connect();

	(void)state;
	assert_round_trip(file);
	assert_round_trip(exec);
	assert_round_trip(connect);
	file->uid = UINT32_MAX;
	assert_round_trip(file);
}

static void json_text_never_holds_a_hostile_byte(void **state)
{
	_cleanup_(request_freep) struct request *file = new_file();
	_cleanup_(json_decrefp) json_t *json = request_to_json(file);

	(void)state;
	assert_string_equal(
		json_string_value(json_object_get(json, "path")), "/home/u/\\xff\\n\\u{202e}");
	assert_null(json_object_get(json, "alias_b64"));
}

#define SUBJECT "\"pid\":1,\"inner_pid\":1,\"start_ticks\":1,\"uid\":0"

static void malformed_messages_are_refused(void **state)
{
	static const char *const texts[] = {
		"[]",
		"{}",
		"{\"op\":\"read\"," SUBJECT "}",
		"{\"op\":\"read\",\"path\":\"a\"," SUBJECT "}",
		"{\"op\":\"read\",\"path\":\"\"," SUBJECT "}",
		"{\"op\":\"fly\",\"path\":\"/a\"," SUBJECT "}",
		"{\"op\":7,\"path\":\"/a\"," SUBJECT "}",
		"{\"op\":\"read\",\"path\":\"/a\",\"extra\":1," SUBJECT "}",
		"{\"op\":\"read\",\"path\":\"/a\",\"argv\":[]," SUBJECT "}",
		"{\"op\":\"read\",\"path\":\"/a\",\"port\":1," SUBJECT "}",
		"{\"op\":\"read\",\"path\":\"/a\"}",
		"{\"op\":\"read\",\"path\":\"/a\",\"pid\":-1,\"inner_pid\":1,\"start_ticks\":1,"
		"\"uid\":0}",
		"{\"op\":\"read\",\"path\":\"/a\",\"pid\":2147483648,\"inner_pid\":1,"
		"\"start_ticks\":1,\"uid\":0}",
		"{\"op\":\"read\",\"path\":\"/a\",\"pid\":1,\"inner_pid\":1,\"start_ticks\":1,"
		"\"uid\":4294967296}",
		"{\"op\":\"read\",\"path\":\"/ok\",\"path_b64\":\"L2V0Yy9zaGFkb3c=\"," SUBJECT "}",
		"{\"op\":\"read\",\"path\":\"/a\\\\x00\",\"path_b64\":\"L2EA\"," SUBJECT "}",
		"{\"op\":\"exec\",\"path\":\"/a\"," SUBJECT "}",
		"{\"op\":\"exec\",\"argv\":[\"a\"]," SUBJECT "}",
		"{\"op\":\"exec\",\"path\":\"/a\",\"argv\":[1]," SUBJECT "}",
		"{\"op\":\"connect\",\"proto\":\"tcp\",\"addr\":\"00\",\"port\":1," SUBJECT "}",
		"{\"op\":\"connect\",\"proto\":\"sctp\","
		"\"addr\":\"00000000000000000000000000000000\",\"port\":1," SUBJECT "}",
		"{\"op\":\"connect\",\"proto\":\"tcp\","
		"\"addr\":\"00000000000000000000000000000000\",\"port\":65536," SUBJECT "}",
		"{\"op\":\"connect\",\"proto\":\"unix\","
		"\"addr\":\"00000000000000000000000000000000\",\"port\":0," SUBJECT "}",
	};
	struct request *request = NULL;
	json_t *json;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_LEN(texts); i++) {
		print_message("# %s\n", texts[i]);
		assert_int_equal(json_parse_strict(texts[i], strlen(texts[i]), 10000, &json), 0);
		assert_int_equal(request_from_json(json, &request), -EBADMSG);
		assert_null(request);
		json_decref(json);
	}
}

static void a_well_formed_message_is_accepted(void **state)
{
	static const char text[] = "{\"op\":\"read\",\"path\":\"/a\"," SUBJECT "}";
	_cleanup_(request_freep) struct request *request = NULL;
	_cleanup_(json_decrefp) json_t *json = NULL;

	(void)state;
	assert_int_equal(json_parse_strict(text, sizeof(text) - 1, 10000, &json), 0);
	assert_int_equal(request_from_json(json, &request), 0);
	assert_string_equal(request->path, "/a");
}

static void set_string(char **stringp, const char *value)
{
	free(*stringp);
	*stringp = value ? strdup(value) : NULL;
}

/* One change of a request of each kind; false past the last. */
static bool change(struct request *request, unsigned which)
{
	switch (which) {
	case 0:
		request->op = OP_LISTEN;
		return true;
	case 1:
		set_string(&request->path, "/else");
		return true;
	case 2:
		set_string(&request->alias, "/else");
		return true;
	case 3:
		set_string(&request->other, "/else");
		return true;
	case 4:
		set_string(&request->interpreter, "/else");
		return true;
	case 5:
		set_string(&request->host, "else");
		return true;
	case 6:
		set_string(&request->program, "/else");
		return true;
	case 7:
		set_string(&request->host, "");
		return true;
	case 8:
		request->addr[15]++;
		return true;
	case 9:
		request->port++;
		return true;
	case 10:
		request->proto = NET_TCP;
		return true;
	default:
		return false;
	}
}

static void the_fingerprint_changes_with_every_field(void **state)
{
	uint8_t digest[32] = {1}, original[32], changed[32];
	struct request *request;
	unsigned i;

	(void)state;
	for (i = 0;; i++) {
		request = new_connect();
		request_fingerprint(request, "id", "rule", digest, original);
		if (!change(request, i)) {
			request_free(request);
			break;
		}
		print_message("# change %u\n", i);
		request_fingerprint(request, "id", "rule", digest, changed);
		assert_memory_not_equal(original, changed, 32);
		request_free(request);
	}
	assert_int_equal(i, 11);
}

static void the_fingerprint_changes_with_id_session_rule_and_policy(void **state)
{
	_cleanup_(request_freep) struct request *request = new_exec();
	uint8_t digest[32] = {1}, other[32] = {2}, original[32], changed[32];

	(void)state;
	request_fingerprint(request, "id", "rule", digest, original);
	request_fingerprint(request, "id", "rule", digest, changed);
	assert_memory_equal(original, changed, 32);
	request_fingerprint(request, "ie", "rule", digest, changed);
	assert_memory_not_equal(original, changed, 32);
	request_fingerprint(request, "id", "rulf", digest, changed);
	assert_memory_not_equal(original, changed, 32);
	request_fingerprint(request, "id", "rule", other, changed);
	assert_memory_not_equal(original, changed, 32);
	/* A byte that moves over a border is a change too. */
	request_fingerprint(request, "i", "drule", digest, changed);
	assert_memory_not_equal(original, changed, 32);
	set_string(&request->session, "s");
	request_fingerprint(request, "id", "rule", digest, changed);
	assert_memory_not_equal(original, changed, 32);
}

static void the_fingerprint_sees_where_arguments_end(void **state)
{
	static const char *const one[] = {"a", "b c"};
	static const char *const two[] = {"a", "b", "c"};
	static const char *const three[] = {"a", "b c", ""};
	const char *const *forms[] = {one, two, three};
	const size_t sizes[] = {2, 3, 3};
	uint8_t digest[32] = {0}, prints[3][32];
	struct request *request;
	size_t i, j;

	(void)state;
	for (i = 0; i < 3; i++) {
		request = request_new(OP_EXEC);
		request->path = strdup("/a");
		request->argv = new_argv(forms[i], sizes[i]);
		request->n_argv = sizes[i];
		request_fingerprint(request, "id", "rule", digest, prints[i]);
		request_free(request);
		for (j = 0; j < i; j++)
			assert_memory_not_equal(prints[i], prints[j], 32);
	}
}

static void same_compares_operation_object_and_program(void **state)
{
	struct request *a, *b;
	unsigned i;

	(void)state;
	for (i = 0;; i++) {
		a = new_connect();
		b = new_connect();
		assert_true(request_same(a, b));
		b->pid = 1;
		set_string(&b->cwd, "/else");
		set_string(&b->session, "s2");
		assert_true(request_same(a, b));
		if (!change(b, i))
			break;
		assert_false(request_same(a, b));
		request_free(a);
		request_free(b);
	}
	request_free(a);
	request_free(b);
	a = new_exec();
	b = new_exec();
	assert_true(request_same(a, b));
	b->argv[1][0] = 'P';
	assert_false(request_same(a, b));
	b->argv[1][0] = a->argv[1][0];
	assert_true(request_same(a, b));
	set_string(&b->cwd, "/else");
	assert_false(request_same(a, b));
	request_free(a);
	request_free(b);
}

static void assert_text(const struct request *request, const char *expected)
{
	_cleanup_(freep) char *text = request_object_text(request);

	assert_string_equal(text, expected);
}

static void the_object_is_one_safe_line(void **state)
{
	_cleanup_(request_freep) struct request *file = new_file();
	_cleanup_(request_freep) struct request *exec = new_exec();
	_cleanup_(request_freep) struct request *connect = new_connect();
	_cleanup_(request_freep) struct request *sig = request_new(OP_SIGNAL);

	(void)state;
	assert_text(file, "/home/u/\\xff\\n\\u{202e} -> /home/u/back\\\\slash");
	assert_text(exec, "/usr/bin/git push $'a\\xffb' ''");
	assert_text(connect, "example.org:53");
	set_string(&connect->host, NULL);
	assert_text(connect, "1.2.3.4:53");
	memset(connect->addr, 0, 16);
	connect->addr[15] = 1;
	assert_text(connect, "[::1]:53");
	set_string(&connect->host, "fe80::1");
	assert_text(connect, "[fe80::1]:53");
	set_string(&connect->host, "a\033b");
	assert_text(connect, "a\\x1bb:53");
	connect->proto = NET_UNIX;
	set_string(&connect->path, "/run/s");
	assert_text(connect, "/run/s");
	assert_text(sig, "");
}

static void a_program_that_calls_itself_otherwise_is_shown_as_it_is(void **state)
{
	_cleanup_(request_freep) struct request *exec = new_exec();

	(void)state;
	set_string(&exec->argv[0], "ls");
	assert_text(exec, "/usr/bin/git (called ls) push $'a\\xffb' ''");
	set_string(&exec->argv[0], "/usr/bin/git");
	assert_text(exec, "/usr/bin/git push $'a\\xffb' ''");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_round_trips_with_invalid_utf8),
		cmocka_unit_test(json_text_never_holds_a_hostile_byte),
		cmocka_unit_test(malformed_messages_are_refused),
		cmocka_unit_test(a_well_formed_message_is_accepted),
		cmocka_unit_test(the_fingerprint_changes_with_every_field),
		cmocka_unit_test(the_fingerprint_changes_with_id_session_rule_and_policy),
		cmocka_unit_test(the_fingerprint_sees_where_arguments_end),
		cmocka_unit_test(same_compares_operation_object_and_program),
		cmocka_unit_test(the_object_is_one_safe_line),
		cmocka_unit_test(a_program_that_calls_itself_otherwise_is_shown_as_it_is),
	};

	return cmocka_run_group_tests_name("request", tests, NULL, NULL);
}
