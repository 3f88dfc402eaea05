/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "supervisord/sandbox/plan.h"

/* The floor: which trees Landlock may open. MUST:
 *  1. grant only what the policy allows for every name below, for every program, now and later
 *  2. take bounded time, however large the trees are */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "supervisord/base/error.h"
#include "supervisord/sandbox/plan_parts.h"

#define FLOOR_DEPTH_MAX 6
#define FLOOR_ENTRIES_MAX 2000 /* looked at in all */
#define FLOOR_FOLDER_MAX 512   /* a folder with more entries is left to the broker */
#define FLOOR_GRANTS_MAX 4096

struct grant {
	char *path;
	unsigned access;
};

struct floor {
	const struct plan *plan;
	const struct policy_set *policies;
	struct grant *grants;
	size_t n_grants;
	size_t n_looked;
	bool wide; /* some PLAN_START was needed */
};

static void floor_deinit(struct floor *floor)
{
	for (size_t i = 0; i < floor->n_grants; i++)
		free(floor->grants[i].path);
	free(floor->grants);
}

ANALYZER_ARRAY_BEGIN
static int grant_add(struct floor *floor, const char *path, unsigned access)
{
	_cleanup_(freep) char *own_path = NULL;
	struct grant *grown;

	for (size_t i = 0; i < floor->n_grants; i++)
		if (strcmp(floor->grants[i].path, path) == 0) {
			floor->grants[i].access |= access;
			return 0;
		}
	if (floor->n_grants >= FLOOR_GRANTS_MAX)
		return 0; /* fewer grants are slower, never weaker */
	own_path = strdup(path);
	grown = realloc(floor->grants, (floor->n_grants + 1) * sizeof(*grown));
	if (grown)
		floor->grants = grown;
	if (!own_path || !grown)
		return err_trace(-ENOMEM);
	grown += floor->n_grants++;
	grown->path = TAKE_PTR(own_path);
	grown->access = access;
	return 0;
}
ANALYZER_ARRAY_END

static void names_free(char **names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(names[i]);
	free(names);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_wanted(DIR *dir, const struct dirent *entry, bool only_folders)
{
	unsigned char type = entry->d_type;
	struct stat st;

	if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
		return false;
	if (type == DT_UNKNOWN) {
		if (fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			return false;
		type = (unsigned char)IFTODT(st.st_mode);
	}
	return type == DT_DIR || (type != DT_LNK && !only_folders);
}

ANALYZER_ARRAY_BEGIN
/* The names in a folder, sorted, links left out (what they point to is judged under its own name).
 * None at all when there are too many, so that the outcome does not depend on the order of the file
 * system. */
static int names_read(
	const char *path, bool only_folders, char ***namesp, size_t *np, bool *too_manyp)
{
	DIR *dir = opendir(path);
	char **names = NULL, **grown;
	size_t n = 0;
	int r = 0;

	*namesp = NULL;
	*np = 0;
	if (!dir)
		return 0;
	for (struct dirent *entry; (entry = readdir(dir));) {
		if (!is_wanted(dir, entry, only_folders))
			continue;
		if (n == FLOOR_FOLDER_MAX) {
			names_free(names, n);
			names = NULL;
			n = 0;
			*too_manyp = true;
			break;
		}
		grown = reallocarray(names, n + 1, sizeof(*names));
		if (!grown) {
			r = -ENOMEM;
			break;
		}
		names = grown;
		names[n] = strdup(entry->d_name);
		if (!names[n]) {
			r = -ENOMEM;
			break;
		}
		n++;
	}
	closedir(dir);
	if (r < 0) {
		names_free(names, n);
		return err_trace(r);
	}
	if (n > 1)
		qsort(names, n, sizeof(*names), compare_names);
	*namesp = names;
	*np = n;
	return 0;
}
ANALYZER_ARRAY_END

static bool is_real_folder(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Grants the children of FOLDER that are allowed as a whole and notes in MIXED[] which are partly.
 */
static int grant_children(struct floor *floor, enum op op, unsigned access, const char *folder,
	char *const *names, size_t n, bool *mixed, size_t *n_grantedp)
{
	char path[PATH_MAX];

	for (size_t i = 0; i < n && floor->n_looked < FLOOR_ENTRIES_MAX; i++) {
		int r = snprintf(
			path, sizeof(path), "%s/%s", strcmp(folder, "/") ? folder : "", names[i]);

		if (r < 0 || (size_t)r >= sizeof(path))
			continue;
		floor->n_looked++;
		switch (policy_set_judge_tree(floor->policies, op, path)) {
		case POLICY_TREE_ALLOW:
			r = grant_add(floor, path, access);
			if (r < 0)
				return err_trace(r);
			++*n_grantedp;
			break;
		case POLICY_TREE_MIXED:
			mixed[i] = is_real_folder(path);
			break;
		case POLICY_TREE_REFUSE:
			break;
		}
	}
	return 0;
}

/* Would a new file of no particular name in the folder TREE be readable? 1, 0 or -ENOMEM. */
static int allows_new_names(const struct floor *floor, const char *tree)
{
	_cleanup_(request_freep) struct request *request = request_new(OP_READ);
	const struct policy_rule_info *rule;

	if (!request)
		return err_trace(-ENOMEM);
	request->program = strdup("/");
	if (!request->program ||
		asprintf(&request->path, "%s/a-new-file", strcmp(tree, "/") ? tree : "") < 0) {
		request->path = NULL;
		return err_trace(-ENOMEM);
	}
	return policy_set_eval(floor->policies, request, &rule) == VERDICT_ALLOW;
}

/* A folder that is allowed but for some names, and whose programs no narrower grant reaches: the
 * kernel must be able to open what is executed. Landlock knows no "all but", so it gets the whole
 * tree, and every read is carried out by the broker instead. */
static int add_start(struct floor *floor, const char *tree)
{
	int r = allows_new_names(floor, tree);

	if (r <= 0)
		return err_trace(r);
	if (policy_set_judge_tree(floor->policies, OP_EXEC, tree) == POLICY_TREE_REFUSE)
		return 0;
	floor->wide = true;
	return err_trace(grant_add(floor, tree, PLAN_START));
}

/* Where programs are made (a workspace), what will be there is not known; and when a hard link
 * could lie anywhere, no tree is granted at all. Elsewhere the children that hold the programs are
 * granted one by one. */
static bool starts_as_a_whole(const struct floor *floor, const char *tree)
{
	return policy_set_judge_tree(floor->policies, OP_CREATE, tree) != POLICY_TREE_REFUSE ||
	       policy_set_links_matter(floor->policies, OP_READ);
}

/* What holds below a folder of no particular name in FOLDER. */
static enum policy_tree judge_new_names(const struct floor *floor, enum op op, const char *folder)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/a-new-folder", strcmp(folder, "/") ? folder : "");

	if (n < 0 || (size_t)n >= sizeof(path))
		return POLICY_TREE_REFUSE;
	return policy_set_judge_tree(floor->policies, op, path);
}

/* FOLDER is neither granted nor expanded any further; what lies in it must still start. */
static int leave(struct floor *floor, enum op op, const char *folder)
{
	if (op != OP_READ || judge_new_names(floor, OP_EXEC, folder) == POLICY_TREE_REFUSE)
		return 0;
	return err_trace(add_start(floor, folder));
}

static int expand(
	struct floor *floor, enum op op, unsigned access, const char *folder, unsigned depth)
{
	bool mixed[FLOOR_FOLDER_MAX] = {false}, too_many = false, stop;
	char path[PATH_MAX], **names;
	size_t n, n_granted = 0;
	int r;

	/* Nothing can be listed in a file. */
	r = names_read(folder, op == OP_LIST, &names, &n, &too_many);
	if (r < 0)
		return err_trace(r);
	r = grant_children(floor, op, access, folder, names, n, mixed, &n_granted);
	/* Where a pattern such as "anything called .env" splits every child, going down finds no
	 * more. The kernel's own tree is deep, and little of it is read. */
	stop = n > 0 && n_granted == 0 && judge_new_names(floor, op, folder) != POLICY_TREE_ALLOW;
	if (r == 0 && (stop || too_many || floor->n_looked >= FLOOR_ENTRIES_MAX))
		r = leave(floor, op, folder);
	for (size_t i = 0; i < n && r == 0 && !stop && !plan_path_below(folder, "/sys"); i++) {
		int size = snprintf(
			path, sizeof(path), "%s/%s", strcmp(folder, "/") ? folder : "", names[i]);

		if (!mixed[i] || size <= 0 || (size_t)size >= sizeof(path))
			continue;
		r = depth + 1 < FLOOR_DEPTH_MAX ? expand(floor, op, access, path, depth + 1)
						: leave(floor, op, path);
	}
	names_free(names, n);
	return err_trace(r);
}

static int consider_tree(struct floor *floor, enum op op, unsigned access, const char *tree)
{
	char real[PATH_MAX];
	int r;

	if (!realpath(tree, real))
		return 0; /* nothing there to grant; what appears later is the broker's */
	/* Devices and processes are the session's own: see add_own(). */
	if (plan_path_below(real, "/proc") ||
		(plan_path_below(real, "/dev") && !plan_path_below(real, "/dev/shm")))
		return 0;
	switch (policy_set_judge_tree(floor->policies, op, real)) {
	case POLICY_TREE_ALLOW:
		return err_trace(grant_add(floor, real, access));
	case POLICY_TREE_MIXED:
		/* What the host has at a private place says nothing about the session's. */
		if (plan_path_private(floor->plan, real) || !is_real_folder(real))
			return 0;
		r = op == OP_READ && starts_as_a_whole(floor, real) ? add_start(floor, real) : 0;
		return r < 0 ? err_trace(r) : err_trace(expand(floor, op, access, real, 0));
	case POLICY_TREE_REFUSE:
		break;
	}
	return 0;
}

static int add_reads(struct floor *floor, enum op op, unsigned access)
{
	_cleanup_(freep) const char *const *trees = NULL;
	size_t n = 0;
	int r = policy_set_allow_trees(floor->policies, op, &trees, &n);

	for (size_t i = 0; i < n && r == 0; i++)
		r = consider_tree(floor, op, access, trees[i]);
	return err_trace(r);
}

/* Is something of the host's kept visible below PATH? */
static bool holds_bind(const struct plan *plan, const char *path)
{
	for (size_t i = 0; i < plan->n_steps; i++)
		if (plan->steps[i].kind == PLAN_MOUNT_BIND &&
			plan_path_below(plan->steps[i].path, path))
			return true;
	return false;
}

static bool may_modify(const struct floor *floor, const char *path)
{
	static const enum op ops[] = {OP_WRITE, OP_CREATE, OP_DELETE, OP_RENAME, OP_LINK, OP_CHMOD};

	/* Moving a folder that something is mounted below would give that another name. */
	if (holds_bind(floor->plan, path) && plan_path_private(floor->plan, path))
		return false;
	/* A /tmp that all users share is left to the broker; the session has a folder of its own
	 * there. */
	if (!floor->plan->mount_ns &&
		(plan_path_below(path, "/tmp") || plan_path_below(path, "/dev/shm") ||
			plan_path_below("/tmp", path)))
		return false;
	/* Kernel interfaces and devices are never floor-writable as a tree. */
	if (plan_path_below(path, "/proc") || plan_path_below(path, "/sys") ||
		plan_path_below("/dev", path) ||
		(plan_path_below(path, "/dev") && !plan_path_below(path, "/dev/shm")))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(ops); i++)
		if (policy_set_judge_tree(floor->policies, ops[i], path) != POLICY_TREE_ALLOW)
			return false;
	return true;
}

static int add_writes(struct floor *floor)
{
	_cleanup_(freep) const char *const *trees = NULL;
	char real[PATH_MAX];
	size_t n = 0;
	int r = policy_set_allow_trees(floor->policies, OP_WRITE, &trees, &n);

	for (size_t i = 0; i < n && r == 0; i++)
		if (realpath(trees[i], real) && is_real_folder(real) && may_modify(floor, real))
			r = grant_add(floor, real, PLAN_MODIFY);
	return err_trace(r);
}

/* What the session itself is made of, rather than what the policy is about: its devices, its
 * processes. */
static int add_own(struct floor *floor)
{
	static const char *const nodes[] = {
		"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"};
	int r = 0;

	for (size_t i = 0; i < ARRAY_LEN(nodes) && r == 0; i++)
		r = grant_add(floor, nodes[i], PLAN_READ | PLAN_MODIFY);
	if (r == 0 && floor->plan->mount_ns)
		r = grant_add(floor, "/dev/pts", PLAN_READ | PLAN_LIST | PLAN_MODIFY);
	if (r == 0 && floor->plan->mount_ns)
		r = grant_add(floor, "/dev", PLAN_LIST);
	if (r == 0 &&
		policy_set_judge_tree(floor->policies, OP_READ, "/proc") != POLICY_TREE_REFUSE)
		r = grant_add(floor, "/proc", PLAN_READ | PLAN_LIST);
	if (r == 0 && !floor->plan->mount_ns)
		r = grant_add(floor, PLAN_SESSION_TMP, PLAN_READ | PLAN_LIST | PLAN_MODIFY);
	return err_trace(r);
}

/* The program that the person named, wherever it lies: to start it, the kernel has to read it. */
static int add_program(struct floor *floor, const char *program)
{
	char real[PATH_MAX];
	struct stat st;

	if (!program || !realpath(program, real) || plan_path_private(floor->plan, real) ||
		stat(real, &st) < 0 || !S_ISREG(st.st_mode) || !(st.st_mode & 0111) ||
		policy_set_judge_tree(floor->policies, OP_EXEC, real) == POLICY_TREE_REFUSE)
		return 0;
	return err_trace(grant_add(floor, real, PLAN_READ));
}

/* With the cookie a read meets Landlock alone, which gives nothing that the policy does not allow
 * outright. A library that the session cannot see would only cause noise. */
static int add_preload(struct floor *floor, struct plan *plan, const char *preload)
{
	char real[PATH_MAX];

	plan->cookie = plan->notify_reads && plan->floor_reads && preload &&
		       realpath(preload, real) && !plan_path_private(plan, real);
	return plan->cookie ? err_trace(grant_add(floor, real, PLAN_READ)) : 0;
}

static int compare_grants(const void *a, const void *b)
{
	return strcmp(((const struct grant *)a)->path, ((const struct grant *)b)->path);
}

int plan_add_floor(struct plan *plan, const struct policy_set *policies, const char *program,
	const char *preload)
{
	_cleanup_(floor_deinit) struct floor floor = {.plan = plan, .policies = policies};
	int r = add_own(&floor);

	if (r == 0)
		r = add_reads(&floor, OP_READ, PLAN_READ);
	if (r == 0)
		r = add_reads(&floor, OP_LIST, PLAN_LIST);
	if (r == 0)
		r = add_writes(&floor);
	if (r == 0)
		r = add_program(&floor, program);
	plan->floor_reads = !floor.wide;
	if (r == 0)
		r = add_preload(&floor, plan, preload);
	if (r < 0)
		return err_trace(r);
	if (floor.n_grants > 1)
		qsort(floor.grants, floor.n_grants, sizeof(*floor.grants), compare_grants);
	plan->first_allow = plan->n_steps;
	for (size_t i = 0; i < floor.n_grants && r == 0; i++) {
		const struct grant *grant = &floor.grants[i];

		/* What a folder above grants already is no step of its own. */
		if ((plan_access_of(plan, grant->path) & grant->access) == grant->access)
			continue;
		r = plan_add(plan, PLAN_ALLOW, grant->access, grant->path, NULL);
		plan->n_allow = plan->n_steps - plan->first_allow;
	}
	return err_trace(r);
}
