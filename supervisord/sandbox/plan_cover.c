/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "supervisord/sandbox/plan.h"

/* Does the floor cover an access? MUST be no wider than landlock.c makes the floor: the answer
 * decides what goes on in the kernel unlooked-at. */

#include <string.h>

#include "supervisord/sandbox/plan_parts.h"

/* The access that is granted at exactly the first N bytes of PATH. */
static unsigned access_at(const struct plan *plan, const char *path, size_t n)
{
	size_t low = plan->first_allow, high = plan->first_allow + plan->n_allow;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const char *have = plan->steps[middle].path;
		int order = strncmp(path, have, n);

		if (order == 0 && have[n] == '\0')
			return plan->steps[middle].access;
		/* With equal first N bytes the longer one comes later. */
		if (order <= 0)
			high = middle;
		else
			low = middle + 1;
	}
	return 0;
}

unsigned plan_access_of(const struct plan *plan, const char *path)
{
	unsigned have = access_at(plan, "/", 1);

	for (size_t i = 1;; i++) {
		if (path[i] == '/' || path[i] == '\0')
			have |= access_at(plan, path, i);
		if (path[i] == '\0')
			return have;
	}
}

bool plan_floor_covers(const struct plan *plan, unsigned access, const char *path)
{
	unsigned have;

	if (*path != '/' || access == 0)
		return false;
	if ((access & (PLAN_READ | PLAN_LIST)) && !plan->floor_reads)
		return false;
	have = plan_access_of(plan, path);
	if (have & PLAN_READ)
		have |= PLAN_START; /* what may be read may be started */
	if (have & PLAN_MODIFY && plan->landlock_abi >= LANDLOCK_TRUNCATES)
		have |= PLAN_TRUNCATE;
	return (have & access) == access;
}
