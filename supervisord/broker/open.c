/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */

/* open, openat, openat2, creat.
 *
 * MUST
 *  1. copy the arguments once and act on the copy
 *  2. judge the object that was pinned, and hand over that object
 *  3. make a new file with O_EXCL in the pinned folder only
 *  4. let the call go on in the kernel only where the floor alone decides */

#include "supervisord/broker/open.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <sys/syscall.h>

#include "supervisord/base/error.h"
#include "supervisord/base/file.h"
#include "supervisord/broker/decide.h"
#include "supervisord/broker/fresh.h"
#include "supervisord/broker/judge.h"
#include "supervisord/broker/names.h"
#include "supervisord/broker/reply.h"
#include "supervisord/broker/target.h"
#include "supervisord/proto/request.h"

#define OPEN_TRIES 8
#define OPEN_SETTLE_MSEC 1000 /* never reached but on a machine that is stuck */
#define TMPFILE_BIT 020000000u
#define UNNAMED "/#unnamed" /* what stands for an O_TMPFILE in requests */

static bool open_unnamed(const struct open_call *call)
{
	return call->flags & TMPFILE_BIT;
}

static unsigned open_access(const struct open_call *call, bool folder)
{
	unsigned access = 0;

	if (open_reads(call))
		access |= folder ? PLAN_LIST : PLAN_READ;
	if (open_writes(call))
		access |= PLAN_MODIFY;
	if (call->flags & O_TRUNC)
		access |= PLAN_TRUNCATE;
	return access;
}

/* Would the permission bits allow it? Nobody is asked about what fails anyway. 0 or -errno. */
static int access_check(int fd, int mode)
{
	if (syscall(SYS_faccessat2, fd, "", mode, AT_EMPTY_PATH | AT_EACCESS) == 0)
		return 0;
	return err_errno();
}

/* fs.protected_regular and fs.protected_fifos: an O_CREAT that meets somebody else's file in a
 * sticky folder. Our reopening has no O_CREAT, so the kernel would not see it. */
static char protected_regular, protected_fifos;

static void protected_read(void)
{
	_cleanup_(freep) char *regular = NULL;
	_cleanup_(freep) char *fifos = NULL;

	if (file_read(AT_FDCWD, "/proc/sys/fs/protected_regular", 16, &regular, NULL) == 0)
		protected_regular = regular[0];
	if (file_read(AT_FDCWD, "/proc/sys/fs/protected_fifos", 16, &fifos, NULL) == 0)
		protected_fifos = fifos[0];
}

static bool sticky_refuses(const struct path *path)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct stat dir;
	char level;

	(void)pthread_once(&once, protected_read);
	if (S_ISREG(path->st.st_mode))
		level = protected_regular;
	else if (S_ISFIFO(path->st.st_mode))
		level = protected_fifos;
	else
		return false;
	if (level < '1' || path->parent_fd < 0 || path->st.st_uid == geteuid() ||
		fstat(path->parent_fd, &dir) < 0 || !(dir.st_mode & S_ISVTX) ||
		path->st.st_uid == dir.st_uid)
		return false;
	return dir.st_mode & S_IWOTH || (level >= '2' && dir.st_mode & S_IWGRP);
}

/* The errno that the kernel gives before it looks at permissions; 0 when there is none. */
static int existing_error(const struct path *path, const struct open_call *call)
{
	bool folder = S_ISDIR(path->st.st_mode);

	if (call->flags & O_CREAT) {
		if (path->slash)
			return EISDIR;
		if (call->flags & O_EXCL)
			return EEXIST;
		if (folder)
			return EISDIR;
		if (sticky_refuses(path))
			return EACCES;
	}
	if ((path->slash || call->flags & O_DIRECTORY) && !folder)
		return ENOTDIR;
	if (S_ISLNK(path->st.st_mode))
		return ELOOP;
	if (folder && open_writes(call) && !open_unnamed(call))
		return EISDIR;
	return 0;
}

/* Descriptors that the requester has already and we have still. */
static atomic_int handovers;

/* Hands *FDP over and closes ours. */
static void hand_over(struct notification *n, int *fdp, const struct open_call *call)
{
	atomic_fetch_add(&handovers, 1);
	reply_fd(n, *fdp, call->flags & O_CLOEXEC);
	*fdp = close_fd(*fdp);
	atomic_fetch_sub(&handovers, 1);
}

void open_settle(void)
{
	struct timespec start, now;

	if (atomic_load(&handovers) == 0)
		return;
	(void)clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		(void)sched_yield();
		(void)clock_gettime(CLOCK_MONOTONIC, &now);
	} while (atomic_load(&handovers) > 0 &&
		 (now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 <
			 OPEN_SETTLE_MSEC);
}

static void reply_hidden(
	struct notification *n, const struct path *path, const struct open_call *call)
{
	_cleanup_(closep) int fd = -1;

	if (open_writes(call) || open_hidden(n, S_ISDIR(path->st.st_mode), &fd) < 0) {
		reply_errno(n, EACCES);
		return;
	}
	hand_over(n, &fd, call);
}

static void reply_refused(struct notification *n, const struct path *path,
	const struct open_call *call, const char *why)
{
	_cleanup_(request_freep) struct request *request =
		path_request(n, path, open_writes(call) ? OP_WRITE : OP_READ);

	decide_record_event(n, "refused.special", request, why);
	reply_errno(n, EACCES);
}

static void reply_opened(
	struct notification *n, const struct path *path, const struct open_call *call)
{
	_cleanup_(closep) int fd = -1;
	int r;

	if (!notification_valid(n))
		return;
	r = open_object(n, path, call, &fd);
	if (r < 0)
		reply_errno(n, -r);
	else if (S_ISFIFO(path->st.st_mode)) /* its partner must not meet our copy */
		reply_fd_alone(n, &fd, call->flags & O_CLOEXEC);
	else
		hand_over(n, &fd, call);
}

static enum verdict judge_existing(
	struct notification *n, const struct path *path, const struct open_call *call)
{
	struct judge judge;
	enum verdict verdict;

	/* No name, and reached through a descriptor of its own: nothing new is given away. */
	if (path->anonymous && (path->real[0] != '/' || strncmp(path->real, "/memfd:", 7) == 0))
		return VERDICT_ALLOW;
	judge_init(&judge, n);
	if (open_reads(call))
		judge_add(&judge, path, S_ISDIR(path->st.st_mode) ? OP_LIST : OP_READ, NULL);
	if (open_writes(call))
		judge_add(&judge, path, OP_WRITE, NULL);
	verdict = judge_run(&judge);
	judge_deinit(&judge);
	return verdict;
}

static void open_existing(
	struct notification *n, const struct path *path, const struct open_call *call)
{
	bool folder = S_ISDIR(path->st.st_mode);
	const char *why;
	int r;

	if (S_ISSOCK(path->st.st_mode)) {
		reply_errno(n, ENXIO);
		return;
	}
	if (open_is_refused(n, path, call, &why)) {
		reply_refused(n, path, call, why);
		return;
	}
	if (judge_floor(n, path, open_access(call, folder))) {
		(void)reply_continue(n, CONTINUE_FLOOR);
		return;
	}
	r = access_check(
		path->object_fd, (open_reads(call) ? R_OK : 0) | (open_writes(call) ? W_OK : 0));
	if (r < 0) {
		reply_errno(n, -r);
		return;
	}
	switch (judge_existing(n, path, call)) {
	case VERDICT_ALLOW:
		reply_opened(n, path, call);
		return;
	case VERDICT_HIDE:
		reply_hidden(n, path, call);
		return;
	case VERDICT_ASK:
	case VERDICT_DENY:
	case _VERDICT_N:
		break;
	}
	reply_errno(n, EACCES);
}

/* Creation under the requester's umask, so that default ACLs take its place as they would. */
static int create_with_umask(
	struct notification *n, int dir_fd, const char *name, int flags, mode_t mode, int *fdp)
{
	mode_t saved;
	int r;

	r = target_ids(n);
	if (r < 0)
		return r;
	saved = umask(n->umask);
	*fdp = openat(dir_fd, name, flags, mode);
	r = *fdp < 0 ? err_errno() : 0;
	(void)umask(saved);
	return r;
}

static void open_tmpfile(
	struct notification *n, const struct path *path, const struct open_call *call)
{
	_cleanup_(closep) int fd = -1;
	char link[PATH_FD_LINK_MAX], name[PATH_MAX + sizeof(UNNAMED)];
	struct judge judge;
	int r;

	if (judge_floor(n, path, PLAN_MODIFY | PLAN_READ)) {
		(void)reply_continue(n, CONTINUE_FLOOR);
		return;
	}
	r = access_check(path->object_fd, W_OK | X_OK);
	if (r < 0) {
		reply_errno(n, -r);
		return;
	}
	(void)snprintf(name, sizeof(name), "%s%s", path->real, UNNAMED);
	judge_init(&judge, n);
	judge_add_name(&judge, OP_CREATE, name, false);
	if (judge_allows(&judge) && notification_valid(n)) {
		path_fd_link(path->object_fd, link);
		r = create_with_umask(n, AT_FDCWD, link,
			(int)(call->flags & ~(uint64_t)O_NOFOLLOW) | O_CLOEXEC, call->mode, &fd);
		if (r < 0)
			reply_errno(n, -r);
		else
			hand_over(n, &fd, call);
	}
	judge_deinit(&judge);
}

/* Makes the judged name. 0 when the call was answered, 1 when the world changed: start over. */
static int create_now(struct notification *n, const struct path *path, const struct open_call *call)
{
	_cleanup_(closep) int fd = -1;
	int r;

	names_lock_shared();
	if (!names_same(path)) {
		names_unlock();
		return 1;
	}
	if (!notification_valid(n)) {
		names_unlock();
		return 0;
	}
	r = create_with_umask(n, path->parent_fd, path->name,
		(int)call->flags | O_CREAT | O_EXCL | O_NOCTTY | O_CLOEXEC, call->mode, &fd);
	if (r == 0 && strcmp(path->name, ".git") == 0 && n->broker->fresh)
		fresh_repos_add(n->broker->fresh, fd);
	names_unlock();
	if (r == -EEXIST && !(call->flags & O_EXCL))
		return 1;
	if (r < 0)
		reply_errno(n, -r);
	else
		hand_over(n, &fd, call);
	return 0;
}

static int open_missing(
	struct notification *n, const struct path *path, const struct open_call *call)
{
	static const enum op ops[] = {OP_CREATE, OP_WRITE};
	unsigned access = PLAN_MODIFY | open_access(call, false);
	struct judge judge;
	bool allowed, pointer;
	int r;

	if (!(call->flags & O_CREAT)) {
		reply_errno(n, ENOENT);
		return 0;
	}
	if (path->slash) {
		reply_errno(n, EISDIR);
		return 0;
	}
	if (path->fs_type == PROC_SUPER_MAGIC || path->fs_type == SYSFS_MAGIC) {
		reply_errno(n, EACCES);
		return 0;
	}
	if (judge_floor(n, path, access)) {
		(void)reply_continue(n, CONTINUE_FLOOR);
		return 0;
	}
	r = access_check(path->parent_fd, W_OK | X_OK);
	if (r < 0) {
		reply_errno(n, -r);
		return 0;
	}
	judge_init(&judge, n);
	/* A repository's pointer file (of a worktree or submodule) is a repository made here:
	 * writing it is guarded only where one was before. */
	pointer = strcmp(path->name, ".git") == 0;
	judge_add_strictest(&judge, path, ops, open_writes(call) && !pointer ? 2 : 1, NULL);
	allowed = judge_allows(&judge);
	judge_deinit(&judge);
	return allowed ? create_now(n, path, call) : 0;
}

/* 0 when the call was answered, 1 to start over. */
static int open_try(struct notification *n, const struct open_call *call)
{
	struct path path;
	int r, error;

	r = path_resolve(n, call->dir_fd, call->path, call->nofollow ? PATH_NOFOLLOW : 0,
		call->resolve, &path);
	if (r < 0) {
		reply_errno(n, -r);
		r = 0;
	} else if (path.object_fd < 0) {
		r = open_missing(n, &path, call);
	} else {
		error = existing_error(&path, call);
		if (error)
			reply_errno(n, error);
		else if (open_unnamed(call))
			open_tmpfile(n, &path, call);
		else
			open_existing(n, &path, call);
		r = 0;
	}
	path_deinit(&path);
	return r;
}

void handle_open(struct notification *n)
{
	struct open_call call;
	int r, tries;

	r = open_call_read(n, &call);
	if (r < 0) {
		reply_errno(n, -r);
		return;
	}
	/* A handle without content, which Landlock does not look at and the kernel does not let us
	 * hand over. Should the flags in memory become others, the floor decides. */
	if (call.flags & O_PATH) {
		(void)reply_continue(n, CONTINUE_FLOOR);
		return;
	}
	for (tries = 0; tries < OPEN_TRIES; tries++)
		if (open_try(n, &call) == 0)
			return;
	/* Somebody keeps making and removing that name. */
	reply_errno(n, EAGAIN);
}
