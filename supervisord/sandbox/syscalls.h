/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_SANDBOX_SYSCALLS_H
#define SUPERVISORD_SANDBOX_SYSCALLS_H

/* The table of system calls: which exist for the agent, which are refused, which notify. One table
 * feeds the filter, the plan and the broker's dispatcher. What is not in it gets ENOSYS. */

#include <stddef.h>

struct plan;

enum syscall_disposition {
	SYSCALL_ALLOW,
	SYSCALL_ERRNO,       /* refused with .error */
	SYSCALL_NOTIFY,      /* always notified */
	SYSCALL_NOTIFY_OPEN, /* notified when it may write or create; reads by plan->notify_reads */
	SYSCALL_NOTIFY_ADDR, /* sendto: notified when its address argument is not NULL */
	SYSCALL_SPECIAL,     /* register tests in filter.c (clone, socket, ioctl, prctl ...) */
};

struct syscall_entry {
	const char *name; /* as libseccomp knows it; resolved by name at build */
	int nr;           /* native number, or -1 where the build's libc has none */
	enum syscall_disposition disposition;
	int error;
	const char *class; /* for the plan and people: "open", "names", "metadata", "exec",
			      "network" */
};

extern const struct syscall_entry syscall_table[];
extern const size_t syscall_table_size;

#endif
