/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_BASE_BUF_H
#define SUPERVISORD_BASE_BUF_H

/* A growing byte buffer with a cap. The content is always followed by a NUL that is not counted. */

#include <stdarg.h>
#include <stdint.h>

#include "supervisord/base/cleanup.h"

struct buf {
	char *data;
	size_t size;  /* bytes in use */
	size_t alloc; /* bytes allocated */
	size_t max;   /* size never exceeds this */
	int error;    /* the first failure; later appends do nothing */
};

/* An empty buffer that holds at most MAX bytes. Nothing is allocated yet. */
void buf_init(struct buf *buf, size_t max);
void buf_deinit(struct buf *buf);

/* Each append returns 0, -ENOMEM or -E2BIG (over max); the first error sticks in buf->error, so
 * that a series of appends can be checked once. */
int buf_append(struct buf *buf, const void *data, size_t size);
int buf_puts(struct buf *buf, const char *text);
int buf_putc(struct buf *buf, char c);
int buf_printf(struct buf *buf, const char *format, ...) _printf_(2, 3);

/* The content as a NUL-terminated string, owned by the caller; the buffer is empty afterwards. NULL
 * when an append failed or memory is short. */
char *buf_take(struct buf *buf);

#endif
