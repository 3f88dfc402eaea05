/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "policy-lang/parser.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "policy-lang/policy.h"
#include "policy-lang/suggest.h"
#include "supervisord/base/parse.h"

int parser_error_at(struct parser *parser, unsigned line, unsigned column, const char *format, ...)
{
	_cleanup_(freep) char *message = NULL;
	va_list args;
	int n;

	if (parser->reported)
		return POLICY_E_INVALID;
	va_start(args, format);
	n = vasprintf(&message, format, args);
	va_end(args);
	if (n < 0) {
		message = NULL;
		return -ENOMEM;
	}
	parser->reported = true;
	ast_diag(parser->diags, DIAG_ERROR, parser->policy, line, column, "%s", message);
	return POLICY_E_INVALID;
}

int parser_error(struct parser *parser, const char *format, ...)
{
	_cleanup_(freep) char *message = NULL;
	va_list args;
	int n;

	va_start(args, format);
	n = vasprintf(&message, format, args);
	va_end(args);
	if (n < 0) {
		message = NULL;
		return -ENOMEM;
	}
	return parser_error_at(parser, parser->token.line, parser->token.column, "%s", message);
}

int parser_unexpected(struct parser *parser, const char *what)
{
	const struct token *token = &parser->token;

	if (token->kind == TOKEN_WORD)
		return parser_error(
			parser, "expected %s, found the word \"%s\"", what, token->string.text);
	return parser_error(parser, "expected %s, found %s", what, token_kind_name(token->kind));
}

int parser_unknown(struct parser *parser, const char *where, const char *const *words)
{
	const char *word = parser->token.string.text;
	const char *near;

	if (parser->token.kind != TOKEN_WORD)
		return parser_unexpected(parser, where);
	near = suggest_word(word, words);
	if (near)
		return parser_error(parser,
			"unknown word \"%s\" where %s is expected; did you mean \"%s\"?", word,
			where, near);
	return parser_error(parser, "unknown word \"%s\" where %s is expected", word, where);
}

int parser_advance(struct parser *parser)
{
	lexer_next(&parser->lexer, &parser->token);
	if (parser->token.kind == TOKEN_NO_MEMORY)
		return -ENOMEM;
	if (parser->token.kind == TOKEN_ERROR) {
		parser->reported = true;
		return POLICY_E_INVALID;
	}
	return 0;
}

int parser_expect(struct parser *parser, enum token_kind kind, const char *where)
{
	if (parser->token.kind != kind) {
		_cleanup_(freep) char *what = NULL;

		if (asprintf(&what, "%s %s", token_kind_name(kind), where) < 0) {
			what = NULL;
			return -ENOMEM;
		}
		return parser_unexpected(parser, what);
	}
	return parser_advance(parser);
}

bool parser_at_word(const struct parser *parser, const char *word)
{
	return parser->token.kind == TOKEN_WORD && !strcmp(parser->token.string.text, word);
}

int parser_take_string(struct parser *parser, const char *where, struct ast_string *string)
{
	if (parser->token.kind != TOKEN_STRING)
		return parser_expect(parser, TOKEN_STRING, where);
	*string = parser->token.string;
	return parser_advance(parser);
}

int parser_push_string(
	struct parser *parser, struct ast_strings *list, const struct ast_string *string)
{
	struct ast_string *items;

	if (list->n >= POLICY_ITEMS_MAX)
		return parser_error(
			parser, "more than %d items in one list", (int)POLICY_ITEMS_MAX);
	items = arena_grow(parser->arena, list->items, list->n, sizeof(*items));
	if (!items)
		return -ENOMEM;
	list->items = items;
	list->items[list->n++] = *string;
	return 0;
}

int parser_take_alternatives(struct parser *parser, const char *where, struct ast_strings *list)
{
	for (;;) {
		struct ast_string string;
		int r;

		r = parser_take_string(parser, where, &string);
		if (r)
			return r;
		r = parser_push_string(parser, list, &string);
		if (r)
			return r;
		if (parser->token.kind != TOKEN_BAR)
			return 0;
		r = parser_advance(parser);
		if (r)
			return r;
	}
}

const char *parser_statement_text(struct parser *parser, size_t start)
{
	const char *text = parser->policy->text;
	size_t end = parser->token.start;
	bool in_string = false, blank = false;
	char *line = arena_alloc(parser->arena, end - start + 1);
	size_t n = 0;

	if (!line)
		return NULL;
	for (size_t i = start; i < end; i++) {
		char c = text[i];

		if (in_string && c == '\\' && i + 1 < end) {
			line[n++] = c;
			c = text[++i];
		} else if (c == '"') {
			in_string = !in_string;
		} else if (!in_string && c == '#') {
			while (i < end && text[i] != '\n')
				i++;
			blank = true;
			continue;
		} else if (!in_string && (c == ' ' || c == '\t' || c == '\n' || c == '\r')) {
			blank = true;
			continue;
		}
		if (blank && n)
			line[n++] = ' ';
		blank = false;
		line[n++] = c;
	}
	line[n] = '\0';
	return line;
}

/* Reads up to the end of the statement after a fault: to the end of the line, or behind the brace
 * that closes what the statement opened. */
static int parser_recover(struct parser *parser, unsigned depth)
{
	for (;;) {
		enum token_kind kind = parser->token.kind;

		if (kind == TOKEN_END)
			return 0;
		if (kind == TOKEN_BRACE_OPEN)
			depth++;
		else if (kind == TOKEN_BRACE_CLOSE && depth)
			depth--;
		else if (kind == TOKEN_NEWLINE && !depth)
			return 0;
		if (parser_advance(parser) == -ENOMEM)
			return -ENOMEM;
	}
}

/* How many braces are open between START and the current token. A '{' that belongs to a statement
 * stands on its line; a newline before any brace means that none is open. */
static unsigned open_braces(const struct parser *parser, size_t start)
{
	const char *text = parser->policy->text;
	unsigned depth = 0;
	bool in_string = false;

	for (size_t i = start; i < parser->token.start; i++) {
		if (text[i] == '\n')
			in_string = false;
		if (in_string && text[i] == '\\')
			i++;
		else if (text[i] == '"')
			in_string = !in_string;
		else if (!in_string && text[i] == '#')
			while (i + 1 < parser->token.start && text[i + 1] != '\n')
				i++;
		else if (!in_string && text[i] == '{')
			depth++;
		else if (!in_string && text[i] == '}' && depth)
			depth--;
	}
	return depth;
}

static int skip_newlines(struct parser *parser)
{
	while (parser->token.kind == TOKEN_NEWLINE) {
		int r = parser_advance(parser);

		if (r)
			return r;
	}
	return 0;
}

static int parse_use(struct parser *parser)
{
	int r = parser_advance(parser);

	while (!r) {
		struct ast_string string;

		r = parser_take_string(
			parser, "after \"use\" (the name of a shipped policy)", &string);
		if (!r)
			r = parser_push_string(parser, &parser->policy->uses, &string);
		if (r || parser->token.kind != TOKEN_COMMA)
			return r;
		r = parser_advance(parser);
	}
	return r;
}

/* "{" STRING { STRING } "}" */
static int parse_members(struct parser *parser, struct ast_set *set)
{
	int r = parser_expect(parser, TOKEN_EQUALS, "after the name of the set");

	if (!r)
		r = parser_expect(parser, TOKEN_BRACE_OPEN, "after \"=\"");
	if (!r)
		r = skip_newlines(parser);
	while (!r && parser->token.kind == TOKEN_STRING) {
		r = parser_push_string(parser, &set->members, &parser->token.string);
		if (!r)
			r = parser_advance(parser);
		if (!r)
			r = skip_newlines(parser);
	}
	if (r)
		return r;
	if (parser->token.kind == TOKEN_SET_NAME)
		return parser_error(parser, "a set holds strings, not other sets");
	if (parser->token.kind == TOKEN_COMMA)
		return parser_error(parser, "members of a set are separated by blanks, not commas");
	r = parser_expect(parser, TOKEN_BRACE_CLOSE, "at the end of the set");
	if (!r && !set->members.n)
		return parser_error_at(parser, set->name.line, set->name.column,
			"the set \"%s\" is empty; remove it or say what it holds", set->name.text);
	return r;
}

static int parse_set_env(struct parser *parser, unsigned line, unsigned column)
{
	struct ast_policy *policy = parser->policy;
	struct ast_env env = {.kind = AST_ENV_SET, .line = line, .column = column};
	struct ast_env *envs;
	int r;

	if (parser->token.kind != TOKEN_WORD)
		return parser_unexpected(parser, "the name of a variable");
	r = parser_push_string(parser, &env.names, &parser->token.string);
	if (!r)
		r = parser_advance(parser);
	if (!r)
		r = parser_take_string(parser, "(the value of the variable)", &env.value);
	if (r)
		return r;
	envs = arena_grow(parser->arena, policy->envs, policy->n_envs, sizeof(*envs));
	if (!envs)
		return -ENOMEM;
	policy->envs = envs;
	policy->envs[policy->n_envs++] = env;
	return 0;
}

static int parse_set(struct parser *parser, bool is_bin)
{
	struct ast_policy *policy = parser->policy;
	unsigned line = parser->token.line, column = parser->token.column;
	struct ast_set set = {.is_bin = is_bin};
	struct ast_set *sets;
	int r = parser_advance(parser);

	if (r)
		return r;
	if (parser->token.kind != TOKEN_WORD)
		return parser_unexpected(parser, "the name of a set");
	set.name = parser->token.string;
	r = parser_advance(parser);
	if (r)
		return r;
	if (!is_bin && !strcmp(set.name.text, "env") && parser->token.kind != TOKEN_EQUALS)
		return parse_set_env(parser, line, column);
	r = parse_members(parser, &set);
	if (r)
		return r;
	if (ast_find_set(policy, set.name.text))
		return parser_error_at(parser, set.name.line, set.name.column,
			"there already is a set \"%s\", at line %u", set.name.text,
			ast_find_set(policy, set.name.text)->name.line);
	sets = arena_grow(parser->arena, policy->sets, policy->n_sets, sizeof(*sets));
	if (!sets)
		return -ENOMEM;
	policy->sets = sets;
	policy->sets[policy->n_sets++] = set;
	return 0;
}

static int parse_statement(struct parser *parser)
{
	static const struct {
		const char *word, *reason;
	} later[] = {
		{"limit", "resource limits"},
		{"dns", "name service settings"},
		{"delegate", "delegation"},
		{"for", "sections for one agent"},
	};

	for (size_t i = 0; i < ARRAY_LEN(later); i++)
		if (parser_at_word(parser, later[i].word))
			return parser_error(parser,
				"\"%s\" (%s) is not supported by this version, and a statement "
				"that "
				"is not enforced is not accepted",
				later[i].word, later[i].reason);
	if (parser_at_word(parser, "policy"))
		return parser_error(parser, "\"policy\" stands once, at the top of the file");
	if (parser_at_word(parser, "use"))
		return parse_use(parser);
	if (parser_at_word(parser, "set"))
		return parse_set(parser, false);
	if (parser_at_word(parser, "bin"))
		return parse_set(parser, true);
	if (parser_at_word(parser, "default"))
		return parse_default(parser);
	if (parser_at_word(parser, "test"))
		return parse_test(parser);
	if (parser_at_word(parser, "env"))
		return parser_error(parser,
			"write `allow env ...`, `deny env ...` or `set env NAME \"value\"`");
	if (parser->token.kind == TOKEN_WORD)
		return parse_rule(parser);
	return parser_unexpected(parser, "a statement");
}

static int check_header(struct parser *parser, const struct token *layer, const struct token *lang)
{
	struct ast_policy *policy = parser->policy;
	enum policy_layer found;
	uint64_t version;

	if (parse_u64(lang->string.text, UINT32_MAX, &version) < 0 || !version)
		return parser_error_at(parser, lang->line, lang->column,
			"the language version is a number from 1 on");
	if (version > POLICY_LANG_VERSION)
		return parser_error_at(parser, lang->line, lang->column,
			"this file is written in version %s of the language; this program reads "
			"version %d: a newer agent-supervisor is needed",
			lang->string.text, POLICY_LANG_VERSION);
	if (policy_layer_from_name(layer->string.text, &found) < 0 || found == LAYER_SESSION)
		return parser_error_at(parser, layer->line, layer->column,
			"unknown layer \"%s\"; there are builtin, org, user and project",
			layer->string.text);
	if (found != policy->layer)
		return parser_error_at(parser, layer->line, layer->column,
			"this file says layer %s, but it is read as layer %s", layer->string.text,
			policy_layer_name(policy->layer));
	return 0;
}

/* "policy" STRING "lang" INT "layer" WORD */
static int parse_header(struct parser *parser)
{
	struct token lang, layer;
	int r = parser_advance(parser);

	if (!r)
		r = skip_newlines(parser);
	if (r)
		return r;
	if (parser->token.kind == TOKEN_END)
		return parser_error_at(parser, 0, 0,
			"the file holds no policy; it begins with: policy \"NAME\" lang %d layer "
			"%s",
			POLICY_LANG_VERSION, policy_layer_name(parser->policy->layer));
	if (!parser_at_word(parser, "policy"))
		return parser_error(parser,
			"no policy header; a file begins with: policy \"NAME\" lang %d layer %s",
			POLICY_LANG_VERSION, policy_layer_name(parser->policy->layer));
	r = parser_advance(parser);
	if (!r)
		r = parser_take_string(parser, "(the policy's name)", &parser->policy->name);
	if (r)
		return r;
	if (!parser_at_word(parser, "lang"))
		return parser_unexpected(parser, "\"lang\"");
	r = parser_advance(parser);
	lang = parser->token;
	if (!r)
		r = parser_expect(parser, TOKEN_NUMBER, "after \"lang\"");
	if (r)
		return r;
	if (!parser_at_word(parser, "layer"))
		return parser_unexpected(parser, "\"layer\"");
	r = parser_advance(parser);
	layer = parser->token;
	if (!r)
		r = parser_expect(parser, TOKEN_WORD, "after \"layer\"");
	return r ? r : check_header(parser, &layer, &lang);
}

static int end_of_statement(struct parser *parser)
{
	if (parser->token.kind == TOKEN_END || parser->token.kind == TOKEN_NEWLINE)
		return 0;
	return parser_unexpected(parser, "the end of the line");
}

/* One statement and the faults in it. *FAULTP is set when there were any. */
static int parse_one(struct parser *parser, bool *faultp)
{
	size_t start = parser->token.start;
	int r;

	parser->reported = false;
	r = parser->token.kind == TOKEN_ERROR ? POLICY_E_INVALID : parse_statement(parser);
	if (!r)
		r = end_of_statement(parser);
	if (!r && ++parser->n_statements > POLICY_STATEMENTS_MAX)
		r = parser_error(
			parser, "more than %d statements in one file", POLICY_STATEMENTS_MAX);
	if (r == -ENOMEM)
		return r;
	if (!r)
		return 0;
	*faultp = true;
	return parser_recover(parser, open_braces(parser, start));
}

int policy_parse(struct ast_policy *policy, struct arena *arena, struct diag_list *diags)
{
	struct parser parser = {.arena = arena, .diags = diags, .policy = policy};
	bool fault = false;
	int r;

	lexer_init(&parser.lexer, policy, arena, diags);
	if (!lexer_check_bytes(&parser.lexer))
		return POLICY_E_INVALID;
	r = parse_header(&parser);
	if (!r)
		r = end_of_statement(&parser);
	if (r)
		return r;
	while (parser.token.kind != TOKEN_END) {
		if (parser.token.kind == TOKEN_NEWLINE) {
			/* A token that is no token is reported here and handled as a statement. */
			if (parser_advance(&parser) == -ENOMEM)
				return -ENOMEM;
			continue;
		}
		r = parse_one(&parser, &fault);
		if (r)
			return r;
		if (parser.n_statements > POLICY_STATEMENTS_MAX)
			return POLICY_E_INVALID;
	}
	return fault ? POLICY_E_INVALID : 0;
}
