/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */

/* What /proc means to the requester. The broker is another process, and mostly not even in the
 * session's pid namespace: "self" is replaced by the requester's ids there, and a magic link is
 * followed by the kernel on this one component only, and only of the requester's thread group. */

#include "supervisord/broker/path_walk.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "supervisord/base/error.h"
#include "supervisord/base/proc.h"
#include "supervisord/broker/path.h"

#define PROC_ROOT_INODE 1 /* of every procfs */
#define PROC_DEPTH_MAX 16

static bool is_proc_root(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_ino == PROC_ROOT_INODE &&
	       walk_fs_type(fd) == PROC_SUPER_MAGIC;
}

/* The name of FOLDER_FD relative to the root of its procfs: "" or "123/fd"; owned by the caller. */
static int relative_name(int folder_fd, char **relp)
{
	_cleanup_(freep) char *name = NULL;
	_cleanup_(freep) char *root = NULL;
	_cleanup_(closep) int fd = -1;
	int up, depth, r;
	size_t size;

	r = path_fd_name(folder_fd, &name);
	if (r < 0)
		return r;
	fd = fcntl(folder_fd, F_DUPFD_CLOEXEC, 0);
	for (depth = 0; fd >= 0 && !is_proc_root(fd); depth++) {
		if (depth == PROC_DEPTH_MAX)
			return -EACCES;
		up = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (up >= 0 && walk_fs_type(up) != PROC_SUPER_MAGIC) {
			close(up);
			return -EACCES;
		}
		close(fd);
		fd = up;
	}
	if (fd < 0)
		return err_errno();
	r = path_fd_name(fd, &root);
	if (r < 0)
		return r;
	size = strlen(root);
	if (strncmp(name, root, size) != 0 || (name[size] != '/' && name[size] != '\0'))
		return -EACCES;
	*relp = strdup(name[size] == '/' ? name + size + 1 : "");
	return *relp ? 0 : err_trace(-ENOMEM);
}

/* Splits "123/rest" off; false when the first component is no number. */
static bool leading_pid(const char *rel, long *pidp, const char **restp)
{
	char *end;

	if (rel[0] < '1' || rel[0] > '9')
		return false;
	errno = 0;
	*pidp = strtol(rel, &end, 10);
	if (errno != 0 || (*end != '/' && *end != '\0'))
		return false;
	*restp = *end == '/' ? end + 1 : end;
	return true;
}

static int own_tgid(struct notification *n, pid_t *tgidp, pid_t *tidp)
{
	int r = proc_inner_ids(n->tid, tgidp, tidp);

	if (r < 0)
		return r;
	return notification_valid(n) ? 0 : -ESRCH;
}

static int self_link(struct walk *walk, bool thread, char **textp)
{
	pid_t tgid, tid;
	int r;

	r = own_tgid(walk->n, &tgid, &tid);
	if (r < 0)
		return r;
	if (thread)
		r = asprintf(textp, "%d/task/%d", (int)tgid, (int)tid);
	else
		r = asprintf(textp, "%d", (int)tgid);
	if (r < 0) {
		*textp = NULL;
		return err_trace(-ENOMEM);
	}
	return 0;
}

static int plain_link(int link_fd, char **textp)
{
	char text[PATH_MAX];
	ssize_t size = readlinkat(link_fd, "", text, sizeof(text));

	if (size < 0)
		return err_errno();
	if (size == 0)
		return -ENOENT;
	*textp = strndup(text, (size_t)size);
	return *textp ? 0 : err_trace(-ENOMEM);
}

/* May the requester have this magic link followed for it? */
static int magic_allowed(struct notification *n, int parent_fd)
{
	_cleanup_(freep) char *rel = NULL;
	const char *rest;
	pid_t tgid, tid;
	long pid;
	int r;

	r = relative_name(parent_fd, &rel);
	if (r < 0 || !rel)
		return r < 0 ? r : -EIO;
	r = own_tgid(n, &tgid, &tid);
	if (r < 0)
		return r;
	if (!leading_pid(rel, &pid, &rest) || pid != tgid)
		return -EACCES;
	/* The kernel asks for a capability here that we may have and the requester has not. */
	if (strcmp(rest, "map_files") == 0)
		return -EPERM;
	return 0;
}

int path_proc_link(struct walk *walk, int parent_fd, const char *name, int link_fd, char **textp,
	int *jump_fdp)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_NO_MAGICLINKS,
	};
	bool thread = strcmp(name, "thread-self") == 0;
	long probe;
	int r;

	if ((thread || strcmp(name, "self") == 0) && is_proc_root(parent_fd))
		return self_link(walk, thread, textp);
	/* The kernel tells a magic link from a plain one ("mounts") by ELOOP. */
	probe = syscall(SYS_openat2, parent_fd, name, &how, sizeof(how));
	if (probe >= 0)
		close((int)probe);
	if (probe >= 0 || errno == ENOENT)
		return plain_link(link_fd, textp);
	if (errno != ELOOP)
		return err_errno();
	if (walk->resolve & RESOLVE_NO_MAGICLINKS)
		return -ELOOP;
	r = magic_allowed(walk->n, parent_fd);
	if (r < 0)
		return r;
	*jump_fdp = openat(parent_fd, name, O_PATH | O_CLOEXEC);
	if (*jump_fdp < 0)
		return err_errno();
	return notification_valid(walk->n) ? 0 : -ESRCH;
}

int path_proc_place(struct notification *n, const struct path *path, struct path_proc_place *place)
{
	_cleanup_(freep) char *rel = NULL;
	_cleanup_(freep) char *whole = NULL;
	const char *rest;
	pid_t tgid, tid;
	long pid;
	int fd, r;

	memset(place, 0, sizeof(*place));
	fd = path->parent_fd >= 0 ? path->parent_fd : path->object_fd;
	if (path->parent_fd < 0 && !S_ISDIR(path->st.st_mode))
		return -EACCES;
	r = relative_name(fd, &rel);
	if (r < 0 || !rel)
		return r < 0 ? r : -EIO;
	if (asprintf(&whole, "%s%s%s", rel, rel[0] ? "/" : "",
		    path->parent_fd >= 0 ? path->name : "") < 0) {
		whole = NULL;
		return err_trace(-ENOMEM);
	}
	rest = whole;
	if (leading_pid(whole, &pid, &rest)) {
		r = own_tgid(n, &tgid, &tid);
		if (r < 0)
			return r;
		place->process = true;
		place->own = pid == tgid;
	}
	if (strlen(rest) >= sizeof(place->rest))
		return -EACCES;
	memcpy(place->rest, rest, strlen(rest) + 1);
	return 0;
}
