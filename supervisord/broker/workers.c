/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "supervisord/broker/workers.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <linux/seccomp.h>

#include "supervisord/base/error.h"
#include "supervisord/base/log.h"
#include "supervisord/broker/notification.h"
#include "supervisord/broker/reply.h"

/* From linux/seccomp.h of 6.6; the argument goes by value. */
#define NOTIF_SET_FLAGS SECCOMP_IOW(4, uint64_t)
#define NOTIF_FD_SYNC_WAKE_UP 1UL

#define WORKER_STACK_BYTES (512 * 1024)

static struct {
	pthread_mutex_t lock;
	unsigned n_ready; /* receiving, or handling something that does not wait */
	unsigned n_blocked;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int worker_spawn(struct broker *broker);

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
	bool spawn, ok;

	if (n->blocking)
		return true;
	pthread_mutex_lock(&pool.lock);
	ok = pool.n_blocked < WORKERS_BLOCKED;
	spawn = ok && pool.n_ready <= WORKERS_READY;
	if (ok) {
		pool.n_blocked++;
		if (!spawn)
			pool.n_ready--;
	}
	pthread_mutex_unlock(&pool.lock);
	if (!ok)
		return false;
	if (spawn && worker_spawn(n->broker) < 0) {
		/* Without a substitute this thread may not wait. */
		pthread_mutex_lock(&pool.lock);
		pool.n_blocked--;
		pthread_mutex_unlock(&pool.lock);
		return false;
	}
	n->blocking = true;
	return true;
}

/* After a handler that waited: does this thread go on receiving? */
static bool worker_unblock(void)
{
	bool stay;

	pthread_mutex_lock(&pool.lock);
	pool.n_blocked--;
	stay = pool.n_ready < WORKERS_READY;
	if (stay)
		pool.n_ready++;
	pthread_mutex_unlock(&pool.lock);
	return stay;
}

static bool worker_handle(struct broker *broker, const struct seccomp_notif *notif)
{
	struct notification n = {
		.broker = broker,
		.id = notif->id,
		.tid = (pid_t)notif->pid,
		.nr = notif->data.nr,
		.pidfd = -1,
	};
	notification_fn handler = dispatch_handler(n.nr);

	for (size_t i = 0; i < ARRAY_LEN(n.args); i++)
		n.args[i] = notif->data.args[i];
	if (handler && n.tid > 0)
		handler(&n);
	if (!n.answered)
		reply_errno(&n, handler ? EACCES : ENOSYS);
	n.pidfd = close_fd(n.pidfd);
	return n.blocking ? worker_unblock() : true;
}

static bool nobody_left(int listener_fd)
{
	struct pollfd pfd = {.fd = listener_fd};

	return poll(&pfd, 1, 0) < 0 || (pfd.revents & (POLLHUP | POLLERR | POLLNVAL));
}

static void *worker_main(void *userdata)
{
	struct broker *broker = userdata;
	struct seccomp_notif_sizes sizes = {0};
	_cleanup_(freep) struct seccomp_notif *notif = NULL;
	size_t size = sizeof(*notif);

	/* The kernel may know a longer struct than these headers. */
	if (syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) == 0 &&
		sizes.seccomp_notif > size)
		size = sizes.seccomp_notif;
	notif = malloc(size);
	/* A folder and a umask of our own: file operations take on the requester's for a moment. */
	if (!notif || unshare(CLONE_FS) < 0) {
		log_error("a worker thread cannot start");
		abort();
	}
	umask(0);
	for (;;) {
		memset(notif, 0, size);
		if (ioctl(broker->launch.listener_fd, SECCOMP_IOCTL_NOTIF_RECV, notif) < 0) {
			if (errno == EINTR)
				continue;
			/* The requester was killed before we had it, or no process is left under
			 * the filter: both are ENOENT. */
			if (errno == ENOENT && !nobody_left(broker->launch.listener_fd))
				continue;
			break;
		}
		if (!worker_handle(broker, notif))
			break;
	}
	return NULL;
}

static int worker_spawn(struct broker *broker)
{
	pthread_attr_t attr;
	pthread_t thread;
	int r;

	r = pthread_attr_init(&attr);
	if (r != 0)
		return -r;
	(void)pthread_attr_setstacksize(&attr, WORKER_STACK_BYTES);
	(void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	r = pthread_create(&thread, &attr, worker_main, broker);
	pthread_attr_destroy(&attr);
	return -r;
}

int workers_start(struct broker *broker)
{
	if (broker->plan->sync_wake_up &&
		ioctl(broker->launch.listener_fd, NOTIF_SET_FLAGS, NOTIF_FD_SYNC_WAKE_UP) < 0)
		log_warn_r(-errno, "answers are slower than they could be: SYNC_WAKE_UP");
	pool.n_ready = WORKERS_READY;
	for (unsigned i = 0; i < WORKERS_READY; i++) {
		int r = worker_spawn(broker);

		if (r < 0)
			return err_trace(r);
	}
	return 0;
}
