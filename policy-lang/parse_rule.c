/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "policy-lang/parser.h"

#include <string.h>

#include "policy-lang/policy.h"
#include "supervisord/base/parse.h"

static const char *const op_words[] = {"read", "write", "create", "delete", "rename", "link",
	"chmod", "list", "exec", "connect", "listen", "env", NULL};
static const char *const statement_words[] = {"use", "set", "bin", "allow", "ask", "deny", "grant",
	"hide", "default", "test", "limit", "dns", "delegate", "for", NULL};

int parse_targets(struct parser *parser, struct ast_targets *targets, const char *where)
{
	do {
		struct ast_target *items;
		int r;

		if (parser->token.kind != TOKEN_STRING && parser->token.kind != TOKEN_SET_NAME)
			return parser_unexpected(parser, where);
		if (targets->n >= POLICY_ITEMS_MAX)
			return parser_error(
				parser, "more than %d targets in one rule", POLICY_ITEMS_MAX);
		items = arena_grow(parser->arena, targets->items, targets->n, sizeof(*items));
		if (!items)
			return -ENOMEM;
		targets->items = items;
		targets->items[targets->n++] = (struct ast_target){
			.is_set = parser->token.kind == TOKEN_SET_NAME,
			.string = parser->token.string,
		};
		r = parser_advance(parser);
		if (r)
			return r;
	} while (parser->token.kind == TOKEN_STRING || parser->token.kind == TOKEN_SET_NAME);
	if (parser->token.kind == TOKEN_COMMA)
		return parser_error(parser, "targets are separated by blanks, not commas");
	return 0;
}

int parse_ops(struct parser *parser, bool files_only, unsigned *opsp)
{
	*opsp = 0;
	for (;;) {
		enum op op;
		int r;

		if (parser->token.kind != TOKEN_WORD)
			return parser_unexpected(parser, "an operation");
		if (op_from_name(parser->token.string.text, &op) < 0)
			return parser_unknown(parser, "an operation", op_words);
		if (op == OP_SIGNAL)
			return parser_error(parser, "rules about signals are not supported by this "
						    "version: a session can "
						    "signal its own processes and no others");
		if (files_only && !(OP_MASK(op) & OP_MASK_FILE))
			return parser_error(parser,
				"\"%s\" stands in a rule of its own, not together with file "
				"operations",
				op_name(op));
		if (*opsp & OP_MASK(op))
			return parser_error(parser, "\"%s\" is named twice", op_name(op));
		*opsp |= OP_MASK(op);
		r = parser_advance(parser);
		if (r)
			return r;
		if (parser->token.kind != TOKEN_COMMA)
			return 0;
		r = parser_advance(parser);
		if (r)
			return r;
	}
}

static int parse_args(struct parser *parser, struct ast_rule *rule)
{
	int r = parser_advance(parser);

	rule->has_args = true;
	while (!r) {
		struct ast_argpat *args;
		struct ast_argpat arg = {.any = parser->token.kind == TOKEN_STAR};

		if (parser->token.kind == TOKEN_DOTS) {
			rule->args_open = true;
			return parser_advance(parser);
		}
		if (parser->token.kind != TOKEN_STRING && !arg.any)
			return 0;
		r = arg.any ? parser_advance(parser)
			    : parser_take_alternatives(parser, "(an argument)", &arg.alternatives);
		if (r)
			return r;
		if (rule->n_args >= POLICY_ITEMS_MAX)
			return parser_error(
				parser, "more than %d arguments in one rule", POLICY_ITEMS_MAX);
		args = arena_grow(parser->arena, rule->args, rule->n_args, sizeof(*args));
		if (!args)
			return -ENOMEM;
		rule->args = args;
		rule->args[rule->n_args++] = arg;
	}
	return r;
}

/* INT [ "-" INT ] */
static int parse_port(struct parser *parser, struct ast_ports *range)
{
	uint64_t low, high;
	int r;

	if (parser->token.kind != TOKEN_NUMBER)
		return parser_unexpected(parser, "a port number or \"any\"");
	if (parse_u64(parser->token.string.text, UINT16_MAX, &low) < 0 || !low)
		return parser_error(parser, "a port is a number from 1 to 65535");
	high = low;
	r = parser_advance(parser);
	if (!r && parser->token.kind == TOKEN_DASH) {
		r = parser_advance(parser);
		if (r)
			return r;
		if (parser->token.kind != TOKEN_NUMBER ||
			parse_u64(parser->token.string.text, UINT16_MAX, &high) < 0 || high < low)
			return parser_error(
				parser, "the range ends with a port number that is not lower");
		r = parser_advance(parser);
	}
	*range = (struct ast_ports){(uint16_t)low, (uint16_t)high};
	return r;
}

static int parse_ports(struct parser *parser, struct ast_rule *rule)
{
	int r;

	if (rule->has_ports)
		return parser_error(parser, "\"port\" is given twice");
	if (rule->protos & (1u << NET_UNIX))
		return parser_error(parser, "a unix socket has no port");
	r = parser_advance(parser);
	if (r)
		return r;
	rule->has_ports = true;
	if (parser_at_word(parser, "any"))
		return parser_advance(parser);
	for (;;) {
		struct ast_ports range, *ports;

		r = parse_port(parser, &range);
		if (r)
			return r;
		ports = arena_grow(parser->arena, rule->ports, rule->n_ports, sizeof(*ports));
		if (!ports)
			return -ENOMEM;
		rule->ports = ports;
		rule->ports[rule->n_ports++] = range;
		if (parser->token.kind != TOKEN_COMMA)
			return 0;
		r = parser_advance(parser);
		if (r)
			return r;
	}
}

static int parse_protos(struct parser *parser, struct ast_rule *rule)
{
	static const char *const words[] = {"tcp", "udp", "unix", NULL};

	for (;;) {
		enum net_proto proto;
		int r;

		if (parser->token.kind != TOKEN_WORD)
			return parser_unexpected(parser, "tcp, udp or unix");
		if (net_proto_from_name(parser->token.string.text, &proto) < 0)
			return parser_unknown(parser, "tcp, udp or unix", words);
		if (rule->protos & (1u << proto))
			return parser_error(parser, "\"%s\" is named twice", net_proto_name(proto));
		rule->protos |= 1u << proto;
		if ((rule->protos & (1u << NET_UNIX)) && rule->protos != 1u << NET_UNIX)
			return parser_error(parser, "unix sockets have paths, not addresses: give "
						    "them a rule of their own");
		r = parser_advance(parser);
		if (r)
			return r;
		if (parser->token.kind != TOKEN_COMMA)
			return 0;
		r = parser_advance(parser);
		if (r)
			return r;
	}
}

static int parse_object(struct parser *parser, struct ast_rule *rule)
{
	enum op op;
	int r;

	if (parser->token.kind == TOKEN_WORD && !op_from_name(parser->token.string.text, &op) &&
		!(OP_MASK(op) & OP_MASK_FILE) && op != OP_SIGNAL) {
		rule->ops = OP_MASK(op);
		r = parser_advance(parser);
		if (!r && parser->token.kind == TOKEN_COMMA)
			return parser_error(
				parser, "\"%s\" stands in a rule of its own", op_name(op));
		if (!r && op != OP_EXEC)
			r = parse_protos(parser, rule);
	} else {
		r = parse_ops(parser, true, &rule->ops);
	}
	if (r)
		return r;
	r = parse_targets(parser, &rule->targets, "a target (a string or @SET)");
	if (r)
		return r;
	if (rule->ops == OP_MASK(OP_EXEC) && parser_at_word(parser, "args"))
		return parse_args(parser, rule);
	return 0;
}

static int parse_env(struct parser *parser, const struct ast_rule *rule)
{
	struct ast_policy *policy = parser->policy;
	struct ast_env env = {
		.kind = rule->kind == AST_DENY ? AST_ENV_DENY : AST_ENV_ALLOW,
		.line = rule->line,
		.column = rule->column,
	};
	struct ast_env *envs;
	int r;

	if (rule->kind != AST_ALLOW && rule->kind != AST_DENY)
		return parser_error(
			parser, "a variable is allowed or denied; nothing else applies");
	if (rule->name)
		return parser_error(parser, "a rule about variables has no name");
	r = parser_advance(parser);
	if (!r && parser->token.kind != TOKEN_STRING)
		return parser_unexpected(parser, "the name of a variable, in quotes");
	while (!r && parser->token.kind == TOKEN_STRING) {
		r = parser_push_string(parser, &env.names, &parser->token.string);
		if (!r)
			r = parser_advance(parser);
	}
	if (r)
		return r;
	envs = arena_grow(parser->arena, policy->envs, policy->n_envs, sizeof(*envs));
	if (!envs)
		return -ENOMEM;
	policy->envs = envs;
	policy->envs[policy->n_envs++] = env;
	return 0;
}

/* [ NAME ":" ] and the verb. */
static int parse_rule_head(struct parser *parser, struct ast_rule *rule)
{
	static const char *const verbs[] = {"allow", "ask", "deny", "grant", "hide"};
	struct token first = parser->token;
	bool is_verb = false;
	int r;

	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		is_verb = is_verb || parser_at_word(parser, verbs[i]);
	if (!is_verb) {
		/* A name, or a misspelt word: what follows tells. */
		r = parser_advance(parser);
		if (r)
			return r;
		if (parser->token.kind != TOKEN_COLON) {
			parser->token = first;
			return parser_unknown(parser, "a statement", statement_words);
		}
		rule->name = first.string.text;
		r = parser_advance(parser);
		if (r)
			return r;
	}
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
		if (parser_at_word(parser, verbs[i])) {
			rule->kind = (enum ast_rule_kind)i;
			return parser_advance(parser);
		}
	}
	return parser_unknown(parser, "allow, ask, deny, grant or hide", statement_words);
}

int parse_rule(struct parser *parser)
{
	struct ast_policy *policy = parser->policy;
	struct ast_rule rule = {.line = parser->token.line, .column = parser->token.column};
	size_t start = parser->token.start;
	struct ast_rule *rules;
	int r;

	r = parse_rule_head(parser, &rule);
	if (r)
		return r;
	if (rule.kind != AST_HIDE && parser_at_word(parser, "env"))
		return parse_env(parser, &rule);
	if (rule.kind == AST_HIDE) {
		rule.ops = OP_MASK_FILE | OP_MASK(OP_EXEC);
		r = parse_targets(parser, &rule.targets, "what is hidden (a string or @SET)");
	} else {
		r = parse_object(parser, &rule);
	}
	if (!r)
		r = parse_clauses(parser, &rule);
	if (r)
		return r;
	rule.text = parser_statement_text(parser, start);
	rules = arena_grow(parser->arena, policy->rules, policy->n_rules, sizeof(*rules));
	if (!rules || !rule.text)
		return -ENOMEM;

	policy->rules = rules;
	policy->rules[policy->n_rules++] = rule;
	return 0;
}

int parse_default(struct parser *parser)
{
	static const char *const words[] = {"allow", "ask", "deny", "defer", NULL};
	struct ast_policy *policy = parser->policy;
	struct ast_default item = {.line = parser->token.line, .column = parser->token.column};
	size_t start = parser->token.start;
	struct ast_default *defaults;
	int r = parser_advance(parser);

	if (r)
		return r;
	item.defer = parser_at_word(parser, "defer");
	if (!item.defer &&
		(parser->token.kind != TOKEN_WORD ||
			verdict_from_name(parser->token.string.text, &item.verdict) < 0 ||
			item.verdict == VERDICT_HIDE))
		return parser_unknown(parser, "allow, ask, deny or defer", words);
	r = parser_advance(parser);
	if (!r)
		r = parse_ops(parser, false, &item.ops);
	if (r)
		return r;
	item.text = parser_statement_text(parser, start);
	defaults =
		arena_grow(parser->arena, policy->defaults, policy->n_defaults, sizeof(*defaults));
	if (!defaults || !item.text)
		return -ENOMEM;
	policy->defaults = defaults;
	policy->defaults[policy->n_defaults++] = item;
	return 0;
}

/* Called by parse_clauses() for the word "port". */
int parse_ports_clause(struct parser *parser, struct ast_rule *rule)
{
	if (!(rule->ops & (OP_MASK(OP_CONNECT) | OP_MASK(OP_LISTEN))))
		return parser_error(parser, "\"port\" belongs to connect and listen");
	return parse_ports(parser, rule);
}
