/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "policy-lang/set.h"

#include <fnmatch.h>
#include <string.h>

/* Variables through which a program loads or runs something that the person did not start, and the
 * handles of a password manager. They are dropped from every session, whatever a policy says. */
static const char *const never_passed[] = {
	"LD_*",
	"DYLD_*",
	"GLIBC_TUNABLES",
	"GCONV_PATH",
	"BASH_ENV",
	"ENV",
	"CDPATH",
	"GLOBIGNORE",
	"BASH_FUNC_*",
	"PROMPT_COMMAND",
	"IFS",
	"SHELLOPTS",
	"BASHOPTS",
	"PS4",
	"PYTHONSTARTUP",
	"PYTHONPATH",
	"PYTHONHOME",
	"NODE_OPTIONS",
	"NODE_PATH",
	"PERL5OPT",
	"PERL5LIB",
	"RUBYOPT",
	"RUBYLIB",
	"GEM_PATH",
	"GEM_HOME",
	"JAVA_TOOL_OPTIONS",
	"_JAVA_OPTIONS",
	"DOTNET_STARTUP_HOOKS",
	"GOFLAGS",
	"OP_SERVICE_ACCOUNT_TOKEN",
	"OP_CONNECT_TOKEN",
	"OP_CONNECT_HOST",
	"OP_SESSION_*",
};

static bool env_match(const char *pattern, const char *name)
{
	return fnmatch(pattern, name, 0) == 0;
}

bool env_is_never_passed(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(never_passed); i++)
		if (env_match(never_passed[i], name))
			return true;
	return false;
}

const char *env_pattern_fault(const char *pattern)
{
	size_t size = strlen(pattern);

	if (!size)
		return "the name of a variable is missing";
	for (size_t i = 0; i < size; i++) {
		char c = pattern[i];
		bool name = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
			    (c >= '0' && c <= '9');

		if (c == '*' && (i == 0 || i == size - 1))
			continue;
		if (c == '*')
			return "a star stands at the beginning or the end of a variable's name";
		if (!name || (i == 0 && c >= '0' && c <= '9'))
			return "a variable's name is letters, digits and _";
	}
	return NULL;
}

/* Does a statement of KIND in the layer match? EXACT: without a star. */
static bool layer_says(const struct policy_set *set, enum policy_layer layer,
	enum ast_env_kind kind, bool exact, const char *name)
{
	for (size_t i = 0; i < set->n_policies; i++) {
		const struct ast_policy *policy = set->policies[i];

		for (size_t j = 0; policy->layer == layer && j < policy->n_envs; j++) {
			const struct ast_env *env = &policy->envs[j];

			for (size_t k = 0; env->kind == kind && k < env->names.n; k++) {
				const char *pattern = env->names.items[k].text;

				if (exact ? !strcmp(pattern, name) : env_match(pattern, name))
					return true;
			}
		}
	}
	return false;
}

static bool has_org(const struct policy_set *set)
{
	for (size_t i = 0; i < set->n_policies; i++)
		if (set->policies[i]->layer == LAYER_ORG)
			return true;
	return false;
}

bool env_allowed(const struct policy_set *set, enum policy_layer last, const char *name)
{
	bool allowed = false;

	if (env_is_never_passed(name))
		return false;
	for (unsigned layer = LAYER_BUILTIN; layer <= last; layer++) {
		bool lifted = layer == LAYER_BUILTIN && !has_org(set) && last >= LAYER_USER &&
			      layer_says(set, LAYER_USER, AST_ENV_ALLOW, true, name);

		if (!lifted && layer_says(set, (enum policy_layer)layer, AST_ENV_DENY, false, name))
			return false;
		if (layer != LAYER_PROJECT)
			allowed = allowed || layer_says(set, (enum policy_layer)layer,
						     AST_ENV_ALLOW, false, name);
	}
	return allowed;
}

bool policy_set_env_allowed(const struct policy_set *set, const char *name)
{
	return env_allowed(set, LAYER_PROJECT, name);
}

bool policy_env_never_passed(const char *name)
{
	return env_is_never_passed(name);
}

static int env_put(struct policy_set *set, const struct ast_env *env)
{
	const struct bind_context context = {.arena = &set->arena, .vars = set->vars};
	const char *name = env->names.items[0].text;
	const char *message;
	const char *value = bind_text(&context, env->value.text, &message);
	struct env_value *values;

	if (!value)
		return -ENOMEM;
	for (size_t i = 0; i < set->n_env; i++) {
		if (!strcmp(set->env[i].name, name)) {
			set->env[i].value = value;
			return 0;
		}
	}
	values = arena_grow(&set->arena, set->env, set->n_env, sizeof(*values));
	if (!values)
		return -ENOMEM;
	set->env = values;
	set->env[set->n_env++] = (struct env_value){.name = name, .value = value};
	return 0;
}

int env_collect(struct policy_set *set)
{
	/* The organisation has the last word, then the user. */
	static const enum policy_layer order[] = {LAYER_BUILTIN, LAYER_USER, LAYER_ORG};

	for (size_t l = 0; l < ARRAY_LEN(order); l++) {
		for (size_t i = 0; i < set->n_policies; i++) {
			const struct ast_policy *policy = set->policies[i];

			for (size_t j = 0; policy->layer == order[l] && j < policy->n_envs; j++) {
				int r = 0;

				if (policy->envs[j].kind == AST_ENV_SET)
					r = env_put(set, &policy->envs[j]);
				if (r)
					return r;
			}
		}
	}
	return 0;
}

bool policy_set_env_get(
	const struct policy_set *set, size_t index, const char **namep, const char **valuep)
{
	if (index >= set->n_env)
		return false;
	*namep = set->env[index].name;
	*valuep = set->env[index].value;
	return true;
}
