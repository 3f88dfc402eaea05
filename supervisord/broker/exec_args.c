/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "supervisord/broker/exec.h"

/* The argument vector of an exec: copied once, page by page, rewritten as the kernel does for a
 * script, compared with what the new image was given. */

#include <string.h>

#include "supervisord/base/buf.h"
#include "supervisord/base/error.h"
#include "supervisord/broker/target.h"

/* What lies at ADDR up to the end of its page. */
static int page_at(struct exec_reader *reader, uint64_t addr, const char **datap, size_t *sizep)
{
	uint64_t page = addr & ~(uint64_t)(EXEC_PAGE_BYTES - 1);
	unsigned slot;
	int r;

	for (slot = 0; slot < EXEC_PAGES; slot++) {
		if ((reader->filled & (1u << slot)) && reader->pages[slot] == page)
			break;
	}
	if (slot == EXEC_PAGES) {
		slot = reader->next;
		reader->next = (reader->next + 1) % EXEC_PAGES;
		reader->filled &= ~(1u << slot);
		r = target_read(reader->n, page, reader->data[slot], EXEC_PAGE_BYTES);
		if (r < 0)
			return err_trace(r);
		reader->filled |= 1u << slot;
		reader->pages[slot] = page;
	}
	*datap = reader->data[slot] + (addr - page);
	*sizep = EXEC_PAGE_BYTES - (size_t)(addr - page);
	return 0;
}

ssize_t exec_read_string(struct exec_reader *reader, uint64_t addr, char *text, size_t max)
{
	size_t done = 0;

	while (done < max) {
		const char *data = "", *end;
		size_t size = 0;
		int r;

		r = page_at(reader, addr + done, &data, &size);
		if (r < 0)
			return err_trace(r);
		if (size > max - done)
			size = max - done;
		memcpy(text + done, data, size);
		end = memchr(data, 0, size);
		if (end)
			return (ssize_t)(done + (size_t)(end - data));
		done += size;
	}
	return err_trace(-ENAMETOOLONG);
}

static int copy_string(struct exec_reader *reader, uint64_t addr, size_t max, struct buf *buf)
{
	for (;;) {
		const char *data = "", *end;
		size_t size = 0;
		int r;

		r = page_at(reader, addr, &data, &size);
		if (r < 0)
			return err_trace(r);
		end = memchr(data, 0, size);
		if (end)
			size = (size_t)(end - data);
		if (buf->size + size > max)
			return err_trace(-E2BIG);
		r = buf_append(buf, data, size);
		if (r < 0)
			return err_trace(r);
		if (end)
			return 0;
		if (__builtin_add_overflow(addr, size, &addr))
			return err_trace(-EFAULT);
	}
}

static int args_add(struct exec_args *args, size_t *allocp, char *item)
{
	if (args->n + 1 >= *allocp) {
		size_t alloc = *allocp ? *allocp * 2 : 16;
		char **items = realloc(args->items, alloc * sizeof(*items));

		if (!items)
			return err_trace(-ENOMEM);
		args->items = items;
		*allocp = alloc;
	}
	args->items[args->n++] = item;
	args->items[args->n] = NULL;
	return 0;
}

/* One pointer; it may be unaligned and so cross a page. */
static int read_pointer(struct exec_reader *reader, uint64_t addr, uint64_t *valuep)
{
	const char *data = "";
	size_t size = 0;
	int r;

	r = page_at(reader, addr, &data, &size);
	if (r < 0)
		return err_trace(r);
	if (size < sizeof(*valuep))
		return target_read(reader->n, addr, valuep, sizeof(*valuep));
	memcpy(valuep, data, sizeof(*valuep));
	return 0;
}

static int copy_strings(struct exec_reader *reader, uint64_t addr, struct exec_args *args)
{
	size_t total = 0, alloc = 0;

	for (;; addr += sizeof(uint64_t)) {
		struct buf buf;
		uint64_t item = 0;
		char *text;
		size_t size = 0;
		int r;

		r = read_pointer(reader, addr, &item);
		if (r < 0)
			return err_trace(r);
		if (!item)
			return 0;
		if (args->n >= REQUEST_ARGV_MAX)
			return err_trace(-E2BIG);
		buf_init(&buf, EXEC_ARGS_BYTES_MAX);
		r = copy_string(reader, item, EXEC_ARGS_BYTES_MAX - total, &buf);
		size = buf.size;
		text = r < 0 ? NULL : size ? buf_take(&buf) : strdup("");
		buf_deinit(&buf);
		if (!text)
			return err_trace(r < 0 ? r : -ENOMEM);
		r = args_add(args, &alloc, text);
		if (r < 0) {
			free(text);
			return err_trace(r);
		}
		total += size;
	}
}

ANALYZER_ARRAY_BEGIN
int exec_args_copy(struct exec_reader *reader, uint64_t addr, struct exec_args *args)
{
	size_t alloc = 0;
	char *empty;
	int r;

	if (addr) {
		r = copy_strings(reader, addr, args);
		if (r < 0)
			return err_trace(r);
	}
	if (args->n > 0)
		return 0;
	empty = strdup("");
	if (!empty)
		return err_trace(-ENOMEM);
	r = args_add(args, &alloc, empty);
	if (r < 0)
		free(empty);
	return r;
}
ANALYZER_ARRAY_END

int exec_args_for_script(struct exec_args *args, const struct exec_image *image, const char *script)
{
	size_t n_new = image->argument ? 3 : 2, rest = args->n > 0 ? args->n - 1 : 0, at = 0;
	_cleanup_(freep) char *interpreter = strdup(image->interpreter);
	_cleanup_(freep) char *argument = image->argument ? strdup(image->argument) : NULL;
	_cleanup_(freep) char *name = strdup(script);
	char **items = calloc(n_new + rest + 1, sizeof(*items));

	if (!items || !interpreter || !name || (image->argument && !argument)) {
		free(items);
		return err_trace(-ENOMEM);
	}
	items[at++] = TAKE_PTR(interpreter);
	if (argument)
		items[at++] = TAKE_PTR(argument);
	items[at++] = TAKE_PTR(name);
	for (size_t i = 0; i < rest; i++)
		items[at++] = args->items[i + 1];
	if (args->n > 0)
		free(args->items[0]);
	free(args->items);
	args->items = items;
	args->n = at;
	return 0;
}

ANALYZER_ARRAY_BEGIN
int exec_args_dup(const struct exec_args *args, char ***itemsp, size_t *np)
{
	struct exec_args copy = {.items = calloc(args->n + 1, sizeof(char *))};

	if (!copy.items)
		return err_trace(-ENOMEM);
	for (; copy.n < args->n; copy.n++) {
		copy.items[copy.n] = strdup(args->items[copy.n]);
		if (!copy.items[copy.n]) {
			exec_args_deinit(&copy);
			return err_trace(-ENOMEM);
		}
	}
	*itemsp = copy.items;
	*np = copy.n;
	return 0;
}
ANALYZER_ARRAY_END

size_t exec_args_size(const struct exec_args *args)
{
	size_t size = 0;

	for (size_t i = 0; i < args->n; i++)
		size += strlen(args->items[i]) + 1;
	return size;
}

bool exec_args_equal(const struct exec_args *args, const char *text, size_t size)
{
	for (size_t i = 0; i < args->n; i++) {
		size_t length = strlen(args->items[i]) + 1;

		if (length > size || memcmp(text, args->items[i], length) != 0)
			return false;
		text += length;
		size -= length;
	}
	return size == 0;
}

void exec_args_deinit(struct exec_args *args)
{
	for (size_t i = 0; i < args->n; i++)
		free(args->items[i]);
	free(args->items);
	memset(args, 0, sizeof(*args));
}
