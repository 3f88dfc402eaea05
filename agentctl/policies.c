/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
/* Policy files: where they are, who may own them, read once.
 *
 * MUST:
 *  1. A file that is there and cannot be read is an error, never skipped.
 *  2. A user or org file that others could have written is an error.
 *  3. The project's file is only ever read as the project layer, and not through a symbolic link.
 */

#include "agentctl/policies.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "agentctl/output.h"
#include "supervisord/base/diag.h"
#include "supervisord/base/file.h"

static char *path_join(const char *dir, const char *name)
{
	char *path = NULL;

	if (asprintf(&path, "%s/%s", dir, name) < 0)
		out_of_memory();
	return path;
}

static int unreadable(const char *file, const char *why)
{
	_cleanup_(freep) char *safe = out_safe(file);

	(void)fprintf(stderr, "%s: error: %s\n", safe, why);
	return EXIT_POLICY;
}

/* NULL, or why the file cannot be trusted as LAYER. */
static const char *file_fault(const struct stat *st, enum policy_layer layer)
{
	if (!S_ISREG(st->st_mode))
		return "is not a regular file";
	if (layer == LAYER_ORG && (st->st_uid != 0 || (st->st_mode & 022)))
		return "must belong to root and be writable by nobody else";
	if (layer == LAYER_USER && st->st_uid != getuid() && st->st_uid != 0)
		return "belongs to another user";
	if (layer == LAYER_USER && (st->st_mode & 002))
		return "can be written by everybody; chmod o-w it";
	return NULL;
}

ANALYZER_ARRAY_BEGIN
int policies_read_file(struct session_spec *spec, const char *file, enum policy_layer layer)
{
	int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY |
		    (layer == LAYER_PROJECT ? O_NOFOLLOW : 0);
	_cleanup_(closep) int fd = open(file, flags);
	struct spec_policy *grown, *policy;
	const char *fault;
	struct stat st;
	int r;

	if (fd < 0 && errno == ELOOP && layer == LAYER_PROJECT)
		return unreadable(file, "a project policy cannot be a symbolic link");
	if (fd < 0 || fstat(fd, &st) < 0)
		return unreadable(file, strerror(errno));
	fault = file_fault(&st, layer);
	if (fault)
		return unreadable(file, fault);
	grown = reallocarray(spec->policies, spec->n_policies + 1, sizeof(*grown));
	if (!grown)
		out_of_memory();
	spec->policies = grown;
	policy = &grown[spec->n_policies];
	*policy = (struct spec_policy){.layer = layer, .file = strdup(file)};
	if (!policy->file)
		out_of_memory();
	r = file_read_fd(fd, SPEC_POLICY_MAX, &policy->text, &policy->size);
	if (r < 0) {
		free(policy->file);
		return unreadable(file, r == -EFBIG ? "is larger than 1 MiB" : strerror(-r));
	}
	spec->n_policies++;
	return -1;
}
ANALYZER_ARRAY_END

static int is_policy(const struct dirent *entry)
{
	size_t n = strlen(entry->d_name);

	return n > 7 && entry->d_name[0] != '.' && strcmp(entry->d_name + n - 7, ".policy") == 0;
}

/* Bytewise, so that the order does not depend on the locale. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* All *.policy of FOLDER, sorted. A folder that is not there has none. */
static int read_folder(struct session_spec *spec, const char *folder, enum policy_layer layer)
{
	struct dirent **entries = NULL;
	int status = -1;
	int n = scandir(folder, &entries, is_policy, by_name);

	if (n < 0)
		return errno == ENOENT ? -1 : unreadable(folder, strerror(errno));
	for (int i = 0; i < n; i++) {
		_cleanup_(freep) char *file = path_join(folder, entries[i]->d_name);

		if (status < 0)
			status = policies_read_file(spec, file, layer);
		free(entries[i]);
	}
	free(entries);
	return status;
}

/* A file that need not be there. */
static int read_optional(
	struct session_spec *spec, const char *folder, const char *name, enum policy_layer layer)
{
	_cleanup_(freep) char *file = path_join(folder, name);
	struct stat st;

	if (lstat(file, &st) < 0)
		return errno == ENOENT || errno == ENOTDIR ? -1 : unreadable(file, strerror(errno));
	return policies_read_file(spec, file, layer);
}

int policies_read(const struct dirs *dirs, const char *const *files, size_t n_files,
	struct session_spec *spec)
{
	_cleanup_(freep) char *folder = path_join(dirs->config, "policy.d");
	int status = read_folder(spec, dirs->org, LAYER_ORG);

	if (status < 0)
		status = read_folder(spec, folder, LAYER_USER);
	if (status < 0)
		status = read_optional(spec, dirs->config, "grants.policy", LAYER_USER);
	for (size_t i = 0; status < 0 && i < n_files; i++)
		status = policies_read_file(spec, files[i], LAYER_USER);
	if (status < 0)
		status = read_optional(spec, spec->workspace, ".agent-policy", LAYER_PROJECT);
	return status;
}

static char *xdg(const char *variable, const char *home, const char *fallback)
{
	const char *value = getenv(variable);
	char *path = value && value[0] == '/' ? strdup(value) : path_join(home, fallback);

	if (!path)
		out_of_memory();
	return path;
}

void policies_vars_init(struct policies_vars *vars, const struct dirs *dirs, const char *workspace)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");

	*vars = (struct policies_vars){
		.config = xdg("XDG_CONFIG_HOME", dirs->home, ".config"),
		.state = xdg("XDG_STATE_HOME", dirs->home, ".local/state"),
		.data = xdg("XDG_DATA_HOME", dirs->home, ".local/share"),
		.cache = xdg("XDG_CACHE_HOME", dirs->home, ".cache"),
	};
	if (runtime && runtime[0] == '/')
		vars->runtime = strdup(runtime);
	else if (asprintf(&vars->runtime, "/run/user/%u", getuid()) < 0)
		vars->runtime = NULL;
	if (!vars->runtime)
		out_of_memory();
	vars->vars = (struct policy_vars){
		.home = dirs->home,
		.project = workspace,
		.tmp = "/tmp",
		.xdg_config = vars->config,
		.xdg_state = vars->state,
		.xdg_data = vars->data,
		.xdg_cache = vars->cache,
		.xdg_runtime = vars->runtime,
	};
}

void policies_vars_deinit(struct policies_vars *vars)
{
	free(vars->config);
	free(vars->state);
	free(vars->data);
	free(vars->cache);
	free(vars->runtime);
	*vars = (struct policies_vars){0};
}

static void unknown_profile(const char *profile)
{
	(void)fprintf(stderr, "agentctl: there is no shipped policy \"%s\"; there are:", profile);
	for (const char *const *names = policy_builtin_names(); *names; names++)
		(void)fprintf(stderr, " %s", *names);
	(void)fputc('\n', stderr);
}

static int add_all(struct policy_set *set, const struct session_spec *spec, struct diag_list *diags)
{
	int r = policy_set_add_builtin(set, spec->profile, diags);

	if (r == POLICY_E_UNKNOWN)
		unknown_profile(spec->profile);
	if (r == -ENOMEM)
		return r;
	/* Where the workspace holds the home folder, rules of the shipped policy have nothing left
	 * to say. That is no mistake of the person's. */
	if (r == 0)
		diag_list_deinit(diags);
	for (size_t i = 0; i < spec->n_policies; i++) {
		const struct spec_policy *policy = &spec->policies[i];
		/* Go on after an error: the person wants to see all of them. */
		int s = policy_set_add(
			set, policy->file, policy->text, policy->size, policy->layer, diags);

		if (s == -ENOMEM)
			return s;
		if (r == 0)
			r = s;
	}
	return r != 0 ? r : policy_set_seal(set, diags);
}

int policies_load(
	const struct dirs *dirs, const struct session_spec *spec, struct policy_set **setp)
{
	_cleanup_(policy_set_freep) struct policy_set *set = NULL;
	struct policies_vars vars;
	struct diag_list diags;
	int r;

	policies_vars_init(&vars, dirs, spec->workspace);
	vars.vars.tmp_shared = spec->reduced_userns || spec->force_no_userns;
	diag_list_init(&diags);
	r = policy_set_new(&vars.vars, &set);
	if (r == 0)
		r = add_all(set, spec, &diags);
	diag_list_print(&diags, stderr);
	diag_list_deinit(&diags);
	policies_vars_deinit(&vars);
	if (r == -ENOMEM)
		out_of_memory();
	if (r != 0)
		return EXIT_POLICY;
	*setp = TAKE_PTR(set);
	return -1;
}
