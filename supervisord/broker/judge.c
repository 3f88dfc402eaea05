/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */

#include "supervisord/broker/judge.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "policy-lang/policy.h"
#include "supervisord/base/error.h"
#include "supervisord/base/proc.h"
#include "supervisord/broker/fresh.h"
#include "supervisord/broker/reply.h"
#include "supervisord/broker/target.h"
#include "supervisord/proto/request.h"

void judge_init(struct judge *judge, struct notification *n)
{
	memset(judge, 0, sizeof(*judge));
	judge->n = n;
}

void judge_deinit(struct judge *judge)
{
	size_t i;

	for (i = 0; i < judge->n_requests; i++)
		request_free(judge->requests[i]);
	judge->n_requests = 0;
	free(TAKE_PTR(judge->program));
}

static void judge_fail(struct judge *judge, int r)
{
	if (judge->error == 0)
		judge->error = r;
}

/* Rules with `by` look at the program. */
static const char *judge_program(struct judge *judge)
{
	int r;

	if (judge->program || judge->error < 0)
		return judge->program;
	r = target_ids(judge->n);
	if (r == 0)
		r = proc_link(judge->n->tgid, "exe", &judge->program);
	if (r == 0 && !notification_valid(judge->n))
		r = -ESRCH;
	if (r < 0)
		judge_fail(judge, r);
	return judge->program;
}

/* Takes REQUEST; NULL is a failure. */
static void judge_push(struct judge *judge, struct request *request, const char *other)
{
	_cleanup_(request_freep) struct request *owned = request;
	const char *program = judge_program(judge);

	if (!owned || !program || judge->n_requests == JUDGE_MAX) {
		judge_fail(judge, -ENOMEM);
		return;
	}
	owned->program = strdup(program);
	if (other)
		owned->other = strdup(other);
	if (!owned->program || (other && !owned->other)) {
		judge_fail(judge, -ENOMEM);
		return;
	}
	judge->requests[judge->n_requests++] = TAKE_PTR(owned);
}

static bool changes(enum op op)
{
	return op == OP_WRITE || op == OP_CREATE || op == OP_RENAME || op == OP_LINK;
}

/* A file HEAD beside a .git: once that is no valid repository any more (all but its settings and
 * hooks may be changed), git takes the folder around it for one, with the settings and hooks there.
 * So it is judged as making those of the .git. */
static void judge_add_bare(struct judge *judge, const struct path *path)
{
	struct fresh_repos *repos = judge->n->broker->fresh;
	_cleanup_(closep) int fd = -1;
	_cleanup_(freep) char *name = NULL;

	if (path->parent_fd < 0 || strcmp(path->name, "HEAD") != 0)
		return;
	fd = openat(path->parent_fd, ".git", O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return;
	if (asprintf(&name, "%.*s.git/config", (int)(strlen(path->real) - strlen(path->name)),
		    path->real) < 0) {
		name = NULL;
		judge_fail(judge, -ENOMEM);
		return;
	}
	judge_add_name(judge, OP_CREATE, name, repos && fresh_repos_is(repos, fd));
}

void judge_add(struct judge *judge, const struct path *path, enum op op, const char *other)
{
	struct request *request = path_request(judge->n, path, op);
	struct request *second = NULL;

	/* Both a protected hard-link name and another asked name: one request each. */
	if (request && request->alias && strcmp(request->alias, path->asked) != 0 &&
		strcmp(path->asked, path->real) != 0) {
		second = request_new(op);
		if (second) {
			second->path = strdup(path->real);
			second->alias = strdup(path->asked);
			second->fresh_repo = request->fresh_repo;
		}
		if (!second || !second->path || !second->alias)
			judge_fail(judge, -ENOMEM);
	}
	if (request && request->fresh_repo && !judge->repo)
		judge->repo = path;
	judge_push(judge, request, other);
	if (second)
		judge_push(judge, second, other);
	if (changes(op))
		judge_add_bare(judge, path);
}

enum verdict judge_peek(
	struct judge *judge, enum op op, const char *name, const char *alias, bool fresh)
{
	_cleanup_(request_freep) struct request *request = request_new(op);
	const char *program = judge_program(judge);
	const struct policy_rule_info *rule;

	if (!request || !program)
		return VERDICT_DENY;
	request->path = strdup(name);
	request->program = strdup(program);
	request->fresh_repo = fresh;
	if (alias && strcmp(alias, name) != 0) {
		request->alias = strdup(alias);
		if (!request->alias)
			return VERDICT_DENY;
	}
	if (!request->path || !request->program)
		return VERDICT_DENY;
	return policy_set_eval(judge->n->broker->policies, request, &rule);
}

static enum verdict peek_path(struct judge *judge, enum op op, const struct path *path)
{
	_cleanup_(request_freep) struct request *request = path_request(judge->n, path, op);
	enum verdict by_asked;
	enum verdict verdict;

	if (!request)
		return VERDICT_DENY;
	verdict = judge_peek(judge, op, path->real, request->alias, request->fresh_repo);
	/* The alias is a hard-link name, and the name asked for is a third one. */
	if (request->alias && strcmp(request->alias, path->asked) != 0) {
		by_asked = judge_peek(judge, op, path->real, path->asked, request->fresh_repo);
		if (by_asked > verdict)
			verdict = by_asked;
	}
	return verdict;
}

void judge_add_strictest(struct judge *judge, const struct path *path, const enum op *ops,
	size_t n_ops, const char *other)
{
	enum verdict strictest = VERDICT_ALLOW, verdict;
	enum op op = ops[0];
	size_t i;

	for (i = 0; n_ops > 1 && i < n_ops; i++) {
		verdict = peek_path(judge, ops[i], path);
		if (verdict > strictest) {
			strictest = verdict;
			op = ops[i];
		}
	}
	judge_add(judge, path, op, other);
}

void judge_add_name(struct judge *judge, enum op op, const char *name, bool fresh)
{
	struct request *request = request_new(op);

	if (request) {
		request->path = strdup(name);
		request->fresh_repo = fresh;
		if (!request->path) {
			request_free(request);
			request = NULL;
		}
	}
	judge_push(judge, request, NULL);
}

void judge_add_laundering(struct judge *judge, const struct path *source, const struct path *target)
{
	static const enum op ops[] = {OP_READ, OP_WRITE};
	enum verdict verdict;
	size_t i;

	for (i = 0; i < ARRAY_LEN(ops); i++) {
		verdict = peek_path(judge, ops[i], source);
		if (verdict != VERDICT_ALLOW && verdict > peek_path(judge, ops[i], target))
			judge_add(judge, source, ops[i], target->real);
	}
}

/* What git runs later by itself: hooks and settings. */
static bool runs_later(const char *name)
{
	const char *git = strstr(name, "/.git/");
	const char *hooks;
	size_t size = strlen(name);

	if (size >= 5 && strcmp(name + size - 5, "/.git") == 0)
		return true; /* a pointer file */
	if (!git)
		return false;
	hooks = strstr(git, "/hooks/");
	if (hooks)
		return size < 7 || strcmp(name + size - 7, ".sample") != 0;
	return size >= 7 && strcmp(name + size - 7, "/config") == 0;
}

static void announce(struct judge *judge)
{
	const struct path *path = judge->repo;
	enum op op;

	if (!path || judge->n_requests == 0 || !runs_later(path->real))
		return;
	op = judge->requests[0]->op;
	if (op == OP_READ || op == OP_LIST || op == OP_DELETE)
		return;
	if (fresh_repos_announce(judge->n->broker->fresh, path))
		decide_record_event(judge->n, "later.active", judge->requests[0],
			"git runs what this repository says when it is used later");
}

enum verdict judge_run(struct judge *judge)
{
	enum verdict verdict;

	if (judge->error < 0 || judge->n_requests == 0)
		return VERDICT_DENY;
	verdict = decide_all(judge->n, judge->requests, judge->n_requests);
	if (verdict == VERDICT_ALLOW)
		announce(judge);
	return verdict;
}

bool judge_allows(struct judge *judge)
{
	if (judge_run(judge) == VERDICT_ALLOW)
		return true;
	reply_errno(judge->n, EACCES);
	return false;
}

bool judge_floor(struct notification *n, const struct path *path, unsigned access)
{
	const char *alias;

	if (path->anonymous || !plan_floor_covers(n->broker->plan, access, path->real))
		return false;
	/* A protected object under another name is not the floor's matter. */
	return path->object_fd < 0 || S_ISDIR(path->st.st_mode) || path->st.st_nlink < 2 ||
	       !policy_set_inode_alias(
		       n->broker->policies, path->st.st_dev, path->st.st_ino, &alias);
}
