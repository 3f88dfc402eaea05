/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_BASE_FDPASS_H
#define SUPERVISORD_BASE_FDPASS_H

/* One message and at most one descriptor over a unix seqpacket socket. */

#include <stddef.h>
#include <sys/types.h>

#include "supervisord/base/cleanup.h"

/* Sends SIZE bytes and FD (borrowed; -1 = none). 0 or -errno (-EPIPE: the other side is gone). */
int fdpass_send(int sock, const void *data, size_t size, int fd) _must_use_;

/* Receives one message. *SIZEP is what came (0 = end of file), *FDP the descriptor, close-on-exec,
 * owned by the caller, or -1. *PIDP, when not NULL, is the sender's pid in our namespace (the
 * socket needs SO_PASSCRED), or 0. 0; -EMSGSIZE when the message was longer than SIZE; -errno. */
int fdpass_recv(int sock, void *data, size_t size, size_t *sizep, int *fdp, pid_t *pidp) _must_use_;

#endif
