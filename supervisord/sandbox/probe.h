/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_SANDBOX_PROBE_H
#define SUPERVISORD_SANDBOX_PROBE_H

/* What the running kernel really offers, found out with real children and real calls, never by
 * version number. Takes a few milliseconds. */

#include <stdbool.h>
#include <stddef.h>

#include "supervisord/base/json.h"

enum probe_item {
	PROBE_LANDLOCK,       /* value = ABI */
	PROBE_SECCOMP_NOTIFY, /* NEW_LISTENER and NOTIF_ID_VALID(0) = ENOENT */
	PROBE_WAIT_KILLABLE,  /* SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV */
	PROBE_ADDFD_SEND,     /* SECCOMP_ADDFD_FLAG_SEND */
	PROBE_SYNC_WAKE_UP,   /* optional: faster answers */
	PROBE_PIDFD_GETFD,
	PROBE_VM_READ, /* process_vm_readv of a child */
	PROBE_PTRACE,  /* PTRACE_SEIZE of a child */
	PROBE_OPENAT2,
	PROBE_USERNS, /* user namespace with our own uid mapped */
	PROBE_MOUNTNS,
	PROBE_PIDNS, /* with a fresh /proc */
	PROBE_IPCNS,
	PROBE_UTSNS,
	_PROBE_N,
};

struct probe_result {
	bool ok;
	bool required; /* the supervisor does not start without it */
	int value;
	int error;        /* errno of the failing step */
	const char *name; /* static */
	const char *what; /* static: what is lost without it */
	char remedy[512]; /* the one thing to do; "" when there is none */
};

struct probe {
	struct probe_result items[_PROBE_N];
};

/* Probes everything. 0 or -errno when no probing was possible at all (fork failed). */
int probe_run(struct probe *probe) _must_use_;
/* The first required item that is missing, or NULL. */
const struct probe_result *probe_missing(const struct probe *probe);
json_t *probe_to_json(const struct probe *probe);

#endif
