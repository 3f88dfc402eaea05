/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */

#include "supervisord/broker/names_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "policy-lang/policy.h"
#include "supervisord/base/error.h"
#include "supervisord/broker/fresh.h"

struct tree {
	struct judge *judge;
	const struct names_findings *approved;
	struct names_findings *findings;
	size_t n_entries;
	/* The names of the entry in hand, before and after; both end alike. */
	char from[PATH_MAX], to[PATH_MAX];
};

/* Inside a repository of the session's own, before and after. */
struct tree_fresh {
	bool from, to;
};

void names_findings_deinit(struct names_findings *findings)
{
	size_t i;

	for (i = 0; i < findings->n_items; i++)
		free(findings->items[i].name);
	findings->n_items = 0;
}

static bool is_approved(const struct tree *tree, enum op op, const char *name)
{
	size_t i;

	for (i = 0; i < tree->approved->n_items; i++)
		if (tree->approved->items[i].op == op &&
			strcmp(tree->approved->items[i].name, name) == 0)
			return true;
	return false;
}

/* Notes what VERDICT makes of OP on NAME; false when there is no need to look further. */
static bool tree_note(
	struct tree *tree, enum verdict verdict, enum op op, const char *name, bool fresh)
{
	struct names_findings *f = tree->findings;
	char *copy;

	if (verdict == VERDICT_ALLOW || (verdict == VERDICT_ASK && is_approved(tree, op, name)))
		return true;
	if (f->n_items == NAMES_TREE_FINDINGS) {
		f->why = "a folder with many guarded names";
		return false;
	}
	copy = strdup(name);
	if (!copy) {
		f->why = "out of memory";
		return false;
	}
	f->items[f->n_items++] = (struct names_finding){.op = op, .name = copy, .fresh = fresh};
	f->refused = verdict != VERDICT_ASK;
	return !f->refused;
}

static bool tree_entry(struct tree *tree, struct tree_fresh fresh)
{
	static const enum op content[] = {OP_READ, OP_WRITE};
	struct judge *j = tree->judge;
	enum verdict before, after;
	size_t i;

	if (!tree_note(tree, judge_peek(j, OP_RENAME, tree->from, NULL, fresh.from), OP_RENAME,
		    tree->from, fresh.from) ||
		!tree_note(tree, judge_peek(j, OP_CREATE, tree->to, NULL, fresh.to), OP_CREATE,
			tree->to, fresh.to) ||
		!tree_note(tree, judge_peek(j, OP_RENAME, tree->to, NULL, fresh.to), OP_RENAME,
			tree->to, fresh.to))
		return false;
	/* A new name must not give away what the old one guards. */
	for (i = 0; i < ARRAY_LEN(content); i++) {
		before = judge_peek(j, content[i], tree->from, NULL, fresh.from);
		if (before == VERDICT_ALLOW)
			continue;
		after = judge_peek(j, content[i], tree->to, NULL, fresh.to);
		if (before > after && !tree_note(tree, before, content[i], tree->from, fresh.from))
			return false;
	}
	return true;
}

/* Adds "/NAME" to both names. */
static bool tree_push(struct tree *tree, const char *name)
{
	size_t from = strlen(tree->from), to = strlen(tree->to), size = strlen(name) + 1;

	if (from + size >= sizeof(tree->from) || to + size >= sizeof(tree->to))
		return false;
	tree->from[from] = tree->to[to] = '/';
	memcpy(tree->from + from + 1, name, size);
	memcpy(tree->to + to + 1, name, size);
	return true;
}

static bool entry_is_folder(int dir_fd, const struct dirent *entry)
{
	struct stat st;

	if (entry->d_type != DT_UNKNOWN)
		return entry->d_type == DT_DIR;
	return fstatat(dir_fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

static bool tree_folder(struct tree *tree, int fd, struct tree_fresh fresh, unsigned depth);

/* Opens the folder NAME; a repository of the session's own makes FRESH so from here on. -1 when it
 * cannot be looked through. */
static int tree_open(struct tree *tree, int dir_fd, const char *name, struct tree_fresh *fresh)
{
	struct fresh_repos *repos = tree->judge->n->broker->fresh;
	int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		tree->findings->why = "a folder that cannot be looked through";
	else if (repos && fresh_repos_is(repos, fd))
		fresh->from = fresh->to = true;
	return fd;
}

/* Is the entry a pointer file that the session made? */
static bool is_fresh_pointer(const struct tree *tree, int dir_fd, const char *name)
{
	struct fresh_repos *repos = tree->judge->n->broker->fresh;
	_cleanup_(closep) int fd = -1;

	if (!repos || strcmp(name, ".git") != 0)
		return false;
	fd = openat(dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	return fd >= 0 && fresh_repos_is(repos, fd);
}

/* One entry of an open folder, and what is below it. */
static bool tree_visit(struct tree *tree, int dir_fd, const struct dirent *entry,
	struct tree_fresh fresh, unsigned depth)
{
	size_t from = strlen(tree->from), to = strlen(tree->to);
	_cleanup_(closep) int fd = -1;
	bool go_on = true;

	if (++tree->n_entries > NAMES_TREE_ENTRIES) {
		tree->findings->why = "a folder with too much in it";
		return false;
	}
	if (!tree_push(tree, entry->d_name)) {
		tree->findings->why = "a folder with too long names in it";
		return false;
	}
	if (entry_is_folder(dir_fd, entry)) {
		fd = tree_open(tree, dir_fd, entry->d_name, &fresh);
		go_on = fd >= 0;
	} else if (is_fresh_pointer(tree, dir_fd, entry->d_name)) {
		fresh.from = fresh.to = true;
	}
	go_on = go_on && tree_entry(tree, fresh);
	if (go_on && fd >= 0)
		go_on = tree_folder(tree, TAKE_FD(fd), fresh, depth + 1);
	tree->from[from] = tree->to[to] = '\0';
	return go_on;
}

/* Everything in the folder FD (taken); false when there is no need to look further. */
static bool tree_folder(struct tree *tree, int fd, struct tree_fresh fresh, unsigned depth)
{
	const struct dirent *entry;
	bool go_on = true;
	DIR *dir;

	dir = depth < NAMES_TREE_DEPTH ? fdopendir(fd) : NULL;
	if (!dir) {
		close(fd);
		tree->findings->why = "a folder that cannot be looked through";
		return false;
	}
	while (go_on && (entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			go_on = tree_visit(tree, fd, entry, fresh, depth);
	closedir(dir);
	return go_on;
}

/* Is every name below allowed for every op that matters, before and after? */
static bool tree_is_plain(const struct judge *judge, const char *from, const char *to)
{
	const struct policy_set *set = judge->n->broker->policies;

	return policy_set_judge_tree(set, OP_RENAME, from) == POLICY_TREE_ALLOW &&
	       policy_set_judge_tree(set, OP_READ, from) == POLICY_TREE_ALLOW &&
	       policy_set_judge_tree(set, OP_WRITE, from) == POLICY_TREE_ALLOW &&
	       policy_set_judge_tree(set, OP_RENAME, to) == POLICY_TREE_ALLOW &&
	       policy_set_judge_tree(set, OP_CREATE, to) == POLICY_TREE_ALLOW;
}

int names_tree_check(struct judge *judge, const struct path *source, const struct path *target,
	const struct names_findings *approved, struct names_findings *findings)
{
	struct fresh_repos *repos = judge->n->broker->fresh;
	_cleanup_(freep) struct tree *tree = NULL;
	struct tree_fresh fresh = {false, false};
	int fd;

	if (tree_is_plain(judge, source->real, target->real))
		return 0;
	tree = calloc(1, sizeof(*tree));
	if (!tree)
		return err_trace(-ENOMEM);
	tree->judge = judge;
	tree->approved = approved;
	tree->findings = findings;
	(void)snprintf(tree->from, sizeof(tree->from), "%s", source->real);
	(void)snprintf(tree->to, sizeof(tree->to), "%s", target->real);
	if (repos) {
		fresh.from = fresh_repos_holds(repos, source);
		fresh.to = fresh_repos_holds(repos, target);
		/* The target may be the folder that is replaced or exchanged: only where it goes
		 * counts. */
		if (target->object_fd >= 0 && fresh_repos_is(repos, target->object_fd))
			fresh.to = false;
	}
	fd = tree_open(tree, source->parent_fd, source->name, &fresh);
	if (fd >= 0)
		(void)tree_folder(tree, fd, fresh, 0);
	return judge->error;
}
