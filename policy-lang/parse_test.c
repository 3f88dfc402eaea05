/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "policy-lang/parser.h"

#include <string.h>

#include "policy-lang/policy.h"

static const char *const request_words[] = {"read", "write", "create", "delete", "rename", "link",
	"chmod", "list", "exec", "connect", "listen", "env", NULL};

static int push_current(struct parser *parser, struct ast_expect *expect)
{
	int r = parser_push_string(parser, &expect->words, &parser->token.string);

	return r ? r : parser_advance(parser);
}

/* proto STRING [ "port" INT ] */
static int expect_net(struct parser *parser, struct ast_expect *expect)
{
	int r;

	if (parser->token.kind != TOKEN_WORD)
		return parser_unexpected(parser, "tcp, udp or unix");
	r = push_current(parser, expect);
	if (r)
		return r;
	if (parser->token.kind != TOKEN_STRING)
		return parser_unexpected(parser, "an address or path, in quotes");
	r = push_current(parser, expect);
	if (r || !parser_at_word(parser, "port"))
		return r;
	r = push_current(parser, expect);
	if (r)
		return r;
	if (parser->token.kind != TOKEN_NUMBER)
		return parser_unexpected(parser, "a port number");
	return push_current(parser, expect);
}

static int expect_request(struct parser *parser, struct ast_expect *expect)
{
	enum op op;
	int r;

	expect->is_env = parser_at_word(parser, "env");
	if (!expect->is_env &&
		(parser->token.kind != TOKEN_WORD ||
			op_from_name(parser->token.string.text, &op) < 0 || op == OP_SIGNAL))
		return parser_unknown(parser, "an operation", request_words);
	if (expect->is_env) {
		r = parser_advance(parser);
		if (!r && parser->token.kind != TOKEN_STRING)
			return parser_unexpected(parser, "the name of a variable, in quotes");
		return r ? r : push_current(parser, expect);
	}
	r = push_current(parser, expect);
	if (r)
		return r;
	if (op == OP_CONNECT || op == OP_LISTEN)
		return expect_net(parser, expect);
	if (parser->token.kind != TOKEN_STRING)
		return parser_unexpected(parser, "a path, in quotes");
	do {
		r = push_current(parser, expect);
	} while (!r && op == OP_EXEC && parser->token.kind == TOKEN_STRING);
	return r;
}

/* "expect" verdict request [ "by" STRING ] NL */
static int parse_expect(struct parser *parser, struct ast_test *test)
{
	static const char *const verdicts[] = {"allow", "ask", "hide", "deny", NULL};
	static const char *const words[] = {"expect", NULL};
	struct ast_expect expect = {.line = parser->token.line, .column = parser->token.column};
	struct ast_expect *expects;
	int r;

	if (!parser_at_word(parser, "expect"))
		return parser_unknown(parser, "\"expect\" or \"}\"", words);
	r = parser_advance(parser);
	if (r)
		return r;
	if (parser->token.kind != TOKEN_WORD ||
		verdict_from_name(parser->token.string.text, &expect.verdict) < 0)
		return parser_unknown(parser, "a verdict", verdicts);
	r = parser_advance(parser);
	if (!r)
		r = expect_request(parser, &expect);
	if (!r && parser_at_word(parser, "by") && !expect.is_env) {
		expect.has_by = true;
		r = parser_advance(parser);
		if (!r)
			r = parser_take_string(parser, "after \"by\" (a program)", &expect.by);
	}
	if (r)
		return r;
	if (parser->token.kind != TOKEN_NEWLINE && parser->token.kind != TOKEN_BRACE_CLOSE)
		return parser_unexpected(parser, "the end of the line");
	if (test->n_expects >= POLICY_EXPECTS_MAX)
		return parser_error(
			parser, "more than %d lines in one test", (int)POLICY_EXPECTS_MAX);
	expects = arena_grow(parser->arena, test->expects, test->n_expects, sizeof(*expects));
	if (!expects)
		return -ENOMEM;
	test->expects = expects;
	test->expects[test->n_expects++] = expect;
	return 0;
}

int parse_test(struct parser *parser)
{
	struct ast_policy *policy = parser->policy;
	struct ast_test test = {.n_expects = 0};
	struct ast_test *tests;
	int r = parser_advance(parser);

	if (!r)
		r = parser_take_string(parser, "(the test's name)", &test.name);
	if (!r)
		r = parser_expect(parser, TOKEN_BRACE_OPEN, "after the test's name");
	while (!r && parser->token.kind != TOKEN_BRACE_CLOSE) {
		r = parser->token.kind == TOKEN_NEWLINE ? parser_advance(parser)
							: parse_expect(parser, &test);
	}
	if (!r)
		r = parser_expect(parser, TOKEN_BRACE_CLOSE, "at the end of the test");
	if (r)
		return r;
	if (!test.n_expects)
		return parser_error_at(parser, test.name.line, test.name.column,
			"the test \"%s\" expects nothing", test.name.text);
	tests = arena_grow(parser->arena, policy->tests, policy->n_tests, sizeof(*tests));
	if (!tests)
		return -ENOMEM;
	policy->tests = tests;
	policy->tests[policy->n_tests++] = test;
	return 0;
}
