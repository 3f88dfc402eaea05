/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_SANDBOX_PLAN_H
#define SUPERVISORD_SANDBOX_PLAN_H

/* A policy turned into typed steps for this kernel: what the kernel alone enforces (the floor:
 * Landlock, mounts, namespaces, register tests) and what must be notified. Pure: building needs no
 * privilege and changes nothing; the same input gives the same plan and digest. */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "policy-lang/policy.h"
#include "supervisord/proto/spec.h"
#include "supervisord/sandbox/probe.h"

enum plan_access {
	PLAN_READ = 1 << 0,   /* read files */
	PLAN_LIST = 1 << 1,   /* read folders */
	PLAN_MODIFY = 1 << 2, /* write, create, delete, rename, link below */
	PLAN_START = 1 << 3,  /* the kernel may read files to start them as programs */
	/* Asked for only: cut files, which Landlock knows from its third ABI on. */
	PLAN_TRUNCATE = 1 << 4,
};

enum plan_step_kind {
	PLAN_NAMESPACE,   /* path = "user", "mount", "pid", "ipc", "uts" */
	PLAN_MOUNT_TMPFS, /* private, empty, writable: /tmp, /dev/shm */
	PLAN_MOUNT_BIND,  /* source kept visible at path (workspace below a private /tmp) */
	PLAN_MOUNT_MASK,  /* empty and read-only over path: the supervisor's own folders */
	PLAN_MOUNT_PROC,  /* fresh /proc with its dangerous parts read-only or masked */
	PLAN_MOUNT_DEV,   /* minimal /dev: null zero full random urandom tty ptmx pts shm fd */
	PLAN_ALLOW,       /* Landlock: access below path */
	PLAN_NET_CLOSED,  /* Landlock: TCP bind and connect closed */
	PLAN_SCOPED,      /* Landlock: signals and abstract sockets stay inside */
	PLAN_NO_CAPS,     /* bounding set and ambient set emptied, no_new_privs */
	PLAN_FILTER,      /* seccomp filter, allow-list, default ENOSYS */
	PLAN_NOTIFY,      /* path = name of a class of calls that the broker answers */
	PLAN_ENV, /* path = NAME=VALUE given to the agent; source = "caller" when it is the caller's
		   */
	_PLAN_STEP_N,
};

struct plan_step {
	enum plan_step_kind kind;
	unsigned access; /* set of plan_access, for PLAN_ALLOW */
	char *path;
	char *source;
};

struct plan {
	struct plan_step *steps;
	size_t n_steps;
	size_t first_allow, n_allow; /* the PLAN_ALLOW steps: together, sorted by path */
	bool user_ns;
	bool mount_ns;
	bool pid_ns;
	bool ipc_ns;
	bool notify_reads; /* read-only opens notify, because the policy may ask about or deny some
			    */
	/* False where Landlock had to let more be read than the policy allows, so that new programs
	 * can be started: then the broker carries out every read itself, and none goes on in the
	 * kernel. */
	bool floor_reads;
	bool cookie; /* reads that carry the cookie go to the floor directly */
	bool sync_wake_up;
	int landlock_abi;
	char **env;          /* NULL-terminated, complete environment of the agent */
	const char *reduced; /* names of the missing layers for people, or NULL */
};

/* The sixth argument of an openat that the filter lets through to the floor. Not a secret: what
 * passes is decided by Landlock and the mounts alone. */
#define PLAN_COOKIE 0x5eed5afe0badcafeULL

/* Builds the plan. *MESSAGEP (owned by the caller) says in people's words why not. 0;
 * PLAN_E_REFUSED: a layer is missing and not waived, or a rule cannot be enforced; -ENOMEM; -errno.
 */
enum {
	PLAN_E_REFUSED = 1,
};
int plan_build(const struct probe *probe, const struct policy_set *policies,
	const struct session_spec *spec, struct plan **planp, char **messagep) _must_use_;
void plan_free(struct plan *plan);
DEFINE_CLEANUP(struct plan *, plan_free);

/* Sets a variable of the agent's environment (copies), beside what the digest covers: for what is
 * known only when the session exists, such as its id. 0, -EINVAL (no name), -ENOMEM. */
int plan_set_env(struct plan *plan, const char *name, const char *value) _must_use_;
/* Its value, borrowed, or NULL. */
const char *plan_get_env(const struct plan *plan, const char *name);

/* Does the floor by itself allow every member of ACCESS for the object whose resolved path is PATH?
 * Then the call may go on in the kernel, whatever its memory says by then. For opens, reads of
 * folders, creation, removal, rename and link only: the floor knows nothing of chmod, chown, times,
 * attributes, sockets. */
bool plan_floor_covers(const struct plan *plan, unsigned access, const char *path);

/* One line a step, or JSON. BLAKE2b-256 over the printed form. */
int plan_print(const struct plan *plan, FILE *out) _must_use_;
json_t *plan_to_json(const struct plan *plan);
void plan_digest(const struct plan *plan, uint8_t out[32]);

#endif
