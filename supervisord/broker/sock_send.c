/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "supervisord/broker/sock_send.h"

/* sendto with an address, sendmsg, sendmmsg: every message copied, every destination judged, sent
 * on a duplicate of the socket. The broker never gets SIGPIPE; the requester does where it would
 * have. */

#include <signal.h>
#include <string.h>
#include <sys/syscall.h>

#include "supervisord/base/clock.h"
#include "supervisord/base/error.h"
#include "supervisord/broker/reply.h"
#include "supervisord/broker/target.h"

#define MMSGHDR_BYTES 64 /* struct mmsghdr: the header, the length at 56, padding */
#define MMSGHDR_LENGTH_AT 56

#define DATAGRAM_PATIENCE_MSEC 10

/* Where a message goes. 0 with the address as it is to be used (or none), or -errno. */
static int send_judge(struct notification *n, const struct sock *sock, struct sock_message *message)
{
	if (!message->has_addr)
		return 0;
	switch (sock->domain) {
	case AF_INET:
	case AF_INET6:
		/* TCP looks at an address only for fast open, which the filter refuses. For IPv6
		 * "no family" is "no address". */
		if (sock->type != SOCK_DGRAM ||
			(sock->domain == AF_INET6 && message->addr.size >= sizeof(sa_family_t) &&
				message->addr.sa.sa_family == AF_UNSPEC)) {
			message->has_addr = false;
			return 0;
		}
		return sock_inet_judge(n, sock, SOCK_SEND, &message->addr);
	case AF_UNIX:
		if (sock->type == SOCK_DGRAM)
			return sock_unix_judge(n, &message->addr, &message->pin);
		if (sock->type == SOCK_STREAM) {
			/* Refused for having an address, whatever it says. */
			memset(message->addr.bytes, 0, sizeof(message->addr.bytes));
			message->addr.size = sizeof(sa_family_t);
			return 0;
		}
		message->has_addr = false;
		return 0;
	case AF_NETLINK:
		/* To the kernel is where it goes without an address; with one, the kernel would ask
		 * for the sender's capabilities instead of those of the socket's maker: ours. */
		message->has_addr = false;
		return sock_netlink_check(&message->addr);
	default:
		return -EACCES;
	}
}

/* One attempt that does not wait. */
static ssize_t send_now(
	const struct sock *sock, struct sock_message *message, size_t from, int flags)
{
	struct iovec iov = {.iov_base = message->data + from, .iov_len = message->size - from};
	struct msghdr header = {
		.msg_name = message->has_addr ? &message->addr.sa : NULL,
		.msg_namelen = message->has_addr ? message->addr.size : 0,
		.msg_iov = &iov,
		.msg_iovlen = 1,
	};

	/* Descriptors and the like travel with the first byte. */
	if (from == 0 && message->control_size > 0) {
		header.msg_control = message->control;
		header.msg_controllen = message->control_size;
	}
	for (;;) {
		ssize_t sent = sendmsg(sock->fd, &header, flags);

		if (sent >= 0)
			return sent;
		if (errno != EINTR || !(flags & MSG_DONTWAIT))
			return -errno;
	}
}

/* Waits for room. A datagram socket that names its peer in each message is always writable to poll,
 * so there the kernel itself waits, interrupted now and then. */
static ssize_t send_wait(struct notification *n, const struct sock *sock,
	struct sock_message *message, size_t from, int flags, uint64_t deadline)
{
	struct sock_interrupt interrupt = {0};
	ssize_t r;

	if (sock->domain != AF_UNIX || sock->type == SOCK_STREAM) {
		r = sock_wait_writable(n, sock, deadline);
		return r == -ETIMEDOUT ? -EAGAIN : r < 0 ? r : -EINTR;
	}
	if (deadline && clock_monotonic_usec() >= deadline)
		return -EAGAIN;
	r = sock_interrupt_begin(&interrupt, DATAGRAM_PATIENCE_MSEC);
	if (r < 0)
		return err_trace((int)r);
	r = send_now(sock, message, from, flags & ~MSG_DONTWAIT);
	sock_interrupt_end(&interrupt);
	if (r == -EINTR && !notification_valid(n))
		return -ESRCH;
	return r;
}

/* Sends all of the message, or what fits for a socket that does not wait. Bytes sent, or -errno. */
static ssize_t send_message(
	struct notification *n, const struct sock *sock, struct sock_message *message, int flags)
{
	bool wait = !(flags & MSG_DONTWAIT) && !sock_is_nonblocking(sock);
	int timeout = sock_send_timeout_msec(sock);
	uint64_t deadline =
		timeout < 0 ? 0
			    : clock_monotonic_usec() + (uint64_t)(unsigned)timeout * USEC_PER_MSEC;
	size_t done = 0;

	flags |= MSG_NOSIGNAL | MSG_DONTWAIT;
	for (;;) {
		ssize_t r = send_now(sock, message, done, flags);

		if (r == -EAGAIN && wait) {
			if (!worker_may_block(n))
				return done > 0 ? (ssize_t)done : -EAGAIN;
			r = send_wait(n, sock, message, done, flags, deadline);
			if (r == -EINTR)
				continue;
		}
		if (r < 0)
			return done > 0 ? (ssize_t)done : r;
		done += (size_t)r;
		if (done >= message->size || sock->type != SOCK_STREAM || !wait)
			return (ssize_t)done;
	}
}

/* MSG_ZEROCOPY promises a notice about the requester's own pages: as if no memory were left for
 * one. */
static int send_flags(const struct sock *sock, unsigned flags, int *flagsp)
{
	socklen_t size = sizeof(int);
	int zerocopy = 0;

	if (flags & MSG_FASTOPEN)
		return -EOPNOTSUPP;
	if ((flags & MSG_ZEROCOPY) &&
		getsockopt(sock->fd, SOL_SOCKET, SO_ZEROCOPY, &zerocopy, &size) == 0 && zerocopy)
		return -ENOBUFS;
	*flagsp = (int)(flags & ~(unsigned)MSG_ZEROCOPY);
	return 0;
}

/* Judges and sends one copied message. Bytes sent or -errno. */
static ssize_t send_one(struct notification *n, const struct sock *sock,
	struct sock_message *message, unsigned requested)
{
	int flags = 0;
	ssize_t r;

	r = send_flags(sock, requested, &flags);
	if (r >= 0)
		r = send_judge(n, sock, message);
	if (r < 0)
		return r;
	if (!notification_valid(n))
		return -ESRCH;
	r = send_message(n, sock, message, flags);
	if (r == -EPIPE && sock->type == SOCK_STREAM && !(requested & MSG_NOSIGNAL) &&
		target_ids(n) == 0)
		/* The thread waits for us, so its id is still its own. */
		syscall(SYS_tgkill, n->tgid, n->tid, SIGPIPE);
	return r;
}

static ssize_t send_to(struct notification *n, const struct sock *sock)
{
	_cleanup_(sock_message_deinit) struct sock_message message;
	int r;

	sock_message_init(&message);
	r = sock_message_copy_to(n, sock, n->args[1], n->args[2], n->args[4], n->args[5], &message);
	return r < 0 ? r : send_one(n, sock, &message, (unsigned)n->args[3]);
}

static ssize_t send_msghdr(
	struct notification *n, const struct sock *sock, uint64_t msghdr, unsigned flags)
{
	_cleanup_(sock_message_deinit) struct sock_message message;
	int r;

	sock_message_init(&message);
	r = sock_message_copy_msghdr(n, sock, msghdr, &message);
	return r < 0 ? r : send_one(n, sock, &message, flags);
}

/* How many were sent, or the error of the first. */
static ssize_t send_mmsg(struct notification *n, const struct sock *sock)
{
	uint32_t count = (uint32_t)n->args[2];
	uint32_t done = 0;

	if (count > SEND_MESSAGES_MAX)
		count = SEND_MESSAGES_MAX;
	for (; done < count; done++) {
		uint64_t at = n->args[1] + (uint64_t)done * MMSGHDR_BYTES;
		ssize_t r = send_msghdr(n, sock, at, (unsigned)n->args[3]);
		uint32_t sent = (uint32_t)r;

		if (r >= 0)
			r = target_write(n, at + MMSGHDR_LENGTH_AT, &sent, sizeof(sent));
		if (r < 0)
			return done > 0 ? (ssize_t)done : r;
	}
	return (ssize_t)done;
}

void handle_send(struct notification *n)
{
	_cleanup_(sock_deinit) struct sock sock = {.fd = -1};
	ssize_t r;

	r = sock_open(n, (int)n->args[0], &sock);
	if (r >= 0) {
		if (n->nr == SYS_sendto)
			r = send_to(n, &sock);
		else if (n->nr == SYS_sendmsg)
			r = send_msghdr(n, &sock, n->args[1], (unsigned)n->args[2]);
		else
			r = send_mmsg(n, &sock);
	}
	if (r < 0)
		reply_errno(n, (int)-r);
	else
		reply_value(n, r);
}
