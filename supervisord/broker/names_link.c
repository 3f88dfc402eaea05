/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */

/* link, linkat: a second name for an object. The object is pinned and linked by its descriptor;
 * since the new name gives its content away, what the policy says about reading and writing the old
 * name counts where it is stricter than what it says about the new one. */

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "supervisord/base/error.h"
#include "supervisord/broker/judge.h"
#include "supervisord/broker/names.h"
#include "supervisord/broker/reply.h"
#include "supervisord/broker/target.h"

#define LINK_TRIES 8

/* Copied once. */
struct link_call {
	int from_dir, to_dir;
	int flags;
	char from[PATH_MAX], to[PATH_MAX];
};

static int link_call_read(struct notification *n, struct link_call *call)
{
	bool at = n->nr == SYS_linkat;
	ssize_t size;

	call->from_dir = at ? (int)n->args[0] : AT_FDCWD;
	call->to_dir = at ? (int)n->args[2] : AT_FDCWD;
	call->flags = at ? (int)n->args[4] : 0;
	if (call->flags & ~(AT_SYMLINK_FOLLOW | AT_EMPTY_PATH))
		return -EINVAL;
	size = target_read_string(n, n->args[at ? 1 : 0], call->from, sizeof(call->from));
	if (size < 0)
		return (int)size;
	size = target_read_string(n, n->args[at ? 3 : 1], call->to, sizeof(call->to));
	return size < 0 ? (int)size : 0;
}

/* The kernel's errors before any permission; 0 when there is none. */
static int link_error(const struct path *from, const struct path *to)
{
	struct stat st;

	if (from->object_fd < 0)
		return ENOENT;
	if (from->slash && !S_ISDIR(from->st.st_mode))
		return ENOTDIR;
	if (to->object_fd >= 0)
		return EEXIST;
	if (to->slash)
		return ENOENT;
	if (fstat(to->parent_fd, &st) == 0 && st.st_dev != from->st.st_dev)
		return EXDEV;
	if (S_ISDIR(from->st.st_mode))
		return EPERM;
	if (syscall(SYS_faccessat2, to->parent_fd, "", W_OK | X_OK, AT_EMPTY_PATH | AT_EACCESS) < 0)
		return errno;
	return 0;
}

/* Links by the descriptor. Without capabilities that takes the detour over /proc. */
static int link_act(const struct path *from, const struct path *to)
{
	char link[PATH_FD_LINK_MAX];

	path_fd_link(from->object_fd, link);
	if (linkat(AT_FDCWD, link, to->parent_fd, to->name, AT_SYMLINK_FOLLOW) < 0)
		return err_errno();
	return 0;
}

static int link_now(struct notification *n, const struct path *from, const struct path *to)
{
	int r;

	names_lock_shared();
	if (!names_same(from) || !names_same(to)) {
		names_unlock();
		return 1;
	}
	if (!notification_valid(n)) {
		names_unlock();
		return 0;
	}
	r = link_act(from, to);
	names_unlock();
	if (r < 0)
		reply_errno(n, -r);
	else
		reply_value(n, 0);
	return 0;
}

static int link_judged(struct notification *n, const struct path *from, const struct path *to)
{
	static const enum op ops[] = {OP_CREATE, OP_LINK, OP_RENAME};
	struct judge judge;
	int r = 0;

	judge_init(&judge, n);
	/* An unnamed file (O_TMPFILE) gets its first name here: only that one counts. */
	if (from->st.st_nlink > 0) {
		judge_add(&judge, from, OP_LINK, to->real);
		judge_add_laundering(&judge, from, to);
	}
	/* A link to a folder puts that folder there, as a rename would. */
	judge_add_strictest(&judge, to, ops, S_ISLNK(from->st.st_mode) ? 3 : 2, from->real);
	if (judge_allows(&judge))
		r = link_now(n, from, to);
	judge_deinit(&judge);
	return r;
}

/* 0 when the call was answered, 1 to start over. */
static int link_try(struct notification *n, const struct link_call *call)
{
	unsigned flags = (call->flags & AT_SYMLINK_FOLLOW ? 0 : PATH_NOFOLLOW) |
			 (call->flags & AT_EMPTY_PATH ? PATH_EMPTY : 0);
	struct path from, to = {.parent_fd = -1, .object_fd = -1};
	int r, error;

	r = path_resolve(n, call->from_dir, call->from, flags, 0, &from);
	if (r == 0)
		r = from.object_fd < 0
			    ? -ENOENT
			    : path_resolve(n, call->to_dir, call->to, PATH_PARENT, 0, &to);
	error = r < 0 ? -r : link_error(&from, &to);
	r = 0;
	if (error)
		reply_errno(n, error);
	else if (judge_floor(n, &from, PLAN_MODIFY) && judge_floor(n, &to, PLAN_MODIFY))
		(void)reply_continue(n, CONTINUE_FLOOR);
	else
		r = link_judged(n, &from, &to);
	path_deinit(&from);
	path_deinit(&to);
	return r;
}

void handle_link(struct notification *n)
{
	struct link_call call;
	int r, tries;

	r = link_call_read(n, &call);
	if (r < 0) {
		reply_errno(n, -r);
		return;
	}
	for (tries = 0; tries < LINK_TRIES; tries++)
		if (link_try(n, &call) == 0)
			return;
	reply_errno(n, EAGAIN);
}
