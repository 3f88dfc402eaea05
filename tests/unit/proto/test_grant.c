/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>

#include "supervisord/proto/grant.h"

#define RULE "base.policy:20"

/* A request in short: for files OP and PATH; for exec the argv (ARGS, parted by one blank); for
 * sockets HOST (a name or a number) and PORT. */
struct brief {
	enum op op;
	const char *path;
	const char *args;
	enum net_proto proto;
	const char *host;
	uint16_t port;
};

static void fill_argv(struct request *request, const char *args)
{
	_cleanup_(freep) char *copy = strdup(args);
	char *rest, *word;

	request->argv = calloc(16, sizeof(char *));
	for (word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		request->argv[request->n_argv++] = strdup(word);
}

static struct request *make(const struct brief *brief)
{
	struct request *request = request_new(brief->op);
	struct in_addr v4;

	request->path = brief->path ? strdup(brief->path) : NULL;
	if (brief->args)
		fill_argv(request, brief->args);
	request->proto = brief->proto;
	request->host = brief->host ? strdup(brief->host) : NULL;
	request->port = brief->port;
	if (brief->host && inet_pton(AF_INET, brief->host, &v4) == 1) {
		request->addr[10] = request->addr[11] = 0xff;
		memcpy(request->addr + 12, &v4, 4);
	}
	return request;
}

static const struct {
	const char *name;
	enum grant_scope scope;
	struct brief like, request;
	bool covered;
} coverage[] = {
	{"the same path", GRANT_EXACT, {.op = OP_READ, .path = "/d/f"},
		{.op = OP_READ, .path = "/d/f"}, true},
	{"another path", GRANT_EXACT, {.op = OP_READ, .path = "/d/f"},
		{.op = OP_READ, .path = "/d/g"}, false},
	{"another operation", GRANT_EXACT, {.op = OP_READ, .path = "/d/f"},
		{.op = OP_WRITE, .path = "/d/f"}, false},
	{"another operation in the folder", GRANT_DIR, {.op = OP_READ, .path = "/d/f"},
		{.op = OP_DELETE, .path = "/d/f"}, false},
	{"a sibling", GRANT_DIR, {.op = OP_READ, .path = "/d/f"}, {.op = OP_READ, .path = "/d/g"},
		true},
	{"far below", GRANT_DIR, {.op = OP_READ, .path = "/d/f"},
		{.op = OP_READ, .path = "/d/a/b/c"}, true},
	{"the folder itself", GRANT_DIR, {.op = OP_READ, .path = "/d/f"},
		{.op = OP_READ, .path = "/d"}, false},
	{"the folder with a slash", GRANT_DIR, {.op = OP_READ, .path = "/d/f"},
		{.op = OP_READ, .path = "/d/"}, false},
	{"a longer name", GRANT_DIR, {.op = OP_READ, .path = "/d/f"},
		{.op = OP_READ, .path = "/dd/f"}, false},
	{"out by dots", GRANT_DIR, {.op = OP_READ, .path = "/d/f"},
		{.op = OP_READ, .path = "/d/../etc/shadow"}, false},
	{"dots at the end", GRANT_DIR, {.op = OP_READ, .path = "/d/f"},
		{.op = OP_READ, .path = "/d/x/.."}, false},
	{"a name that starts with dots", GRANT_DIR, {.op = OP_READ, .path = "/d/f"},
		{.op = OP_READ, .path = "/d/..x"}, true},
	{"everything below the root", GRANT_DIR, {.op = OP_READ, .path = "/f"},
		{.op = OP_READ, .path = "/g"}, false},
	{"the same argv", GRANT_EXACT, {.op = OP_EXEC, .path = "/git", .args = "git push origin"},
		{.op = OP_EXEC, .path = "/git", .args = "git push origin"}, true},
	{"one argument more", GRANT_EXACT, {.op = OP_EXEC, .path = "/git", .args = "git push"},
		{.op = OP_EXEC, .path = "/git", .args = "git push -f"}, false},
	{"one argument less", GRANT_EXACT, {.op = OP_EXEC, .path = "/git", .args = "git push x"},
		{.op = OP_EXEC, .path = "/git", .args = "git push"}, false},
	{"another own name", GRANT_EXACT, {.op = OP_EXEC, .path = "/git", .args = "git push"},
		{.op = OP_EXEC, .path = "/git", .args = "tig push"}, false},
	{"another program", GRANT_EXACT, {.op = OP_EXEC, .path = "/git", .args = "git push"},
		{.op = OP_EXEC, .path = "/tmp/git", .args = "git push"}, false},
	{"the subcommand with more", GRANT_SUBCOMMAND,
		{.op = OP_EXEC, .path = "/git", .args = "git push origin"},
		{.op = OP_EXEC, .path = "/git", .args = "git push other main"}, true},
	{"another subcommand", GRANT_SUBCOMMAND,
		{.op = OP_EXEC, .path = "/git", .args = "git push"},
		{.op = OP_EXEC, .path = "/git", .args = "git pull"}, false},
	{"an option in front of the subcommand", GRANT_SUBCOMMAND,
		{.op = OP_EXEC, .path = "/git", .args = "git push"},
		{.op = OP_EXEC, .path = "/git", .args = "git -calias.push=!sh push"}, false},
	{"the same option in front", GRANT_SUBCOMMAND,
		{.op = OP_EXEC, .path = "/git", .args = "git -q push a"},
		{.op = OP_EXEC, .path = "/git", .args = "git -q push b"}, true},
	{"no subcommand at all", GRANT_SUBCOMMAND,
		{.op = OP_EXEC, .path = "/git", .args = "git -v"},
		{.op = OP_EXEC, .path = "/git", .args = "git -v"}, false},
	{"too short for the subcommand", GRANT_SUBCOMMAND,
		{.op = OP_EXEC, .path = "/git", .args = "git push"},
		{.op = OP_EXEC, .path = "/git", .args = "git"}, false},
	{"any argv", GRANT_PROGRAM, {.op = OP_EXEC, .path = "/git", .args = "git push"},
		{.op = OP_EXEC, .path = "/git", .args = "x y z"}, true},
	{"any argv of another program", GRANT_PROGRAM,
		{.op = OP_EXEC, .path = "/git", .args = "git push"},
		{.op = OP_EXEC, .path = "/sh", .args = "git push"}, false},
	{"a folder of programs", GRANT_DIR, {.op = OP_EXEC, .path = "/b/git", .args = "git"},
		{.op = OP_EXEC, .path = "/b/sh", .args = "sh"}, false},
	{"the same host and port", GRANT_EXACT, {.op = OP_CONNECT, .host = "a.org", .port = 443},
		{.op = OP_CONNECT, .host = "a.org", .port = 443}, true},
	{"another port", GRANT_EXACT, {.op = OP_CONNECT, .host = "a.org", .port = 443},
		{.op = OP_CONNECT, .host = "a.org", .port = 22}, false},
	{"any port of the host", GRANT_HOST, {.op = OP_CONNECT, .host = "a.org", .port = 443},
		{.op = OP_CONNECT, .host = "a.org", .port = 22}, true},
	{"another host", GRANT_HOST, {.op = OP_CONNECT, .host = "a.org", .port = 443},
		{.op = OP_CONNECT, .host = "b.a.org", .port = 443}, false},
	{"a host that has no name", GRANT_HOST, {.op = OP_CONNECT, .host = "a.org", .port = 443},
		{.op = OP_CONNECT, .port = 443}, false},
	{"another protocol", GRANT_HOST,
		{.op = OP_CONNECT, .proto = NET_TCP, .host = "a.org", .port = 53},
		{.op = OP_CONNECT, .proto = NET_UDP, .host = "a.org", .port = 53}, false},
	{"the same address", GRANT_EXACT, {.op = OP_CONNECT, .host = "10.0.0.1", .port = 1},
		{.op = OP_CONNECT, .host = "10.0.0.1", .port = 1}, true},
	{"listen for connect", GRANT_HOST, {.op = OP_CONNECT, .host = "127.0.0.1", .port = 1},
		{.op = OP_LISTEN, .host = "127.0.0.1", .port = 1}, false},
	{"the same unix socket", GRANT_EXACT,
		{.op = OP_CONNECT, .proto = NET_UNIX, .path = "/run/s"},
		{.op = OP_CONNECT, .proto = NET_UNIX, .path = "/run/s"}, true},
	{"another unix socket", GRANT_EXACT,
		{.op = OP_CONNECT, .proto = NET_UNIX, .path = "/run/s"},
		{.op = OP_CONNECT, .proto = NET_UNIX, .path = "/run/t"}, false},
	{"a unix socket by host", GRANT_HOST,
		{.op = OP_CONNECT, .proto = NET_UNIX, .path = "/run/s"},
		{.op = OP_CONNECT, .proto = NET_UNIX, .path = "/run/s"}, false},
	{"a file by program", GRANT_PROGRAM, {.op = OP_READ, .path = "/d/f"},
		{.op = OP_READ, .path = "/d/f"}, false},
};

static void a_scope_covers_what_it_says_and_no_more(void **state)
{
	char rule[] = RULE;
	struct request *like, *request;
	struct grant grant;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_LEN(coverage); i++) {
		print_message("# %s\n", coverage[i].name);
		like = make(&coverage[i].like);
		request = make(&coverage[i].request);
		grant = (struct grant){.scope = coverage[i].scope,
			.duration = GRANT_SESSION,
			.rule = rule,
			.like = like};
		assert_int_equal(grant_covers(&grant, request, RULE, 1), coverage[i].covered);
		request_free(like);
		request_free(request);
	}
}

static const struct brief some_file = {.op = OP_READ, .path = "/d/f"};

static void another_rule_is_never_covered(void **state)
{
	_cleanup_(request_freep) struct request *request = make(&some_file);
	char rule[] = RULE;
	struct grant grant = {.duration = GRANT_SESSION, .rule = rule, .like = request};

	(void)state;
	assert_true(grant_covers(&grant, request, RULE, 1));
	assert_false(grant_covers(&grant, request, "base.policy:2", 1));
	assert_false(grant_covers(&grant, request, "", 1));
	assert_false(grant_covers(&grant, request, NULL, 1));
}

static void a_span_ends_at_its_deadline(void **state)
{
	_cleanup_(request_freep) struct request *request = make(&some_file);
	char rule[] = RULE;
	struct grant grant = {
		.duration = GRANT_SPAN, .deadline_usec = 100, .rule = rule, .like = request};

	(void)state;
	assert_true(grant_covers(&grant, request, RULE, 99));
	assert_false(grant_covers(&grant, request, RULE, 100));
	assert_false(grant_covers(&grant, request, RULE, UINT64_MAX));
	grant.deadline_usec = 0;
	assert_false(grant_covers(&grant, request, RULE, 1));
	grant.duration = GRANT_FOREVER;
	assert_true(grant_covers(&grant, request, RULE, UINT64_MAX));
}

static void a_session_grant_ends_with_its_session(void **state)
{
	_cleanup_(request_freep) struct request *like = make(&some_file);
	_cleanup_(request_freep) struct request *request = make(&some_file);
	char rule[] = RULE;
	struct grant grant = {.duration = GRANT_SESSION, .rule = rule, .like = like};

	(void)state;
	like->session = strdup("s1");
	request->session = strdup("s2");
	assert_false(grant_covers(&grant, request, RULE, 1));
	grant.duration = GRANT_FOREVER;
	assert_true(grant_covers(&grant, request, RULE, 1));
}

static void a_rename_to_another_end_or_by_another_interpreter_is_not_covered(void **state)
{
	static const struct brief rename = {.op = OP_RENAME, .path = "/d/f"};
	static const struct brief exec = {.op = OP_EXEC, .path = "/d/x", .args = "x"};
	_cleanup_(request_freep) struct request *like = make(&rename);
	_cleanup_(request_freep) struct request *request = make(&rename);
	_cleanup_(request_freep) struct request *script = make(&exec);
	_cleanup_(request_freep) struct request *other = make(&exec);
	char rule[] = RULE;
	struct grant grant = {.duration = GRANT_SESSION, .rule = rule, .like = like};

	(void)state;
	like->other = strdup("/d/g");
	request->other = strdup("/d/h");
	assert_false(grant_covers(&grant, request, RULE, 1));
	grant.like = script;
	grant.scope = GRANT_PROGRAM;
	assert_true(grant_covers(&grant, other, RULE, 1));
	other->interpreter = strdup("/tmp/sh");
	assert_false(grant_covers(&grant, other, RULE, 1));
}

#define S(scope) (1u << GRANT_##scope)

static void scopes_and_rule_texts_fit_the_request(void **state)
{
	static const struct {
		struct brief brief;
		unsigned scopes;
		enum grant_scope scope;
		const char *text;
	} cases[] = {
		{{.op = OP_READ, .path = "/d/f"}, S(EXACT) | S(DIR), GRANT_EXACT,
			"grant read \"/d/f\""},
		{{.op = OP_DELETE, .path = "/d/e/f"}, S(EXACT) | S(DIR), GRANT_DIR,
			"grant delete \"/d/e/**\""},
		{{.op = OP_READ, .path = "/f"}, S(EXACT), GRANT_EXACT, "grant read \"/f\""},
		{{.op = OP_READ, .path = "/a*\"\\\n\377"}, S(EXACT), GRANT_EXACT,
			"grant read \"/a\\x2a\\\"\\\\\\x0a\\xff\""},
		{{.op = OP_EXEC, .path = "/git", .args = "git push o"},
			S(EXACT) | S(SUBCOMMAND) | S(PROGRAM), GRANT_EXACT,
			"grant exec \"/git\" args \"push\" \"o\""},
		{{.op = OP_EXEC, .path = "/git", .args = "git -q push o"},
			S(EXACT) | S(SUBCOMMAND) | S(PROGRAM), GRANT_SUBCOMMAND,
			"grant exec \"/git\" args \"-q\" \"push\" ..."},
		{{.op = OP_EXEC, .path = "/git", .args = "git -v"}, S(EXACT) | S(PROGRAM),
			GRANT_PROGRAM, "grant exec \"/git\" args ..."},
		{{.op = OP_EXEC, .path = "/ls", .args = "ls"}, S(EXACT) | S(PROGRAM), GRANT_EXACT,
			"grant exec \"/ls\" args"},
		{{.op = OP_CONNECT, .host = "a.org", .port = 443}, S(EXACT) | S(HOST), GRANT_EXACT,
			"grant connect tcp \"a.org\" port 443"},
		{{.op = OP_LISTEN, .host = "127.0.0.1", .port = 80}, S(EXACT) | S(HOST), GRANT_HOST,
			"grant listen tcp \"127.0.0.1\" port any"},
		{{.op = OP_CONNECT, .proto = NET_UDP, .port = 53}, S(EXACT) | S(HOST), GRANT_EXACT,
			"grant connect udp \"::\" port 53"},
		{{.op = OP_CONNECT, .proto = NET_UNIX, .path = "/run/s"}, S(EXACT), GRANT_EXACT,
			"grant connect unix \"/run/s\""},
	};
	struct request *request;
	char *text;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_LEN(cases); i++) {
		request = make(&cases[i].brief);
		assert_int_equal(grant_scopes_for(request), cases[i].scopes);
		text = grant_rule_text(request, cases[i].scope);
		assert_string_equal(text, cases[i].text);
		free(text);
		request_free(request);
	}
}

static void json_round_trips(void **state)
{
	_cleanup_(json_decrefp) json_t *json = NULL;
	_cleanup_(grant_freep) struct grant *back = NULL;
	_cleanup_(request_freep) struct request *request = make(&some_file);
	char rule[] = "a\\b:1", id[] = "g7";
	struct grant grant = {.id = id,
		.scope = GRANT_DIR,
		.duration = GRANT_SPAN,
		.deadline_usec = 77,
		.rule = rule,
		.like = request};

	(void)state;
	json = grant_to_json(&grant);
	assert_int_equal(grant_from_json(json, &back), 0);
	assert_string_equal(back->id, id);
	assert_string_equal(back->rule, rule);
	assert_int_equal(back->scope, GRANT_DIR);
	assert_int_equal(back->duration, GRANT_SPAN);
	assert_int_equal(back->deadline_usec, 77);
	assert_true(request_same(back->like, request));
}

static void malformed_grants_are_refused(void **state)
{
	static const char *const keys[] = {
		"id", "scope", "duration", "deadline_usec", "rule", "like"};
	_cleanup_(request_freep) struct request *request = make(&some_file);
	char rule[] = RULE, id[] = "g7";
	struct grant grant = {.id = id, .rule = rule, .like = request};
	struct grant *back = NULL;
	json_t *json;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_LEN(keys); i++) {
		json = grant_to_json(&grant);
		json_object_del(json, keys[i]);
		assert_int_equal(grant_from_json(json, &back), -EBADMSG);
		json_object_set_new(json, keys[i], json_string("nonsense"));
		json_object_set_new(json, "unknown", json_true());
		assert_int_equal(grant_from_json(json, &back), -EBADMSG);
		json_decref(json);
	}
	assert_null(back);
}

static void names_of_scopes_read_back(void **state)
{
	enum grant_scope scope;
	unsigned i;

	(void)state;
	for (i = 0; i < _GRANT_SCOPE_N; i++) {
		assert_int_equal(
			grant_scope_from_name(grant_scope_name((enum grant_scope)i), &scope), 0);
		assert_int_equal(scope, i);
	}
	assert_int_equal(grant_scope_from_name("all", &scope), -EINVAL);
	assert_string_equal(grant_scope_name(_GRANT_SCOPE_N), "?");
	assert_string_equal(grant_duration_name(GRANT_SPAN), "span");
	assert_string_equal(grant_duration_name(_GRANT_DURATION_N), "?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_scope_covers_what_it_says_and_no_more),
		cmocka_unit_test(another_rule_is_never_covered),
		cmocka_unit_test(a_span_ends_at_its_deadline),
		cmocka_unit_test(a_session_grant_ends_with_its_session),
		cmocka_unit_test(a_rename_to_another_end_or_by_another_interpreter_is_not_covered),
		cmocka_unit_test(scopes_and_rule_texts_fit_the_request),
		cmocka_unit_test(json_round_trips),
		cmocka_unit_test(malformed_grants_are_refused),
		cmocka_unit_test(names_of_scopes_read_back),
	};

	return cmocka_run_group_tests_name("grant", tests, NULL, NULL);
}
