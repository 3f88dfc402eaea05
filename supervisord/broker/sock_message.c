/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "supervisord/broker/sock_send.h"

/* Copies what is to be sent, once: the header, the vectors, the data, the control data.
 *
 * Control data is rebuilt from what is known to be harmless. SCM_RIGHTS gets our duplicates of the
 * requester's descriptors. SCM_CREDENTIALS is left out: the kernel then fills in the sender, which
 * is the broker, as for every message without it; to claim the requester's pid would need a
 * capability, and a claimed one of the broker would be a lie. Options that change the way of a
 * packet (source routes, routing headers, marks) are refused: the judged address would not be where
 * it goes. */

#include <netinet/in.h>
#include <netinet/udp.h>
#include <string.h>
#include <sys/uio.h>

#include "supervisord/base/error.h"
#include "supervisord/broker/target.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif

/* struct msghdr as the kernel reads it: 64-bit. */
struct remote_msghdr {
	uint64_t name;
	int32_t name_size;
	uint32_t pad;
	uint64_t vectors;
	uint64_t n_vectors;
	uint64_t control;
	uint64_t control_size;
	uint32_t flags;
	uint32_t pad2;
};
_Static_assert(sizeof(struct remote_msghdr) == sizeof(struct msghdr), "msghdr of this ABI");

struct remote_iovec {
	uint64_t base;
	uint64_t size;
};

void sock_message_init(struct sock_message *message)
{
	memset(message, 0, sizeof(*message));
	message->pin = -1;
}

void sock_message_deinit(struct sock_message *message)
{
	message->pin = close_fd(message->pin);
	for (size_t i = 0; i < message->n_fds; i++)
		close(message->fds[i]);
	free(message->data);
	free(message->control);
	sock_message_init(message);
}

static size_t size_max(const struct sock *sock)
{
	return sock->type == SOCK_STREAM ? SEND_STREAM_MAX : SEND_DATAGRAM_MAX;
}

int sock_message_copy_to(struct notification *n, const struct sock *sock, uint64_t data,
	uint64_t size, uint64_t addr, uint64_t addr_size, struct sock_message *message)
{
	int r;

	if (size > size_max(sock)) {
		if (sock->type != SOCK_STREAM)
			return err_trace(-EMSGSIZE);
		size = size_max(sock);
	}
	if (addr) {
		r = sock_addr_copy(n, addr, addr_size, &message->addr);
		if (r < 0)
			return err_trace(r);
		message->has_addr = message->addr.size > 0;
	}
	message->data = malloc(size + 1);
	if (!message->data)
		return err_trace(-ENOMEM);
	message->size = size;
	return target_read(n, data, message->data, size);
}

/* Gathers the data of all vectors, as much as one call may carry. */
static int copy_data(struct notification *n, const struct sock *sock,
	const struct remote_msghdr *header, struct sock_message *message)
{
	_cleanup_(freep) struct remote_iovec *vectors = NULL;
	size_t count = header->n_vectors, max = size_max(sock), total = 0;
	int r;

	if (header->n_vectors > SEND_VECTORS_MAX)
		return err_trace(-EMSGSIZE);
	vectors = calloc(count + 1, sizeof(*vectors));
	if (!vectors)
		return err_trace(-ENOMEM);
	r = target_read(n, header->vectors, vectors, count * sizeof(*vectors));
	if (r < 0)
		return err_trace(r);
	for (size_t i = 0; i < count; i++) {
		if (vectors[i].size > INT64_MAX)
			return err_trace(-EINVAL);
		if (vectors[i].size > max - total) {
			if (sock->type != SOCK_STREAM)
				return err_trace(-EMSGSIZE);
			vectors[i].size = max - total;
		}
		total += vectors[i].size;
	}
	message->data = malloc(total + 1);
	if (!message->data)
		return err_trace(-ENOMEM);
	for (size_t i = 0; i < count; i++) {
		r = target_read(n, vectors[i].base, message->data + message->size, vectors[i].size);
		if (r < 0)
			return err_trace(r);
		message->size += vectors[i].size;
	}
	return 0;
}

/* Replaces the requester's descriptor numbers in the SIZE bytes at DATA by duplicates. */
static int take_fds(struct notification *n, char *data, size_t size, struct sock_message *message)
{
	for (size_t at = 0; at + sizeof(int) <= size; at += sizeof(int)) {
		int fd, r;

		if (message->n_fds >= SEND_FDS_MAX)
			return err_trace(-EINVAL);
		memcpy(&fd, data + at, sizeof(fd));
		r = target_dup_fd(n, fd, &message->fds[message->n_fds]);
		if (r < 0)
			return err_trace(r);
		memcpy(data + at, &message->fds[message->n_fds++], sizeof(fd));
	}
	return 0;
}

static bool is_harmless(const struct cmsghdr *cmsg)
{
	switch (cmsg->cmsg_level) {
	case IPPROTO_IP:
		return cmsg->cmsg_type == IP_TOS || cmsg->cmsg_type == IP_TTL ||
		       cmsg->cmsg_type == IP_PKTINFO;
	case IPPROTO_IPV6:
		return cmsg->cmsg_type == IPV6_PKTINFO || cmsg->cmsg_type == IPV6_HOPLIMIT ||
		       cmsg->cmsg_type == IPV6_TCLASS || cmsg->cmsg_type == IPV6_DONTFRAG;
	case IPPROTO_UDP:
		return cmsg->cmsg_type == UDP_SEGMENT;
	default:
		return false;
	}
}

/* One control message of DATA_SIZE bytes behind CMSG, added to the rebuilt ones. */
static int take_control(struct notification *n, const struct sock *sock, const struct cmsghdr *cmsg,
	char *data, size_t data_size, struct sock_message *message)
{
	struct cmsghdr out = {.cmsg_len = CMSG_LEN(data_size),
		.cmsg_level = cmsg->cmsg_level,
		.cmsg_type = cmsg->cmsg_type};
	int r;

	if (cmsg->cmsg_level == SOL_SOCKET) {
		/* Levels of other protocols are ignored by the kernel; these two are unix's. */
		if (cmsg->cmsg_type == SCM_CREDENTIALS)
			return 0;
		if (cmsg->cmsg_type != SCM_RIGHTS || sock->domain != AF_UNIX)
			return err_trace(-EINVAL);
		r = take_fds(n, data, data_size, message);
		if (r < 0)
			return err_trace(r);
	} else if (!is_harmless(cmsg)) {
		return err_trace(-EINVAL);
	}
	memcpy(message->control + message->control_size, &out, sizeof(out));
	memcpy(message->control + message->control_size + CMSG_LEN(0), data, data_size);
	message->control_size += CMSG_SPACE(data_size);
	return 0;
}

static int copy_control(struct notification *n, const struct sock *sock,
	const struct remote_msghdr *header, struct sock_message *message)
{
	_cleanup_(freep) char *control = NULL;
	size_t size = header->control_size;
	int r;

	if (header->control_size == 0)
		return 0;
	if (header->control_size > SEND_CONTROL_MAX)
		return err_trace(-ENOBUFS);
	control = malloc(size);
	/* Rebuilt, each message is at most padded once more. */
	message->control = calloc(1, size + CMSG_SPACE(0));
	if (!control || !message->control)
		return err_trace(-ENOMEM);
	r = target_read(n, header->control, control, size);
	if (r < 0)
		return err_trace(r);
	for (size_t at = 0; size - at >= sizeof(struct cmsghdr);) {
		struct cmsghdr cmsg;

		memcpy(&cmsg, control + at, sizeof(cmsg));
		if (cmsg.cmsg_len < CMSG_LEN(0) || cmsg.cmsg_len > size - at)
			return err_trace(-EINVAL);
		r = take_control(n, sock, &cmsg, control + at + CMSG_LEN(0),
			cmsg.cmsg_len - CMSG_LEN(0), message);
		if (r < 0)
			return err_trace(r);
		if (CMSG_ALIGN(cmsg.cmsg_len) >= size - at)
			break;
		at += CMSG_ALIGN(cmsg.cmsg_len);
	}
	return 0;
}

int sock_message_copy_msghdr(struct notification *n, const struct sock *sock, uint64_t msghdr,
	struct sock_message *message)
{
	struct remote_msghdr header;
	int r;

	r = target_read(n, msghdr, &header, sizeof(header));
	if (r < 0)
		return err_trace(r);
	if (header.name && header.name_size < 0)
		return err_trace(-EINVAL);
	if (header.name && header.name_size > 0) {
		uint64_t size = (uint64_t)header.name_size;

		/* As the kernel does. */
		if (size > sizeof(struct sockaddr_storage))
			size = sizeof(struct sockaddr_storage);
		r = sock_addr_copy(n, header.name, size, &message->addr);
		if (r < 0)
			return err_trace(r);
		message->has_addr = true;
	}
	r = copy_data(n, sock, &header, message);
	if (r < 0)
		return err_trace(r);
	return copy_control(n, sock, &header, message);
}
