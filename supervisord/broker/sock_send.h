/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_BROKER_SOCK_SEND_H
#define SUPERVISORD_BROKER_SOCK_SEND_H

/* A message of the requester, copied whole (sock_message.c), judged and sent (sock_send.c). */

#include "supervisord/broker/sock.h"

#define SEND_STREAM_MAX (1024u * 1024) /* more is sent by the next call: a short count is legal */
#define SEND_DATAGRAM_MAX (256u * 1024)
#define SEND_CONTROL_MAX (64u * 1024)
#define SEND_FDS_MAX 253 /* as SCM_MAX_FD */
#define SEND_VECTORS_MAX 1024
#define SEND_MESSAGES_MAX 1024

struct sock_message {
	bool has_addr;
	struct sock_addr addr;
	int pin; /* of the destination's inode, or -1 */
	char *data;
	size_t size;
	char *control; /* rebuilt: our duplicates of the descriptors */
	size_t control_size;
	int fds[SEND_FDS_MAX];
	size_t n_fds;
};

void sock_message_init(struct sock_message *message);
void sock_message_deinit(struct sock_message *message);

/* sendto: SIZE bytes at DATA, the address of ADDR_SIZE bytes at ADDR. 0; -EMSGSIZE, -EINVAL,
 * -EFAULT, -ESRCH, -ENOMEM. */
int sock_message_copy_to(struct notification *n, const struct sock *sock, uint64_t data,
	uint64_t size, uint64_t addr, uint64_t addr_size, struct sock_message *message) _must_use_;
/* sendmsg: the struct msghdr at MSGHDR. As above; -EBADF for a descriptor to be passed that is
 * none, -ENOBUFS for too much control data, -EINVAL for control data that no rule can speak of. */
int sock_message_copy_msghdr(struct notification *n, const struct sock *sock, uint64_t msghdr,
	struct sock_message *message) _must_use_;

#endif
