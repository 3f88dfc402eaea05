/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
/* Messages, tables and JSON for the person or the script. */

#include "agentctl/output.h"

#include <stdarg.h>
#include <string.h>
#include <wchar.h>

#include "supervisord/base/display.h"
#include "supervisord/base/json.h"

#define COLUMNS_MAX 16

struct out_table {
	size_t n_columns;
	size_t n_cells, n_alloc;
	char **cells;
};

void out_of_memory(void)
{
	(void)fputs("agentctl: out of memory\n", stderr);
	exit(EXIT_SUPERVISOR);
}

static char *format_text(const char *format, va_list ap)
{
	char *text = NULL;

	if (vasprintf(&text, format, ap) < 0)
		out_of_memory();
	return text;
}

void out_error(const char *format, ...)
{
	_cleanup_(freep) char *text = NULL, *safe = NULL;
	va_list ap;

	va_start(ap, format);
	text = format_text(format, ap);
	va_end(ap);
	safe = out_safe(text);
	(void)fflush(stdout);
	(void)fprintf(stderr, "agentctl: %s\n", safe);
}

int out_usage(const struct verb *verb, const char *format, ...)
{
	_cleanup_(freep) char *text = NULL, *safe = NULL;
	va_list ap;

	va_start(ap, format);
	text = format_text(format, ap);
	va_end(ap);
	safe = out_safe(text);
	(void)fprintf(stderr, "agentctl %s: %s\nTry \"agentctl %s --help\".\n", verb->name, safe,
		verb->name);
	return verb->usage_status;
}

int out_options(const struct verb *verb, const struct options *options, int result)
{
	if (result == OPTIONS_HELP) {
		(void)fputs(verb->help, stdout);
		return EXIT_OK;
	}
	return out_usage(verb, "%s", options->error);
}

int out_one_flag(const struct verb *verb, struct options *options, bool *flagp)
{
	const char *value;
	int id;

	while ((id = options_next(options, &value)) >= 0)
		*flagp = true;
	if (id != OPTIONS_END)
		return out_options(verb, options, id);
	if (options->n_operands > 0)
		return out_usage(verb, "takes no arguments");
	return -1;
}

char *out_safe(const char *text)
{
	char *safe = display_reescape(text ? text : "-");

	if (!safe)
		out_of_memory();
	return safe;
}

char *out_member(const json_t *object, const char *key)
{
	return out_safe(json_string_value(json_object_get(object, key)));
}

void out_json(const json_t *json)
{
	_cleanup_(freep) char *text = json_write(json);

	if (!text)
		out_of_memory();
	puts(text);
}

bool out_colours(FILE *out)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(fileno(out)) && !(no && *no) && term && strcmp(term, "dumb") != 0;
}

struct out_table *out_table_new(size_t n_columns)
{
	struct out_table *table = calloc(1, sizeof(*table));

	if (!table || n_columns == 0 || n_columns > COLUMNS_MAX)
		out_of_memory();
	table->n_columns = n_columns;
	return table;
}

void out_table_free(struct out_table *table)
{
	for (size_t i = 0; i < table->n_cells; i++)
		free(table->cells[i]);
	free(table->cells);
	free(table);
}

void out_table_add(struct out_table *table, const char *cell)
{
	if (table->n_cells == table->n_alloc) {
		size_t n = table->n_alloc ? table->n_alloc * 2 : 64;
		char **cells = reallocarray(table->cells, n, sizeof(char *));

		if (!cells)
			out_of_memory();
		table->cells = cells;
		table->n_alloc = n;
	}
	table->cells[table->n_cells++] = out_safe(cell);
}

/* Columns on the screen; bytes where the text is not valid in this locale. */
static size_t text_width(const char *text)
{
	size_t n = mbstowcs(NULL, text, 0);
	_cleanup_(freep) wchar_t *wide = NULL;
	int width;

	if (n == (size_t)-1)
		return strlen(text);
	wide = calloc(n + 1, sizeof(*wide));
	if (!wide)
		out_of_memory();
	(void)mbstowcs(wide, text, n + 1);
	width = wcswidth(wide, n);
	return width < 0 ? n : (size_t)width;
}

void out_table_print(const struct out_table *table, FILE *out)
{
	size_t widths[COLUMNS_MAX] = {0};
	bool bold = out_colours(out);

	for (size_t i = 0; i < table->n_cells; i++) {
		size_t width = text_width(table->cells[i]);

		if (width > widths[i % table->n_columns])
			widths[i % table->n_columns] = width;
	}
	for (size_t i = 0; i < table->n_cells; i++) {
		size_t column = i % table->n_columns;
		bool last = column == table->n_columns - 1;

		if (i == 0 && bold)
			(void)fputs("\033[1m", out);
		(void)fputs(table->cells[i], out);
		if (!last)
			(void)fprintf(out, "%*s",
				(int)(widths[column] - text_width(table->cells[i]) + 2), "");
		if (i == table->n_columns - 1 && bold)
			(void)fputs("\033[0m", out);
		if (last)
			(void)fputc('\n', out);
	}
}

void out_time_left(const json_t *request, char *out, size_t size)
{
	json_int_t left = json_integer_value(json_object_get(request, "remaining_ms")) / 1000;

	(void)snprintf(out, size, "%lld:%02lld", (long long)(left / 60), (long long)(left % 60));
}
