/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "supervisord/broker/sock.h"

/* connect: judged on the copied address, performed on a duplicate of the requester's socket. The
 * other side of a unix socket sees the broker's pid in SO_PEERCRED; the uid is the same. */

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include "supervisord/base/clock.h"
#include "supervisord/base/error.h"
#include "supervisord/base/log.h"
#include "supervisord/broker/reply.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

/* A connect on loopback or a local network is over by then; a slower one is waited for by poll. */
#define CONNECT_PATIENCE_MSEC 10

#define INTERRUPT_SIGNAL (SIGRTMIN + 3)

static pthread_once_t interrupt_once = PTHREAD_ONCE_INIT;

static void on_interrupt(int signal _unused_)
{
	/* Its arrival ends the waiting call; that is all. */
}

static void interrupt_setup(void)
{
	struct sigaction action = {.sa_handler = on_interrupt}; /* no SA_RESTART */

	sigaction(INTERRUPT_SIGNAL, &action, NULL);
}

static void interrupt_mask(int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, INTERRUPT_SIGNAL);
	pthread_sigmask(how, &set, NULL);
}

int sock_interrupt_begin(struct sock_interrupt *interrupt, unsigned after_msec)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = INTERRUPT_SIGNAL};
	struct timespec after = {
		.tv_sec = after_msec / 1000, .tv_nsec = (long)(after_msec % 1000) * 1000000};
	/* Again and again: the first may come before the call has begun to wait. */
	struct itimerspec spec = {.it_interval = after, .it_value = after};
	timer_t timer = NULL;

	pthread_once(&interrupt_once, interrupt_setup);
	event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) < 0)
		return err_trace(err_errno());
	if (timer_settime(timer, 0, &spec, NULL) < 0) {
		int r = err_errno();

		timer_delete(timer);
		return err_trace(r);
	}
	interrupt->timer = timer;
	interrupt_mask(SIG_UNBLOCK);
	return 0;
}

void sock_interrupt_end(struct sock_interrupt *interrupt)
{
	int saved = errno;

	interrupt_mask(SIG_BLOCK);
	timer_delete(interrupt->timer);
	errno = saved;
}

/* A TCP socket whose connect is under way or done: the call only asks how it stands. The address is
 * then replaced by one that cannot be dialled, in case the socket changes under us. */
static bool is_follow_up(const struct sock *sock, struct sock_addr *addr)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = INADDR_BROADCAST};
	struct sockaddr_in6 in6 = {
		.sin6_family = AF_INET6, .sin6_addr.s6_addr = {0xff, 0x02, [15] = 1}};
	struct tcp_info info = {0};
	socklen_t size = sizeof(info);

	if (sock->type != SOCK_STREAM ||
		getsockopt(sock->fd, IPPROTO_TCP, TCP_INFO, &info, &size) < 0 ||
		info.tcpi_state == TCP_CLOSE || info.tcpi_state == TCP_LISTEN)
		return false;
	memset(addr->bytes, 0, sizeof(addr->bytes));
	if (sock->domain == AF_INET)
		memcpy(addr->bytes, &in, sizeof(in));
	else
		memcpy(addr->bytes, &in6, sizeof(in6));
	addr->size = sock->domain == AF_INET ? sizeof(in) : sizeof(in6);
	return true;
}

/* 0 with ADDR as it is to be used, or -errno. *PINP as in sock_unix_judge(). */
static int connect_judge(
	struct notification *n, const struct sock *sock, struct sock_addr *addr, int *pinp)
{
	if (addr->size < sizeof(sa_family_t))
		return -EINVAL;
	if (addr->sa.sa_family == AF_UNSPEC) {
		/* Takes the connection away; says nothing about a next one. */
		memset(addr->bytes, 0, sizeof(addr->bytes));
		return 0;
	}
	switch (sock->domain) {
	case AF_INET:
	case AF_INET6:
		if (is_follow_up(sock, addr))
			return 0;
		return sock_inet_judge(n, sock, SOCK_CONNECT, addr);
	case AF_UNIX:
		return sock_unix_judge(n, addr, pinp);
	case AF_NETLINK:
		return sock_netlink_check(addr);
	default:
		return -EACCES;
	}
}

static int connect_once(
	const struct sock *sock, const struct sock_addr *addr, unsigned patience_msec)
{
	struct sock_interrupt interrupt = {0};
	int r;

	if (sock->type == SOCK_DGRAM)
		return connect(sock->fd, &addr->sa, addr->size) < 0 ? -errno : 0;
	r = sock_interrupt_begin(&interrupt, patience_msec);
	if (r < 0)
		return err_trace(r);
	r = connect(sock->fd, &addr->sa, addr->size) < 0 ? -errno : 0;
	sock_interrupt_end(&interrupt);
	return r;
}

/* Connects; waits, for a socket that waits, without holding up other requests or outliving this
 * one. */
static int connect_perform(
	struct notification *n, const struct sock *sock, const struct sock_addr *addr)
{
	int timeout = sock_send_timeout_msec(sock);
	uint64_t deadline =
		timeout < 0 ? 0
			    : clock_monotonic_usec() + (uint64_t)(unsigned)timeout * USEC_PER_MSEC;
	unsigned patience = CONNECT_PATIENCE_MSEC;

	for (;;) {
		int r = connect_once(sock, addr, patience);

		if (r != -EINTR)
			return r;
		if (!notification_valid(n) || !worker_may_block(n))
			return -EINTR;
		patience = SOCK_POLL_MSEC;
		if (sock->domain == AF_UNIX) {
			/* Waits for room in the listener's queue: try again. */
			if (deadline && clock_monotonic_usec() >= deadline)
				return -EAGAIN;
			continue;
		}
		/* The interrupted connect goes on by itself; once it is over a second one tells
		 * how. */
		r = sock_wait_writable(n, sock, deadline);
		if (r < 0)
			return r == -ETIMEDOUT ? -EINPROGRESS : r;
	}
}

void handle_connect(struct notification *n)
{
	_cleanup_(sock_deinit) struct sock sock = {.fd = -1};
	_cleanup_(closep) int pin = -1;
	struct sock_addr addr;
	int r;

	r = sock_open(n, (int)n->args[0], &sock);
	if (r >= 0)
		r = sock_addr_copy(n, n->args[1], n->args[2], &addr);
	if (r >= 0)
		r = connect_judge(n, &sock, &addr, &pin);
	if (r >= 0)
		r = notification_valid(n) ? connect_perform(n, &sock, &addr) : -ESRCH;
	if (r < 0)
		reply_errno(n, -r);
	else
		reply_value(n, 0);
}
