/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */

#include "supervisord/base/buf.h"

#include <stdio.h>
#include <string.h>

#define BUF_FIRST_ALLOC 128

void buf_init(struct buf *buf, size_t max)
{
	*buf = (struct buf){.max = max};
}

void buf_deinit(struct buf *buf)
{
	freep(&buf->data);
	*buf = (struct buf){.max = buf->max};
}

/* Makes room for EXTRA more bytes and the NUL behind them. */
static int buf_reserve(struct buf *buf, size_t extra)
{
	size_t need, alloc;
	char *data;

	if (buf->error)
		return buf->error;
	if (buf->size > buf->max || extra > buf->max - buf->size ||
		__builtin_add_overflow(buf->size + extra, (size_t)1, &need)) {
		buf->error = -E2BIG;
		return buf->error;
	}
	if (need <= buf->alloc)
		return 0;
	alloc = buf->alloc ? buf->alloc : BUF_FIRST_ALLOC;
	while (alloc < need)
		if (__builtin_mul_overflow(alloc, (size_t)2, &alloc))
			alloc = need;
	data = realloc(buf->data, alloc);
	if (!data) {
		buf->error = -ENOMEM;
		return buf->error;
	}
	buf->data = data;
	buf->alloc = alloc;
	return 0;
}

int buf_append(struct buf *buf, const void *data, size_t size)
{
	int r;

	r = buf_reserve(buf, size);
	if (r < 0)
		return r;
	if (size)
		memcpy(buf->data + buf->size, data, size);
	buf->size += size;
	buf->data[buf->size] = '\0';
	return 0;
}

int buf_puts(struct buf *buf, const char *text)
{
	return buf_append(buf, text, strlen(text));
}

int buf_putc(struct buf *buf, char c)
{
	return buf_append(buf, &c, 1);
}

int buf_printf(struct buf *buf, const char *format, ...)
{
	va_list args;
	int n, r;

	va_start(args, format);
	n = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (n < 0) {
		if (!buf->error)
			buf->error = -ENOMEM;
		return buf->error;
	}
	r = buf_reserve(buf, (size_t)n);
	if (r < 0)
		return r;
	va_start(args, format);
	n = vsnprintf(buf->data + buf->size, (size_t)n + 1, format, args);
	va_end(args);
	buf->size += (size_t)n;
	return 0;
}

char *buf_take(struct buf *buf)
{
	char *data = NULL;

	/* The empty append allocates where nothing was appended yet. */
	if (buf_append(buf, "", 0) == 0)
		data = TAKE_PTR(buf->data);
	buf_deinit(buf);
	return data;
}
