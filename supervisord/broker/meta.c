/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */

/* Length and metadata by path or descriptor: truncate, chmod, chown, times, extended attributes.
 * The object is pinned, judged and changed through its descriptor. Never left to the floor, but for
 * truncate: Landlock does not look at metadata, and to an owner the kernel gives it by any
 * descriptor, one that only reads too. */

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <utime.h>

#include "supervisord/base/error.h"
#include "supervisord/broker/judge.h"
#include "supervisord/broker/reply.h"
#include "supervisord/broker/target.h"

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452 /* Linux 6.6, all architectures */
#endif

#define XATTR_NAME_BYTES 256 /* with the NUL */
#define XATTR_VALUE_BYTES 65536

/* What is to be done to the pinned object; USERDATA as the handler made it. 0 or -errno. */
typedef int (*meta_act_fn)(const struct path *path, const char *link, const void *userdata);

/* Objects without a name that others could use: pipes, sockets, memfds, deleted files. */
static bool is_nameless(const struct path *path)
{
	return path->anonymous && (path->real[0] != '/' || path->st.st_nlink == 0);
}

/* Judges, acts, answers. */
static void meta_judge(struct notification *n, const struct path *path, enum op op, meta_act_fn act,
	const void *userdata)
{
	char link[PATH_FD_LINK_MAX];
	struct judge judge;
	int r;

	judge_init(&judge, n);
	judge_add(&judge, path, op, NULL);
	if ((is_nameless(path) || judge_allows(&judge)) && notification_valid(n)) {
		path_fd_link(path->object_fd, link);
		r = act(path, link, userdata);
		if (r < 0)
			reply_errno(n, -r);
		else
			reply_value(n, 0);
	}
	judge_deinit(&judge);
}

/* Resolves, judges, acts, answers. */
static void meta_apply(struct notification *n, int dir_fd, uint64_t addr, unsigned flags,
	enum op op, meta_act_fn act, const void *userdata)
{
	struct path path;
	int r;

	r = path_resolve_arg(n, dir_fd, addr, flags, &path);
	if (r == 0 && path.object_fd < 0)
		r = -ENOENT;
	if (r == 0 && path.slash && !S_ISDIR(path.st.st_mode))
		r = -ENOTDIR;
	if (r < 0)
		reply_errno(n, -r);
	else
		meta_judge(n, &path, op, act, userdata);
	path_deinit(&path);
}

/* As meta_apply() for what the requester's descriptor FD is open on. The kernel wants one that is
 * not O_PATH; what is judged and changed is what the number means afterwards. */
static void meta_apply_fd(
	struct notification *n, int fd, enum op op, meta_act_fn act, const void *userdata)
{
	_cleanup_(closep) int dup_fd = -1;
	struct path path = {.parent_fd = -1, .object_fd = -1};
	int r;

	r = target_dup_fd(n, fd, &dup_fd);
	if (r == 0 && fcntl(dup_fd, F_GETFL) & O_PATH)
		r = -EBADF;
	if (r == 0)
		r = path_resolve(n, fd, "", PATH_EMPTY, 0, &path);
	if (r < 0)
		reply_errno(n, -r);
	else
		meta_judge(n, &path, op, act, userdata);
	path_deinit(&path);
}

/* truncate ------------------------------------------------------------------------------------- */

static int truncate_act(const struct path *path, const char *link, const void *userdata)
{
	(void)path;
	return truncate(link, *(const off_t *)userdata) < 0 ? err_errno() : 0;
}

void handle_truncate(struct notification *n)
{
	off_t length = (off_t)n->args[1];
	struct judge judge;
	struct path path;
	int r;

	if (length < 0) {
		reply_errno(n, EINVAL);
		return;
	}
	r = path_resolve_arg(n, AT_FDCWD, n->args[0], 0, &path);
	if (r == 0 && path.object_fd < 0)
		r = -ENOENT;
	if (r == 0 && path.slash && !S_ISDIR(path.st.st_mode))
		r = -ENOTDIR;
	if (r == 0 && !S_ISREG(path.st.st_mode))
		r = S_ISDIR(path.st.st_mode) ? -EISDIR : -EINVAL;
	if (r == 0 &&
		syscall(SYS_faccessat2, path.object_fd, "", W_OK, AT_EMPTY_PATH | AT_EACCESS) < 0)
		r = err_errno();
	if (r < 0) {
		reply_errno(n, -r);
	} else if (judge_floor(n, &path, PLAN_MODIFY | PLAN_TRUNCATE)) {
		(void)reply_continue(n, CONTINUE_FLOOR);
	} else {
		char link[PATH_FD_LINK_MAX];

		path_fd_link(path.object_fd, link);
		judge_init(&judge, n);
		judge_add(&judge, &path, OP_WRITE, NULL);
		if (judge_allows(&judge) && notification_valid(n)) {
			r = truncate_act(&path, link, &length);
			if (r < 0)
				reply_errno(n, -r);
			else
				reply_value(n, 0);
		}
		judge_deinit(&judge);
	}
	path_deinit(&path);
}

/* chmod ---------------------------------------------------------------------------------------- */

static int chmod_act(const struct path *path, const char *link, const void *userdata)
{
	/* No file system of ours keeps a mode of a symbolic link. */
	if (S_ISLNK(path->st.st_mode))
		return -EOPNOTSUPP;
	return chmod(link, *(const mode_t *)userdata) < 0 ? err_errno() : 0;
}

void handle_chmod(struct notification *n)
{
	bool at = n->nr == SYS_fchmodat || n->nr == SYS_fchmodat2;
	mode_t mode = (mode_t)n->args[at ? 2 : 1] & 07777;
	int flags = n->nr == SYS_fchmodat2 ? (int)n->args[3] : 0;

	if (n->nr == SYS_fchmod) {
		meta_apply_fd(n, (int)n->args[0], OP_CHMOD, chmod_act, &mode);
		return;
	}
	if (flags & ~(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH)) {
		reply_errno(n, EINVAL);
		return;
	}
	meta_apply(n, at ? (int)n->args[0] : AT_FDCWD, n->args[at ? 1 : 0],
		(flags & AT_SYMLINK_NOFOLLOW ? PATH_NOFOLLOW : 0) |
			(flags & AT_EMPTY_PATH ? PATH_EMPTY : 0),
		OP_CHMOD, chmod_act, &mode);
}

/* chown ---------------------------------------------------------------------------------------- */

struct owner {
	uid_t uid;
	gid_t gid;
};

static int chown_act(const struct path *path, const char *link, const void *userdata)
{
	const struct owner *owner = userdata;

	(void)link;
	if (fchownat(path->object_fd, "", owner->uid, owner->gid, AT_EMPTY_PATH) < 0)
		return err_errno();
	return 0;
}

void handle_chown(struct notification *n)
{
	bool at = n->nr == SYS_fchownat;
	int flags = at ? (int)n->args[4] : n->nr == SYS_lchown ? AT_SYMLINK_NOFOLLOW : 0;
	struct owner owner = {
		.uid = (uid_t)n->args[at ? 2 : 1],
		.gid = (gid_t)n->args[at ? 3 : 2],
	};

	if (n->nr == SYS_fchown) {
		meta_apply_fd(n, (int)n->args[0], OP_CHMOD, chown_act, &owner);
		return;
	}
	if (flags & ~(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH)) {
		reply_errno(n, EINVAL);
		return;
	}
	meta_apply(n, at ? (int)n->args[0] : AT_FDCWD, n->args[at ? 1 : 0],
		(flags & AT_SYMLINK_NOFOLLOW ? PATH_NOFOLLOW : 0) |
			(flags & AT_EMPTY_PATH ? PATH_EMPTY : 0),
		OP_CHMOD, chown_act, &owner);
}

/* Times ---------------------------------------------------------------------------------------- */

struct times {
	bool now; /* the call had no times: the present */
	struct timespec ts[2];
};

static int times_act(const struct path *path, const char *link, const void *userdata)
{
	const struct times *times = userdata;

	(void)link;
	/* The raw call: libc refuses an empty path with a NULL time. */
	if (syscall(SYS_utimensat, path->object_fd, "", times->now ? NULL : times->ts,
		    AT_EMPTY_PATH) < 0)
		return err_errno();
	return 0;
}

static int times_from_timeval(struct notification *n, uint64_t addr, struct times *times)
{
	struct timeval tv[2];
	int r, i;

	r = target_read(n, addr, tv, sizeof(tv));
	if (r < 0)
		return r;
	for (i = 0; i < 2; i++) {
		if (tv[i].tv_usec < 0 || tv[i].tv_usec >= 1000000)
			return -EINVAL;
		times->ts[i].tv_sec = tv[i].tv_sec;
		times->ts[i].tv_nsec = tv[i].tv_usec * 1000;
	}
	return 0;
}

static int times_read(struct notification *n, uint64_t addr, struct times *times)
{
	struct utimbuf buf;
	int r;

	times->now = addr == 0;
	if (times->now)
		return 0;
	switch (n->nr) {
	case SYS_utime:
		r = target_read(n, addr, &buf, sizeof(buf));
		if (r == 0) {
			times->ts[0] = (struct timespec){.tv_sec = buf.actime};
			times->ts[1] = (struct timespec){.tv_sec = buf.modtime};
		}
		return r;
	case SYS_utimensat:
		return target_read(n, addr, times->ts, sizeof(times->ts));
	default:
		return times_from_timeval(n, addr, times);
	}
}

void handle_utimes(struct notification *n)
{
	bool at = n->nr == SYS_utimensat || n->nr == SYS_futimesat;
	int flags = n->nr == SYS_utimensat ? (int)n->args[3] : 0;
	int dir_fd = at ? (int)n->args[0] : AT_FDCWD;
	struct times times;
	int r;

	memset(&times, 0, sizeof(times));
	r = times_read(n, n->args[at ? 2 : 1], &times);
	/* Nothing to set: the kernel does not even look at the path. */
	if (r == 0 && n->nr == SYS_utimensat && !times.now && times.ts[0].tv_nsec == UTIME_OMIT &&
		times.ts[1].tv_nsec == UTIME_OMIT) {
		reply_value(n, 0);
		return;
	}
	if (r == 0 && at && n->args[1] == 0 && dir_fd != AT_FDCWD) {
		/* utimensat(FD, NULL, ...) and futimesat(FD, NULL, ...) */
		if (flags)
			reply_errno(n, EINVAL);
		else
			meta_apply_fd(n, dir_fd, OP_CHMOD, times_act, &times);
		return;
	}
	if (r == 0 && flags & ~(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))
		r = -EINVAL;
	if (r < 0) {
		reply_errno(n, -r);
		return;
	}
	meta_apply(n, dir_fd, n->args[at ? 1 : 0],
		(flags & AT_SYMLINK_NOFOLLOW ? PATH_NOFOLLOW : 0) |
			(flags & AT_EMPTY_PATH ? PATH_EMPTY : 0),
		OP_CHMOD, times_act, &times);
}

/* Extended attributes -------------------------------------------------------------------------- */

struct xattr {
	bool remove;
	char name[XATTR_NAME_BYTES];
	void *value;
	size_t size;
	int flags;
};

static int xattr_act(const struct path *path, const char *link, const void *userdata)
{
	const struct xattr *x = userdata;
	int r;

	/* A link's own attributes: no path leads to it by descriptor, and "user." ones do not
	 * exist. */
	if (S_ISLNK(path->st.st_mode))
		return -EPERM;
	r = x->remove ? removexattr(link, x->name)
		      : setxattr(link, x->name, x->value, x->size, x->flags);
	return r < 0 ? err_errno() : 0;
}

static int xattr_read(struct notification *n, struct xattr *x)
{
	ssize_t size;

	if (!x->remove && (int)n->args[4] & ~(XATTR_CREATE | XATTR_REPLACE))
		return -EINVAL;
	size = target_read_string(n, n->args[1], x->name, sizeof(x->name));
	if (size == 0 || size == -ENAMETOOLONG)
		return -ERANGE;
	if (size < 0)
		return (int)size;
	if (x->remove || n->args[3] == 0)
		return 0;
	if (n->args[3] > XATTR_VALUE_BYTES)
		return -E2BIG;
	x->size = (size_t)n->args[3];
	x->value = malloc(x->size);
	if (!x->value)
		return err_trace(-ENOMEM);
	return target_read(n, n->args[2], x->value, x->size);
}

void handle_xattr(struct notification *n)
{
	bool nofollow = n->nr == SYS_lsetxattr || n->nr == SYS_lremovexattr;
	bool by_fd = n->nr == SYS_fsetxattr || n->nr == SYS_fremovexattr;
	struct xattr x;
	int r;

	memset(&x, 0, sizeof(x));
	x.remove =
		n->nr == SYS_removexattr || n->nr == SYS_lremovexattr || n->nr == SYS_fremovexattr;
	x.flags = x.remove ? 0 : (int)n->args[4];
	r = xattr_read(n, &x);
	if (r < 0)
		reply_errno(n, -r);
	else if (by_fd)
		meta_apply_fd(n, (int)n->args[0], OP_CHMOD, xattr_act, &x);
	else
		meta_apply(n, AT_FDCWD, n->args[0], nofollow ? PATH_NOFOLLOW : 0, OP_CHMOD,
			xattr_act, &x);
	free(x.value);
}
