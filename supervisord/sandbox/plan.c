/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "supervisord/sandbox/plan.h"

/* Builds the plan: namespaces, mounts, floor, refusals, notified calls, environment. MUST:
 *  1. refuse when a layer is missing that was not waived by name
 *  2. never plan to make anything on the host's file systems
 *  3. keep what the person works on visible, and the supervisor's own folders out of sight */

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "supervisord/base/dirs.h"
#include "supervisord/base/error.h"
#include "supervisord/sandbox/plan_parts.h"
#include "supervisord/sandbox/syscalls.h"

bool plan_path_below(const char *path, const char *root)
{
	size_t n = strlen(root);

	if (strcmp(root, "/") == 0)
		return *path == '/';
	return strncmp(path, root, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

bool plan_path_private(const struct plan *plan, const char *path)
{
	bool is_private = false;

	for (size_t i = 0; i < plan->n_steps; i++) {
		const struct plan_step *step = &plan->steps[i];

		if (!plan_path_below(path, step->path))
			continue;
		if (step->kind == PLAN_MOUNT_BIND)
			return false;
		if (step->kind == PLAN_MOUNT_TMPFS || step->kind == PLAN_MOUNT_DEV ||
			step->kind == PLAN_MOUNT_PROC)
			is_private = true;
	}
	return is_private;
}

int plan_add(struct plan *plan, enum plan_step_kind kind, unsigned access, const char *path,
	const char *source)
{
	_cleanup_(freep) char *own_path = strdup(path);
	_cleanup_(freep) char *own_source = source ? strdup(source) : NULL;
	struct plan_step *grown;

	if (plan->n_steps >= PLAN_STEPS_MAX)
		return err_trace(-E2BIG);
	if (!own_path || (source && !own_source))
		return err_trace(-ENOMEM);
	grown = realloc(plan->steps, (plan->n_steps + 1) * sizeof(*grown));
	if (!grown)
		return err_trace(-ENOMEM);
	plan->steps = grown;
	grown += plan->n_steps++;
	grown->kind = kind;
	grown->access = access;
	grown->path = TAKE_PTR(own_path);
	grown->source = TAKE_PTR(own_source);
	return 0;
}

void plan_free(struct plan *plan)
{
	if (!plan)
		return;
	for (size_t i = 0; i < plan->n_steps; i++) {
		free(plan->steps[i].path);
		free(plan->steps[i].source);
	}
	free(plan->steps);
	for (size_t i = 0; plan->env && plan->env[i]; i++)
		free(plan->env[i]);
	free(plan->env);
	free(plan);
}

/* A refusal for people: what is missing, what is lost, the one thing to do. */
static int refuse(char **messagep, const struct probe_result *item, const char *hint)
{
	if (asprintf(messagep, "this system does not offer %s (%s), so %s%s%s%s", item->name,
		    item->error > 0 ? strerror(item->error) : "not available", item->what,
		    *item->remedy ? ": " : "", item->remedy, hint) < 0) {
		*messagep = NULL;
		return err_trace(-ENOMEM);
	}
	return PLAN_E_REFUSED;
}

static int choose_namespaces(struct plan *plan, const struct probe *probe,
	const struct session_spec *spec, char **messagep)
{
	const struct probe_result *user = &probe->items[PROBE_USERNS];
	const struct probe_result *mount = &probe->items[PROBE_MOUNTNS];
	bool full = user->ok && mount->ok && !spec->force_no_userns;
	bool scoped = plan->landlock_abi >= LANDLOCK_SCOPES;

	if (!full && !spec->reduced_userns)
		return refuse(messagep, user->ok && !spec->force_no_userns ? mount : user,
			"; or run with less protection: --allow-reduced userns");
	/* Then a session could end everything of the user, and nobody would have accepted that. */
	if (full && !probe->items[PROBE_PIDNS].ok && !scoped && !spec->reduced_userns)
		return refuse(messagep, &probe->items[PROBE_PIDNS],
			"; or run with less protection: --allow-reduced userns");
	plan->user_ns = plan->mount_ns = full;
	plan->pid_ns = full && probe->items[PROBE_PIDNS].ok;
	plan->ipc_ns = full && probe->items[PROBE_IPCNS].ok;
	if (!full)
		plan->reduced =
			scoped ? "user, mount, pid, ipc and uts namespaces"
			       : "user, mount, pid, ipc and uts namespaces, signals kept inside";
	else if (!plan->pid_ns && !plan->ipc_ns)
		plan->reduced = scoped ? "pid and ipc namespaces"
				       : "pid and ipc namespaces, signals kept inside";
	else if (!plan->pid_ns)
		plan->reduced = scoped ? "pid namespace" : "pid namespace, signals kept inside";
	else if (!plan->ipc_ns)
		plan->reduced = "ipc namespace";
	return 0;
}

static int add_namespaces(struct plan *plan, const struct probe *probe)
{
	const struct {
		bool wanted;
		const char *name;
	} list[] = {
		{plan->user_ns, "user"},
		{plan->mount_ns, "mount"},
		{plan->pid_ns, "pid"},
		{plan->ipc_ns, "ipc"},
		{plan->user_ns && probe->items[PROBE_UTSNS].ok, "uts"},
	};
	int r = 0;

	for (size_t i = 0; i < ARRAY_LEN(list) && r == 0; i++)
		if (list[i].wanted)
			r = plan_add(plan, PLAN_NAMESPACE, 0, list[i].name, NULL);
	return err_trace(r);
}

static const char *spec_env(const struct session_spec *spec, const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < spec->n_env; i++)
		if (strncmp(spec->env[i], name, n) == 0 && spec->env[i][n] == '=')
			return spec->env[i] + n + 1;
	return NULL;
}

static bool is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Keeps PATH visible when a private tmpfs would cover it. */
static int add_bind(struct plan *plan, const char *path)
{
	char real[PATH_MAX];

	if (!path || *path != '/' || !realpath(path, real) || !is_folder(real))
		return 0;
	/* The folder itself being private is what is wanted; only what lies below it is kept. */
	if (strcmp(real, "/tmp") == 0 || strcmp(real, "/dev/shm") == 0 || strcmp(real, "/dev") == 0)
		return 0;
	if (!plan_path_private(plan, real) || plan_path_below(real, "/proc"))
		return 0;
	if (plan_path_below(real, "/dev") && !plan_path_below(real, "/dev/shm"))
		return 0;
	return err_trace(plan_add(plan, PLAN_MOUNT_BIND, 0, real, real));
}

static int add_mask(struct plan *plan, const char *path)
{
	char real[PATH_MAX];

	if (!path || !realpath(path, real) || !is_folder(real) || plan_path_private(plan, real))
		return 0;
	return err_trace(plan_add(plan, PLAN_MOUNT_MASK, 0, real, NULL));
}

static int add_masks(struct plan *plan)
{
	static const char *const system[] = {"/sys/firmware", "/sys/kernel/debug",
		"/sys/kernel/security", "/sys/kernel/tracing", "/sys/fs/fuse", "/sys/fs/bpf"};
	struct dirs dirs = {0};
	int r;

	for (size_t i = 0; i < ARRAY_LEN(system); i++) {
		r = add_mask(plan, system[i]);
		if (r < 0)
			return err_trace(r);
	}
	r = dirs_init(&dirs);
	if (r == 0) {
		const char *const own[] = {dirs.config, dirs.state, dirs.runtime, dirs.org};

		for (size_t i = 0; i < ARRAY_LEN(own) && r == 0; i++)
			r = add_mask(plan, own[i]);
	}
	dirs_deinit(&dirs);
	return err_trace(r);
}

static int add_mounts(struct plan *plan, const struct session_spec *spec)
{
	int r = plan_add(plan, PLAN_MOUNT_DEV, 0, "/dev", NULL);

	if (r == 0 && strcmp(spec->workspace, "/dev/shm") == 0)
		r = plan_add(plan, PLAN_MOUNT_BIND, 0, "/dev/shm", "/dev/shm");
	else if (r == 0)
		r = plan_add(plan, PLAN_MOUNT_TMPFS, 0, "/dev/shm", NULL);
	if (r == 0 && plan->pid_ns)
		r = plan_add(plan, PLAN_MOUNT_PROC, 0, "/proc", NULL);
	/* Who names /tmp itself as the workspace means the one that is there. */
	if (r == 0 && strcmp(spec->workspace, "/tmp") != 0 && is_folder("/tmp"))
		r = plan_add(plan, PLAN_MOUNT_TMPFS, 0, "/tmp", NULL);
	/* The widest first: what lies below one that is kept is kept with it. */
	if (r == 0)
		r = add_bind(plan, spec_env(spec, "HOME"));
	if (r == 0)
		r = add_bind(plan, spec->workspace);
	if (r == 0)
		r = add_bind(plan, spec->cwd);
	if (r == 0)
		r = add_masks(plan);
	return err_trace(r);
}

static int add_refusals(struct plan *plan)
{
	int r = 0;

	if (plan->landlock_abi >= 4)
		r = plan_add(plan, PLAN_NET_CLOSED, 0, "tcp", NULL);
	if (r == 0 && plan->landlock_abi >= LANDLOCK_SCOPES)
		r = plan_add(plan, PLAN_SCOPED, 0, "signals, abstract sockets", NULL);
	if (r == 0)
		r = plan_add(plan, PLAN_NO_CAPS, 0, "capabilities", NULL);
	if (r == 0)
		r = plan_add(plan, PLAN_FILTER, 0, "allow-list", NULL);
	return err_trace(r);
}

static bool step_exists(const struct plan *plan, enum plan_step_kind kind, const char *path)
{
	for (size_t i = 0; i < plan->n_steps; i++)
		if (plan->steps[i].kind == kind && strcmp(plan->steps[i].path, path) == 0)
			return true;
	return false;
}

static int add_notified(struct plan *plan)
{
	int r = plan->notify_reads ? plan_add(plan, PLAN_NOTIFY, 0, "read", NULL) : 0;

	for (size_t i = 0; i < syscall_table_size && r == 0; i++) {
		const struct syscall_entry *entry = &syscall_table[i];

		if (!entry->class || entry->disposition == SYSCALL_ALLOW ||
			step_exists(plan, PLAN_NOTIFY, entry->class))
			continue;
		r = plan_add(plan, PLAN_NOTIFY, 0, entry->class, NULL);
	}
	return err_trace(r);
}

static void choose_reads(struct plan *plan, const struct policy_set *policies)
{
	static const enum op ops[] = {OP_READ, OP_LIST};
	static const enum verdict stricter[] = {VERDICT_ASK, VERDICT_HIDE, VERDICT_DENY};

	for (size_t i = 0; i < ARRAY_LEN(ops); i++)
		for (size_t j = 0; j < ARRAY_LEN(stricter); j++)
			if (policy_set_may_answer(policies, ops[i], stricter[j]))
				plan->notify_reads = true;
}

/* The file that argv[0] means, searched as the agent's process will; NULL when there is none.
 * *PATHP is owned by the caller. */
static int find_program(const struct session_spec *spec, char **pathp)
{
	const char *name = spec->n_argv > 0 ? spec->argv[0] : NULL;
	const char *folder = spec_env(spec, "PATH");
	char *path;

	*pathp = NULL;
	if (!name || *name == '\0')
		return 0;
	if (strchr(name, '/')) {
		if (asprintf(pathp, "%s%s%s", *name == '/' ? "" : spec->cwd,
			    *name == '/' ? "" : "/", name) < 0)
			return err_trace(-ENOMEM);
		return 0;
	}
	for (; folder && *folder; folder += strcspn(folder, ":"), folder += *folder == ':') {
		if (asprintf(&path, "%.*s/%s", (int)strcspn(folder, ":"), folder, name) < 0)
			return err_trace(-ENOMEM);
		if (*path == '/' && access(path, X_OK) == 0) {
			*pathp = path;
			return 0;
		}
		free(path);
	}
	return 0;
}

static int build(struct plan *plan, const struct probe *probe, const struct policy_set *policies,
	const struct session_spec *spec, char **messagep)
{
	const struct probe_result *missing = probe_missing(probe);
	_cleanup_(freep) char *program = NULL;
	int r;

	if (missing)
		return refuse(messagep, missing, "");
	plan->landlock_abi = probe->items[PROBE_LANDLOCK].value;
	plan->sync_wake_up = probe->items[PROBE_SYNC_WAKE_UP].ok;
	r = choose_namespaces(plan, probe, spec, messagep);
	if (r != 0)
		return r;
	r = add_namespaces(plan, probe);
	if (r == 0 && plan->mount_ns)
		r = add_mounts(plan, spec);
	if (r < 0)
		return err_trace(r);
	choose_reads(plan, policies);
	r = find_program(spec, &program);
	if (r == 0)
		r = plan_add_floor(plan, policies, program, spec->preload);
	if (r == 0)
		r = add_refusals(plan);
	if (r == 0)
		r = add_notified(plan);
	if (r == 0)
		r = plan_add_env(plan, policies, spec);
	return err_trace(r);
}

int plan_build(const struct probe *probe, const struct policy_set *policies,
	const struct session_spec *spec, struct plan **planp, char **messagep)
{
	_cleanup_(plan_freep) struct plan *plan = calloc(1, sizeof(*plan));
	int r;

	*planp = NULL;
	*messagep = NULL;
	if (!plan)
		return err_trace(-ENOMEM);
	plan->env = calloc(1, sizeof(*plan->env));
	if (!plan->env)
		return err_trace(-ENOMEM);
	r = build(plan, probe, policies, spec, messagep);
	if (r != 0)
		return r;
	*planp = TAKE_PTR(plan);
	return 0;
}
