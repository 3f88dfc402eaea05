/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "tests/unit/broker/trap.h"

#include <arpa/inet.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "supervisord/broker/sock.h"

static const int sock_calls[] = {
	SYS_connect, SYS_bind, SYS_listen, SYS_sendto, SYS_sendmsg, SYS_sendmmsg};
static char dir[] = "/var/tmp/test-sock.XXXXXX";

static void handle_sock(struct notification *n)
{
	if (n->nr == SYS_connect)
		handle_connect(n);
	else if (n->nr == SYS_bind)
		handle_bind(n);
	else if (n->nr == SYS_listen)
		handle_listen(n);
	else
		handle_send(n);
}

static int run(int (*body)(void *), void *userdata)
{
	int status = trap_run(sock_calls, 6, handle_sock, body, userdata);

	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status;
}

static struct sockaddr_in v4(const char *host, uint16_t port)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port)};

	inet_pton(AF_INET, host, &in.sin_addr);
	return in;
}

static struct sockaddr_in6 v6(const char *host, uint16_t port)
{
	struct sockaddr_in6 in = {.sin6_family = AF_INET6, .sin6_port = htons(port)};

	inet_pton(AF_INET6, host, &in.sin6_addr);
	return in;
}

static struct sockaddr_un un(const char *name)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};

	snprintf(un.sun_path, sizeof(un.sun_path), "%s/%s", dir, name);
	return un;
}

/* A listener of the test itself. */
static int listen_v4(uint16_t *portp)
{
	struct sockaddr_in in = v4("127.0.0.1", 0);
	socklen_t size = sizeof(in);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&in, sizeof(in)), 0);
	assert_int_equal(listen(fd, 5), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&in, &size), 0);
	*portp = ntohs(in.sin_port);
	return fd;
}

static int listen_unix(const char *name, int type)
{
	struct sockaddr_un addr = un(name);
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	if (type != SOCK_DGRAM)
		assert_int_equal(listen(fd, 5), 0);
	return fd;
}

/* Canonical forms, without a child. */
static void addresses_have_one_spelling(void **state)
{
	static const struct {
		const char *host;
		enum sock_use use;
		const char *judged;
	} cases[] = {
		{"::ffff:127.0.0.1", SOCK_CONNECT, "127.0.0.1"},
		{"::ffff:a9fe:a9fe", SOCK_CONNECT, "169.254.169.254"},
		{"::", SOCK_CONNECT, "::1"},
		{"::", SOCK_BIND, "::"},
		{"::ffff:0.0.0.0", SOCK_CONNECT, "127.0.0.1"},
		{"::ffff:0.0.0.0", SOCK_BIND, "0.0.0.0"},
		{"2001:db8::1", SOCK_CONNECT, "2001:db8::1"},
	};
	struct sock tcp6 = {.domain = AF_INET6, .type = SOCK_STREAM, .protocol = IPPROTO_TCP};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct sockaddr_in6 in = v6(cases[i].host, 80);
		struct request *request = request_new(OP_CONNECT);
		struct sock_addr addr = {.size = sizeof(in)};

		memcpy(addr.bytes, &in, sizeof(in));
		assert_int_equal(sock_inet_request(&tcp6, cases[i].use, &addr, request), 0);
		assert_string_equal(request->host, cases[i].judged);
		assert_int_equal(request->port, 80);
		request_free(request);
	}
}

static void families_and_sizes_are_checked_as_by_the_kernel(void **state)
{
	struct sock tcp = {.domain = AF_INET, .type = SOCK_STREAM, .protocol = IPPROTO_TCP};
	struct sock udp = {.domain = AF_INET, .type = SOCK_DGRAM, .protocol = IPPROTO_UDP};
	struct sock icmp = {.domain = AF_INET, .type = SOCK_DGRAM, .protocol = IPPROTO_ICMP};
	struct sockaddr_in in = v4("0.0.0.0", 1);
	struct request *request = request_new(OP_CONNECT);
	struct sock_addr addr = {.size = 15};

	(void)state;
	memcpy(addr.bytes, &in, sizeof(in));
	assert_int_equal(sock_inet_request(&tcp, SOCK_CONNECT, &addr, request), -EINVAL);
	addr.size = 1;
	assert_int_equal(sock_inet_request(&tcp, SOCK_CONNECT, &addr, request), -EINVAL);
	addr.size = sizeof(in);
	assert_int_equal(sock_inet_request(&icmp, SOCK_SEND, &addr, request), -EPROTONOSUPPORT);
	addr.sa.sa_family = AF_INET6;
	assert_int_equal(sock_inet_request(&tcp, SOCK_CONNECT, &addr, request), -EAFNOSUPPORT);
	/* The kernel sends it as IPv4. */
	addr.sa.sa_family = AF_UNSPEC;
	assert_int_equal(sock_inet_request(&udp, SOCK_SEND, &addr, request), 0);
	assert_string_equal(request->host, "127.0.0.1");
	assert_int_equal(addr.sa.sa_family, AF_INET);
	request_free(request);
}

static void name_servers_are_read_from_the_configuration(void **state)
{
	static const uint8_t first[16] = {[10] = 0xff, 0xff, 10, 0, 0, 53};
	uint8_t addrs[4][16];

	(void)state;
	assert_int_equal(dns_parse_resolvers("# x\nsearch a\nnameserver 10.0.0.53\n"
					     "nameserver\tfe80::1%eth0\nnameserver bad\n"
					     "options x\nnameserver ::1",
				 addrs, 4),
		3);
	assert_memory_equal(addrs[0], first, 16);
	assert_int_equal(addrs[1][0], 0xfe);
	assert_int_equal(addrs[2][15], 1);
	assert_int_equal(dns_parse_resolvers("", addrs, 4), 0);
}

struct connect_case {
	int domain, type;
	struct sockaddr_storage addr;
	socklen_t size;
	bool exchange; /* a byte must go through */
};

static int body_connect(void *userdata)
{
	struct connect_case *c = userdata;
	int fd = socket(c->domain, c->type, 0);

	if (connect(fd, (struct sockaddr *)&c->addr, c->size) < 0)
		return errno;
	return c->exchange && send(fd, "x", 1, 0) != 1 ? 250 : 0;
}

static int try_connect(int domain, int type, const void *addr, size_t size)
{
	struct connect_case c = {
		.domain = domain, .type = type, .size = (socklen_t)size, .exchange = true};

	memcpy(&c.addr, addr, size < sizeof(c.addr) ? size : sizeof(c.addr));
	return run(body_connect, &c);
}

static void tcp_connects_after_the_decision(void **state)
{
	struct sockaddr_in6 mapped;
	struct sockaddr_in in;
	char wanted[64];
	uint16_t port;
	int fd = listen_v4(&port);

	(void)state;
	trap_reset();
	snprintf(wanted, sizeof(wanted), "127.0.0.1:%u", port);
	in = v4("127.0.0.1", port);
	assert_int_equal(try_connect(AF_INET, SOCK_STREAM, &in, sizeof(in)), 0);
	assert_string_equal(trap.object, wanted);
	in = v4("0.0.0.0", port);
	assert_int_equal(try_connect(AF_INET, SOCK_STREAM, &in, sizeof(in)), 0);
	assert_string_equal(trap.object, wanted);
	mapped = v6("::ffff:127.0.0.1", port);
	assert_int_equal(try_connect(AF_INET6, SOCK_STREAM, &mapped, sizeof(mapped)), 0);
	assert_string_equal(trap.object, wanted);
	assert_int_equal(trap.n_decisions, 3);
	trap.verdict = VERDICT_DENY;
	assert_int_equal(try_connect(AF_INET, SOCK_STREAM, &in, sizeof(in)), EACCES);
	assert_int_equal(try_connect(AF_INET, SOCK_STREAM, &in, 8), EINVAL);
	close(fd);
	trap.verdict = VERDICT_ALLOW;
	assert_int_equal(try_connect(AF_INET, SOCK_STREAM, &in, sizeof(in)), ECONNREFUSED);
}

static int body_descriptors(void *userdata)
{
	struct sockaddr_in in = v4("127.0.0.1", 1);
	int fd = open("/dev/null", O_RDWR), s = socket(AF_INET, SOCK_STREAM, 0);

	(void)userdata;
	if (connect(fd, (struct sockaddr *)&in, sizeof(in)) == 0 || errno != ENOTSOCK)
		return 1;
	if (connect(77, (struct sockaddr *)&in, sizeof(in)) == 0 || errno != EBADF)
		return 2;
	if (syscall(SYS_connect, s, 8, sizeof(in)) == 0 || errno != EFAULT)
		return 3;
	if (connect(s, (struct sockaddr *)&in, 4096) == 0 || errno != EINVAL)
		return 4;
	return 0;
}

static void wrong_descriptors_and_addresses_get_their_errno(void **state)
{
	(void)state;
	trap_reset();
	assert_int_equal(run(body_descriptors, NULL), 0);
	assert_int_equal(trap.n_decisions, 0);
}

static int body_nonblocking(void *userdata)
{
	struct sockaddr_in in = v4("127.0.0.1", *(uint16_t *)userdata);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	struct pollfd pfd = {.fd = fd, .events = POLLOUT};

	if (connect(fd, (struct sockaddr *)&in, sizeof(in)) < 0 && errno != EINPROGRESS)
		return errno;
	if (poll(&pfd, 1, 5000) != 1)
		return 250;
	if (connect(fd, (struct sockaddr *)&in, sizeof(in)) < 0 && errno != EISCONN)
		return errno;
	if (connect(fd, (struct sockaddr *)&in, sizeof(in)) == 0 || errno != EISCONN)
		return 251;
	/* Disconnected, the next one is a new one. */
	in.sin_family = AF_UNSPEC;
	return connect(fd, (struct sockaddr *)&in, sizeof(in)) == 0 ? 0 : errno;
}

static void following_up_a_connect_asks_no_second_time(void **state)
{
	uint16_t port;
	int fd = listen_v4(&port);

	(void)state;
	trap_reset();
	assert_int_equal(run(body_nonblocking, &port), 0);
	assert_int_equal(trap.n_decisions, 1);
	close(fd);
}

/* A listener whose queue is full never answers: the connect waits. */
static int body_killed_while_connecting(void *userdata)
{
	struct sockaddr_in in = v4("127.0.0.1", *(uint16_t *)userdata);
	struct timeval tv = {.tv_usec = 400000};
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	pid_t pid = fork();

	if (pid == 0) {
		connect(fd, (struct sockaddr *)&in, sizeof(in));
		_exit(3);
	}
	poll(NULL, 0, 100); /* gives it time to wait; the outcome is the same without */
	kill(pid, SIGKILL);
	if (waitpid(pid, NULL, 0) != pid)
		return 250;
	fd = socket(AF_INET, SOCK_STREAM, 0);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
	if (connect(fd, (struct sockaddr *)&in, sizeof(in)) == 0)
		return 251;
	return errno;
}

static void a_slow_connect_ends_with_its_requester_or_its_timeout(void **state)
{
	struct sockaddr_in in;
	uint16_t port;
	int fd = listen_v4(&port), fill[8];

	(void)state;
	trap_reset();
	assert_int_equal(listen(fd, 0), 0);
	in = v4("127.0.0.1", port);
	for (size_t i = 0; i < ARRAY_LEN(fill); i++) {
		fill[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		(void)!connect(fill[i], (struct sockaddr *)&in, sizeof(in));
	}
	assert_int_equal(run(body_killed_while_connecting, &port), EINPROGRESS);
	for (size_t i = 0; i < ARRAY_LEN(fill); i++)
		close(fill[i]);
	close(fd);
}

static void unix_sockets_are_judged_by_the_object(void **state)
{
	struct sockaddr_un addr = un("s"), alias = un("alias"), gone = un("gone"),
			   file = un("file");
	int fd = listen_unix("s", SOCK_STREAM);

	(void)state;
	trap_reset();
	assert_int_equal(symlink(addr.sun_path, alias.sun_path), 0);
	close(open(file.sun_path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	assert_int_equal(try_connect(AF_UNIX, SOCK_STREAM, &addr, sizeof(addr)), 0);
	assert_string_equal(trap.object, addr.sun_path);
	assert_int_equal(try_connect(AF_UNIX, SOCK_STREAM, &alias, sizeof(alias)), 0);
	assert_string_equal(trap.object, addr.sun_path);
	assert_int_equal(trap.n_decisions, 2);
	assert_int_equal(try_connect(AF_UNIX, SOCK_STREAM, &gone, sizeof(gone)), ENOENT);
	assert_int_equal(try_connect(AF_UNIX, SOCK_STREAM, &file, sizeof(file)), ECONNREFUSED);
	assert_int_equal(trap.n_decisions, 2);
	trap.verdict = VERDICT_DENY;
	assert_int_equal(try_connect(AF_UNIX, SOCK_STREAM, &alias, sizeof(alias)), EACCES);
	close(fd);
	unlink(addr.sun_path);
	unlink(alias.sun_path);
	unlink(file.sun_path);
}

static void abstract_sockets_need_an_explicit_allow(void **state)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	socklen_t size;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)state;
	trap_reset();
	size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			   (size_t)snprintf(addr.sun_path + 1, 60, "test-sock-%d", getpid()));
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, size), 0);
	assert_int_equal(listen(fd, 1), 0);
	trap.eval = VERDICT_ASK;
	assert_int_equal(try_connect(AF_UNIX, SOCK_STREAM, &addr, size), ECONNREFUSED);
	assert_string_equal(trap.event, "refused.abstract-socket");
	trap.eval = VERDICT_ALLOW;
	assert_int_equal(try_connect(AF_UNIX, SOCK_STREAM, &addr, size), 0);
	assert_int_equal(trap.object[0], '@');
	close(fd);
}

static int body_server(void *userdata)
{
	struct sockaddr_un addr = un("server"), got,
			   rel = {.sun_family = AF_UNIX, .sun_path = "rel"};
	socklen_t size = sizeof(got);
	struct stat st;
	int fd = socket(AF_UNIX, SOCK_STREAM, 0), other = socket(AF_UNIX, SOCK_STREAM, 0);

	(void)userdata;
	umask(077);
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 || listen(fd, 1) < 0)
		return errno;
	if (getsockname(fd, (struct sockaddr *)&got, &size) < 0 ||
		strcmp(got.sun_path, addr.sun_path) != 0)
		return 250;
	if (stat(addr.sun_path, &st) < 0 || (st.st_mode & 0777) != 0700)
		return 251;
	if (bind(other, (struct sockaddr *)&addr, sizeof(addr)) == 0 || errno != EADDRINUSE)
		return 252;
	if (chdir(dir) < 0 || bind(other, (struct sockaddr *)&rel, 2 + 4) < 0)
		return 253;
	if (unlink("rel") < 0 || unlink("server") < 0)
		return 254;
	return 0;
}

static void a_bound_unix_socket_keeps_its_name_and_mode(void **state)
{
	(void)state;
	trap_reset();
	assert_int_equal(run(body_server, NULL), 0);
	assert_int_equal(trap.n_decisions, 4); /* create and listen, twice */
	assert_int_equal(trap.n_events, 0);
}

static int body_listen(void *userdata)
{
	struct sockaddr_in in = v4("127.0.0.1", 0);
	int client = socket(AF_INET, SOCK_STREAM, 0), server = socket(AF_INET, SOCK_STREAM, 0);

	(void)userdata;
	if (bind(client, (struct sockaddr *)&in, sizeof(in)) < 0)
		return errno;
	/* Unbound: the kernel would pick a port on every address. */
	return listen(server, 1) == 0 ? 0 : errno;
}

static void listening_is_judged_where_it_becomes_real(void **state)
{
	(void)state;
	trap_reset();
	assert_int_equal(run(body_listen, NULL), 0);
	assert_int_equal(trap.n_decisions, 1);
	assert_string_equal(trap.object, "0.0.0.0:0");
	assert_int_equal(trap.op, OP_LISTEN);
	trap.verdict = VERDICT_DENY;
	assert_int_equal(run(body_listen, NULL), EACCES);
}

static int body_datagrams(void *userdata)
{
	struct sockaddr_un ok = un("ok"), other = un("other");
	struct iovec iov = {.iov_base = (char[]){"hello"}, .iov_len = 5};
	struct mmsghdr m[2] = {
		{.msg_hdr = {.msg_name = &ok,
			 .msg_namelen = sizeof(ok),
			 .msg_iov = &iov,
			 .msg_iovlen = 1}},
		{.msg_hdr = {.msg_name = &other,
			 .msg_namelen = sizeof(other),
			 .msg_iov = &iov,
			 .msg_iovlen = 1}},
	};
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	(void)userdata;
	if (sendto(fd, "hello", 5, 0, (struct sockaddr *)&ok, sizeof(ok)) != 5)
		return errno;
	if (sendto(fd, "hello", 5, 0, (struct sockaddr *)&other, sizeof(other)) != -1 ||
		errno != EACCES)
		return 250;
	if (sendmsg(fd, &m[0].msg_hdr, 0) != 5)
		return 251;
	if (sendmmsg(fd, m, 2, 0) != 1 || m[0].msg_len != 5)
		return 252;
	return 0;
}

static enum verdict deny_other(const struct request *request)
{
	return strstr(request->path, "other") ? VERDICT_DENY : VERDICT_ALLOW;
}

static void every_datagram_is_judged(void **state)
{
	int ok = listen_unix("ok", SOCK_DGRAM), other = listen_unix("other", SOCK_DGRAM);
	char data[16];

	(void)state;
	trap_reset();
	trap.judge = deny_other;
	assert_int_equal(run(body_datagrams, NULL), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(recv(ok, data, sizeof(data), MSG_DONTWAIT), 5);
	assert_int_equal(recv(other, data, sizeof(data), MSG_DONTWAIT), -1);
	close(ok);
	close(other);
	unlink(un("ok").sun_path);
	unlink(un("other").sun_path);
}

/* More than the socket holds, with a descriptor, then to a closed peer. */
static int body_stream(void *userdata)
{
	static char data[700 * 1024];
	struct iovec iov[2] = {{.iov_base = data, .iov_len = 300 * 1024},
		{.iov_base = data + 300 * 1024, .iov_len = 400 * 1024}};
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {0};
	struct msghdr header = {.msg_iov = iov,
		.msg_iovlen = 2,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes)};
	int sv[2], null_fd = open("/dev/null", O_RDONLY);
	pid_t pid;

	(void)userdata;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sv) < 0)
		return 250;
	control.align = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)),
		.cmsg_level = SOL_SOCKET,
		.cmsg_type = SCM_RIGHTS};
	memcpy(CMSG_DATA(&control.align), &null_fd, sizeof(int));
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (char)(i * 7 + i / 4096);
	pid = fork();
	if (pid == 0) {
		struct msghdr in = {.msg_iov = &(struct iovec){.iov_base = data, .iov_len = 1},
			.msg_iovlen = 1,
			.msg_control = control.bytes,
			.msg_controllen = sizeof(control.bytes)};
		size_t at = 1;
		ssize_t got = recvmsg(sv[1], &in, 0);
		char buf[4096];

		if (got != 1 || in.msg_controllen == 0 || data[0] != 0)
			_exit(1);
		close(sv[0]);
		while ((got = read(sv[1], buf, sizeof(buf))) > 0) {
			for (ssize_t i = 0; i < got; i++, at++) {
				if (buf[i] != (char)(at * 7 + at / 4096))
					_exit(2);
			}
		}
		_exit(at == sizeof(data) ? 0 : 3);
	}
	close(sv[1]);
	int status;
	ssize_t sent = sendmsg(sv[0], &header, 0);

	if (sent != (ssize_t)sizeof(data))
		return 251;
	shutdown(sv[0], SHUT_WR);
	if (waitpid(pid, &status, 0) != pid || status != 0)
		return 240 + WEXITSTATUS(status);
	header.msg_control = NULL;
	header.msg_controllen = 0;
	if (sendmsg(sv[0], &header, MSG_NOSIGNAL) != -1 || errno != EPIPE)
		return 252;
	signal(SIGPIPE, SIG_DFL);
	sendmsg(sv[0], &header, 0);
	return 253;
}

static void streams_carry_everything_and_sigpipe_reaches_the_sender(void **state)
{
	(void)state;
	trap_reset();
	assert_int_equal(run(body_stream, NULL), 1000 + SIGPIPE);
	assert_int_equal(trap.n_decisions, 0);
}

static int body_control(void *userdata)
{
	struct sockaddr_in in = v4("127.0.0.1", 9);
	union {
		char bytes[CMSG_SPACE(16)];
		struct cmsghdr align;
	} control = {0};
	struct iovec iov = {.iov_base = (char[]){"x"}, .iov_len = 1};
	struct msghdr header = {.msg_name = &in,
		.msg_namelen = sizeof(in),
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = CMSG_SPACE(4)};
	int fd = socket(AF_INET, SOCK_DGRAM, 0), tos = 8;

	(void)userdata;
	control.align = (struct cmsghdr){
		.cmsg_len = CMSG_LEN(4), .cmsg_level = IPPROTO_IP, .cmsg_type = IP_TOS};
	memcpy(CMSG_DATA(&control.align), &tos, 4);
	if (sendmsg(fd, &header, 0) != 1)
		return errno;
	/* A source route would take the packet elsewhere. */
	control.align.cmsg_type = IP_RETOPTS;
	if (sendmsg(fd, &header, 0) != -1 || errno != EINVAL)
		return 250;
	control.align.cmsg_len = 4096;
	if (sendmsg(fd, &header, 0) != -1 || errno != EINVAL)
		return 251;
	header.msg_iovlen = 1025;
	return sendmsg(fd, &header, 0) == -1 && errno == EMSGSIZE ? 0 : 252;
}

static void control_data_is_filtered(void **state)
{
	(void)state;
	trap_reset();
	assert_int_equal(run(body_control, NULL), 0);
}

static int body_netlink(void *userdata)
{
	struct sockaddr_nl to = {.nl_family = AF_NETLINK};
	struct {
		struct nlmsghdr header;
		struct rtgenmsg message;
	} dump = {.header = {.nlmsg_len = sizeof(dump),
			  .nlmsg_type = RTM_GETADDR,
			  .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP}};
	char reply[8192];
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	(void)userdata;
	if (bind(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
		return errno;
	if (sendto(fd, &dump, sizeof(dump), 0, (struct sockaddr *)&to, sizeof(to)) != sizeof(dump))
		return errno;
	if (recv(fd, reply, sizeof(reply), 0) < (ssize_t)sizeof(struct nlmsghdr))
		return 250;
	to.nl_pid = 4711;
	return sendto(fd, &dump, sizeof(dump), 0, (struct sockaddr *)&to, sizeof(to)) == -1 &&
			       errno == EPERM
		       ? 0
		       : 251;
}

static void netlink_reaches_only_the_kernel(void **state)
{
	(void)state;
	trap_reset();
	assert_int_equal(run(body_netlink, NULL), 0);
	assert_int_equal(trap.n_decisions, 0);
}

/* Another thread puts another socket on the number while the decision is made. */
static int *shared_flag;

static int body_swapped(void *userdata)
{
	struct sockaddr_in *addr =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint16_t *ports = userdata;
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in peer;
	socklen_t size = sizeof(peer);

	*addr = v4("127.0.0.1", ports[0]);
	if (fork() == 0) {
		for (;;) {
			addr->sin_port = htons(ports[1]);
			__asm__ volatile("" ::: "memory");
			addr->sin_port = htons(ports[0]);
			__asm__ volatile("" ::: "memory");
			if (*shared_flag)
				_exit(0);
		}
	}
	for (int i = 0; i < 200; i++) {
		fd = socket(AF_INET, SOCK_STREAM, 0);
		if (connect(fd, (struct sockaddr *)addr, sizeof(*addr)) == 0 &&
			getpeername(fd, (struct sockaddr *)&peer, &size) == 0 &&
			peer.sin_port != htons(ports[0])) {
			*shared_flag = 1;
			return 250;
		}
		close(fd);
	}
	*shared_flag = 1;
	return 0;
}

static uint16_t allowed_port;

static enum verdict allow_one_port(const struct request *request)
{
	return request->port == allowed_port ? VERDICT_ALLOW : VERDICT_DENY;
}

static void an_address_swapped_meanwhile_is_not_used(void **state)
{
	uint16_t ports[2];
	int a = listen_v4(&ports[0]), b = listen_v4(&ports[1]);

	(void)state;
	trap_reset();
	allowed_port = ports[0];
	trap.judge = allow_one_port;
	*shared_flag = 0;
	listen(a, 1000);
	assert_int_equal(run(body_swapped, ports), 0);
	close(a);
	close(b);
}

static int setup(void **state)
{
	(void)state;
	shared_flag = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return mkdtemp(dir) && shared_flag != MAP_FAILED ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_have_one_spelling),
		cmocka_unit_test(families_and_sizes_are_checked_as_by_the_kernel),
		cmocka_unit_test(name_servers_are_read_from_the_configuration),
		cmocka_unit_test(tcp_connects_after_the_decision),
		cmocka_unit_test(wrong_descriptors_and_addresses_get_their_errno),
		cmocka_unit_test(following_up_a_connect_asks_no_second_time),
		cmocka_unit_test(a_slow_connect_ends_with_its_requester_or_its_timeout),
		cmocka_unit_test(unix_sockets_are_judged_by_the_object),
		cmocka_unit_test(abstract_sockets_need_an_explicit_allow),
		cmocka_unit_test(a_bound_unix_socket_keeps_its_name_and_mode),
		cmocka_unit_test(listening_is_judged_where_it_becomes_real),
		cmocka_unit_test(every_datagram_is_judged),
		cmocka_unit_test(streams_carry_everything_and_sigpipe_reaches_the_sender),
		cmocka_unit_test(control_data_is_filtered),
		cmocka_unit_test(netlink_reaches_only_the_kernel),
		cmocka_unit_test(an_address_swapped_meanwhile_is_not_used),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
