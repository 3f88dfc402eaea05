/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */

/* The agent's environment: of the caller's, what the policy lets through; what the policy sets;
 * what the plan itself needs. MUST let nothing through by default. */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "supervisord/base/error.h"
#include "supervisord/sandbox/plan.h"
#include "supervisord/sandbox/plan_parts.h"

static size_t env_count(char *const *env)
{
	size_t n = 0;

	while (env && env[n])
		n++;
	return n;
}

/* The entry for NAME of N bytes, or NULL. */
static char **env_find(char **env, const char *name, size_t n)
{
	for (; env && *env; env++)
		if (strncmp(*env, name, n) == 0 && (*env)[n] == '=')
			return env;
	return NULL;
}

const char *plan_get_env(const struct plan *plan, const char *name)
{
	char **entry = env_find(plan->env, name, strlen(name));

	return entry ? *entry + strlen(name) + 1 : NULL;
}

ANALYZER_ARRAY_BEGIN
/* Takes ENTRY, also on failure. */
static int env_put(struct plan *plan, char *entry)
{
	_cleanup_(freep) char *own = entry;
	char **old = env_find(plan->env, entry, strcspn(entry, "=")), **grown;
	size_t n = env_count(plan->env);

	if (old) {
		free(*old);
		*old = TAKE_PTR(own);
		return 0;
	}
	grown = realloc(plan->env, (n + 2) * sizeof(*grown));
	if (!grown)
		return err_trace(-ENOMEM);
	plan->env = grown;
	grown += n;
	grown[0] = TAKE_PTR(own);
	grown[1] = NULL;
	return 0;
}

int plan_set_env(struct plan *plan, const char *name, const char *value)
{
	char *entry = NULL;

	if (*name == '\0' || strchr(name, '='))
		return err_trace(-EINVAL);
	if (asprintf(&entry, "%s=%s", name, value) < 0)
		return err_trace(-ENOMEM);
	return err_trace(env_put(plan, entry));
}

static int add_callers(
	struct plan *plan, const struct policy_set *policies, const struct session_spec *spec)
{
	for (size_t i = 0; i < spec->n_env; i++) {
		_cleanup_(freep) char *name = NULL;
		const char *equals = strchr(spec->env[i], '=');
		char *entry;
		int r;

		if (!equals || equals == spec->env[i])
			continue;
		name = strndup(spec->env[i], (size_t)(equals - spec->env[i]));
		if (!name)
			return err_trace(-ENOMEM);
		/* The first of two entries with one name is what getenv() gives. */
		if (!policy_set_env_allowed(policies, name) || plan_get_env(plan, name))
			continue;
		entry = strdup(spec->env[i]);
		if (!entry)
			return err_trace(-ENOMEM);
		r = env_put(plan, entry);
		if (r < 0)
			return err_trace(r);
	}
	return 0;
}
ANALYZER_ARRAY_END

/* TMPDIR must be usable inside: the caller's stays when it will be there, else it becomes the
 * private one. */
static int fix_tmpdir(struct plan *plan)
{
	const char *tmp = plan_get_env(plan, "TMPDIR");
	struct stat st;

	if (!plan->mount_ns)
		return err_trace(plan_set_env(plan, "TMPDIR", PLAN_SESSION_TMP));
	if (!tmp || strcmp(tmp, "/tmp") == 0 || strcmp(tmp, "/tmp/") == 0)
		return 0;
	if (*tmp == '/' && !plan_path_private(plan, tmp) && stat(tmp, &st) == 0 &&
		S_ISDIR(st.st_mode))
		return 0;
	return err_trace(plan_set_env(plan, "TMPDIR", "/tmp"));
}

static bool from_caller(const struct session_spec *spec, const char *entry)
{
	for (size_t i = 0; i < spec->n_env; i++)
		if (strcmp(spec->env[i], entry) == 0)
			return true;
	return false;
}

/* One step a variable; the source says which values are the caller's, and so not for display. */
static int add_steps(struct plan *plan, const struct session_spec *spec)
{
	int r = 0;

	for (size_t i = 0; r == 0 && plan->env && plan->env[i]; i++)
		r = plan_add(plan, PLAN_ENV, 0, plan->env[i],
			from_caller(spec, plan->env[i]) ? "caller" : NULL);
	return err_trace(r);
}

int plan_add_env(
	struct plan *plan, const struct policy_set *policies, const struct session_spec *spec)
{
	const char *name, *value;
	int r = add_callers(plan, policies, spec);

	if (r < 0)
		return err_trace(r);
	for (size_t i = 0; policy_set_env_get(policies, i, &name, &value); i++) {
		r = plan_set_env(plan, name, value);
		if (r < 0)
			return err_trace(r);
	}
	r = fix_tmpdir(plan);
	if (r == 0 && plan->cookie)
		r = plan_set_env(plan, "LD_PRELOAD", spec->preload);
	if (r == 0)
		r = add_steps(plan, spec);
	return err_trace(r);
}
