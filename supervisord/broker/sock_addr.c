/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "supervisord/broker/sock.h"

/* Addresses: copied once, canonical, judged.
 *
 * MUST
 *  1. judge one spelling: ::ffff:a.b.c.d is a.b.c.d, the wildcard as a destination is loopback,
 * AF_UNSPEC where the kernel takes it for AF_INET is AF_INET
 *  2. give the kernel an address rebuilt from what was judged, never the requester's bytes
 *  3. judge a unix socket on the pinned inode, and reach it through the pin */

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <sys/un.h>

#include "supervisord/base/clock.h"
#include "supervisord/base/error.h"
#include "supervisord/broker/decide.h"
#include "supervisord/broker/target.h"

#define SIN6_SIZE_MIN 24 /* without the scope: what the kernel asks for */

int sock_open(struct notification *n, int fd, struct sock *sock)
{
	socklen_t size = sizeof(int);
	int r;

	*sock = (struct sock){.fd = -1};
	r = target_dup_fd(n, fd, &sock->fd);
	if (r < 0)
		return err_trace(r);
	if (getsockopt(sock->fd, SOL_SOCKET, SO_DOMAIN, &sock->domain, &size) < 0 ||
		getsockopt(sock->fd, SOL_SOCKET, SO_TYPE, &sock->type, &size) < 0 ||
		getsockopt(sock->fd, SOL_SOCKET, SO_PROTOCOL, &sock->protocol, &size) < 0)
		/* An O_PATH descriptor, which no socket call takes. */
		return err_trace(err_errno());
	return 0;
}

void sock_deinit(struct sock *sock)
{
	sock->fd = close_fd(sock->fd);
}

bool sock_is_nonblocking(const struct sock *sock)
{
	int flags = fcntl(sock->fd, F_GETFL);

	return flags >= 0 && (flags & O_NONBLOCK);
}

int sock_send_timeout_msec(const struct sock *sock)
{
	struct timeval tv = {0};
	socklen_t size = sizeof(tv);

	if (getsockopt(sock->fd, SOL_SOCKET, SO_SNDTIMEO, &tv, &size) < 0 ||
		(tv.tv_sec == 0 && tv.tv_usec == 0) || tv.tv_sec > INT32_MAX / 1000)
		return -1;
	return (int)(tv.tv_sec * 1000 + (tv.tv_usec + 999) / 1000);
}

int sock_addr_copy(struct notification *n, uint64_t addr, uint64_t size, struct sock_addr *out)
{
	/* The kernel takes the length as an int. */
	int length = (int)(uint32_t)size;
	int r;

	memset(out, 0, sizeof(*out));
	if (length < 0 || (size_t)length > sizeof(out->storage))
		return err_trace(-EINVAL);
	r = target_read(n, addr, out->bytes, (size_t)length);
	if (r < 0)
		return err_trace(r);
	out->size = (socklen_t)length;
	return 0;
}

static void map_v4(const struct in_addr *v4, uint8_t out[16])
{
	memset(out, 0, 10);
	memset(out + 10, 0xff, 2);
	memcpy(out + 12, v4, 4);
}

/* Rebuilds ADDR as IPv4 from its own judged fields. */
static void use_inet4(struct sock_addr *addr, enum sock_use use, struct request *request)
{
	struct sockaddr_in in, clean = {.sin_family = AF_INET};

	memcpy(&in, addr->bytes, sizeof(in));
	clean.sin_port = in.sin_port;
	clean.sin_addr = in.sin_addr;
	if (use != SOCK_BIND && clean.sin_addr.s_addr == htonl(INADDR_ANY))
		clean.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	map_v4(&clean.sin_addr, request->addr);
	request->port = ntohs(clean.sin_port);
	memset(addr->bytes, 0, sizeof(addr->bytes));
	memcpy(addr->bytes, &clean, sizeof(clean));
	addr->size = sizeof(clean);
}

static void use_inet6(struct sock_addr *addr, enum sock_use use, struct request *request)
{
	struct sockaddr_in6 in = {0}, clean = {.sin6_family = AF_INET6};
	bool v4;

	memcpy(&in, addr->bytes, addr->size < sizeof(in) ? addr->size : sizeof(in));
	clean.sin6_port = in.sin6_port;
	clean.sin6_addr = in.sin6_addr;
	clean.sin6_scope_id = in.sin6_scope_id;
	v4 = IN6_IS_ADDR_V4MAPPED(&clean.sin6_addr);
	if (use != SOCK_BIND && IN6_IS_ADDR_UNSPECIFIED(&clean.sin6_addr)) {
		clean.sin6_addr = in6addr_loopback;
	} else if (use != SOCK_BIND && v4) {
		static const uint8_t any[4] = {0}, loopback[4] = {127, 0, 0, 1};

		if (memcmp(&clean.sin6_addr.s6_addr[12], any, 4) == 0)
			memcpy(&clean.sin6_addr.s6_addr[12], loopback, 4);
	}
	memcpy(request->addr, &clean.sin6_addr, 16);
	request->port = ntohs(clean.sin6_port);
	memset(addr->bytes, 0, sizeof(addr->bytes));
	memcpy(addr->bytes, &clean, sizeof(clean));
	addr->size = sizeof(clean);
}

/* Which family does the kernel take the address for? AF_INET, AF_INET6 or -errno. */
static int inet_family(const struct sock *sock, enum sock_use use, const struct sock_addr *addr)
{
	int family = addr->sa.sa_family;
	bool udp = sock->type == SOCK_DGRAM;

	if (addr->size < sizeof(sa_family_t))
		return -EINVAL;
	/* A UDP send and a bind take "no family" of an IPv4 socket for IPv4. */
	if (sock->domain == AF_INET && family == AF_UNSPEC && use != SOCK_CONNECT)
		family = AF_INET;
	if (sock->domain == AF_INET6 && family == AF_INET && !(udp && use != SOCK_BIND))
		return -EAFNOSUPPORT;
	if (family != AF_INET && family != AF_INET6)
		return use == SOCK_SEND && sock->domain == AF_INET6 ? -EINVAL : -EAFNOSUPPORT;
	if (sock->domain == AF_INET && family != AF_INET)
		return -EAFNOSUPPORT;
	if (addr->size < (family == AF_INET ? sizeof(struct sockaddr_in) : SIN6_SIZE_MIN))
		return -EINVAL;
	return family;
}

int sock_inet_request(
	const struct sock *sock, enum sock_use use, struct sock_addr *addr, struct request *request)
{
	char host[INET6_ADDRSTRLEN];
	int family;

	if (sock->type == SOCK_STREAM && (sock->protocol == IPPROTO_TCP || sock->protocol == 0))
		request->proto = NET_TCP;
	else if (sock->type == SOCK_DGRAM && (sock->protocol == IPPROTO_UDP || sock->protocol == 0))
		request->proto = NET_UDP;
	else
		return err_trace(-EPROTONOSUPPORT);
	family = inet_family(sock, use, addr);
	if (family < 0)
		return err_trace(family);
	if (family == AF_INET)
		use_inet4(addr, use, request);
	else
		use_inet6(addr, use, request);

	if (IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)(const void *)request->addr))
		inet_ntop(AF_INET, request->addr + 12, host, sizeof(host));
	else
		inet_ntop(AF_INET6, request->addr, host, sizeof(host));
	request->host = strdup(host);
	return request->host ? 0 : err_trace(-ENOMEM);
}

int sock_inet_judge(
	struct notification *n, const struct sock *sock, enum sock_use use, struct sock_addr *addr)
{
	_cleanup_(request_freep) struct request *request =
		request_new(use == SOCK_BIND ? OP_LISTEN : OP_CONNECT);
	int r;

	if (!request)
		return err_trace(-ENOMEM);
	r = sock_inet_request(sock, use, addr, request);
	if (r < 0)
		return err_trace(r);
	/* Any free port, for a client or until listen() asks about the port that it got. */
	if (use == SOCK_BIND && request->port == 0)
		return 0;
	if (use != SOCK_BIND && request->proto == NET_UDP &&
		dns_is_resolver(request->addr, request->port))
		return 0;
	return decide(n, request) == VERDICT_ALLOW ? 0 : -EACCES;
}

int sock_unix_name(const struct sock_addr *addr, char *name)
{
	const struct sockaddr_un *un = (const struct sockaddr_un *)(const void *)addr->bytes;
	size_t offset = offsetof(struct sockaddr_un, sun_path), length;

	if (addr->size < offset || addr->size > sizeof(*un) || un->sun_family != AF_UNIX)
		return -EINVAL;
	length = addr->size - offset;
	if (length == 0)
		return SOCK_UNIX_UNNAMED;
	memset(name, 0, sizeof(un->sun_path) + 2);
	if (un->sun_path[0]) {
		/* It may fill the array without a NUL. */
		memcpy(name, un->sun_path, length);
		return SOCK_UNIX_PATH;
	}
	/* Rules name no bytes after a NUL. */
	if (memchr(un->sun_path + 1, 0, length - 1))
		return -EINVAL;
	name[0] = '@';
	memcpy(name + 1, un->sun_path + 1, length - 1);
	return SOCK_UNIX_ABSTRACT;
}

/* Abstract names are the host's: only an explicit allow reaches one, and nobody is asked. */
static int judge_abstract(struct notification *n, const char *name)
{
	_cleanup_(request_freep) struct request *request = request_new(OP_CONNECT);
	const struct policy_rule_info *rule;
	int r;

	if (!request)
		return err_trace(-ENOMEM);
	request->proto = NET_UNIX;
	request->path = strdup(name);
	if (!request->path)
		return err_trace(-ENOMEM);
	r = target_describe(n, request);
	if (r < 0)
		return err_trace(r);
	if (policy_set_eval(n->broker->policies, request, &rule) == VERDICT_ALLOW)
		return decide(n, request) == VERDICT_ALLOW ? 0 : -EACCES;
	decide_record_event(n, "refused.abstract-socket", request,
		"abstract sockets belong to the host; a rule would have to allow this one by name");
	return -ECONNREFUSED;
}

/* Judges the socket that PATH names. */
static int judge_path(struct notification *n, struct path *path)
{
	_cleanup_(request_freep) struct request *request = NULL;

	if (path->object_fd < 0)
		return -ENOENT;
	if (path->slash && !S_ISDIR(path->st.st_mode))
		return -ENOTDIR;
	if (!S_ISSOCK(path->st.st_mode))
		return -ECONNREFUSED;
	request = path_request(n, path, OP_CONNECT);
	if (!request)
		return err_trace(-ENOMEM);
	request->proto = NET_UNIX;
	return decide(n, request) == VERDICT_ALLOW ? 0 : -EACCES;
}

int sock_unix_judge(struct notification *n, struct sock_addr *addr, int *pinp)
{
	char name[sizeof(struct sockaddr_un) + 2];
	struct sockaddr_un clean = {.sun_family = AF_UNIX};
	struct path path;
	int kind, r;

	*pinp = -1;
	kind = sock_unix_name(addr, name);
	if (kind == SOCK_UNIX_ABSTRACT)
		return judge_abstract(n, name);
	if (kind != SOCK_UNIX_PATH)
		return err_trace(-EINVAL);

	r = path_resolve(n, AT_FDCWD, name, 0, 0, &path);
	if (r >= 0)
		r = judge_path(n, &path);
	if (r >= 0) {
		*pinp = TAKE_FD(path.object_fd);
		(void)snprintf(clean.sun_path, sizeof(clean.sun_path), "/proc/self/fd/%d", *pinp);
		memset(addr->bytes, 0, sizeof(addr->bytes));
		memcpy(addr->bytes, &clean, sizeof(clean));
		addr->size = sizeof(clean);
	}
	path_deinit(&path);
	return r;
}

int sock_netlink_check(const struct sock_addr *addr)
{
	struct sockaddr_nl nl;

	if (addr->size < sizeof(nl))
		return -EINVAL;
	memcpy(&nl, addr->bytes, sizeof(nl));
	if (nl.nl_family != AF_NETLINK)
		return -EINVAL;
	return nl.nl_pid == 0 && nl.nl_groups == 0 ? 0 : -EPERM;
}

int sock_wait_writable(struct notification *n, const struct sock *sock, uint64_t deadline_usec)
{
	for (;;) {
		struct pollfd pfd = {.fd = sock->fd, .events = POLLOUT};
		int wait = SOCK_POLL_MSEC;

		if (deadline_usec) {
			uint64_t now = clock_monotonic_usec();

			if (now >= deadline_usec)
				return -ETIMEDOUT;
			if ((deadline_usec - now) / 1000 < (uint64_t)wait)
				wait = (int)((deadline_usec - now) / 1000) + 1;
		}
		if (poll(&pfd, 1, wait) > 0)
			return 0;
		if (!notification_valid(n))
			return -ESRCH;
	}
}
