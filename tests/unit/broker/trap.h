/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef TESTS_UNIT_BROKER_TRAP_H
#define TESTS_UNIT_BROKER_TRAP_H

/* A real child under a small filter, whose notifications are answered by the broker's real handlers
 * in threads of the test; doubles stand for the policy, the log and the pool of workers.
 *
 * The child runs BODY and its return value is the exit status; trap_run() returns the wait status.
 * Between, the doubles count and answer as the test told them in `trap`. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "supervisord/broker/decide.h"
#include "supervisord/broker/notification.h"
#include "supervisord/broker/open.h"
#include "supervisord/broker/reply.h"

#define TRAP_THREADS 4
#define TRAP_CALLS 8
#define TRAP_FD 200

struct trap {
	/* Set by the test. */
	enum verdict verdict; /* of decide(), where `judge` is NULL */
	enum verdict (*judge)(const struct request *request);
	enum verdict eval;             /* of policy_set_eval() */
	void (*before_decision)(void); /* what the attacker does meanwhile */

	/* Seen by the test. */
	int n_decisions;
	int n_events;
	char event[64];
	char detail[512];
	char object[4200]; /* of the last decision: path, or host:port */
	char objects[16][256];
	enum op op;
};

static struct trap trap;
static pthread_mutex_t trap_lock = PTHREAD_MUTEX_INITIALIZER;
static char trap_root[] = "/";
/* Any program can be started, and no read goes on in the kernel. */
static struct plan_step trap_floor = {.kind = PLAN_ALLOW, .access = PLAN_START, .path = trap_root};
static struct plan trap_plan = {.steps = &trap_floor, .n_steps = 1, .n_allow = 1};
static struct broker trap_broker;

bool notification_valid(const struct notification *n)
{
	uint64_t id = n->id;

	return ioctl(n->broker->launch.listener_fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

bool worker_may_block(struct notification *n)
{
	n->blocking = true;
	return true;
}

static enum verdict trap_decide(const struct request *request)
{
	enum verdict verdict = trap.judge ? trap.judge(request) : trap.verdict;
	char text[4200];

	if (request->path)
		snprintf(text, sizeof(text), "%s", request->path);
	else
		snprintf(text, sizeof(text), "%s:%u", request->host, request->port);
	pthread_mutex_lock(&trap_lock);
	memcpy(trap.object, text, sizeof(text));
	if (trap.n_decisions < 16)
		snprintf(trap.objects[trap.n_decisions], sizeof(trap.objects[0]), "%.255s", text);
	trap.n_decisions++;
	trap.op = request->op;
	pthread_mutex_unlock(&trap_lock);
	if (trap.before_decision)
		trap.before_decision();
	return verdict;
}

enum verdict decide(struct notification *n, struct request *request)
{
	(void)n;
	return trap_decide(request);
}

enum verdict decide_all(struct notification *n, struct request *const *requests, size_t n_requests)
{
	enum verdict strictest = VERDICT_ALLOW;

	(void)n;
	for (size_t i = 0; i < n_requests; i++) {
		enum verdict verdict = trap_decide(requests[i]);

		strictest = verdict > strictest ? verdict : strictest;
	}
	return strictest;
}

void decide_record_event(
	struct notification *n, const char *type, const struct request *request, const char *detail)
{
	(void)n;
	(void)request;
	pthread_mutex_lock(&trap_lock);
	trap.n_events++;
	snprintf(trap.event, sizeof(trap.event), "%s", type);
	snprintf(trap.detail, sizeof(trap.detail), "%s", detail);
	pthread_mutex_unlock(&trap_lock);
}

enum verdict policy_set_eval(const struct policy_set *set, const struct request *request,
	const struct policy_rule_info **rulep)
{
	(void)set;
	(void)request;
	*rulep = NULL;
	return trap.eval;
}

bool policy_set_inode_alias(
	const struct policy_set *set, uint64_t dev, uint64_t ino, const char **pathp)
{
	(void)set;
	(void)dev;
	(void)ino;
	(void)pathp;
	return false;
}

void open_settle(void)
{
}

static notification_fn trap_handlers[512];

static void *trap_worker(void *userdata _unused_)
{
	for (;;) {
		struct seccomp_notif notif;
		struct notification n = {.broker = &trap_broker, .pidfd = -1};

		memset(&notif, 0, sizeof(notif));
		if (ioctl(trap_broker.launch.listener_fd, SECCOMP_IOCTL_NOTIF_RECV, &notif) < 0) {
			struct pollfd pfd = {.fd = trap_broker.launch.listener_fd};

			/* ENOENT: the requester was killed meanwhile, or no task is left. */
			if (errno == EINTR || (errno == ENOENT && poll(&pfd, 1, 0) >= 0 &&
						      !(pfd.revents & POLLHUP)))
				continue;
			return NULL;
		}
		n.id = notif.id;
		n.tid = (pid_t)notif.pid;
		n.nr = notif.data.nr;
		for (size_t i = 0; i < 6; i++)
			n.args[i] = notif.data.args[i];
		trap_handlers[n.nr](&n);
		if (!n.answered)
			reply_errno(&n, EACCES);
		n.pidfd = close_fd(n.pidfd);
	}
}

/* In the child: the filter with its listener on TRAP_FD. */
static void trap_install(const int *calls, size_t n_calls)
{
	struct sock_filter code[TRAP_CALLS * 2 + 2];
	struct sock_fprog program = {.filter = code};
	unsigned short at = 0;
	int fd;

	code[at++] = (struct sock_filter)BPF_STMT(
		BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < n_calls; i++) {
		code[at++] = (struct sock_filter)BPF_JUMP(
			BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i], 0, 1);
		code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
	}
	code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	program.len = at;
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	/* NEW_LISTENER, WAIT_KILLABLE_RECV */
	fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, (1u << 3) | (1u << 5), &program);
	if (fd < 0)
		_exit(99);
	dup3(fd, TRAP_FD, O_CLOEXEC);
	close(fd);
}

static void trap_reset(void)
{
	memset(&trap, 0, sizeof(trap));
	trap.verdict = VERDICT_ALLOW;
	trap.eval = VERDICT_ALLOW;
}

/* The child itself: never returns. */
static void trap_child(const int *calls, size_t n_calls, const int *ready, const int *go,
	int (*body)(void *), void *userdata)
{
	pid_t pid = getpid();
	char c;

	trap_install(calls, n_calls);
	if (write(ready[1], &pid, sizeof(pid)) != sizeof(pid) || read(go[0], &c, 1) != 1)
		_exit(98);
	close(TRAP_FD);
	_exit(body(userdata));
}

/* The child's parent. As in a session it is another process than the tracer: a tracer that is also
 * the parent would take the child's death for good. */
static void trap_parent(const int *calls, size_t n_calls, const int *ready, const int *go,
	const int *done, int (*body)(void *), void *userdata)
{
	pid_t pid = fork();
	int status = -1;

	if (pid == 0)
		trap_child(calls, n_calls, ready, go, body, userdata);
	if (waitpid(pid, &status, 0) != pid || write(done[1], &status, sizeof(status)) < 0)
		_exit(1);
	_exit(0);
}

/* Runs BODY in a child whose CALLS are answered by HANDLER. The wait status; a child that hangs is
 * killed after 20 s and so fails its test. */
static int trap_run(const int *calls, size_t n_calls, notification_fn handler, int (*body)(void *),
	void *userdata)
{
	pthread_t threads[TRAP_THREADS];
	int ready[2], go[2], done[2], pidfd, status;
	struct pollfd pfd;
	pid_t parent, pid;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	assert_int_equal(pipe2(go, O_CLOEXEC), 0);
	assert_int_equal(pipe2(done, O_CLOEXEC), 0);
	fflush(NULL);
	parent = fork();
	assert_true(parent >= 0);
	if (parent == 0)
		trap_parent(calls, n_calls, ready, go, done, body, userdata);
	assert_int_equal(read(ready[0], &pid, sizeof(pid)), sizeof(pid));
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	trap_broker.plan = &trap_plan;
	trap_broker.launch.listener_fd = (int)syscall(SYS_pidfd_getfd, pidfd, TRAP_FD, 0);
	trap_broker.launch.root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < n_calls; i++)
		trap_handlers[calls[i]] = handler;
	for (size_t i = 0; i < TRAP_THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, trap_worker, NULL), 0);
	assert_int_equal(write(go[1], "g", 1), 1);
	pfd = (struct pollfd){.fd = done[0], .events = POLLIN};
	if (poll(&pfd, 1, 20000) == 0)
		syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
	assert_int_equal(read(done[0], &status, sizeof(status)), sizeof(status));
	assert_int_equal(waitpid(parent, NULL, 0), parent);
	/* With the last task of the filter gone, receiving ends. */
	for (size_t i = 0; i < TRAP_THREADS; i++)
		pthread_join(threads[i], NULL);
	close(trap_broker.launch.listener_fd);
	close(trap_broker.launch.root_fd);
	close(pidfd);
	for (int i = 0; i < 2; i++) {
		close(ready[i]);
		close(go[i]);
		close(done[i]);
	}
	return status;
}

#endif
