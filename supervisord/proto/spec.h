/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_PROTO_SPEC_H
#define SUPERVISORD_PROTO_SPEC_H

/* What `agentctl run` hands to agent-broker: a sealed memfd on descriptor SPEC_FD with this as
 * strict JSON, and a unix seqpacket socket on RUN_FD for what happens then (struct run_message). */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "supervisord/base/json.h"
#include "supervisord/proto/op.h"

#define SPEC_FD 3
#define RUN_FD 4
#define SPEC_JSON_MAX (16 * 1024 * 1024)
#define SPEC_POLICY_MAX (1024 * 1024) /* bytes of one policy file */

/* One policy text as it was read before the start; the broker never opens the file again. */
struct spec_policy {
	char *file; /* name for messages */
	enum policy_layer layer;
	char *text;
	size_t size;
};

struct session_spec {
	char **argv;
	size_t n_argv;
	char **env; /* the caller's whole environment; the policy picks from it */
	size_t n_env;
	char *cwd;       /* absolute, resolved */
	char *workspace; /* absolute, resolved */
	char *agent;     /* short name for lists: basename of argv[0] */
	char *profile;   /* shipped policy, "core" by default */
	struct spec_policy *policies;
	size_t n_policies;
	bool pty;              /* give the agent a terminal of its own */
	uint16_t rows, cols;   /* its first size */
	bool no_ask;           /* every ask is a denial at once */
	bool reduced_userns;   /* --allow-reduced userns: go on without user namespaces */
	bool force_no_userns;  /* for tests and doctor: behave as if there were none */
	uint64_t timeout_usec; /* end the session after this; 0 = never */
	char *control;         /* path of the control socket */
	char *preload;         /* path of the accelerator library, or NULL */
};

/* *FDP is a sealed, close-on-exec memfd, owned by the caller. 0, -ENOMEM (also for a number beyond
 * 63 bits), -E2BIG, -errno. */
int spec_to_memfd(const struct session_spec *spec, int *fdp) _must_use_;
/* FD is borrowed. 0; -EPERM (no memfd, or one that could still change); -EBADMSG; -EFBIG; -ENOMEM;
 * -errno. */
int spec_from_fd(int fd, struct session_spec **specp) _must_use_;
/* The same from a parsed message (borrowed). 0, -EBADMSG, -ENOMEM. */
int spec_from_json(json_t *json, struct session_spec **specp) _must_use_;
void spec_free(struct session_spec *spec);
DEFINE_CLEANUP(struct session_spec *, spec_free);

/* Messages on RUN_FD, one struct each. */
enum run_message_kind {
	/* broker -> agentctl */
	RUN_STARTED = 1, /* text = session id; the pty master as descriptor when spec.pty */
	RUN_STOPPED,     /* the agent's process group was stopped; value = signal */
	RUN_EXITED,      /* value = wait status of the agent; the broker ends afterwards */
	RUN_FAILED,      /* value = exit status for agentctl (125, 126, 127, 78); text = why */
	RUN_NOTICE, /* text for the person, printed by agentctl before the start or after the end */
	/* agentctl -> broker */
	RUN_SIGNAL = 64, /* value = signal for the agent's foreground process group */
	RUN_CONTINUE,    /* the job was resumed by the outer shell */
	RUN_HANGUP,      /* the terminal is gone */
};

#define RUN_TEXT_MAX 1024

struct run_message {
	uint32_t kind;
	int32_t value;
	char text[RUN_TEXT_MAX]; /* NUL-terminated, escaped */
};

#endif
