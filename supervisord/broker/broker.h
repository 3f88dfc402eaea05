/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_BROKER_BROKER_H
#define SUPERVISORD_BROKER_BROKER_H

/* The broker of one session: what its worker threads share. Immutable after the workers have
 * started, but for the members that say otherwise. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "policy-lang/policy.h"
#include "supervisord/proto/spec.h"
#include "supervisord/sandbox/launch.h"
#include "supervisord/sandbox/plan.h"

struct link;
struct record_table;
struct fresh_repos;

struct broker {
	const struct session_spec *spec;
	const struct policy_set *policies;
	const struct plan *plan;
	uint8_t policy_digest[32];
	struct launch launch;
	struct link *link;            /* thread-safe */
	const char *session;          /* id, owned by the link */
	struct record_table *records; /* thread-safe: which allows were recorded */
	struct fresh_repos *fresh;    /* thread-safe: .git folders that this session made */
	uid_t uid;
};

#endif
