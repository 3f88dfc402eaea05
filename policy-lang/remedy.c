/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "policy-lang/eval.h"
#include "policy-lang/set.h"

#include <stdio.h>
#include <string.h>

#include "supervisord/proto/grant.h"

/* "grant read \"/home/u/x\"" with another verb, and with the home or workspace shortened where the
 * path begins with it. Owned by the caller. */
static char *rule_line(
	const struct policy_set *set, const struct request *request, enum verdict verdict)
{
	_cleanup_(freep) char *grant = grant_rule_text(request, GRANT_EXACT);
	const struct {
		const char *value, *name;
	} shorter[] = {
		{set->vars->project, "$PROJECT"},
		{set->vars->home, "~"},
	};
	const char *rest, *quote;
	char *line = NULL;

	if (!grant || strncmp(grant, "grant ", 6) != 0)
		return NULL;
	rest = grant + 6;
	quote = strchr(rest, '"');
	for (size_t i = 0; quote && i < ARRAY_LEN(shorter); i++) {
		size_t size = strlen(shorter[i].value);

		if (size < 2 || strncmp(quote + 1, shorter[i].value, size) != 0 ||
			(quote[1 + size] != '/' && quote[1 + size] != '"'))
			continue;
		if (asprintf(&line, "%s %.*s\"%s%s", verdict_name(verdict), (int)(quote - rest),
			    rest, shorter[i].name, quote + 1 + size) < 0)
			return NULL;
		return line;
	}
	return asprintf(&line, "%s %s", verdict_name(verdict), rest) < 0 ? NULL : line;
}

/* The line and where it goes. */
static char *in_user_layer(
	const struct policy_set *set, const struct request *request, enum verdict verdict)
{
	_cleanup_(freep) char *line = rule_line(set, request, verdict);
	char *text = NULL;

	if (!line)
		return NULL;
	if (asprintf(&text, "%s   (in a user policy, %s/agent-supervisor/policy.d/)", line,
		    set->vars->xdg_config) < 0)
		return NULL;
	return text;
}

/* Would a user rule for exactly this object set the builtin RULE aside? */
static bool exact_lifts(const struct rule *rule, const struct query *query)
{
	if (rule->info.verdict == VERDICT_ASK || !query->path)
		return true;
	for (size_t i = 0; i < rule->targets.n_paths; i++)
		if (path_pattern_match(rule->targets.paths[i], query->path))
			return true;
	return false;
}

static char *for_builtin(
	const struct policy_set *set, const struct request *request, const struct rule *rule)
{
	struct query_views views;
	struct query query;
	bool is_default = !rule->targets.n_paths && !rule->targets.n_hosts;
	size_t weight;

	if (rule->hard || set->compiled->has_org || !query_init(&query, &views, request, false))
		return NULL;
	if (request->interpreter && !is_default && !rule_match(rule, &query, &weight)) {
		struct request other = {.op = OP_EXEC, .path = request->interpreter};

		return query_init(&query, &views, &other, false) && exact_lifts(rule, &query)
			       ? in_user_layer(set, &other, VERDICT_ALLOW)
			       : NULL;
	}
	if (!is_default && !exact_lifts(rule, &query))
		return NULL;
	return in_user_layer(set, request, VERDICT_ALLOW);
}

char *policy_set_remedy(const struct policy_set *set, const struct request *request)
{
	const struct rule *rule;
	char *text = NULL;

	if (compiled_eval(set->compiled, request, &rule) == VERDICT_ALLOW)
		return in_user_layer(set, request, VERDICT_DENY);
	switch (rule->info.layer) {
	case LAYER_BUILTIN:
		return for_builtin(set, request, rule);
	case LAYER_USER:
		if (asprintf(&text, "change or remove your own rule at %s: %s", rule->info.id,
			    rule->info.text) < 0)
			return NULL;
		return text;
	case LAYER_PROJECT:
		if (asprintf(&text, "change or remove the project's rule at %s: %s", rule->info.id,
			    rule->info.text) < 0)
			return NULL;
		return text;
	case LAYER_ORG:
	case LAYER_SESSION:
	case _LAYER_N:
		break;
	}
	return NULL;
}
