/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */

#include "supervisord/broker/path.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "policy-lang/policy.h"
#include "supervisord/base/error.h"
#include "supervisord/broker/fresh.h"
#include "supervisord/broker/names.h"
#include "supervisord/broker/path_walk.h"
#include "supervisord/broker/target.h"
#include "supervisord/proto/request.h"

#define DELETED_SUFFIX " (deleted)"
/* Resolve words that only the kernel can follow to the letter. */
#define RESOLVE_KERNEL_ONLY (RESOLVE_NO_XDEV | RESOLVE_BENEATH | RESOLVE_IN_ROOT)

void path_fd_link(int fd, char out[PATH_FD_LINK_MAX])
{
	(void)snprintf(out, PATH_FD_LINK_MAX, "/proc/self/fd/%d", fd);
}

int path_fd_name(int fd, char **namep)
{
	char link[PATH_FD_LINK_MAX];
	char name[PATH_MAX];
	ssize_t size;

	path_fd_link(fd, link);
	size = readlink(link, name, sizeof(name));
	if (size < 0)
		return err_errno();
	if ((size_t)size == sizeof(name))
		return -ENAMETOOLONG;
	*namep = strndup(name, (size_t)size);
	return *namep ? 0 : err_trace(-ENOMEM);
}

void path_deinit(struct path *path)
{
	path->parent_fd = close_fd(path->parent_fd);
	path->object_fd = close_fd(path->object_fd);
	free(TAKE_PTR(path->real));
	free(TAKE_PTR(path->asked));
}

/* BASE (absolute, may be NULL when TEXT is absolute) and TEXT as one name without ".", ".." and
 * double slashes, by the letters alone. */
static char *name_normalize(const char *base, const char *text)
{
	size_t size = (base ? strlen(base) : 0) + strlen(text) + 3;
	_cleanup_(freep) char *joined = malloc(size);
	char *out, *end, *part, *save = NULL;

	out = malloc(size);
	if (!joined || !out) {
		free(out);
		return NULL;
	}
	(void)snprintf(joined, size, "%s/%s", text[0] == '/' || !base ? "" : base, text);
	end = out;
	for (part = strtok_r(joined, "/", &save); part; part = strtok_r(NULL, "/", &save)) {
		if (strcmp(part, ".") == 0)
			continue;
		if (strcmp(part, "..") == 0) {
			while (end > out && *--end != '/')
				;
			continue;
		}
		*end++ = '/';
		end = stpcpy(end, part);
	}
	if (end == out)
		*end++ = '/';
	*end = '\0';
	return out;
}

/* Notes the asked name once a link was followed; before, it equals the real one. */
static int note_asked(struct path *path, int base_fd, const char *text)
{
	_cleanup_(freep) char *base = NULL;
	int r;

	if (path->asked)
		return 0;
	if (text[0] != '/') {
		r = path_fd_name(base_fd, &base);
		if (r < 0)
			return r;
	}
	path->asked = name_normalize(base, text);
	return path->asked ? 0 : err_trace(-ENOMEM);
}

/* A path that ends in "/", "." or "..": the folder itself, without a parent. */
static int resolve_dots(
	struct walk *walk, int base_fd, const char *text, const char *last, struct path *path)
{
	int r;

	r = walk_folder(walk, base_fd, text, &path->object_fd);
	if (r < 0)
		return r;
	(void)snprintf(path->name, sizeof(path->name), "%s", last);
	if (fstat(path->object_fd, &path->st) < 0)
		return err_errno();
	return 0;
}

/* Where the last component of TEXT begins and ends; false when it is "/", "." or "..". */
static bool last_component(const char *text, size_t *startp, size_t *endp, const char **dotsp)
{
	size_t end = strlen(text), start;

	while (end > 0 && text[end - 1] == '/')
		end--;
	start = end;
	while (start > 0 && text[start - 1] != '/')
		start--;
	*startp = start;
	*endp = end;
	*dotsp = NULL;
	if (end == 0)
		*dotsp = "/";
	else if (end - start == 1 && text[start] == '.')
		*dotsp = ".";
	else if (end - start == 2 && text[start] == '.' && text[start + 1] == '.')
		*dotsp = "..";
	return !*dotsp;
}

/* Pins parent and object of TEXT without following the last component. *BASEP (owned; taken over
 * where it is the parent itself) is where a relative text starts. */
static int resolve_last(struct walk *walk, int *basep, char *text, struct path *path)
{
	const char *dots;
	size_t start, end;
	char saved;
	int r;

	if (!last_component(text, &start, &end, &dots))
		return resolve_dots(walk, *basep, text, dots, path);
	path->slash = text[end] == '/';
	if (start == 0) {
		path->parent_fd = TAKE_FD(*basep);
	} else {
		saved = text[start];
		text[start] = '\0';
		r = walk_folder(walk, *basep, text, &path->parent_fd);
		text[start] = saved;
		if (r < 0)
			return r;
	}
	path->fs_type = walk_fs_type(path->parent_fd);
	if (end - start >= sizeof(path->name))
		return -ENAMETOOLONG;
	memcpy(path->name, text + start, end - start);
	path->name[end - start] = '\0';
	path->object_fd = openat(path->parent_fd, path->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (path->object_fd < 0)
		return errno == ENOENT ? 0 : err_errno();
	if (fstat(path->object_fd, &path->st) < 0)
		return err_errno();
	return 0;
}

/* Follows the link that resolve_last() found. *TEXTP and *BASEP become what to resolve next (1), or
 * PATH has the object that a magic link led to (0). */
static int follow_last(struct walk *walk, int *basep, char **textp, struct path *path)
{
	_cleanup_(freep) char *text = NULL;
	int jump_fd, r;

	r = walk_link(walk, path->parent_fd, path->name, path->object_fd, &text, &jump_fd);
	if (r < 0)
		return r;
	path->object_fd = close_fd(path->object_fd);
	if (!text) {
		path->parent_fd = close_fd(path->parent_fd);
		path->name[0] = '\0';
		path->fs_type = 0;
		path->object_fd = jump_fd;
		if (fstat(jump_fd, &path->st) < 0)
			return err_errno();
		return 0;
	}
	if (path->slash && asprintf(textp, "%s/", text) < 0) {
		*textp = NULL;
		return err_trace(-ENOMEM);
	}
	if (!path->slash)
		*textp = TAKE_PTR(text);
	close_fd(*basep);
	*basep = TAKE_FD(path->parent_fd);
	return 1;
}

static int resolve_following(
	struct walk *walk, int *basep, const char *asked, unsigned flags, struct path *path)
{
	_cleanup_(freep) char *text = strdup(asked);
	char *next;
	int r;

	if (!text)
		return err_trace(-ENOMEM);
	for (;;) {
		r = resolve_last(walk, basep, text, path);
		if (walk->followed && !path->asked) {
			int q = note_asked(path, *basep >= 0 ? *basep : path->parent_fd, asked);

			if (r == 0 && q < 0)
				return q;
		}
		if (r < 0 || path->object_fd < 0 || !S_ISLNK(path->st.st_mode))
			return r;
		if (flags & PATH_PARENT || (flags & PATH_NOFOLLOW && !path->slash))
			return 0;
		r = note_asked(path, *basep >= 0 ? *basep : path->parent_fd, asked);
		if (r < 0)
			return r;
		next = NULL;
		r = follow_last(walk, basep, &next, path);
		if (r <= 0)
			return r;
		free(text);
		text = next;
		if (!text)
			return err_trace(-ENOMEM);
	}
}

/* The agent's own RESOLVE_BENEATH and the like: only the kernel knows them to the letter, so it
 * gets one call for the object. Nothing of a procfs, where "self" would be us. */
static int resolve_restricted(
	struct walk *walk, int base_fd, const char *asked, unsigned flags, struct path *path)
{
	_cleanup_(freep) char *text = strdup(asked);
	bool absolute = text && text[0] == '/' && !(walk->resolve & RESOLVE_IN_ROOT);
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | (flags & PATH_NOFOLLOW ? O_NOFOLLOW : 0u),
		.resolve = walk->resolve | RESOLVE_NO_MAGICLINKS,
	};
	const char *dots;
	size_t start, end;
	long fd;

	if (!text)
		return err_trace(-ENOMEM);
	if (absolute && walk->resolve & RESOLVE_BENEATH)
		return -EXDEV;
	if (absolute)
		base_fd = walk->n->broker->launch.root_fd;
	if (!(walk->resolve & (RESOLVE_BENEATH | RESOLVE_IN_ROOT)))
		how.resolve |= absolute ? RESOLVE_IN_ROOT : RESOLVE_BENEATH;
	walk->followed = true;
	path->slash = text[0] && text[strlen(text) - 1] == '/';
	fd = syscall(SYS_openat2, base_fd, text, &how, sizeof(how));
	if (fd >= 0) {
		path->object_fd = (int)fd;
		if (fstat((int)fd, &path->st) < 0)
			return err_errno();
		path->fs_type = walk_fs_type((int)fd);
		return path->fs_type == PROC_SUPER_MAGIC ? -EACCES
							 : note_asked(path, base_fd, asked);
	}
	if (errno != ENOENT || !last_component(text, &start, &end, &dots) ||
		end - start >= sizeof(path->name))
		return err_errno();
	/* Missing: a name to create in a parent that is there, unless a link dangles. */
	memcpy(path->name, text + start, end - start);
	path->name[end - start] = '\0';
	text[start] = '\0';
	how.flags = O_PATH | O_CLOEXEC | O_DIRECTORY;
	fd = syscall(SYS_openat2, base_fd, start > 0 ? text : ".", &how, sizeof(how));
	if (fd < 0)
		return err_errno();
	path->parent_fd = (int)fd;
	path->fs_type = walk_fs_type((int)fd);
	if (path->fs_type == PROC_SUPER_MAGIC)
		return -EACCES;
	path->object_fd = openat((int)fd, path->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (path->object_fd >= 0)
		return -ENOENT;
	return note_asked(path, base_fd, asked);
}

/* Is NAME, as the kernel shows it, what leads to this object now? */
static bool name_leads_to(struct notification *n, const char *name, const struct stat *st)
{
	struct open_how how = {
		.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	_cleanup_(closep) int fd = -1;
	struct stat other;

	fd = (int)syscall(SYS_openat2, n->broker->launch.root_fd, name, &how, sizeof(how));
	return fd >= 0 && fstat(fd, &other) == 0 && other.st_dev == st->st_dev &&
	       other.st_ino == st->st_ino;
}

/* The name of an object that has no pinned parent. */
static int name_object(struct notification *n, struct path *path)
{
	size_t size, suffix = strlen(DELETED_SUFFIX);
	int r;

	if (path->fs_type == 0)
		path->fs_type = walk_fs_type(path->object_fd);
	r = path_fd_name(path->object_fd, &path->real);
	if (r < 0 || !path->real)
		return r < 0 ? r : -EIO;
	if (path->real[0] != '/') {
		path->anonymous = true;
		return 0;
	}
	size = strlen(path->real);
	if (size <= suffix || strcmp(path->real + size - suffix, DELETED_SUFFIX) != 0)
		return 0;
	if (name_leads_to(n, path->real, &path->st))
		return 0;
	path->real[size - suffix] = '\0';
	path->anonymous = true;
	return 0;
}

static int name_path(struct notification *n, struct path *path)
{
	_cleanup_(freep) char *parent = NULL;
	size_t size;
	int r;

	if (path->parent_fd < 0)
		return name_object(n, path);
	r = path_fd_name(path->parent_fd, &parent);
	if (r < 0 || !parent)
		return r < 0 ? r : -EIO;
	size = strlen(parent);
	if (size == 1)
		size = 0;
	if (size + strlen(path->name) + 1 >= PATH_MAX)
		return -ENAMETOOLONG;
	r = asprintf(&path->real, "%.*s/%s", (int)size, parent, path->name);
	if (r < 0) {
		path->real = NULL;
		return err_trace(-ENOMEM);
	}
	return 0;
}

static int resolve_text(struct notification *n, int dir_fd, const char *text, unsigned flags,
	uint64_t resolve, struct path *path)
{
	struct walk walk = {.n = n, .resolve = resolve};
	_cleanup_(closep) int base_fd = -1;
	int r;

	if (text[0] == '\0') {
		if (!(flags & PATH_EMPTY))
			return -ENOENT;
		r = target_open_base(n, dir_fd, &path->object_fd);
		if (r < 0)
			return r;
		return fstat(path->object_fd, &path->st) < 0 ? err_errno() : 0;
	}
	if (strlen(text) >= PATH_MAX)
		return -ENAMETOOLONG;
	if (text[0] != '/' || resolve & RESOLVE_IN_ROOT) {
		r = target_open_base(n, dir_fd, &base_fd);
		if (r < 0)
			return r;
	}
	if (resolve & RESOLVE_KERNEL_ONLY)
		return resolve_restricted(&walk, base_fd, text, flags, path);
	return resolve_following(&walk, &base_fd, text, flags, path);
}

int path_resolve(struct notification *n, int dir_fd, const char *text, unsigned flags,
	uint64_t resolve, struct path *path)
{
	int r;

	memset(path, 0, sizeof(*path));
	path->parent_fd = path->object_fd = -1;
	path->generation = names_generation();
	r = resolve_text(n, dir_fd, text, flags, resolve, path);
	if (r < 0)
		return r;
	r = name_path(n, path);
	if (r < 0 || !path->real)
		return r < 0 ? r : -EIO;
	if (!path->asked)
		path->asked = strdup(path->real);
	return path->asked ? 0 : err_trace(-ENOMEM);
}

int path_resolve_arg(
	struct notification *n, int dir_fd, uint64_t addr, unsigned flags, struct path *path)
{
	char text[PATH_MAX];
	ssize_t size;

	memset(path, 0, sizeof(*path));
	path->parent_fd = path->object_fd = -1;
	size = target_read_string(n, addr, text, sizeof(text));
	if (size < 0)
		return (int)size;
	return path_resolve(n, dir_fd, text, flags, 0, path);
}

struct request *path_request(struct notification *n, const struct path *path, enum op op)
{
	_cleanup_(request_freep) struct request *request = request_new(op);
	const char *alias = NULL;

	if (!request)
		return NULL;
	if (path->object_fd < 0 || S_ISDIR(path->st.st_mode) || path->st.st_nlink < 2 ||
		!policy_set_inode_alias(
			n->broker->policies, path->st.st_dev, path->st.st_ino, &alias))
		alias = path->asked;
	request->path = strdup(path->real);
	if (!request->path)
		return NULL;
	if (alias && strcmp(alias, path->real) != 0) {
		request->alias = strdup(alias);
		if (!request->alias)
			return NULL;
	}
	request->fresh_repo = n->broker->fresh && fresh_repos_holds(n->broker->fresh, path);
	return TAKE_PTR(request);
}
