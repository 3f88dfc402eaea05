/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef TESTS_UNIT_BROKER_HARNESS_H
#define TESTS_UNIT_BROKER_HARNESS_H

/* Runs a function in a child whose file calls are answered by the broker's real handlers, under a
 * real policy, with real notifications. Doubles: the decision (the policy alone; an ask is answered
 * by harness.ask), the floor (harness.floor is the one tree in it), the worker pool. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "policy-lang/policy.h"
#include "supervisord/base/cleanup.h"
#include "supervisord/broker/decide.h"
#include "supervisord/broker/fresh.h"
#include "supervisord/broker/notification.h"
#include "supervisord/proto/request.h"

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif
#define WAIT_KILLABLE (1UL << 5)
#define HARNESS_THREADS 4
#define HARNESS_RESULTS 128

struct harness {
	char dir[64]; /* the workspace; the child starts in it */
	struct policy_set *policies;
	struct plan plan;
	struct broker broker;
	const char *floor; /* everything below is left to the kernel; NULL = nothing */
	bool ask;          /* what a person says */
	atomic_int n_asked, n_denied, n_events, n_continued;
	char asked[PATH_MAX];
	long *results; /* shared with the child */
};

static struct harness harness;
/* A file that is there before the policy is read. */
static const char *harness_early;

static const struct {
	int nr;
	notification_fn handler;
} harness_calls[] = {
	{SYS_open, handle_open},
	{SYS_openat, handle_open},
	{SYS_openat2, handle_open},
	{SYS_creat, handle_open},
	{SYS_rename, handle_rename},
	{SYS_renameat, handle_rename},
	{SYS_renameat2, handle_rename},
	{SYS_link, handle_link},
	{SYS_linkat, handle_link},
	{SYS_symlink, handle_symlink},
	{SYS_symlinkat, handle_symlink},
	{SYS_unlink, handle_unlink},
	{SYS_unlinkat, handle_unlink},
	{SYS_rmdir, handle_unlink},
	{SYS_mkdir, handle_mkdir},
	{SYS_mkdirat, handle_mkdir},
	{SYS_mknod, handle_mknod},
	{SYS_mknodat, handle_mknod},
	{SYS_truncate, handle_truncate},
	{SYS_chmod, handle_chmod},
	{SYS_fchmod, handle_chmod},
	{SYS_fchmodat, handle_chmod},
	{SYS_fchmodat2, handle_chmod},
	{SYS_chown, handle_chown},
	{SYS_lchown, handle_chown},
	{SYS_fchown, handle_chown},
	{SYS_fchownat, handle_chown},
	{SYS_utime, handle_utimes},
	{SYS_utimes, handle_utimes},
	{SYS_futimesat, handle_utimes},
	{SYS_utimensat, handle_utimes},
	{SYS_setxattr, handle_xattr},
	{SYS_lsetxattr, handle_xattr},
	{SYS_fsetxattr, handle_xattr},
	{SYS_removexattr, handle_xattr},
	{SYS_lremovexattr, handle_xattr},
	{SYS_fremovexattr, handle_xattr},
};

/* Doubles -------------------------------------------------------------------------------------- */

bool notification_valid(const struct notification *n)
{
	uint64_t id = n->id;

	return ioctl(n->broker->launch.listener_fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

bool notification_still_wanted(void *userdata)
{
	return notification_valid(userdata);
}

bool worker_may_block(struct notification *n)
{
	n->blocking = true;
	return true;
}

enum verdict decide_all(struct notification *n, struct request *const *requests, size_t n_requests)
{
	const struct policy_rule_info *rule;
	enum verdict verdict, strictest = VERDICT_ALLOW;
	size_t i;

	for (i = 0; i < n_requests; i++) {
		verdict = policy_set_eval(n->broker->policies, requests[i], &rule);
		if (verdict > strictest) {
			strictest = verdict;
			(void)snprintf(harness.asked, sizeof(harness.asked), "%s %s",
				op_name(requests[i]->op), requests[i]->path);
		}
	}
	if (strictest == VERDICT_ASK) {
		atomic_fetch_add(&harness.n_asked, 1);
		strictest = harness.ask ? VERDICT_ALLOW : VERDICT_DENY;
	}
	if (strictest == VERDICT_DENY)
		atomic_fetch_add(&harness.n_denied, 1);
	return strictest;
}

enum verdict decide(struct notification *n, struct request *request)
{
	struct request *const one[] = {request};

	return decide_all(n, one, 1);
}

void decide_record_event(_unused_ struct notification *n, _unused_ const char *type,
	_unused_ const struct request *request, _unused_ const char *detail)
{
	atomic_fetch_add(&harness.n_events, 1);
}

bool plan_floor_covers(_unused_ const struct plan *plan, _unused_ unsigned access, const char *path)
{
	size_t size = harness.floor ? strlen(harness.floor) : 0;
	bool covered = size > 0 && strncmp(path, harness.floor, size) == 0 && path[size] == '/';

	if (covered)
		atomic_fetch_add(&harness.n_continued, 1);
	return covered;
}

/* Serving -------------------------------------------------------------------------------------- */

static void harness_handle(struct seccomp_notif *notif)
{
	struct notification n = {
		.broker = &harness.broker,
		.id = notif->id,
		.tid = (pid_t)notif->pid,
		.nr = notif->data.nr,
		.pidfd = -1,
	};
	struct seccomp_notif_resp response = {.id = notif->id, .error = -EACCES};
	size_t i;

	for (i = 0; i < 6; i++)
		n.args[i] = notif->data.args[i];
	for (i = 0; i < ARRAY_LEN(harness_calls); i++)
		if (harness_calls[i].nr == n.nr)
			harness_calls[i].handler(&n);
	if (!n.answered)
		(void)ioctl(harness.broker.launch.listener_fd, SECCOMP_IOCTL_NOTIF_SEND, &response);
	n.pidfd = close_fd(n.pidfd);
}

static void *harness_serve(void *unused)
{
	struct seccomp_notif notif;
	struct pollfd p = {.fd = harness.broker.launch.listener_fd, .events = POLLIN};

	if (unshare(CLONE_FS) < 0)
		abort();
	(void)umask(0);
	for (;;) {
		if (poll(&p, 1, 10000) <= 0 || !(p.revents & POLLIN))
			return unused;
		memset(&notif, 0, sizeof(notif));
		if (ioctl(p.fd, SECCOMP_IOCTL_NOTIF_RECV, &notif) == 0)
			harness_handle(&notif);
		else if (errno != EINTR && errno != ENOENT)
			return unused;
	}
}

/* In the child: the filter. Returns the listener. */
static int harness_filter(void)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
	struct sock_filter code[512];
	struct sock_fprog program = {.filter = code};
	ssize_t size;
	size_t i;
	int fd;

	for (i = 0; i < ARRAY_LEN(harness_calls); i++)
		if (seccomp_rule_add(ctx, SCMP_ACT_NOTIFY, harness_calls[i].nr, 0) < 0)
			_exit(99);
	fd = memfd_create("filter", 0);
	if (fd < 0 || seccomp_export_bpf(ctx, fd) < 0)
		_exit(98);
	size = pread(fd, code, sizeof(code), 0);
	close(fd);
	seccomp_release(ctx);
	if (size <= 0)
		_exit(97);
	program.len = (unsigned short)((size_t)size / sizeof(code[0]));
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		_exit(96);
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
		SECCOMP_FILTER_FLAG_NEW_LISTENER | WAIT_KILLABLE, &program);
}

static void harness_child(int ready, int go, void (*run)(void))
{
	int listener;
	char byte;

	if (chdir(harness.dir) < 0)
		_exit(95);
	listener = harness_filter();
	if (listener < 0 || write(ready, &listener, sizeof(listener)) != sizeof(listener) ||
		read(go, &byte, 1) != 1)
		_exit(94);
	close(listener);
	close(ready);
	close(go);
	run();
	fflush(stdout);
	_exit(0);
}

/* Runs RUN in a supervised child; its exit status. */
static int harness_run(void (*run)(void))
{
	pthread_t threads[HARNESS_THREADS];
	int ready[2], go[2], listener, pidfd, status = -1, i;
	pid_t pid;

	memset(harness.results, 0, HARNESS_RESULTS * sizeof(long));
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	assert_int_equal(pipe2(go, O_CLOEXEC), 0);
	fflush(stdout);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		harness_child(ready[1], go[0], run);
	close(ready[1]);
	close(go[0]);
	assert_int_equal(read(ready[0], &listener, sizeof(listener)), sizeof(listener));
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	harness.broker.launch.listener_fd = (int)syscall(SYS_pidfd_getfd, pidfd, listener, 0);
	assert_true(harness.broker.launch.listener_fd >= 0);
	for (i = 0; i < HARNESS_THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, harness_serve, NULL), 0);
	assert_int_equal(write(go[1], "g", 1), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	for (i = 0; i < HARNESS_THREADS; i++)
		pthread_join(threads[i], NULL);
	close(harness.broker.launch.listener_fd);
	close(pidfd);
	close(ready[0]);
	close(go[1]);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* In the child: notes the outcome of a call: its value, or -errno. */
static _unused_ void harness_note(size_t index, long r)
{
	harness.results[index] = r < 0 ? -errno : r;
}

/* Whole content of a file of the workspace, static; NULL when it is not there. */
static _unused_ const char *harness_content(const char *name)
{
	static char text[4096];
	char path[PATH_MAX];
	ssize_t size;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", harness.dir, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	size = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[size > 0 ? size : 0] = '\0';
	return text;
}

/* In parent or child (from the workspace): makes a file. */
static _unused_ void harness_make(const char *name, const char *text)
{
	char path[PATH_MAX];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", harness.dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		abort();
	close(fd);
}

static _unused_ void harness_mkdir(const char *name)
{
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/%s", harness.dir, name);
	if (mkdir(path, 0755) < 0)
		abort();
}

static void harness_remove(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		execlp("rm", "rm", "-rf", "--", harness.dir, (char *)NULL);
		_exit(127);
	}
	(void)waitpid(pid, NULL, 0);
}

/* A workspace and a policy of these rules. */
static void harness_start(const char *rules)
{
	static const char head[] = "policy \"t\" lang 1 layer builtin\n";
	_cleanup_(freep) char *text = NULL;
	struct policy_vars vars;
	struct diag_list diags;
	int r;

	memset(&harness, 0, sizeof(harness));
	(void)snprintf(harness.dir, sizeof(harness.dir), "/tmp/broker-files-XXXXXX");
	assert_non_null(mkdtemp(harness.dir));
	if (harness_early)
		harness_make(harness_early, harness_early);
	vars = (struct policy_vars){.home = "/nonexistent/home",
		.project = harness.dir,
		.tmp = "/tmp",
		.xdg_config = "/nonexistent/c",
		.xdg_state = "/nonexistent/s",
		.xdg_data = "/nonexistent/d",
		.xdg_cache = "/nonexistent/k",
		.xdg_runtime = "/nonexistent/r"};
	assert_true(asprintf(&text, "%s%s", head, rules) > 0);
	diag_list_init(&diags);
	assert_int_equal(policy_set_new(&vars, &harness.policies), 0);
	r = policy_set_add(harness.policies, "t.policy", text, strlen(text), LAYER_BUILTIN, &diags);
	if (r == 0)
		r = policy_set_seal(harness.policies, &diags);
	if (r != 0 && diags.n_items > 0)
		print_error("%u: %s\n", diags.items[0].line, diags.items[0].message);
	assert_int_equal(r, 0);
	diag_list_deinit(&diags);
	harness.results = mmap(NULL, HARNESS_RESULTS * sizeof(long), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(harness.results != MAP_FAILED);
	harness.plan.pid_ns = true;
	harness.broker.policies = harness.policies;
	harness.broker.plan = &harness.plan;
	harness.broker.uid = getuid();
	harness.broker.launch.root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(fresh_repos_new(&harness.broker.fresh), 0);
}

static void harness_end(void)
{
	close(harness.broker.launch.root_fd);
	fresh_repos_free(harness.broker.fresh);
	policy_set_free(harness.policies);
	(void)munmap(harness.results, HARNESS_RESULTS * sizeof(long));
	harness_remove();
}

#endif
