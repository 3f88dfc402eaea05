/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "policy-lang/lexer.h"

#include <string.h>

#define SPECIAL_BYTES "\\*~$@"

void lexer_init(struct lexer *lexer, const struct ast_policy *policy, struct arena *arena,
	struct diag_list *diags)
{
	*lexer = (struct lexer){
		.policy = policy,
		.arena = arena,
		.diags = diags,
		.line = 1,
		.column = 1,
	};
}

static bool is_digit(int c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(int c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_name(int c)
{
	return is_letter(c) || is_digit(c) || c == '-' || c == '_';
}

/* The byte OFFSET behind the current one, or -1 past the end. */
static int peek(const struct lexer *lexer, size_t offset)
{
	if (lexer->at + offset >= lexer->policy->size)
		return -1;
	return (unsigned char)lexer->policy->text[lexer->at + offset];
}

static void advance(struct lexer *lexer)
{
	int c = peek(lexer, 0);

	if (c < 0)
		return;
	lexer->at++;
	if (c == '\n') {
		lexer->line++;
		lexer->column = 1;
	} else if ((c & 0xc0) != 0x80) {
		/* Columns count characters; of a sequence only the first byte counts, and the
		 * column is that of the next character. */
		lexer->column++;
	}
}

static void lexer_error(struct lexer *lexer, unsigned line, unsigned column, const char *message)
{
	ast_diag(lexer->diags, DIAG_ERROR, lexer->policy, line, column, "%s", message);
}

/* Length of the UTF-8 sequence at P, or 0 where there is none. */
static size_t utf8_length(const unsigned char *p, size_t size)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t length = p[0] < 0x80             ? 1
			: (p[0] & 0xe0) == 0xc0 ? 2
			: (p[0] & 0xf0) == 0xe0 ? 3
			: (p[0] & 0xf8) == 0xf0 ? 4
						: 0;
	uint32_t value;

	if (!length || length > size)
		return 0;
	if (length == 1)
		return 1;
	value = p[0] & (0x7fU >> length);
	for (size_t i = 1; i < length; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		value = value << 6 | (p[i] & 0x3fU);
	}
	if (value < least[length] || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
		return 0;
	return length;
}

static const char *byte_fault(const unsigned char *p, size_t left, size_t length)
{
	if (!length)
		return "this is not UTF-8; a policy is UTF-8 text, other bytes are written as "
		       "\\xHH";
	if (p[0] == '\0')
		return "a NUL byte; a policy is plain text";
	if (p[0] == '\r' && (left < 2 || p[1] != '\n'))
		return "a carriage return without a newline";
	if ((p[0] < 0x20 && p[0] != '\n' && p[0] != '\t' && p[0] != '\r') || p[0] == 0x7f)
		return "a control character; write it as \\xHH in a string";
	if (length == 2 && p[0] == 0xc2 && p[1] < 0xa0)
		return "a control character; write it as \\xHH in a string";
	if (length == 3 && !memcmp(p, "\xef\xbb\xbf", 3))
		return "a byte order mark; save the file as UTF-8 without it";
	/* U+200E, U+200F, U+202A..E, U+2066..9: text that reads differently than it is. */
	if (length == 3 && p[0] == 0xe2 &&
		((p[1] == 0x80 &&
			 (p[2] == 0x8e || p[2] == 0x8f || (p[2] >= 0xaa && p[2] <= 0xae))) ||
			(p[1] == 0x81 && p[2] >= 0xa6 && p[2] <= 0xa9)))
		return "a character that changes the direction of text; write it as \\xHH";
	return NULL;
}

bool lexer_check_bytes(struct lexer *lexer)
{
	const unsigned char *text = (const unsigned char *)lexer->policy->text;
	size_t size = lexer->policy->size;
	unsigned line = 1, column = 1;

	for (size_t i = 0; i < size;) {
		size_t length = utf8_length(text + i, size - i);
		const char *fault = byte_fault(text + i, size - i, length);

		if (fault) {
			lexer_error(lexer, line, column, fault);
			return false;
		}
		if (text[i] == '\n') {
			line++;
			column = 1;
		} else {
			column++;
		}
		i += length;
	}
	return true;
}

static int hex_value(int c)
{
	if (is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

struct string_buffer {
	char text[POLICY_STRING_MAX + 1];
	char glob[2 * POLICY_STRING_MAX + 1];
	size_t n_text, n_glob;
};

static bool string_put(struct string_buffer *buffer, char c, bool literal)
{
	if (buffer->n_text >= POLICY_STRING_MAX)
		return false;
	buffer->text[buffer->n_text++] = c;
	if (literal && strchr(SPECIAL_BYTES, c))
		buffer->glob[buffer->n_glob++] = '\\';
	buffer->glob[buffer->n_glob++] = c;
	return true;
}

/* Reads what follows a backslash. *CP is the byte. A message, or NULL. */
static const char *read_escape(struct lexer *lexer, char *cp)
{
	int c = peek(lexer, 0);

	if (c == '"' || c == '\\') {
		*cp = (char)c;
		advance(lexer);
		return NULL;
	}
	if (c == 'x') {
		int high = hex_value(peek(lexer, 1));
		int low = high < 0 ? -1 : hex_value(peek(lexer, 2));

		if (low < 0)
			return "\\x needs two hexadecimal digits";
		if (!high && !low)
			return "\\x00: no name holds a NUL byte";
		*cp = (char)(high * 16 + low);
		advance(lexer);
		advance(lexer);
		advance(lexer);
		return NULL;
	}
	return "an unknown escape; there are \\\" \\\\ and \\xHH";
}

/* Skips the rest of a broken string, so that one fault gives one message. */
static void skip_string(struct lexer *lexer)
{
	for (int c = peek(lexer, 0); c >= 0 && c != '\n'; c = peek(lexer, 0)) {
		advance(lexer);
		if (c == '"')
			return;
		if (c == '\\' && peek(lexer, 0) >= 0 && peek(lexer, 0) != '\n')
			advance(lexer);
	}
}

static enum token_kind read_string(struct lexer *lexer, struct token *token)
{
	struct string_buffer buffer = {.n_text = 0};

	advance(lexer);
	for (;;) {
		unsigned line = lexer->line, column = lexer->column;
		int c = peek(lexer, 0);
		const char *fault = NULL;
		bool literal = false;
		char byte = (char)c;

		if (c < 0 || c == '\n' || c == '\r') {
			lexer_error(lexer, token->line, token->column,
				"this string has no closing quote on its line");
			return TOKEN_ERROR;
		}
		advance(lexer);
		if (c == '"')
			break;
		if (c == '\\') {
			fault = read_escape(lexer, &byte);
			literal = true;
		}
		if (!fault && !string_put(&buffer, byte, literal))
			fault = "this string is too long (4096 bytes at most)";
		if (fault) {
			lexer_error(lexer, line, column, fault);
			skip_string(lexer);
			return TOKEN_ERROR;
		}
	}
	token->string.text = arena_copy(lexer->arena, buffer.text, buffer.n_text);
	token->string.glob = arena_copy(lexer->arena, buffer.glob, buffer.n_glob);
	token->string.size = buffer.n_text;
	if (!token->string.text || !token->string.glob)
		return TOKEN_NO_MEMORY;
	return TOKEN_STRING;
}

/* Sets the token's text to the bytes from START to here. */
static enum token_kind take_text(
	struct lexer *lexer, struct token *token, size_t start, enum token_kind kind)
{
	size_t size = lexer->at - start;

	if (size > POLICY_NAME_MAX) {
		lexer_error(lexer, token->line, token->column,
			"this word is too long (64 characters at most)");
		return TOKEN_ERROR;
	}
	token->string.text = arena_copy(lexer->arena, lexer->policy->text + start, size);
	token->string.glob = token->string.text;
	token->string.size = size;
	return token->string.text ? kind : TOKEN_NO_MEMORY;
}

static enum token_kind read_word(struct lexer *lexer, struct token *token)
{
	size_t start = lexer->at;

	while (is_name(peek(lexer, 0)))
		advance(lexer);
	return take_text(lexer, token, start, TOKEN_WORD);
}

static enum token_kind read_set_name(struct lexer *lexer, struct token *token)
{
	size_t start;

	advance(lexer);
	start = lexer->at;
	if (!is_letter(peek(lexer, 0))) {
		lexer_error(
			lexer, token->line, token->column, "@ is followed by the name of a set");
		return TOKEN_ERROR;
	}
	while (is_name(peek(lexer, 0)))
		advance(lexer);
	return take_text(lexer, token, start, TOKEN_SET_NAME);
}

/* Does the text here look like 2026-01-31T? */
static bool at_timestamp(const struct lexer *lexer)
{
	static const char form[] = "dddd-dd-ddT";

	for (size_t i = 0; form[i]; i++) {
		int c = peek(lexer, i);

		if (form[i] == 'd' ? !is_digit(c) : c != form[i])
			return false;
	}
	return true;
}

static enum token_kind read_number(struct lexer *lexer, struct token *token)
{
	size_t start = lexer->at;
	enum token_kind kind = TOKEN_NUMBER;

	if (at_timestamp(lexer)) {
		while (is_name(peek(lexer, 0)) || peek(lexer, 0) == ':')
			advance(lexer);
		return take_text(lexer, token, start, TOKEN_TIMESTAMP);
	}
	while (is_digit(peek(lexer, 0)))
		advance(lexer);
	if (is_letter(peek(lexer, 0))) {
		if (strchr("smhd", peek(lexer, 0)) && !is_name(peek(lexer, 1))) {
			advance(lexer);
			kind = TOKEN_SPAN;
		} else {
			while (is_name(peek(lexer, 0)))
				advance(lexer);
			lexer_error(lexer, token->line, token->column,
				"a number is digits; a span is digits and s, m, h or d");
			return TOKEN_ERROR;
		}
	}
	return take_text(lexer, token, start, kind);
}

static enum token_kind read_mark(struct lexer *lexer, struct token *token)
{
	static const struct {
		char c;
		enum token_kind kind;
	} marks[] = {
		{'\n', TOKEN_NEWLINE},
		{'{', TOKEN_BRACE_OPEN},
		{'}', TOKEN_BRACE_CLOSE},
		{'=', TOKEN_EQUALS},
		{',', TOKEN_COMMA},
		{'|', TOKEN_BAR},
		{':', TOKEN_COLON},
		{'-', TOKEN_DASH},
		{'*', TOKEN_STAR},
	};
	int c = peek(lexer, 0);

	if (c == '.' && peek(lexer, 1) == '.' && peek(lexer, 2) == '.') {
		advance(lexer);
		advance(lexer);
		advance(lexer);
		return TOKEN_DOTS;
	}
	for (size_t i = 0; i < ARRAY_LEN(marks); i++) {
		if (c == marks[i].c) {
			advance(lexer);
			return marks[i].kind;
		}
	}
	lexer_error(lexer, token->line, token->column,
		c == '\''                          ? "strings stand in double quotes"
		: c == '/' || c == '~' || c == '$' ? "a path stands in double quotes"
						   : "this character means nothing here");
	advance(lexer);
	while ((peek(lexer, 0) & 0xc0) == 0x80 && peek(lexer, 0) >= 0)
		advance(lexer);
	return TOKEN_ERROR;
}

static void skip_blanks(struct lexer *lexer)
{
	for (;;) {
		int c = peek(lexer, 0);

		if (c == '#') {
			while (peek(lexer, 0) >= 0 && peek(lexer, 0) != '\n')
				advance(lexer);
		} else if (c == ' ' || c == '\t' || (c == '\r' && peek(lexer, 1) == '\n')) {
			advance(lexer);
		} else {
			return;
		}
	}
}

void lexer_next(struct lexer *lexer, struct token *token)
{
	int c;

	skip_blanks(lexer);
	c = peek(lexer, 0);
	*token = (struct token){
		.line = lexer->line,
		.column = lexer->column,
		.start = lexer->at,
		.string = {.line = lexer->line, .column = lexer->column, .text = "", .glob = ""},
	};
	if (c < 0)
		token->kind = TOKEN_END;
	else if (c == '"')
		token->kind = read_string(lexer, token);
	else if (c == '@')
		token->kind = read_set_name(lexer, token);
	else if (is_letter(c))
		token->kind = read_word(lexer, token);
	else if (is_digit(c))
		token->kind = read_number(lexer, token);
	else
		token->kind = read_mark(lexer, token);
	token->end = lexer->at;
}

const char *token_kind_name(enum token_kind kind)
{
	static const char *const names[] = {
		[TOKEN_END] = "the end of the file",
		[TOKEN_NEWLINE] = "the end of the line",
		[TOKEN_WORD] = "a word",
		[TOKEN_SET_NAME] = "the name of a set",
		[TOKEN_STRING] = "a string",
		[TOKEN_NUMBER] = "a number",
		[TOKEN_SPAN] = "a span",
		[TOKEN_TIMESTAMP] = "a time",
		[TOKEN_BRACE_OPEN] = "\"{\"",
		[TOKEN_BRACE_CLOSE] = "\"}\"",
		[TOKEN_EQUALS] = "\"=\"",
		[TOKEN_COMMA] = "\",\"",
		[TOKEN_BAR] = "\"|\"",
		[TOKEN_COLON] = "\":\"",
		[TOKEN_DASH] = "\"-\"",
		[TOKEN_STAR] = "\"*\"",
		[TOKEN_DOTS] = "\"...\"",
		[TOKEN_ERROR] = "an error",
		[TOKEN_NO_MEMORY] = "an error",
	};

	return names[kind];
}
