/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */

#include "supervisord/base/fdpass.h"

#include <string.h>
#include <sys/socket.h>

#include "supervisord/base/error.h"

int fdpass_send(int sock, const void *data, size_t size, int fd)
{
	union {
		char space[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {0};
	struct iovec iov = {.iov_len = size};
	struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};
	struct cmsghdr *header;
	ssize_t n;

	/* An empty message could not be told from the end of the connection. */
	if (size == 0)
		return err_trace(-EINVAL);
	memcpy(&iov.iov_base, &data, sizeof(data));
	if (fd >= 0) {
		message.msg_control = control.space;
		message.msg_controllen = sizeof(control.space);
		header = CMSG_FIRSTHDR(&message);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(header), &fd, sizeof(fd));
	}
	do {
		n = sendmsg(sock, &message, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return err_errno();
	return (size_t)n == size ? 0 : err_trace(-EIO);
}

/* Takes every descriptor out of MESSAGE: the first into *FDP, all others are closed and counted. */
static size_t fdpass_collect(struct msghdr *message, int *fdp, pid_t *pidp)
{
	struct cmsghdr *header;
	struct ucred cred;
	size_t n_fds = 0;
	size_t i, n;
	int fd;

	for (header = CMSG_FIRSTHDR(message); header; header = CMSG_NXTHDR(message, header)) {
		if (header->cmsg_level != SOL_SOCKET)
			continue;
		if (header->cmsg_type == SCM_CREDENTIALS &&
			header->cmsg_len == CMSG_LEN(sizeof(cred))) {
			memcpy(&cred, CMSG_DATA(header), sizeof(cred));
			*pidp = cred.pid;
		}
		if (header->cmsg_type != SCM_RIGHTS)
			continue;
		n = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (i = 0; i < n; i++) {
			memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
			if (n_fds++ == 0)
				*fdp = fd;
			else
				(void)close_fd(fd);
		}
	}
	return n_fds;
}

int fdpass_recv(int sock, void *data, size_t size, size_t *sizep, int *fdp, pid_t *pidp)
{
	union {
		char space[CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(struct ucred))];
		struct cmsghdr align;
	} control = {0};
	struct iovec iov = {.iov_base = data, .iov_len = size};
	struct msghdr message = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.space,
		.msg_controllen = sizeof(control.space)};
	_cleanup_(closep) int fd = -1;
	size_t n_fds;
	pid_t pid = 0;
	ssize_t n;

	do {
		n = recvmsg(sock, &message, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return err_errno();
	n_fds = fdpass_collect(&message, &fd, &pid);
	if (message.msg_flags & MSG_TRUNC)
		return -EMSGSIZE;
	if (n_fds > 1 || (message.msg_flags & MSG_CTRUNC))
		return -EBADMSG;
	*sizep = (size_t)n;
	*fdp = TAKE_FD(fd);
	if (pidp)
		*pidp = pid;
	return 0;
}
