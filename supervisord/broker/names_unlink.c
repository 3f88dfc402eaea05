/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */

/* unlink, unlinkat, rmdir: the name is judged, and removed from the pinned parent. */

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/syscall.h>

#include "supervisord/base/error.h"
#include "supervisord/broker/judge.h"
#include "supervisord/broker/names.h"
#include "supervisord/broker/reply.h"
#include "supervisord/broker/target.h"

#define UNLINK_TRIES 8

/* The kernel's errors before any permission; 0 when there is none. */
static int unlink_error(const struct path *path, bool folder)
{
	bool is_folder = path->object_fd >= 0 && S_ISDIR(path->st.st_mode);

	if (path->parent_fd < 0) {
		if (!folder)
			return EISDIR;
		if (strcmp(path->name, ".") == 0)
			return EINVAL;
		return strcmp(path->name, "..") == 0 ? ENOTEMPTY : EBUSY;
	}
	if (path->object_fd < 0)
		return ENOENT;
	if (!folder && path->slash)
		return is_folder ? EISDIR : ENOTDIR;
	/* As everywhere: the kernel asks for permission first and for the kind then. */
	if (syscall(SYS_faccessat2, path->parent_fd, "", W_OK | X_OK, AT_EMPTY_PATH | AT_EACCESS) <
		0)
		return errno;
	if (folder != is_folder)
		return folder ? ENOTDIR : EISDIR;
	return 0;
}

/* Is the judged object still what the name leads to? With the names locked. */
static bool same_object(const struct path *path)
{
	struct stat st;

	return fstatat(path->parent_fd, path->name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	       (st.st_dev == path->st.st_dev && st.st_ino == path->st.st_ino);
}

static int unlink_now(struct notification *n, const struct path *path, bool folder)
{
	int r;

	names_lock_shared();
	if (!names_same(path) || !same_object(path)) {
		names_unlock();
		return 1;
	}
	if (!notification_valid(n)) {
		names_unlock();
		return 0;
	}
	r = unlinkat(path->parent_fd, path->name, folder ? AT_REMOVEDIR : 0) < 0 ? err_errno() : 0;
	names_unlock();
	if (r < 0)
		reply_errno(n, -r);
	else
		reply_value(n, 0);
	return 0;
}

/* 0 when the call was answered, 1 to start over. */
static int unlink_try(struct notification *n, int dir_fd, const char *text, bool folder)
{
	struct judge judge;
	struct path path;
	int r, error;

	r = path_resolve(n, dir_fd, text, PATH_PARENT, 0, &path);
	error = r < 0 ? -r : unlink_error(&path, folder);
	r = 0;
	if (error) {
		reply_errno(n, error);
	} else if (judge_floor(n, &path, PLAN_MODIFY)) {
		(void)reply_continue(n, CONTINUE_FLOOR);
	} else {
		judge_init(&judge, n);
		judge_add(&judge, &path, OP_DELETE, NULL);
		if (judge_allows(&judge))
			r = unlink_now(n, &path, folder);
		judge_deinit(&judge);
	}
	path_deinit(&path);
	return r;
}

void handle_unlink(struct notification *n)
{
	bool at = n->nr == SYS_unlinkat;
	bool folder = n->nr == SYS_rmdir || (at && (int)n->args[2] == AT_REMOVEDIR);
	char text[PATH_MAX];
	ssize_t size;
	int tries;

	if (at && (int)n->args[2] & ~AT_REMOVEDIR) {
		reply_errno(n, EINVAL);
		return;
	}
	size = target_read_string(n, n->args[at ? 1 : 0], text, sizeof(text));
	if (size < 0) {
		reply_errno(n, (int)-size);
		return;
	}
	for (tries = 0; tries < UNLINK_TRIES; tries++)
		if (unlink_try(n, at ? (int)n->args[0] : AT_FDCWD, text, folder) == 0)
			return;
	reply_errno(n, EAGAIN);
}
