/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "supervisord/sandbox/mounts.h"

/* MUST:
 *  1. make nothing on a file system of the host: mount points exist already or lie on our own tmpfs
 *  2. take hold of what stays visible before anything is covered
 *  3. let no mount travel back to the host */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "supervisord/sandbox/plan.h"

#define BINDS_MAX 8

int mounts_mask_folder(const char *path)
{
	struct stat st;

	if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return 0;
	if (mount("none", path, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY,
		    "size=0,nr_inodes=1,mode=0555") < 0)
		return -errno;
	return 0;
}

/* Makes the folders of PATH on the tmpfs mounted at ROOT. */
static int make_folders(const char *root, const char *path)
{
	char text[PATH_MAX];
	size_t n_root = strlen(root);

	if (strlen(path) >= sizeof(text))
		return -ENAMETOOLONG;
	memcpy(text, path, strlen(path) + 1);
	for (char *p = text + n_root + 1; *p; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		if (mkdir(text, 0755) < 0 && errno != EEXIST)
			return -errno;
		*p = '/';
	}
	return mkdir(text, 0755) < 0 && errno != EEXIST ? -errno : 0;
}

static int make_tmpfs(const char *path)
{
	if (mount("none", path, "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777") < 0)
		return -errno;
	return 0;
}

/* The step that mounts a tmpfs which holds PATH, or NULL. */
static const char *tmpfs_above(const struct plan *plan, const char *path)
{
	for (size_t i = 0; i < plan->n_steps; i++) {
		const struct plan_step *step = &plan->steps[i];
		size_t n = strlen(step->path);

		if (step->kind == PLAN_MOUNT_TMPFS && strncmp(path, step->path, n) == 0 &&
			path[n] == '/')
			return step->path;
	}
	return NULL;
}

struct held {
	const struct plan_step *step;
	int fd;
};

static int hold_binds(const struct plan *plan, struct held *held, size_t *np, const char **whatp)
{
	for (size_t i = 0; i < plan->n_steps; i++) {
		const struct plan_step *step = &plan->steps[i];

		if (step->kind != PLAN_MOUNT_BIND)
			continue;
		*whatp = step->path;
		if (*np == BINDS_MAX)
			return -E2BIG;
		held[*np].step = step;
		held[*np].fd = open_tree(
			AT_FDCWD, step->source, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
		if (held[*np].fd < 0)
			return -errno;
		++*np;
	}
	return 0;
}

static int attach_binds(
	const struct plan *plan, const struct held *held, size_t n, const char **whatp)
{
	for (size_t i = 0; i < n; i++) {
		const char *path = held[i].step->path, *above = tmpfs_above(plan, path);
		int r;

		*whatp = path;
		if (above) {
			r = make_folders(above, path);
			if (r < 0)
				return r;
		}
		if (move_mount(held[i].fd, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH) < 0)
			return -errno;
	}
	return 0;
}

static int make_places(const struct plan *plan, const char **whatp)
{
	int r = 0;

	for (size_t i = 0; i < plan->n_steps && r == 0; i++) {
		const struct plan_step *step = &plan->steps[i];

		*whatp = step->path;
		if (step->kind == PLAN_MOUNT_DEV)
			r = mounts_make_dev(whatp);
		else if (step->kind == PLAN_MOUNT_PROC)
			r = mounts_make_proc(whatp);
		else if (step->kind == PLAN_MOUNT_TMPFS)
			r = make_tmpfs(step->path);
	}
	return r == 0 ? mounts_close_proc(whatp) : r;
}

/* The owner of a file may write to it without any capability, and as root nearly all of /sys is
 * ours. */
static int close_sys(void)
{
	struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID |
					      MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC};
	struct stat st;

	if (lstat("/sys", &st) < 0 || !S_ISDIR(st.st_mode))
		return 0;
	if (mount_setattr(AT_FDCWD, "/sys", AT_RECURSIVE, &attr, sizeof(attr)) < 0)
		/* Not a mount point of its own: then it holds no kernel interface. */
		return errno == EINVAL ? 0 : -errno;
	return 0;
}

int mounts_apply(const struct plan *plan, const char **whatp)
{
	struct mount_attr nosuid = {.attr_set = MOUNT_ATTR_NOSUID};
	struct held held[BINDS_MAX] = {{0}};
	size_t n_held = 0;
	int r;

	*whatp = "/";
	if (mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return -errno;
	/* no_new_privs does the same; where a mount cannot be changed nothing is lost. */
	(void)!mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &nosuid, sizeof(nosuid));
	*whatp = "/sys";
	r = close_sys();
	if (r == 0)
		r = hold_binds(plan, held, &n_held, whatp);
	if (r == 0)
		r = make_places(plan, whatp);
	if (r == 0)
		r = attach_binds(plan, held, n_held, whatp);
	for (size_t i = 0; i < n_held; i++)
		close(held[i].fd);
	for (size_t i = 0; i < plan->n_steps && r == 0; i++)
		if (plan->steps[i].kind == PLAN_MOUNT_MASK) {
			*whatp = plan->steps[i].path;
			r = mounts_mask_folder(plan->steps[i].path);
		}
	return r;
}
