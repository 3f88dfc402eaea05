/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "supervisord/broker/exec.h"

/* execve and execveat at the notification: what would run, and may it?
 *
 * MUST
 *  1. copy the path and every argument once
 *  2. answer what is foreseeable (missing, no program, not executable) without attaching to the
 * task
 *  3. judge the file and, for a script, every interpreter with the arguments that the kernel gives
 * it:
 *     "#!/usr/bin/git push" is an exec of git push
 *  4. refuse what has no name (memfd, deleted file): a rule cannot speak of it
 *  5. let nothing go on but through exec_verify()
 *
 * The environment is not judged: rights belong to the session, not to the program. */

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "supervisord/base/error.h"
#include "supervisord/base/log.h"
#include "supervisord/broker/decide.h"
#include "supervisord/broker/path.h"
#include "supervisord/broker/reply.h"
#include "supervisord/broker/target.h"

struct exec_call {
	struct exec_reader reader;
	int dir_fd;
	char path[PATH_MAX];
	uint64_t argv_addr;
	unsigned flags;
	char name[PATH_MAX + 32]; /* what the kernel tells an interpreter about the script */
};

void exec_plan_deinit(struct exec_plan *plan)
{
	for (size_t i = 0; i < plan->n_requests; i++)
		request_free(plan->requests[i]);
	exec_args_deinit(&plan->args);
	free(plan->loader);
	memset(plan, 0, sizeof(*plan));
}

static int call_read(struct notification *n, struct exec_call *call)
{
	bool at = n->nr == SYS_execveat;
	ssize_t length;

	call->dir_fd = at ? (int)n->args[0] : AT_FDCWD;
	call->argv_addr = n->args[at ? 2 : 1];
	call->flags = at ? (unsigned)n->args[4] : 0;
	/* AT_EXECVE_CHECK (0x10000) would run nothing: to the caller the kernel is one without it.
	 */
	if (call->flags & ~(unsigned)(AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW))
		return err_trace(-EINVAL);
	call->reader.n = n;
	length = exec_read_string(
		&call->reader, n->args[at ? 1 : 0], call->path, sizeof(call->path));
	if (length < 0)
		return err_trace((int)length);

	if (call->dir_fd == AT_FDCWD || call->path[0] == '/')
		(void)snprintf(call->name, sizeof(call->name), "%s", call->path);
	else if (!call->path[0])
		(void)snprintf(call->name, sizeof(call->name), "/dev/fd/%d", call->dir_fd);
	else
		(void)snprintf(
			call->name, sizeof(call->name), "/dev/fd/%d/%s", call->dir_fd, call->path);
	return 0;
}

/* Refused without a rule: the event says why. */
static void record_refusal(
	struct notification *n, const char *type, const char *path, const char *detail)
{
	struct request *request = request_new(OP_EXEC);

	if (request) {
		request->path = strdup(path);
		if (request->path && target_describe(n, request) >= 0)
			decide_record_event(n, type, request, detail);
		request_free(request);
	}
	log_info("exec of %s refused: %s", path, detail);
}

/* What the kernel itself refuses, in its order. */
static int check_object(struct notification *n, const struct path *path)
{
	char name[64];

	if (path->object_fd < 0)
		return -ENOENT;
	if (S_ISLNK(path->st.st_mode))
		return -ELOOP;
	if (path->slash && !S_ISDIR(path->st.st_mode))
		return -ENOTDIR;
	if (!S_ISREG(path->st.st_mode))
		return -EACCES;
	if (path->anonymous) {
		record_refusal(n, "refused.anonymous-exec", path->real ? path->real : "(anonymous)",
			"a program without a name in the file system: copy it to a file to run it");
		return -EACCES;
	}
	(void)snprintf(name, sizeof(name), "/proc/self/fd/%d", path->object_fd);
	if (faccessat(AT_FDCWD, name, X_OK, AT_EACCESS) < 0)
		return -EACCES;
	return 0;
}

/* Adds the file at PATH with the arguments as they are now to what is judged; remembers it as the
 * image. */
static int plan_add(struct notification *n, const struct path *path, const struct exec_image *image,
	struct exec_plan *plan)
{
	struct request *request = path_request(n, path, OP_EXEC);
	int r;

	if (!request)
		return err_trace(-ENOMEM);
	plan->requests[plan->n_requests++] = request;
	r = exec_args_dup(&plan->args, &request->argv, &request->n_argv);
	if (r < 0)
		return err_trace(r);
	if (image->kind == EXEC_SCRIPT) {
		request->interpreter = strdup(image->interpreter);
		if (!request->interpreter)
			return err_trace(-ENOMEM);
	}
	plan->dev = path->st.st_dev;
	plan->ino = path->st.st_ino;
	return 0;
}

/* The loader of a dynamic program by its name in the ELF header. */
static int plan_loader(
	struct notification *n, const struct exec_image *image, struct exec_plan *plan)
{
	struct path path;
	int r;

	if (exec_cache_loader(n->broker, image->interpreter, plan))
		return 0;
	r = path_resolve(n, AT_FDCWD, image->interpreter, 0, 0, &path);
	if (r >= 0)
		r = check_object(n, &path);
	if (r >= 0) {
		exec_cache_keep_loader(image->interpreter, path.real, &path.st);
		plan->loader = TAKE_PTR(path.real);
		plan->loader_dev = path.st.st_dev;
		plan->loader_ino = path.st.st_ino;
	}
	path_deinit(&path);
	return r;
}

/* One file of the chain. 0 at the end of the chain, 1 with IMAGE a script, -errno. */
static int plan_step(struct notification *n, int dir_fd, const char *text, unsigned flags,
	struct exec_image *image, struct exec_plan *plan)
{
	struct path path;
	int r;

	r = path_resolve(n, dir_fd, text, flags, 0, &path);
	if (r >= 0)
		r = check_object(n, &path);
	if (r >= 0)
		r = exec_cache_image(path.object_fd, &path.st, image);
	if (r >= 0 && image->kind == EXEC_UNREADABLE) {
		/* The kernel also hides such a process from us: what runs could not be proved. */
		record_refusal(n, "refused.unreadable-exec", path.real,
			"a program that may not be read cannot be verified");
		r = -EACCES;
	}
	if (r >= 0)
		r = plan_add(n, &path, image, plan);
	path_deinit(&path);
	if (r < 0)
		return r;
	if (image->kind == EXEC_SCRIPT)
		return 1;
	plan->foreseen = image->kind == EXEC_ELF;
	return plan->foreseen && image->interpreter ? plan_loader(n, image, plan) : 0;
}

/* Follows the chain of interpreters as the kernel would. */
static int plan_chain(struct notification *n, const struct exec_call *call, struct exec_plan *plan)
{
	unsigned flags = (call->flags & AT_EMPTY_PATH ? PATH_EMPTY : 0) |
			 (call->flags & AT_SYMLINK_NOFOLLOW ? PATH_NOFOLLOW : 0);
	struct exec_image image = {0};
	char *name = NULL;
	int r;

	r = plan_step(n, call->dir_fd, call->path, flags, &image, plan);
	while (r > 0) {
		r = exec_args_for_script(&plan->args, &image, name ? name : call->name);
		if (r < 0)
			break;
		if (plan->n_requests >= EXEC_CHAIN_MAX) {
			r = -ELOOP;
			break;
		}
		free(name);
		name = TAKE_PTR(image.interpreter);
		exec_image_deinit(&image);
		r = plan_step(n, AT_FDCWD, name, 0, &image, plan);
	}
	free(name);
	exec_image_deinit(&image);
	return r;
}

int exec_copy_subject(struct request *to, const struct request *from)
{
	to->pid = from->pid;
	to->inner_pid = from->inner_pid;
	to->start_ticks = from->start_ticks;
	to->uid = from->uid;
	to->program = from->program ? strdup(from->program) : NULL;
	to->cwd = from->cwd ? strdup(from->cwd) : NULL;
	if ((from->program && !to->program) || (from->cwd && !to->cwd))
		return err_trace(-ENOMEM);
	return 0;
}

/* A loader is a program too. Allowed ones, nearly all, cost no record; the others are decided as
 * usual. */
static int judge_loader(struct notification *n, struct exec_plan *plan)
{
	_cleanup_(request_freep) struct request *request = request_new(OP_EXEC);
	const struct policy_rule_info *rule;
	struct exec_args args = {.items = (char *[]){plan->loader, NULL}, .n = 1};
	int r;

	if (!request)
		return err_trace(-ENOMEM);
	request->path = strdup(plan->loader);
	if (!request->path)
		return err_trace(-ENOMEM);
	r = exec_args_dup(&args, &request->argv, &request->n_argv);
	if (r >= 0)
		r = exec_copy_subject(request, plan->requests[0]);
	if (r < 0)
		return err_trace(r);
	if (policy_set_eval(n->broker->policies, request, &rule) == VERDICT_ALLOW)
		return 0;
	return decide(n, request) == VERDICT_ALLOW ? 0 : -EACCES;
}

/* The kernel opens a program to start it, under the session's floor. Where that cannot work nobody
 * is asked for a permission that would come to nothing; what the policy refuses anyway is refused
 * for its own reason. */
static int check_floor(struct notification *n, const struct exec_plan *plan)
{
	const struct policy_rule_info *rule;

	for (size_t i = 0; i < plan->n_requests; i++) {
		const struct request *request = plan->requests[i];

		if (!request->path ||
			plan_floor_covers(n->broker->plan, PLAN_START, request->path) ||
			policy_set_eval(n->broker->policies, request, &rule) > VERDICT_ASK)
			continue;
		record_refusal(n, "refused.unreadable-program", request->path,
			"a program must be readable without asking before it can be started: allow "
			"read of it");
		return -EACCES;
	}
	return 0;
}

static int judge(struct notification *n, struct exec_plan *plan)
{
	enum verdict verdict;
	int r = check_floor(n, plan);

	if (r < 0)
		return r;
	if (plan->n_requests == 1)
		verdict = decide(n, plan->requests[0]);
	else
		verdict = decide_all(n, plan->requests, plan->n_requests);
	if (verdict != VERDICT_ALLOW)
		return -EACCES;
	return plan->loader ? judge_loader(n, plan) : 0;
}

void handle_exec(struct notification *n)
{
	_cleanup_(freep) struct exec_call *call = malloc(sizeof(*call));
	_cleanup_(exec_plan_deinit) struct exec_plan plan = {0};
	int r;

	if (!call) {
		reply_errno(n, ENOMEM);
		return;
	}
	call->reader.filled = 0;
	call->reader.next = 0;
	r = call_read(n, call);
	if (r >= 0) {
		r = exec_args_copy(&call->reader, call->argv_addr, &plan.args);
		if (r == -E2BIG)
			record_refusal(n, "refused.exec-arguments", call->name,
				"more arguments than can be judged");
	}
	if (r >= 0)
		r = plan_chain(n, call, &plan);
	if (r >= 0)
		r = judge(n, &plan);
	if (r < 0) {
		reply_errno(n, -r);
		return;
	}
	exec_verify(n, &plan);
}
