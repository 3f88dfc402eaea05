/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "policy-lang/parser.h"

#include <string.h>
#include <time.h>

#include "policy-lang/policy.h"
#include "supervisord/base/clock.h"
#include "supervisord/base/parse.h"

static int clause_except(struct parser *parser, struct ast_rule *rule)
{
	int r = parser_advance(parser);

	return r ? r : parse_targets(parser, &rule->excepts, "what is excepted (a string or @SET)");
}

static int clause_by(struct parser *parser, struct ast_rule *rule)
{
	int r = parser_advance(parser);

	return r ? r : parse_targets(parser, &rule->by, "a program (a string or @SET)");
}

static int clause_token(struct parser *parser, struct ast_rule *rule)
{
	struct ast_tokens clause = {.lacks = parser_at_word(parser, "lacks")};
	struct ast_tokens *tokens;
	int r;

	if (rule->ops != OP_MASK(OP_EXEC))
		return parser_error(parser, "\"%s\" speaks of arguments: it belongs to exec",
			parser->token.string.text);
	r = parser_advance(parser);
	if (!r)
		r = parser_take_alternatives(parser, "(an argument)", &clause.alternatives);
	if (r)
		return r;
	if (rule->n_tokens >= POLICY_ITEMS_MAX)
		return parser_error(parser, "more than %d clauses in one rule", POLICY_ITEMS_MAX);
	tokens = arena_grow(parser->arena, rule->tokens, rule->n_tokens, sizeof(*tokens));
	if (!tokens)
		return -ENOMEM;
	rule->tokens = tokens;
	rule->tokens[rule->n_tokens++] = clause;
	return 0;
}

static int ask_only(struct parser *parser, const struct ast_rule *rule)
{
	if (rule->kind == AST_ASK)
		return 0;
	return parser_error(parser, "\"%s\" belongs to ask rules only", parser->token.string.text);
}

static int take_span(struct parser *parser, uint64_t *usecp)
{
	if (parser->token.kind != TOKEN_SPAN)
		return parser_unexpected(parser, "a span such as 90s, 5m, 1h or 7d");
	if (parse_span(parser->token.string.text, usecp) < 0)
		return parser_error(parser, "a span is at least 1s and at most 3650d");
	return parser_advance(parser);
}

static int offer_span(struct parser *parser, struct ast_rule *rule)
{
	uint64_t *spans;
	uint64_t usec;
	int r = take_span(parser, &usec);

	if (r)
		return r;
	if (rule->n_spans >= 16)
		return parser_error(parser, "more than 16 spans offered");
	spans = arena_grow(parser->arena, rule->spans_usec, rule->n_spans, sizeof(*spans));
	if (!spans)
		return -ENOMEM;
	rule->spans_usec = spans;
	rule->spans_usec[rule->n_spans++] = usec;
	rule->durations |= 1u << GRANT_SPAN;
	return 0;
}

static int clause_offer(struct parser *parser, struct ast_rule *rule)
{
	static const char *const words[] = {"once", "session", "forever", NULL};
	static const enum grant_duration durations[] = {GRANT_ONCE, GRANT_SESSION, GRANT_FOREVER};
	int r = ask_only(parser, rule);

	if (r)
		return r;
	if (rule->has_offer)
		return parser_error(parser, "\"offer\" is given twice");
	rule->has_offer = true;
	do {
		size_t i;

		r = parser_advance(parser);
		if (r)
			return r;
		if (parser->token.kind == TOKEN_SPAN) {
			r = offer_span(parser, rule);
			if (r)
				return r;
			continue;
		}
		for (i = 0; words[i]; i++)
			if (parser_at_word(parser, words[i]))
				break;
		if (!words[i])
			return parser_unknown(parser, "once, session, forever or a span", words);
		rule->durations |= 1u << durations[i];
		r = parser_advance(parser);
		if (r)
			return r;
	} while (parser->token.kind == TOKEN_COMMA);
	return 0;
}

static int clause_scope(struct parser *parser, struct ast_rule *rule)
{
	static const char *const words[] = {"exact", "dir", "subcommand", "program", "host", NULL};
	unsigned fitting = 1u << GRANT_EXACT;
	int r = ask_only(parser, rule);

	if (r)
		return r;
	if (rule->ops & OP_MASK_FILE)
		fitting |= 1u << GRANT_DIR;
	if (rule->ops & OP_MASK(OP_EXEC))
		fitting |= 1u << GRANT_SUBCOMMAND | 1u << GRANT_PROGRAM;
	if (rule->protos & (1u << NET_TCP | 1u << NET_UDP))
		fitting |= 1u << GRANT_HOST;
	do {
		enum grant_scope scope;

		r = parser_advance(parser);
		if (r)
			return r;
		if (parser_at_word(parser, "domain"))
			return parser_error(
				parser, "the scope \"domain\" is not supported by this version");
		if (parser->token.kind != TOKEN_WORD ||
			grant_scope_from_name(parser->token.string.text, &scope) < 0)
			return parser_unknown(parser, "a scope", words);
		if (!(fitting & (1u << scope)))
			return parser_error(parser,
				"the scope \"%s\" has no meaning for this operation",
				grant_scope_name(scope));
		rule->scopes |= 1u << scope;
		r = parser_advance(parser);
		if (r)
			return r;
	} while (parser->token.kind == TOKEN_COMMA);
	return 0;
}

static int clause_timeout(struct parser *parser, struct ast_rule *rule)
{
	int r = ask_only(parser, rule);

	if (!r)
		r = parser_advance(parser);
	return r ? r : take_span(parser, &rule->timeout_usec);
}

/* "2026-01-31T12:34:56Z" */
static bool read_timestamp(const char *text, uint64_t *usecp)
{
	struct tm tm = {.tm_isdst = 0};
	struct tm check;
	const char *end = strptime(text, "%Y-%m-%dT%H:%M:%SZ", &tm);
	time_t seconds;

	if (!end || *end || strlen(text) != strlen("2026-01-31T12:34:56Z"))
		return false;
	check = tm;
	seconds = timegm(&tm);
	/* timegm() turns the 31st of April into the 1st of May. */
	if (seconds <= 0 || tm.tm_mday != check.tm_mday || tm.tm_mon != check.tm_mon)
		return false;
	*usecp = (uint64_t)seconds * USEC_PER_SEC;
	return true;
}

static int clause_until(struct parser *parser, struct ast_rule *rule)
{
	int r;

	if (rule->kind != AST_GRANT)
		return parser_error(parser, "\"until\" belongs to grants only");
	r = parser_advance(parser);
	if (r)
		return r;
	if (parser->token.kind != TOKEN_TIMESTAMP ||
		!read_timestamp(parser->token.string.text, &rule->until_usec))
		return parser_error(parser, "expected a time such as 2026-01-31T12:34:56Z");
	return parser_advance(parser);
}

static int clause_log(struct parser *parser, struct ast_rule *rule)
{
	static const char *const words[] = {"first", "each", NULL};
	int r = parser_advance(parser);

	if (r)
		return r;
	if (!parser_at_word(parser, "first") && !parser_at_word(parser, "each"))
		return parser_unknown(parser, "\"first\" or \"each\"", words);
	rule->has_log = true;
	rule->log_each = parser_at_word(parser, "each");
	return parser_advance(parser);
}

static int clause_because(struct parser *parser, struct ast_rule *rule)
{
	struct ast_string string;
	int r = parser_advance(parser);

	if (!r)
		r = parser_take_string(parser, "after \"because\"", &string);
	if (r)
		return r;
	if (!string.size)
		return parser_error_at(parser, string.line, string.column, "the reason is empty");
	rule->because = string.text;
	return 0;
}

static const struct {
	const char *word;
	int (*parse)(struct parser *parser, struct ast_rule *rule);
} clauses[] = {
	{"port", parse_ports_clause},
	{"except", clause_except},
	{"has", clause_token},
	{"lacks", clause_token},
	{"by", clause_by},
	{"offer", clause_offer},
	{"scope", clause_scope},
	{"timeout", clause_timeout},
	{"until", clause_until},
	{"log", clause_log},
	{"because", clause_because},
};

/* May this clause come twice? */
static bool repeats(const char *word)
{
	return !strcmp(word, "has") || !strcmp(word, "lacks");
}

static int unknown_clause(struct parser *parser)
{
	const char *words[ARRAY_LEN(clauses) + 2];
	size_t n = 0;

	for (; n < ARRAY_LEN(clauses); n++)
		words[n] = clauses[n].word;
	words[n++] = "args";
	words[n] = NULL;
	return parser_unknown(parser, "a clause or the end of the line", words);
}

int parse_clauses(struct parser *parser, struct ast_rule *rule)
{
	unsigned seen = 0;

	while (parser->token.kind != TOKEN_NEWLINE && parser->token.kind != TOKEN_END) {
		size_t i;
		int r;

		for (i = 0; i < ARRAY_LEN(clauses); i++)
			if (parser_at_word(parser, clauses[i].word))
				break;
		if (i == ARRAY_LEN(clauses))
			return unknown_clause(parser);
		if ((seen & (1u << i)) && !repeats(clauses[i].word))
			return parser_error(parser, "\"%s\" is given twice", clauses[i].word);
		seen |= 1u << i;
		r = clauses[i].parse(parser, rule);
		if (r)
			return r;
	}
	return 0;
}
