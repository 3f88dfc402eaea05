/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_BROKER_SOCK_H
#define SUPERVISORD_BROKER_SOCK_H

/* Sockets of the requester: the descriptor duplicated once, the address copied once and brought
 * into one spelling; what is judged is what the broker then passes to the kernel. */

#include <stdbool.h>
#include <sys/socket.h>

#include "supervisord/broker/notification.h"
#include "supervisord/broker/path.h"
#include "supervisord/proto/request.h"

#define SOCK_POLL_MSEC 250

/* The duplicate shares its status flags with the requester's descriptor: they are never changed. */
struct sock {
	int fd;
	int domain;
	int type;
	int protocol;
};

/* 0, -EBADF, -ENOTSOCK, -ESRCH, -errno. Release with sock_deinit() in any case. */
int sock_open(struct notification *n, int fd, struct sock *sock) _must_use_;
void sock_deinit(struct sock *sock);
/* Would the call return instead of waiting? */
bool sock_is_nonblocking(const struct sock *sock);
/* SO_SNDTIMEO in milliseconds, or -1 for none. */
int sock_send_timeout_msec(const struct sock *sock);

/* An address as the requester gave it, then as it is used. */
struct sock_addr {
	socklen_t size;
	union {
		struct sockaddr sa;
		struct sockaddr_storage storage;
		char bytes[sizeof(struct sockaddr_storage) + 1]; /* room for a NUL */
	};
};

/* Copies SIZE bytes at ADDR. 0; -EINVAL for a size that no address has; -EFAULT, -ESRCH. */
int sock_addr_copy(
	struct notification *n, uint64_t addr, uint64_t size, struct sock_addr *out) _must_use_;

/* How an address is used: the wildcard means loopback as a destination and every address as a
 * source. */
enum sock_use {
	SOCK_CONNECT,
	SOCK_SEND,
	SOCK_BIND,
};

/* For AF_INET and AF_INET6 sockets: checks family and size as the kernel does for USE, rewrites
 * ADDR so that it says exactly what REQUEST says (host, addr, port, proto; filled in here). 0,
 * -EINVAL, -EAFNOSUPPORT, -ENOMEM; -EPROTONOSUPPORT for a protocol that no rule can speak of. */
int sock_inet_request(const struct sock *sock, enum sock_use use, struct sock_addr *addr,
	struct request *request) _must_use_;

/* The text of a unix address: SOCK_UNIX_UNNAMED (size of the family only), SOCK_UNIX_ABSTRACT or
 * SOCK_UNIX_PATH with NAME (at least 128 bytes) filled in; an abstract name becomes "@name".
 * -EINVAL. */
enum sock_unix_kind {
	SOCK_UNIX_UNNAMED,
	SOCK_UNIX_ABSTRACT,
	SOCK_UNIX_PATH,
};
int sock_unix_name(const struct sock_addr *addr, char *name) _must_use_;

/* Judges the unix socket ADDR as a destination. 0 with ADDR rewritten to what the kernel must get
 * and *PINP holding the pinned object (close after use; -1 where there is none); -EACCES, or the
 * errno that the kernel would give (-ENOENT, -ECONNREFUSED, -ENOTDIR ...). */
int sock_unix_judge(struct notification *n, struct sock_addr *addr, int *pinp) _must_use_;

/* Judges an AF_INET or AF_INET6 destination and rewrites ADDR. 0, -EACCES, or as
 * sock_inet_request(). */
int sock_inet_judge(struct notification *n, const struct sock *sock, enum sock_use use,
	struct sock_addr *addr) _must_use_;

/* AF_NETLINK: only messages to the kernel itself. 0, -EPERM, -EINVAL. */
int sock_netlink_check(const struct sock_addr *addr) _must_use_;

/* Waits until SOCK can be written, the requester is gone, or DEADLINE_USEC (monotonic; 0 = none)
 * has passed. The worker must have announced that it may block. 0, -ESRCH, -ETIMEDOUT. */
int sock_wait_writable(
	struct notification *n, const struct sock *sock, uint64_t deadline_usec) _must_use_;

/* A call that may wait in the kernel gets EINTR after AFTER_MSEC, and again at that interval, until
 * sock_interrupt_end(): the duplicate's O_NONBLOCK is the requester's too and cannot be used. One
 * at a time in a thread. 0 or -errno. */
struct sock_interrupt {
	void *timer;
};
int sock_interrupt_begin(struct sock_interrupt *interrupt, unsigned after_msec) _must_use_;
void sock_interrupt_end(struct sock_interrupt *interrupt);

/* Is this a name server of the host's resolv.conf (as it was at the first call), port 53? Then UDP
 * to it needs no decision: without names nothing else can be decided by name. */
bool dns_is_resolver(const uint8_t addr[16], uint16_t port);
/* Reads the name servers of TEXT ("nameserver ADDRESS" lines) into ADDRS (room for MAX), mapped as
 * in struct request. Their number. */
size_t dns_parse_resolvers(const char *text, uint8_t (*addrs)[16], size_t max);

#endif
