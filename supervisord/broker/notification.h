/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_BROKER_NOTIFICATION_H
#define SUPERVISORD_BROKER_NOTIFICATION_H

/* One notification while a worker thread handles it. A handler copies what it needs from the
 * requester once, decides, acts on what it pinned, and answers exactly once with a function of
 * reply.h; a handler that returns without an answer is answered with EACCES by the dispatcher. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "supervisord/broker/broker.h"

struct notification {
	struct broker *broker;
	uint64_t id;
	pid_t tid; /* requesting thread, in our pid namespace */
	int nr;
	uint64_t args[6];
	bool answered;
	bool blocking; /* the worker announced that it may block */

	/* filled in by target.c on first use */
	bool have_ids;
	pid_t tgid;
	mode_t umask;
	pid_t inner_tgid; /* in the innermost pid namespace, 0 = not known */
	int pidfd;        /* of the thread group, or -1; closed by the dispatcher */
	int exec_errno;   /* scratch of exec handling */
};

typedef void (*notification_fn)(struct notification *n);

/* Is the requester still waiting for this notification? Call after opening anything of /proc/TID
 * and before trusting it, and right before an action with a side effect. */
bool notification_valid(const struct notification *n);
/* The same for link_ask(): USERDATA is the notification. */
bool notification_still_wanted(void *userdata);

/* The handler of a system call number, or NULL. */
notification_fn dispatch_handler(int nr);

/* Workers. A handler that may wait (for a person, a FIFO, the network) calls worker_may_block()
 * first: another worker then takes its place. Returns false when too many already wait: refuse with
 * EAGAIN. */
bool worker_may_block(struct notification *n) _must_use_;

/* Handlers, one file each; every one follows the contract above. */
void handle_open(struct notification *n);     /* open, openat, openat2, creat */
void handle_rename(struct notification *n);   /* rename, renameat, renameat2 */
void handle_link(struct notification *n);     /* link, linkat */
void handle_symlink(struct notification *n);  /* symlink, symlinkat */
void handle_unlink(struct notification *n);   /* unlink, unlinkat, rmdir */
void handle_mkdir(struct notification *n);    /* mkdir, mkdirat */
void handle_mknod(struct notification *n);    /* mknod, mknodat */
void handle_truncate(struct notification *n); /* truncate */
void handle_chmod(struct notification *n);    /* (f)chmod, fchmodat, fchmodat2 */
void handle_chown(struct notification *n);    /* (l,f)chown, fchownat */
void handle_utimes(struct notification *n);   /* utime, utimes, futimesat, utimensat */
void handle_xattr(struct notification *n);    /* (l,f)setxattr, (l,f)removexattr */
void handle_exec(struct notification *n);     /* execve, execveat */
void handle_connect(struct notification *n);
void handle_bind(struct notification *n);
void handle_listen(struct notification *n);
void handle_send(struct notification *n); /* sendto with an address, sendmsg, sendmmsg */

#endif
