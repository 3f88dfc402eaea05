/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */

#include "supervisord/base/diag.h"

#include <stdarg.h>
#include <string.h>

#include "supervisord/base/display.h"

void diag_list_init(struct diag_list *list)
{
	memset(list, 0, sizeof(*list));
}

void diag_list_deinit(struct diag_list *list)
{
	size_t i;

	for (i = 0; i < list->n_items; i++) {
		freep(&list->items[i].file);
		freep(&list->items[i].message);
		freep(&list->items[i].source);
	}
	diag_list_init(list);
}

void diag_add(struct diag_list *list, enum diag_severity severity, const char *file, unsigned line,
	unsigned column, const char *source, const char *format, ...)
{
	_cleanup_(freep) char *file_copy = NULL;
	_cleanup_(freep) char *source_copy = NULL;
	_cleanup_(freep) char *message = NULL;
	va_list args;
	int n;

	if (severity == DIAG_ERROR)
		list->n_errors++;
	va_start(args, format);
	n = vasprintf(&message, format, args);
	va_end(args);
	if (n < 0)
		message = NULL;
	file_copy = strdup(file ? file : "");
	source_copy = source ? strndup(source, strcspn(source, "\n")) : NULL;
	if (list->n_items == DIAG_MAX || !message || !file_copy) {
		list->n_dropped++;
		return;
	}
	list->items[list->n_items++] = (struct diag){
		.severity = severity,
		.file = TAKE_PTR(file_copy),
		.line = line,
		.column = column,
		.message = TAKE_PTR(message),
		.source = TAKE_PTR(source_copy),
	};
}

/* How many bytes the first COLUMN-1 characters of TEXT have. */
static size_t diag_column_bytes(const char *text, unsigned column)
{
	size_t i = 0;

	while (column > 1 && text[i]) {
		i++;
		while (((unsigned char)text[i] & 0xc0) == 0x80)
			i++;
		column--;
	}
	return i;
}

/* The source line and a caret below it. The text before the column is escaped by itself, so that
 * the caret stands right also behind an escape. */
static void diag_print_source(const struct diag *item, FILE *out)
{
	_cleanup_(freep) char *before = NULL;
	_cleanup_(freep) char *after = NULL;
	size_t split;
	int width = 0;
	char *p;

	if (!item->source || item->column == 0)
		return;
	split = diag_column_bytes(item->source, item->column);
	before = display_escape(item->source, split, NULL);
	after = display_escape(item->source + split, strlen(item->source + split), NULL);
	if (!before || !after)
		return;
	for (p = before; *p; p++)
		width += ((unsigned char)*p & 0xc0) != 0x80;
	(void)fprintf(out, "    %s%s\n    %*s^\n", before, after, width, "");
}

static void diag_print(const struct diag *item, FILE *out)
{
	const char *severity = item->severity == DIAG_ERROR ? "error" : "warning";
	_cleanup_(freep) char *file = display_escape(item->file, strlen(item->file), NULL);
	_cleanup_(freep) char *message = display_escape(item->message, strlen(item->message), NULL);

	if (!file || !message)
		return;
	if (item->line)
		(void)fprintf(out, "%s:%u:%u: %s: %s\n", file, item->line, item->column, severity,
			message);
	else
		(void)fprintf(out, "%s: %s: %s\n", file, severity, message);
	diag_print_source(item, out);
}

void diag_list_print(const struct diag_list *list, FILE *out)
{
	size_t i;

	for (i = 0; i < list->n_items; i++)
		diag_print(&list->items[i], out);
	if (list->n_dropped)
		(void)fprintf(out, "(%zu more not shown)\n", list->n_dropped);
}
