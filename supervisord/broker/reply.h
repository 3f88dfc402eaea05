/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_BROKER_REPLY_H
#define SUPERVISORD_BROKER_REPLY_H

/* The answers. Every handler ends in one of these; a second answer to the same notification is a
 * programming error and is ignored with a log line. A requester that is gone is not an error. */

#include "supervisord/broker/notification.h"

/* The call fails with ERROR (a positive errno). */
void reply_errno(struct notification *n, int error);
/* The call returns VALUE (not negative). */
void reply_value(struct notification *n, int64_t value);
/* The call returns a new descriptor for FD (borrowed), with close-on-exec as given. The call fails
 * with EMFILE and the like when the descriptor cannot be handed over. */
void reply_fd(struct notification *n, int fd, bool cloexec);

/* The same; *FDP (taken, becomes -1) is closed before the requester goes on, for objects that
 * notice one descriptor more, as a FIFO does. One switch to the requester and back more than
 * reply_fd(). */
void reply_fd_alone(struct notification *n, int *fdp, bool cloexec);

/* Why a call may go on in the kernel although its arguments can change by then. */
enum continue_reason {
	CONTINUE_FLOOR, /* whatever it does, Landlock and the mounts allow only what the policy
			   allows */
	CONTINUE_EXEC_VERIFIED, /* the exec event is awaited and compared by this thread */
};
/* The only place that lets a call go on in the kernel. 0, or -ENOENT when the requester is gone. */
int reply_continue(struct notification *n, enum continue_reason reason);

#endif
