/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef POLICY_LANG_PARSER_H
#define POLICY_LANG_PARSER_H

/* Recursive descent over the tokens of one policy file (GRAMMAR.md). A broken statement is reported
 * and skipped, so that one run shows several faults. */

#include "policy-lang/ast.h"
#include "policy-lang/lexer.h"

struct parser {
	struct lexer lexer;
	struct token token; /* the one to be read next */
	struct arena *arena;
	struct diag_list *diags;
	struct ast_policy *policy;
	bool reported; /* the current statement already has a message */
	size_t n_statements;
};

/* Fills POLICY (its file, text, size and layer are set; they must outlive it). All else is put into
 * ARENA. 0; POLICY_E_INVALID, with messages in DIAGS; -ENOMEM. */
int policy_parse(
	struct ast_policy *policy, struct arena *arena, struct diag_list *diags) _must_use_;

/* For the parts of the parser. Each returns 0; POLICY_E_INVALID after a message; -ENOMEM. */
int parser_advance(struct parser *parser) _must_use_;
int parser_expect(struct parser *parser, enum token_kind kind, const char *where) _must_use_;
/* Reads a string into *STRING. */
int parser_take_string(
	struct parser *parser, const char *where, struct ast_string *string) _must_use_;
/* Appends a string or a word to LIST. */
int parser_push_string(struct parser *parser, struct ast_strings *list,
	const struct ast_string *string) _must_use_;
/* STRING { "|" STRING } */
int parser_take_alternatives(
	struct parser *parser, const char *where, struct ast_strings *list) _must_use_;
bool parser_at_word(const struct parser *parser, const char *word);
/* A message at the current token; always POLICY_E_INVALID. */
int parser_error(struct parser *parser, const char *format, ...) _printf_(2, 3);
int parser_error_at(struct parser *parser, unsigned line, unsigned column, const char *format, ...)
	_printf_(4, 5);
/* "expected WHAT, found ..." */
int parser_unexpected(struct parser *parser, const char *what);
/* "unknown word X in WHERE", with the nearest of WORDS. */
int parser_unknown(struct parser *parser, const char *where, const char *const *words);
/* The source from byte START to the end of the last statement, on one line. NULL: no memory. */
const char *parser_statement_text(struct parser *parser, size_t start);

int parse_rule(struct parser *parser) _must_use_;
int parse_default(struct parser *parser) _must_use_;
int parse_test(struct parser *parser) _must_use_;
/* The clauses of a rule, up to the end of its line. */
int parse_clauses(struct parser *parser, struct ast_rule *rule) _must_use_;
/* "port" and what follows it. */
int parse_ports_clause(struct parser *parser, struct ast_rule *rule) _must_use_;
int parse_targets(struct parser *parser, struct ast_targets *targets, const char *where) _must_use_;
/* op { "," op }; with FILES_ONLY only file operations. *OPSP is a set of OP_MASK. */
int parse_ops(struct parser *parser, bool files_only, unsigned *opsp) _must_use_;

#endif
