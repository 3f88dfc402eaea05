/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */

/* New names that are no opens: mkdir, mknod, symlink. The parent is pinned, the name judged, the
 * call made on the pinned parent; none of the three ever follows or replaces what is there. */

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include "supervisord/base/error.h"
#include "supervisord/broker/fresh.h"
#include "supervisord/broker/judge.h"
#include "supervisord/broker/names.h"
#include "supervisord/broker/reply.h"
#include "supervisord/broker/target.h"

#define CREATE_TRIES 8

/* One creation. */
struct creation {
	enum { CREATE_FOLDER, CREATE_NODE, CREATE_LINK } kind;
	mode_t mode;
	dev_t dev;
	const char *target; /* of a symbolic link */
};

static int create_act(const struct path *path, const struct creation *c)
{
	int r;

	switch (c->kind) {
	case CREATE_FOLDER:
		r = mkdirat(path->parent_fd, path->name, c->mode);
		break;
	case CREATE_NODE:
		r = mknodat(path->parent_fd, path->name, c->mode, c->dev);
		break;
	case CREATE_LINK:
	default:
		r = symlinkat(c->target, path->parent_fd, path->name);
		break;
	}
	return r < 0 ? err_errno() : 0;
}

/* A repository made here is the session's own. With the names locked, so that what is remembered is
 * what was made. */
static void create_note_fresh(struct notification *n, const struct path *path)
{
	_cleanup_(closep) int fd = -1;

	if (strcmp(path->name, ".git") != 0 || !n->broker->fresh)
		return;
	fd = openat(path->parent_fd, path->name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0)
		fresh_repos_add(n->broker->fresh, fd);
}

/* The kernel's errors before any permission; 0 when there is none. */
static int create_error(const struct path *path, const struct creation *c)
{
	if (path->object_fd >= 0)
		return EEXIST;
	if (path->slash && c->kind != CREATE_FOLDER)
		return ENOENT;
	if (syscall(SYS_faccessat2, path->parent_fd, "", W_OK | X_OK, AT_EMPTY_PATH | AT_EACCESS) <
		0)
		return errno;
	return 0;
}

/* 0 when the call was answered, 1 to start over. */
static int create_now(struct notification *n, const struct path *path, const struct creation *c)
{
	mode_t saved;
	int r;

	if (target_ids(n) < 0)
		return 0;
	/* A folder named ".git" is remembered: nobody may put another in its place meanwhile. */
	if (c->kind == CREATE_FOLDER && strcmp(path->name, ".git") == 0)
		names_lock_exclusive();
	else
		names_lock_shared();
	if (!names_same(path)) {
		names_unlock();
		return 1;
	}
	if (!notification_valid(n)) {
		names_unlock();
		return 0;
	}
	saved = umask(n->umask);
	r = create_act(path, c);
	(void)umask(saved);
	if (r == 0 && c->kind == CREATE_FOLDER)
		create_note_fresh(n, path);
	names_unlock();
	if (r < 0)
		reply_errno(n, -r);
	else
		reply_value(n, 0);
	return 0;
}

static int create_try(
	struct notification *n, int dir_fd, const char *text, const struct creation *c)
{
	static const enum op ops[] = {OP_CREATE, OP_RENAME};
	struct judge judge;
	struct path path;
	int r, error;

	r = path_resolve(n, dir_fd, text, PATH_PARENT, 0, &path);
	if (r < 0) {
		reply_errno(n, -r);
		r = 0;
		goto out;
	}
	error = create_error(&path, c);
	r = 0;
	if (error) {
		reply_errno(n, error);
		goto out;
	}
	if (judge_floor(n, &path, PLAN_MODIFY)) {
		(void)reply_continue(n, CONTINUE_FLOOR);
		goto out;
	}
	judge_init(&judge, n);
	/* A link puts a whole folder there at once, as a rename would. */
	judge_add_strictest(&judge, &path, ops, c->kind == CREATE_LINK ? 2 : 1, c->target);
	if (judge_allows(&judge))
		r = create_now(n, &path, c);
	judge_deinit(&judge);
out:
	path_deinit(&path);
	return r;
}

static void create(struct notification *n, int dir_fd, uint64_t addr, const struct creation *c)
{
	char text[PATH_MAX];
	ssize_t size;
	int tries;

	size = target_read_string(n, addr, text, sizeof(text));
	if (size < 0) {
		reply_errno(n, (int)-size);
		return;
	}
	for (tries = 0; tries < CREATE_TRIES; tries++)
		if (create_try(n, dir_fd, text, c) == 0)
			return;
	reply_errno(n, EAGAIN);
}

void handle_mkdir(struct notification *n)
{
	bool at = n->nr == SYS_mkdirat;
	struct creation c = {
		.kind = CREATE_FOLDER,
		.mode = (mode_t)n->args[at ? 2 : 1] & 07777,
	};

	create(n, at ? (int)n->args[0] : AT_FDCWD, n->args[at ? 1 : 0], &c);
}

void handle_mknod(struct notification *n)
{
	bool at = n->nr == SYS_mknodat;
	unsigned dev = (unsigned)n->args[at ? 3 : 2];
	struct creation c = {
		.kind = CREATE_NODE,
		.mode = (mode_t)(n->args[at ? 2 : 1] & 0xffff),
		/* The system call's 32-bit form: 8 + 12 bits minor around 12 bits major. */
		.dev = makedev(dev >> 8 & 0xfff, (dev & 0xff) | (dev >> 12 & 0xfff00)),
	};

	switch (c.mode & S_IFMT) {
	case 0:
	case S_IFREG:
	case S_IFIFO:
	case S_IFSOCK:
		c.dev = 0;
		break;
	case S_IFDIR:
	case S_IFBLK:
	case S_IFCHR: /* a session has no capability to make one */
		reply_errno(n, EPERM);
		return;
	default:
		reply_errno(n, EINVAL);
		return;
	}
	create(n, at ? (int)n->args[0] : AT_FDCWD, n->args[at ? 1 : 0], &c);
}

void handle_symlink(struct notification *n)
{
	bool at = n->nr == SYS_symlinkat;
	char target[PATH_MAX];
	struct creation c = {.kind = CREATE_LINK, .target = target};
	ssize_t size;

	size = target_read_string(n, n->args[0], target, sizeof(target));
	if (size <= 0) {
		reply_errno(n, size < 0 ? (int)-size : ENOENT);
		return;
	}
	create(n, at ? (int)n->args[1] : AT_FDCWD, n->args[at ? 2 : 1], &c);
}
