/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */

/* Folders and symbolic links. The kernel walks by itself wherever it can be told to stay inside
 * (openat2); what that refuses - links out of the base, "..", /proc - is walked here, one component
 * at a time, on pinned folders. */

#include "supervisord/broker/path_walk.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include "supervisord/base/error.h"
#include "supervisord/base/file.h"
#include "supervisord/broker/path.h"

#define WALK_LINKS_MAX 40
#define WALK_TEXT_MAX (64 * 1024)
#define WALK_TRIES 3

long walk_fs_type(int fd)
{
	struct statfs st;

	return fstatfs(fd, &st) < 0 ? 0 : (long)st.f_type;
}

static int folder_open(int base_fd, const char *text, uint64_t resolve)
{
	struct open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
		.resolve = resolve,
	};
	long fd = -1;
	int tries;

	/* EAGAIN: something was renamed while the kernel walked over "..". */
	for (tries = 0; tries < WALK_TRIES; tries++) {
		fd = syscall(SYS_openat2, base_fd, text, &how, sizeof(how));
		if (fd >= 0 || errno != EAGAIN)
			break;
	}
	return fd < 0 ? err_errno() : (int)fd;
}

static int root_identity(int fd, struct statx *st)
{
	if (statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_MNT_ID, st) < 0)
		return err_errno();
	return 0;
}

/* Is FD the session's root? Errors count as yes: then ".." goes nowhere. */
static bool walk_is_root(struct walk *walk, int fd)
{
	struct statx st;

	if (!walk->have_root) {
		if (root_identity(walk->n->broker->launch.root_fd, &st) < 0)
			return true;
		walk->root_mnt = st.stx_mnt_id;
		walk->root_ino = st.stx_ino;
		walk->root_major = st.stx_dev_major;
		walk->root_minor = st.stx_dev_minor;
		walk->have_root = true;
	}
	if (root_identity(fd, &st) < 0)
		return true;
	return st.stx_mnt_id == walk->root_mnt && st.stx_ino == walk->root_ino &&
	       st.stx_dev_major == walk->root_major && st.stx_dev_minor == walk->root_minor;
}

/* fs.protected_symlinks, as an administrator set it. */
static pthread_once_t protect_once = PTHREAD_ONCE_INIT;
static bool protect_links;

static void protect_read(void)
{
	_cleanup_(freep) char *text = NULL;

	if (file_read(AT_FDCWD, "/proc/sys/fs/protected_symlinks", 16, &text, NULL) == 0)
		protect_links = text[0] == '1';
}

/* The kernel's rule against links planted in sticky, world-writable folders. */
static int link_allowed(int parent_fd, const struct stat *link)
{
	struct stat st;

	(void)pthread_once(&protect_once, protect_read);
	if (!protect_links || link->st_uid == geteuid())
		return 0;
	if (fstat(parent_fd, &st) < 0)
		return err_errno();
	if ((st.st_mode & (S_ISVTX | S_IWOTH)) != (S_ISVTX | S_IWOTH) || st.st_uid == link->st_uid)
		return 0;
	return -EACCES;
}

int walk_link(struct walk *walk, int parent_fd, const char *name, int link_fd, char **textp,
	int *jump_fdp)
{
	_cleanup_(freep) char *text = NULL;
	struct stat st;
	ssize_t size;
	int r;

	*textp = NULL;
	*jump_fdp = -1;
	if (walk->resolve & RESOLVE_NO_SYMLINKS)
		return -ELOOP;
	if (++walk->n_links > WALK_LINKS_MAX)
		return -ELOOP;
	walk->followed = true;
	if (walk_fs_type(link_fd) == PROC_SUPER_MAGIC)
		return path_proc_link(walk, parent_fd, name, link_fd, textp, jump_fdp);
	if (fstat(link_fd, &st) < 0)
		return err_errno();
	r = link_allowed(parent_fd, &st);
	if (r < 0)
		return r;
	text = malloc(PATH_MAX);
	if (!text)
		return err_trace(-ENOMEM);
	size = readlinkat(link_fd, "", text, PATH_MAX);
	if (size < 0)
		return err_errno();
	if (size == 0)
		return -ENOENT;
	if (size == PATH_MAX)
		return -ENAMETOOLONG;
	text[size] = '\0';
	*textp = TAKE_PTR(text);
	return 0;
}

/* TEXT (a link's) and REST (what was still to be walked) as one; takes both. */
static int text_splice(char **restp, const char *text, const char *rest)
{
	char *joined;

	if (strlen(text) + strlen(rest) + 2 > WALK_TEXT_MAX)
		return -ENAMETOOLONG;
	if (asprintf(&joined, "%s/%s", text, rest) < 0)
		return err_trace(-ENOMEM);
	free(*restp);
	*restp = joined;
	return 0;
}

/* One component from *CURP, which is replaced. REST is what follows it. *RESTP is replaced where a
 * link was met (1), else 0 is returned. */
static int walk_component(
	struct walk *walk, int *curp, const char *name, const char *rest, char **restp)
{
	_cleanup_(closep) int fd = -1;
	_cleanup_(closep) int jump_fd = -1;
	_cleanup_(freep) char *text = NULL;
	struct stat st;
	int r;

	if (strcmp(name, "..") == 0 && walk_is_root(walk, *curp))
		name = ".";
	fd = openat(*curp, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return err_errno();
	if (fstat(fd, &st) < 0)
		return err_errno();
	if (S_ISLNK(st.st_mode)) {
		r = walk_link(walk, *curp, name, fd, &text, &jump_fd);
		if (r < 0)
			return r;
		if (text) {
			r = text_splice(restp, text, rest);
			if (r < 0)
				return r;
			if ((*restp)[0] != '/')
				return 1;
			close(*curp);
			*curp = fcntl(walk->n->broker->launch.root_fd, F_DUPFD_CLOEXEC, 0);
			return *curp < 0 ? err_errno() : 1;
		}
		close(fd);
		fd = TAKE_FD(jump_fd);
		if (fstat(fd, &st) < 0)
			return err_errno();
	}
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
	close(*curp);
	*curp = TAKE_FD(fd);
	return 0;
}

static int walk_slowly(struct walk *walk, int base_fd, const char *text, int *fdp)
{
	_cleanup_(closep) int cur = -1;
	_cleanup_(freep) char *rest = NULL;
	char name[NAME_MAX + 1];
	size_t at = 0, size;
	int r;

	cur = fcntl(text[0] == '/' ? walk->n->broker->launch.root_fd : base_fd, F_DUPFD_CLOEXEC, 0);
	if (cur < 0)
		return err_errno();
	rest = strdup(text);
	if (!rest)
		return err_trace(-ENOMEM);
	for (;;) {
		at += strspn(rest + at, "/");
		size = strcspn(rest + at, "/");
		if (size == 0)
			break;
		if (size > NAME_MAX)
			return -ENAMETOOLONG;
		memcpy(name, rest + at, size);
		name[size] = '\0';
		r = walk_component(walk, &cur, name, rest + at + size, &rest);
		if (r < 0)
			return r;
		at = r > 0 ? 0 : at + size;
	}
	*fdp = TAKE_FD(cur);
	return 0;
}

int walk_folder(struct walk *walk, int base_fd, const char *text, int *fdp)
{
	uint64_t scope = text[0] == '/' ? RESOLVE_IN_ROOT : RESOLVE_BENEATH;
	_cleanup_(closep) int fd = -1;

	if (text[0] == '/')
		base_fd = walk->n->broker->launch.root_fd;
	fd = folder_open(base_fd, text, scope | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
	if (fd == -ELOOP && !(walk->resolve & RESOLVE_NO_SYMLINKS)) {
		walk->followed = true;
		fd = folder_open(base_fd, text, scope | RESOLVE_NO_MAGICLINKS);
	}
	/* In a procfs "self" was ours, not the requester's. */
	if (fd >= 0 && walk_fs_type(fd) == PROC_SUPER_MAGIC)
		fd = close_fd(fd);
	else if (fd < 0 && fd != -EXDEV && fd != -ELOOP && fd != -ENOENT && fd != -EAGAIN)
		return fd;
	if (fd < 0) {
		fd = -1;
		return walk_slowly(walk, base_fd, text, fdp);
	}
	*fdp = TAKE_FD(fd);
	return 0;
}
