/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef POLICY_LANG_LEXER_H
#define POLICY_LANG_LEXER_H

/* The text of a policy as tokens. Every byte is accounted for: what is no token is an error with
 * its place. */

#include "policy-lang/ast.h"

enum token_kind {
	TOKEN_END, /* end of the text */
	TOKEN_NEWLINE,
	TOKEN_WORD,      /* letter { letter | digit | - | _ } */
	TOKEN_SET_NAME,  /* @NAME, text without the @ */
	TOKEN_STRING,    /* "..." */
	TOKEN_NUMBER,    /* digits */
	TOKEN_SPAN,      /* digits and one of s m h d */
	TOKEN_TIMESTAMP, /* 2026-01-31T12:34:56Z */
	TOKEN_BRACE_OPEN,
	TOKEN_BRACE_CLOSE,
	TOKEN_EQUALS,
	TOKEN_COMMA,
	TOKEN_BAR,
	TOKEN_COLON,
	TOKEN_DASH,
	TOKEN_STAR,
	TOKEN_DOTS,
	TOKEN_ERROR, /* a message was already given */
	TOKEN_NO_MEMORY,
};

struct token {
	enum token_kind kind;
	unsigned line, column;
	size_t start, end; /* byte offsets in the text */
	/* Decoded; for words, numbers and the like only text and size. line and column are set. */
	struct ast_string string;
};

struct lexer {
	const struct ast_policy *policy; /* text, size, file */
	struct arena *arena;
	struct diag_list *diags;
	size_t at;
	unsigned line, column;
};

void lexer_init(struct lexer *lexer, const struct ast_policy *policy, struct arena *arena,
	struct diag_list *diags);

/* The next token. After TOKEN_ERROR the lexer goes on behind the fault. */
void lexer_next(struct lexer *lexer, struct token *token);

/* Checks that the whole text is UTF-8 without NUL and other control characters; says where it is
 * not. */
bool lexer_check_bytes(struct lexer *lexer);

/* How KIND is called in a message. */
const char *token_kind_name(enum token_kind kind);

#endif
