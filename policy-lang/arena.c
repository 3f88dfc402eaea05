/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "policy-lang/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define BLOCK_BYTES (32UL * 1024)
#define ALIGNMENT 16UL

struct arena_block {
	struct arena_block *next;
	size_t used;
	size_t size;
	_Alignas(16) unsigned char data[];
};

void arena_init(struct arena *arena)
{
	arena->blocks = NULL;
	arena->total = 0;
}

void arena_deinit(struct arena *arena)
{
	struct arena_block *block = arena->blocks;

	while (block) {
		struct arena_block *next = block->next;

		free(block);
		block = next;
	}
	arena_init(arena);
}

static struct arena_block *arena_add_block(struct arena *arena, size_t size)
{
	size_t bytes = size > BLOCK_BYTES ? size : BLOCK_BYTES;
	struct arena_block *block;

	if (arena->total + bytes > ARENA_MAX)
		return NULL;
	block = calloc(1, sizeof(*block) + bytes);
	if (!block)
		return NULL;
	block->size = bytes;
	arena->total += bytes;
	/* A block for one large object goes behind the current one, which still has room. */
	if (arena->blocks && size > BLOCK_BYTES / 2) {
		block->next = arena->blocks->next;
		arena->blocks->next = block;
	} else {
		block->next = arena->blocks;
		arena->blocks = block;
	}
	return block;
}

void *arena_alloc(struct arena *arena, size_t size)
{
	struct arena_block *block = arena->blocks;
	size_t need;
	void *p;

	if (size > ARENA_MAX)
		return NULL;
	need = ((size ? size : 1) + ALIGNMENT - 1) & ~(ALIGNMENT - 1);
	if (!block || block->size - block->used < need) {
		block = arena_add_block(arena, need);
		if (!block)
			return NULL;
	}
	p = block->data + block->used;
	block->used += need;
	return p;
}

char *arena_copy(struct arena *arena, const char *data, size_t size)
{
	char *copy = arena_alloc(arena, size + 1);

	if (!copy)
		return NULL;
	if (size)
		memcpy(copy, data, size);
	return copy;
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
	_cleanup_(freep) char *text = NULL;
	va_list args;
	int n;

	va_start(args, format);
	n = vasprintf(&text, format, args);
	va_end(args);
	if (n < 0) {
		text = NULL;
		return NULL;
	}
	return arena_copy(arena, text, (size_t)n);
}

void *arena_grow(struct arena *arena, void *items, size_t n, size_t item_size)
{
	size_t bytes;
	void *larger;

	/* Arrays grow at 0, 4, 8, 16 ... items; their capacity follows from N and is not stored. */
	if (n && (n < 4 || (n & (n - 1))))
		return items;
	if (__builtin_mul_overflow(n ? n * 2 : 4, item_size, &bytes))
		return NULL;
	larger = arena_alloc(arena, bytes);
	if (larger && n)
		memcpy(larger, items, n * item_size);
	return larger;
}
