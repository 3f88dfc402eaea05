/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_BROKER_NAMES_TREE_H
#define SUPERVISORD_BROKER_NAMES_TREE_H

/* A folder that moves takes everything below it to new names. What of that the policy answers less
 * kindly than the move of the folder itself is found here. */

#include <stdbool.h>
#include <stddef.h>

#include "supervisord/broker/judge.h"

#define NAMES_TREE_ENTRIES 100000 /* more below a folder: it does not move */
#define NAMES_TREE_DEPTH 128
#define NAMES_TREE_FINDINGS 8

struct names_finding {
	enum op op;
	char *name; /* owned */
	bool fresh;
};

struct names_findings {
	struct names_finding items[NAMES_TREE_FINDINGS];
	size_t n_items;
	bool refused;    /* the last item is denied, whatever a person says */
	const char *why; /* static; set when it could not be looked through: the move is refused */
};

void names_findings_deinit(struct names_findings *findings);

/* Looks through the folder that SOURCE pins (its object), on its way from its name to that of
 * TARGET. Names in APPROVED count as allowed. Adds to FINDINGS. 0 or -errno. */
int names_tree_check(struct judge *judge, const struct path *source, const struct path *target,
	const struct names_findings *approved, struct names_findings *findings) _must_use_;

#endif
