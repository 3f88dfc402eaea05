/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */

/* rename, renameat, renameat2.
 *
 * MUST
 *  1. judge both ends, and every name below a folder that moves
 *  2. let no object get a name that gives away what its old name guards
 *  3. act on the pinned parents while nothing else of the session changes names, after both names
 * and both objects were found to be the judged ones */

#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "supervisord/base/error.h"
#include "supervisord/broker/judge.h"
#include "supervisord/broker/names.h"
#include "supervisord/broker/names_tree.h"
#include "supervisord/broker/reply.h"
#include "supervisord/broker/target.h"
#include "supervisord/proto/request.h"

#define RENAME_TRIES 8

/* Copied once; and what a person has said so far about names below. */
struct rename_call {
	int from_dir, to_dir;
	unsigned flags;
	char from[PATH_MAX], to[PATH_MAX];
	struct names_findings approved;
	/* The ends that were allowed, so that a second look does not ask again. */
	bool ends_allowed;
	char ok_from[PATH_MAX], ok_to[PATH_MAX];
	struct stat ok_from_st, ok_to_st;
};

static int rename_call_read(struct notification *n, struct rename_call *call)
{
	bool at = n->nr != SYS_rename;
	ssize_t size;

	call->from_dir = at ? (int)n->args[0] : AT_FDCWD;
	call->to_dir = at ? (int)n->args[2] : AT_FDCWD;
	call->flags = n->nr == SYS_renameat2 ? (unsigned)n->args[4] : 0;
	if (call->flags & ~(unsigned)(RENAME_NOREPLACE | RENAME_EXCHANGE | RENAME_WHITEOUT))
		return -EINVAL;
	if (call->flags & RENAME_EXCHANGE && call->flags & (RENAME_NOREPLACE | RENAME_WHITEOUT))
		return -EINVAL;
	if (call->flags & RENAME_WHITEOUT)
		return -EPERM; /* a device node, in a way */
	size = target_read_string(n, n->args[at ? 1 : 0], call->from, sizeof(call->from));
	if (size < 0)
		return (int)size;
	size = target_read_string(n, n->args[at ? 3 : 1], call->to, sizeof(call->to));
	return size < 0 ? (int)size : 0;
}

static bool is_below(const char *name, const char *folder)
{
	size_t size = strlen(folder);

	return strncmp(name, folder, size) == 0 && name[size] == '/';
}

static bool same_mount(int a, int b)
{
	struct statx sa, sb;

	return statx(a, "", AT_EMPTY_PATH, STATX_MNT_ID, &sa) == 0 &&
	       statx(b, "", AT_EMPTY_PATH, STATX_MNT_ID, &sb) == 0 &&
	       sa.stx_mnt_id == sb.stx_mnt_id && sa.stx_dev_major == sb.stx_dev_major &&
	       sa.stx_dev_minor == sb.stx_dev_minor;
}

/* What is wrong with the kinds of the two ends; 0 when nothing is. */
static int kinds_error(const struct path *from, const struct path *to, unsigned flags)
{
	bool from_folder = S_ISDIR(from->st.st_mode);
	bool to_folder = to->object_fd >= 0 && S_ISDIR(to->st.st_mode);
	bool exchange = flags & RENAME_EXCHANGE;

	if (exchange && to->slash && !to_folder)
		return ENOTDIR;
	if (!from_folder && (from->slash || (!exchange && to->slash)))
		return ENOTDIR;
	if (is_below(to->real, from->real))
		return EINVAL;
	if (is_below(from->real, to->real))
		return exchange ? EINVAL : ENOTEMPTY;
	if (exchange || to->object_fd < 0)
		return 0;
	if (from_folder && !to_folder)
		return ENOTDIR;
	return !from_folder && to_folder ? EISDIR : 0;
}

/* The kernel's errors, in its order; 0 when there is none. */
static int rename_error(const struct path *from, const struct path *to, unsigned flags)
{
	int error;

	if (from->parent_fd < 0)
		return EBUSY;
	if (to->parent_fd < 0)
		return flags & RENAME_NOREPLACE ? EEXIST : EBUSY;
	if (!same_mount(from->parent_fd, to->parent_fd))
		return EXDEV;
	if (from->object_fd < 0)
		return ENOENT;
	if (flags & RENAME_NOREPLACE && to->object_fd >= 0)
		return EEXIST;
	if (flags & RENAME_EXCHANGE && to->object_fd < 0)
		return ENOENT;
	error = kinds_error(from, to, flags);
	if (error)
		return error;
	if (syscall(SYS_faccessat2, from->parent_fd, "", W_OK | X_OK, AT_EMPTY_PATH | AT_EACCESS) <
			0 ||
		syscall(SYS_faccessat2, to->parent_fd, "", W_OK | X_OK,
			AT_EMPTY_PATH | AT_EACCESS) < 0)
		return errno;
	return 0;
}

/* Both ends as one question. */
static bool ends_allowed(
	struct notification *n, const struct path *from, const struct path *to, unsigned flags)
{
	static const enum op taken[] = {OP_RENAME};
	static const enum op made[] = {OP_RENAME, OP_CREATE};
	static const enum op replaced[] = {OP_RENAME, OP_CREATE, OP_WRITE};
	static const enum op removed[] = {OP_RENAME, OP_CREATE, OP_DELETE};
	struct judge judge;
	bool allowed;

	judge_init(&judge, n);
	if (flags & RENAME_EXCHANGE) {
		judge_add_strictest(&judge, from, replaced, ARRAY_LEN(replaced), to->real);
		judge_add_strictest(&judge, to, replaced, ARRAY_LEN(replaced), from->real);
		judge_add_laundering(&judge, to, from);
	} else {
		judge_add_strictest(&judge, from, taken, ARRAY_LEN(taken), to->real);
		if (to->object_fd < 0)
			judge_add_strictest(&judge, to, made, ARRAY_LEN(made), from->real);
		else if (S_ISDIR(to->st.st_mode))
			judge_add_strictest(&judge, to, removed, ARRAY_LEN(removed), from->real);
		else
			judge_add_strictest(&judge, to, replaced, ARRAY_LEN(replaced), from->real);
	}
	judge_add_laundering(&judge, from, to);
	allowed = judge_allows(&judge);
	judge_deinit(&judge);
	return allowed;
}

static bool same_stat(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* As ends_allowed(), but nobody is asked twice within one call about the same two objects. */
static bool ends_allowed_once(struct notification *n, struct rename_call *call,
	const struct path *from, const struct path *to)
{
	if (call->ends_allowed && strcmp(call->ok_from, from->real) == 0 &&
		strcmp(call->ok_to, to->real) == 0 && same_stat(&call->ok_from_st, &from->st) &&
		same_stat(&call->ok_to_st, &to->st))
		return true;
	if (!ends_allowed(n, from, to, call->flags))
		return false;
	call->ends_allowed = true;
	(void)snprintf(call->ok_from, sizeof(call->ok_from), "%s", from->real);
	(void)snprintf(call->ok_to, sizeof(call->ok_to), "%s", to->real);
	call->ok_from_st = from->st;
	call->ok_to_st = to->st;
	return true;
}

/* With the names locked: does NAME in the pinned parent still lead to the judged object? */
static bool same_object(const struct path *path)
{
	struct stat st;

	if (fstatat(path->parent_fd, path->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return path->object_fd < 0;
	return path->object_fd >= 0 && st.st_dev == path->st.st_dev && st.st_ino == path->st.st_ino;
}

/* Looks below whatever folder moves. */
static int check_below(struct judge *judge, const struct rename_call *call, const struct path *from,
	const struct path *to, struct names_findings *findings)
{
	int r = 0;

	if (S_ISDIR(from->st.st_mode))
		r = names_tree_check(judge, from, to, &call->approved, findings);
	if (r == 0 && findings->n_items == 0 && call->flags & RENAME_EXCHANGE &&
		S_ISDIR(to->st.st_mode))
		r = names_tree_check(judge, to, from, &call->approved, findings);
	return r;
}

/* Asks about what was found below; approved names are kept. False: answered with a refusal. */
static bool findings_allowed(
	struct notification *n, struct rename_call *call, struct names_findings *findings)
{
	struct judge judge;
	bool allowed;
	size_t i;

	judge_init(&judge, n);
	for (i = findings->refused ? findings->n_items - 1 : 0; i < findings->n_items; i++)
		judge_add_name(&judge, findings->items[i].op, findings->items[i].name,
			findings->items[i].fresh);
	allowed = judge_allows(&judge);
	judge_deinit(&judge);
	for (i = 0; allowed && i < findings->n_items; i++) {
		if (call->approved.n_items == NAMES_TREE_FINDINGS) {
			reply_errno(n, EACCES);
			return false;
		}
		call->approved.items[call->approved.n_items].op = findings->items[i].op;
		call->approved.items[call->approved.n_items++].name = findings->items[i].name;
		findings->items[i].name = NULL;
	}
	return allowed;
}

/* The act, with the names locked. */
static void rename_act(struct notification *n, const struct rename_call *call,
	const struct path *from, const struct path *to)
{
	int r = 0;

	if (!notification_valid(n))
		return;
	if (renameat2(from->parent_fd, from->name, to->parent_fd, to->name, call->flags) < 0)
		r = err_errno();
	else if (S_ISDIR(from->st.st_mode) || (to->object_fd >= 0 && S_ISDIR(to->st.st_mode)))
		names_moved();
	if (r < 0)
		reply_errno(n, -r);
	else
		reply_value(n, 0);
}

/* 0 when the call was answered, 1 to start over. */
static int rename_judged(struct notification *n, struct rename_call *call, const struct path *from,
	const struct path *to)
{
	struct names_findings findings;
	struct judge judge;
	int r = 0;

	if (!ends_allowed_once(n, call, from, to))
		return 0;
	memset(&findings, 0, sizeof(findings));
	judge_init(&judge, n);
	names_lock_exclusive();
	if (!names_same(from) || !names_same(to) || !same_object(from) || !same_object(to)) {
		r = 1;
	} else if (check_below(&judge, call, from, to, &findings) < 0) {
		reply_errno(n, ENOMEM);
	} else if (findings.n_items == 0 && !findings.why) {
		rename_act(n, call, from, to);
	}
	names_unlock();
	if (findings.why) {
		_cleanup_(request_freep) struct request *request = path_request(n, from, OP_RENAME);

		decide_record_event(n, "refused.rename", request, findings.why);
		reply_errno(n, EACCES);
	} else if (findings.n_items > 0) {
		r = findings_allowed(n, call, &findings) ? 1 : 0;
	}
	judge_deinit(&judge);
	names_findings_deinit(&findings);
	return r;
}

static int rename_try(struct notification *n, struct rename_call *call)
{
	struct path from, to = {.parent_fd = -1, .object_fd = -1};
	int r, error;

	r = path_resolve(n, call->from_dir, call->from, PATH_PARENT, 0, &from);
	if (r == 0)
		r = path_resolve(n, call->to_dir, call->to, PATH_PARENT, 0, &to);
	/* The kernel looks for the source before it looks at the last part of the target. */
	if (r < 0 && from.parent_fd >= 0 && from.object_fd < 0 && to.parent_fd >= 0)
		r = -ENOENT;
	if (r < 0) {
		reply_errno(n, -r);
		path_deinit(&from);
		path_deinit(&to);
		return 0;
	}
	error = rename_error(&from, &to, call->flags);
	if (error)
		reply_errno(n, error);
	else if (judge_floor(n, &from, PLAN_MODIFY) && judge_floor(n, &to, PLAN_MODIFY))
		(void)reply_continue(n, CONTINUE_FLOOR);
	else
		r = rename_judged(n, call, &from, &to);
	path_deinit(&from);
	path_deinit(&to);
	return r;
}

void handle_rename(struct notification *n)
{
	struct rename_call call;
	int r, tries;

	memset(&call.approved, 0, sizeof(call.approved));
	call.ends_allowed = false;
	r = rename_call_read(n, &call);
	if (r < 0) {
		reply_errno(n, -r);
		return;
	}
	for (tries = 0; tries < RENAME_TRIES; tries++)
		if (rename_try(n, &call) == 0)
			break;
	if (tries == RENAME_TRIES)
		reply_errno(n, EAGAIN);
	names_findings_deinit(&call.approved);
}
