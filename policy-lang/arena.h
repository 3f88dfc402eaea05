/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef POLICY_LANG_ARENA_H
#define POLICY_LANG_ARENA_H

/* Memory that lives exactly as long as its owner: syntax trees and compiled patterns are many small
 * objects that point at each other and die together. */

#include <stddef.h>

#include "supervisord/base/cleanup.h"

#define ARENA_MAX                                                                                  \
	(256UL * 1024 * 1024) /* bytes in one arena; beyond that it is "out of memory"             \
			       */

struct arena_block;

struct arena {
	struct arena_block *blocks;
	size_t total;
};

void arena_init(struct arena *arena);
/* Frees everything; idempotent. */
void arena_deinit(struct arena *arena);

/* SIZE zeroed bytes, aligned for any type, owned by the arena. NULL when memory is short. */
void *arena_alloc(struct arena *arena, size_t size);
/* A copy of SIZE bytes and a NUL. NULL when memory is short. */
char *arena_copy(struct arena *arena, const char *data, size_t size);
char *arena_printf(struct arena *arena, const char *format, ...) _printf_(2, 3);

/* Room for one more item behind the N that ITEMS holds: the same or a larger array, or NULL when
 * memory is short. ITEMS may be NULL when N is 0. */
void *arena_grow(struct arena *arena, void *items, size_t n, size_t item_size);

#endif
