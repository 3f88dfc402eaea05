/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef POLICY_LANG_RESOLVE_H
#define POLICY_LANG_RESOLVE_H

/* Paths without symbolic links, as of now. Many patterns share their folders: what was looked up
 * once is remembered. */

#include <stdbool.h>

#include "policy-lang/arena.h"

#define RESOLVER_BUCKETS 1024

struct resolved;

struct resolver {
	struct arena *arena;
	struct resolved *buckets[RESOLVER_BUCKETS];
};

/* PATH (absolute, clean) with its existing part resolved, in the arena; the rest stays as it is.
 * NULL when memory is short. */
const char *resolver_resolve(struct resolver *resolver, const char *path);

#endif
