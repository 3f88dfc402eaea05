/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "policy-lang/eval.h"

#include <string.h>

#include "supervisord/base/clock.h"

/* What a decision MUST be:
 *
 * 1. the same for every order of rules and files;
 * 2. deny where the request cannot be understood;
 * 3. never looser because a name could not be matched: rules that narrow match every name that the
 *    request gives for the object, rules that widen match its resolved name alone;
 * 4. free of allocation and of writes to anything shared: several threads ask at once. */

static bool is_net(const struct request *request)
{
	return request->op == OP_CONNECT || request->op == OP_LISTEN;
}

bool query_init(struct query *query, struct query_views *views, const struct request *request,
	bool interpreter)
{
	*query = (struct query){.request = request};
	if (request->program) {
		path_view_init(&views->program, request->program);
		query->program = views->program.bad ? NULL : &views->program;
	}
	if (is_net(request) && request->proto != NET_UNIX) {
		host_view_init(&query->host, request->host, request->addr);
		return query->host.name || query->host.has_addr;
	}
	path_view_init(&views->path, interpreter ? request->interpreter : request->path);
	if (views->path.bad || views->path.dots)
		return false;
	query->path = &views->path;
	if (interpreter)
		query->script = request->path;
	if (interpreter || !request->alias)
		return true;
	path_view_init(&views->alias, request->alias);
	query->alias = &views->alias;
	return !views->alias.bad;
}

static const struct path_pattern *find_path(const struct names *names, const struct path_view *view)
{
	for (size_t i = 0; i < names->n_paths; i++)
		if (path_pattern_match(names->paths[i], view))
			return names->paths[i];
	return NULL;
}

/* Does the rule speak of this one name? */
static bool match_path(const struct rule *rule, const struct path_view *view, size_t *weightp)
{
	const struct path_pattern *pattern = find_path(&rule->targets, view);

	if (!pattern || find_path(&rule->excepts, view))
		return false;
	*weightp = pattern->prefix_size;
	return true;
}

static bool find_host(const struct names *names, const struct host_view *view, bool strict)
{
	for (size_t i = 0; i < names->n_hosts; i++)
		if (host_pattern_match(names->hosts[i], view, strict))
			return true;
	return false;
}

static bool match_object(const struct rule *rule, const struct query *query, size_t *weightp)
{
	bool strict = rule_is_strict(rule);

	if (!query->path) {
		*weightp = 0;
		return find_host(&rule->targets, &query->host, strict) &&
		       !find_host(&rule->excepts, &query->host, !strict);
	}
	if (strict)
		return match_path(rule, query->path, weightp) ||
		       (query->alias && match_path(rule, query->alias, weightp));
	/* What a widening rule excepts, it excepts under any name. */
	return match_path(rule, query->path, weightp) &&
	       !(query->alias && find_path(&rule->excepts, query->alias));
}

static bool match_port(const struct rule *rule, const struct request *request)
{
	const struct ast_rule *source = rule->source;

	if (!source || !source->n_ports)
		return true;
	for (size_t i = 0; i < source->n_ports; i++)
		if (request->port >= source->ports[i].low && request->port <= source->ports[i].high)
			return true;
	return false;
}

static size_t count_args(const struct query *query)
{
	size_t n = query->request->n_argv;

	return (n ? n - 1 : 0) + (query->script ? 1 : 0);
}

static const char *get_arg(const struct query *query, size_t i)
{
	if (query->script && i-- == 0)
		return query->script;
	return query->request->argv[i + 1];
}

static bool is_one_of(const struct ast_strings *alternatives, const char *token)
{
	for (size_t i = 0; i < alternatives->n; i++)
		if (!strcmp(alternatives->items[i].text, token))
			return true;
	return false;
}

static bool has_token(const struct query *query, const struct ast_strings *alternatives)
{
	size_t n = count_args(query);

	for (size_t i = 0; i < n; i++)
		if (is_one_of(alternatives, get_arg(query, i)))
			return true;
	return false;
}

static bool match_argv(const struct ast_rule *source, const struct query *query)
{
	size_t n = count_args(query);

	for (size_t i = 0; i < source->n_tokens; i++)
		if (has_token(query, &source->tokens[i].alternatives) == source->tokens[i].lacks)
			return false;
	if (!source->has_args)
		return true;
	if (n < source->n_args || (n > source->n_args && !source->args_open))
		return false;
	for (size_t i = 0; i < source->n_args; i++)
		if (!source->args[i].any &&
			!is_one_of(&source->args[i].alternatives, get_arg(query, i)))
			return false;
	return true;
}

static bool match_program(const struct rule *rule, const struct query *query)
{
	if (!rule->by.n_paths)
		return true;
	/* A program that is not known could be the one that a narrowing rule means. */
	if (!query->program)
		return rule_is_strict(rule);
	return find_path(&rule->by, query->program);
}

bool rule_match(const struct rule *rule, const struct query *query, size_t *weightp)
{
	const struct request *request = query->request;

	if (is_net(request) && !(rule->protos & (1u << request->proto)))
		return false;
	if (rule->repo && request->fresh_repo)
		return false;
	if (!match_object(rule, query, weightp) || !match_program(rule, query))
		return false;
	if (is_net(request))
		return match_port(rule, request);
	return request->op != OP_EXEC || !rule->source || match_argv(rule->source, query);
}

static bool is_inside(const struct path_pattern *pattern, const struct names *names)
{
	for (size_t i = 0; i < names->n_paths; i++)
		if (path_pattern_includes(names->paths[i], pattern))
			return true;
	return false;
}

static bool host_is_inside(const struct host_pattern *pattern, const struct names *names)
{
	for (size_t i = 0; i < names->n_hosts; i++)
		if (host_pattern_includes(names->hosts[i], pattern))
			return true;
	return false;
}

/* Does a target by which RULE speaks of this object name only things that the builtin one names
 * too? Then it was written in the face of it. The other targets of the rule say nothing here: each
 * stands for a rule of its own. */
static bool names_inside(
	const struct rule *rule, const struct rule *builtin, const struct query *query)
{
	bool strict = rule_is_strict(rule);

	for (size_t i = 0; i < rule->targets.n_paths; i++) {
		const struct path_pattern *pattern = rule->targets.paths[i];

		if (((query->path && path_pattern_match(pattern, query->path)) ||
			    (strict && query->alias &&
				    path_pattern_match(pattern, query->alias))) &&
			is_inside(pattern, &builtin->targets))
			return true;
	}
	for (size_t i = 0; i < rule->targets.n_hosts; i++)
		if (!query->path &&
			host_pattern_match(rule->targets.hosts[i], &query->host, strict) &&
			host_is_inside(rule->targets.hosts[i], &builtin->targets))
			return true;
	return false;
}

bool rule_is_lifted(
	const struct compiled *compiled, const struct rule *rule, const struct query *query)
{
	const struct rule_list *list = &compiled->lists[query->request->op];

	if (rule->info.layer != LAYER_BUILTIN || rule->hard || compiled->has_org ||
		!rule_is_strict(rule))
		return false;
	for (size_t i = 0; i < list->n_user; i++) {
		const struct rule *user = list->items[i];
		size_t weight;

		/* A user's question takes the place of a builtin one: what it offers counts. */
		bool same_ask =
			user->info.verdict == VERDICT_ASK && rule->info.verdict == VERDICT_ASK;

		if (user->grant || (user->info.verdict >= rule->info.verdict && !same_ask) ||
			!rule_match(user, query, &weight))
			continue;
		if (rule->info.verdict == VERDICT_ASK || names_inside(user, rule, query))
			return true;
	}
	return false;
}

struct answer {
	const struct rule *rule; /* NULL = nothing speaks yet */
	size_t weight;
	const struct rule *grant;
	unsigned offered; /* durations that every asking rule offers */
	bool org_spoke;
	bool user_spoke;
};

static int layer_rank(enum policy_layer layer)
{
	static const int ranks[_LAYER_N] = {
		[LAYER_ORG] = 4, [LAYER_USER] = 3, [LAYER_BUILTIN] = 2, [LAYER_PROJECT] = 1};

	return ranks[layer];
}

/* Of two rules that give the same verdict, which one speaks? Whatever the answer, it depends on the
 * rules alone and not on their order. */
static bool speaks_before(
	const struct rule *a, size_t a_weight, const struct rule *b, size_t b_weight)
{
	int rank = layer_rank(a->info.layer) - layer_rank(b->info.layer);
	int order;

	if (a->hard != b->hard)
		return a->hard;
	if (rank)
		return rank > 0;
	if (a_weight != b_weight)
		return a_weight > b_weight;
	order = strcmp(a->info.text, b->info.text);
	if (!order)
		order = strcmp(a->info.file, b->info.file);
	if (order)
		return order < 0;
	return a->info.line < b->info.line;
}

static void consider(struct answer *answer, const struct rule *rule, size_t weight)
{
	const struct rule *old = answer->rule;

	if (rule->info.verdict == VERDICT_ASK)
		answer->offered &= rule->info.durations;
	if (!old || rule->info.verdict > old->info.verdict ||
		(rule->info.verdict == old->info.verdict &&
			speaks_before(rule, weight, old, answer->weight))) {
		answer->rule = rule;
		answer->weight = weight;
	}
}

static void consider_grant(struct answer *answer, const struct rule *grant)
{
	if (grant->until_usec && grant->until_usec <= clock_realtime_usec())
		return;
	/* One for ever covers more than one for a while. */
	if (!answer->grant || (answer->grant->until_usec && !grant->until_usec) ||
		(!answer->grant->until_usec == !grant->until_usec &&
			speaks_before(grant, 0, answer->grant, 0)))
		answer->grant = grant;
}

const struct rule *compiled_default(const struct compiled *compiled, enum op op)
{
	const struct rule *user = compiled->defaults[LAYER_USER][op];
	const struct rule *project = compiled->defaults[LAYER_PROJECT][op];
	const struct rule *rule = user ? user : compiled->defaults[LAYER_BUILTIN][op];

	if (!rule)
		rule = compiled->fallback[op];
	if (project && project->info.verdict > rule->info.verdict)
		rule = project;
	return rule;
}

static bool grant_is_offered(const struct answer *answer)
{
	unsigned enough = 1u << GRANT_FOREVER;

	if (answer->grant->until_usec)
		enough |= 1u << GRANT_SPAN;
	return answer->offered & enough;
}

/* One name of the object: the file, or the interpreter of a script. */
static const struct rule *eval_query(const struct compiled *compiled, const struct query *query)
{
	enum op op = query->request->op;
	const struct rule_list *list = &compiled->lists[op];
	const struct rule *org_default = compiled->defaults[LAYER_ORG][op];
	struct answer answer = {.offered = ~0u};

	for (size_t i = 0; i < list->n; i++) {
		const struct rule *rule = list->items[i];
		size_t weight;

		if (!rule_match(rule, query, &weight))
			continue;
		if (rule->grant) {
			consider_grant(&answer, rule);
			continue;
		}
		answer.user_spoke = answer.user_spoke || rule->info.layer == LAYER_USER;
		answer.org_spoke = answer.org_spoke || rule->info.layer == LAYER_ORG;
		if (answer.user_spoke && rule_is_lifted(compiled, rule, query))
			continue;
		consider(&answer, rule, weight);
	}
	if (org_default && !answer.org_spoke)
		consider(&answer, org_default, 0);
	if (!answer.rule)
		consider(&answer, compiled_default(compiled, op), 0);
	if (answer.rule->info.verdict == VERDICT_ASK && answer.grant && grant_is_offered(&answer))
		return answer.grant;
	return answer.rule;
}

enum verdict compiled_eval(
	const struct compiled *compiled, const struct request *request, const struct rule **rulep)
{
	struct query_views views;
	struct query query;

	*rulep = compiled->fallback[request->op];
	if (!query_init(&query, &views, request, false))
		return VERDICT_DENY;
	*rulep = eval_query(compiled, &query);
	if (request->op == OP_EXEC && request->interpreter) {
		const struct rule *second;

		if (!query_init(&query, &views, request, true)) {
			*rulep = compiled->fallback[request->op];
			return VERDICT_DENY;
		}
		second = eval_query(compiled, &query);
		if (second->info.verdict > (*rulep)->info.verdict)
			*rulep = second;
	}
	return (*rulep)->info.verdict;
}
