/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "supervisord/broker/reply.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>

#include <linux/seccomp.h>

#include "supervisord/base/log.h"

/* Debian 12's kernel headers are older than these; numbers from linux/seccomp.h of 5.14. */
#ifndef SECCOMP_ADDFD_FLAG_SEND
#define SECCOMP_ADDFD_FLAG_SEND (1UL << 1)
#endif

/* Marks the notification as answered; false when it was already. */
static bool reply_claim(struct notification *n)
{
	if (n->answered) {
		log_error("system call %d of thread %d was answered twice", n->nr, n->tid);
		return false;
	}
	n->answered = true;
	return true;
}

static int reply_send(struct notification *n, int error, int64_t value, uint32_t flags)
{
	struct seccomp_notif_resp response = {
		.id = n->id,
		.val = value,
		.error = -error,
		.flags = flags,
	};
	int r;

	do
		r = ioctl(n->broker->launch.listener_fd, SECCOMP_IOCTL_NOTIF_SEND, &response);
	while (r < 0 && errno == EINTR);
	if (r >= 0)
		return 0;
	/* Without a listener the session has ended, and nobody waits any more. */
	if (errno != ENOENT && errno != EBADF)
		log_error_r(-errno, "cannot answer system call %d of thread %d", n->nr, n->tid);
	return -ENOENT;
}

void reply_errno(struct notification *n, int error)
{
	if (!reply_claim(n))
		return;
	/* An error of 0 would be a success that nobody decided. */
	(void)reply_send(n, error > 0 ? error : EACCES, 0, 0);
}

void reply_value(struct notification *n, int64_t value)
{
	if (!reply_claim(n))
		return;
	(void)reply_send(n, 0, value, 0);
}

void reply_fd(struct notification *n, int fd, bool cloexec)
{
	struct seccomp_notif_addfd addfd = {
		.id = n->id,
		.flags = SECCOMP_ADDFD_FLAG_SEND,
		.srcfd = (uint32_t)fd,
		.newfd_flags = cloexec ? O_CLOEXEC : 0,
	};
	int r;

	if (!reply_claim(n))
		return;
	do
		r = ioctl(n->broker->launch.listener_fd, SECCOMP_IOCTL_NOTIF_ADDFD, &addfd);
	while (r < 0 && errno == EINTR);
	if (r >= 0 || errno == ENOENT)
		return;
	/* EMFILE, ENFILE, ENOMEM, EBUSY: the requester still waits. */
	(void)reply_send(n, errno, 0, 0);
}

void reply_fd_alone(struct notification *n, int *fdp, bool cloexec)
{
	struct seccomp_notif_addfd addfd = {
		.id = n->id,
		.srcfd = (uint32_t)*fdp,
		.newfd_flags = cloexec ? O_CLOEXEC : 0,
	};
	int r;

	if (!reply_claim(n))
		return;
	do
		r = ioctl(n->broker->launch.listener_fd, SECCOMP_IOCTL_NOTIF_ADDFD, &addfd);
	while (r < 0 && errno == EINTR);
	if (r < 0) {
		if (errno != ENOENT)
			(void)reply_send(n, errno, 0, 0);
		return;
	}
	*fdp = close_fd(*fdp);
	(void)reply_send(n, 0, r, 0);
}

int reply_continue(struct notification *n, enum continue_reason reason)
{
	if (reason != CONTINUE_FLOOR && reason != CONTINUE_EXEC_VERIFIED) {
		reply_errno(n, EACCES);
		return -ENOENT;
	}
	if (!reply_claim(n))
		return -ENOENT;
	return reply_send(n, 0, 0, SECCOMP_USER_NOTIF_FLAG_CONTINUE);
}
