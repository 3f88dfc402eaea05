/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef POLICY_LANG_HOST_H
#define POLICY_LANG_HOST_H

/* Patterns over hosts: a name, "*.name" (one label more), "**.name" (one or more), an address, a
 * network in CIDR form, "localhost". Names are compared without case and without a last dot. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy-lang/arena.h"

enum host_kind {
	HOST_NAME,
	HOST_ONE_LABEL,
	HOST_LABELS,
	HOST_NETWORK,
	HOST_LOCAL,
};

struct host_pattern {
	enum host_kind kind;
	const char *name; /* lower case; for the label forms the part behind the first dot */
	size_t size;
	uint8_t addr[16];
	unsigned bits;
};

/* What a request goes to. */
struct host_view {
	const char *name; /* may be NULL */
	size_t size;      /* without a last dot */
	bool has_addr;
	uint8_t addr[16];
	/* An IPv4 address that the IPv6 one carries (NAT64, 6to4, compatible form), mapped. */
	bool has_inner;
	uint8_t inner[16];
};

/* Reads TEXT. NULL with *MESSAGEP (static) set, or NULL with *MESSAGEP NULL: no memory. */
struct host_pattern *host_pattern_new(struct arena *arena, const char *text, const char **messagep);

/* HOST may be NULL; ADDR all zeros = unknown. */
void host_view_init(struct host_view *view, const char *host, const uint8_t addr[16]);

/* STRICT: for a rule that narrows; addresses that carry another one match through either. */
bool host_pattern_match(
	const struct host_pattern *pattern, const struct host_view *view, bool strict);
/* Is every host that INNER matches also matched by OUTER? */
bool host_pattern_includes(const struct host_pattern *outer, const struct host_pattern *inner);

/* A numeric address, with or without brackets; IPv4 becomes ::ffff:a.b.c.d. False: not numeric. */
bool host_parse_address(const char *text, uint8_t addr[16], bool *is_v4p);

#endif
