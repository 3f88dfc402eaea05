/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef AGENTCTL_OUTPUT_H
#define AGENTCTL_OUTPUT_H

/* How agentctl speaks: messages, tables, JSON. Nothing that comes from a session, a file or the
 * daemon reaches the terminal but through here. agentctl may end when memory is short; these do. */

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "agentctl/verb.h"
#include "supervisord/base/cleanup.h"

/* Says so and exits with EXIT_SUPERVISOR. */
void out_of_memory(void) __attribute__((noreturn));

/* "agentctl: TEXT" on standard error. The whole text is made safe for a terminal. */
void out_error(const char *format, ...) _printf_(1, 2);

/* Prints the hint for a wrong command line and returns the verb's status for it. */
int out_usage(const struct verb *verb, const char *format, ...) _printf_(2, 3);
/* What a verb does with a negative result of options_next() other than OPTIONS_END: prints help or
 * the error; returns the exit status. */
int out_options(const struct verb *verb, const struct options *options, int result);

/* For a verb whose options are at most one flag and that takes no operands. -1 with *FLAGP set, or
 * the exit status after a message. */
int out_one_flag(const struct verb *verb, struct options *options, bool *flagp);

/* Text that is already escaped stays; what is not is escaped. Owned by the caller, never NULL; a
 * NULL TEXT is "-". */
char *out_safe(const char *text);
/* The same from a member of a JSON object; "-" when it is no string. */
char *out_member(const json_t *object, const char *key);

/* Compact JSON and a newline on standard output. */
void out_json(const json_t *json);

/* May OUT be coloured? Only terminals, and never with NO_COLOR or TERM=dumb. */
bool out_colours(FILE *out);

/* Rows of cells; all but the last column are padded to the widest. */
struct out_table;
struct out_table *out_table_new(size_t n_columns);
void out_table_free(struct out_table *table);
DEFINE_CLEANUP(struct out_table *, out_table_free);
/* Adds one cell, copied and made safe; rows fill from left to right. */
void out_table_add(struct out_table *table, const char *cell);
/* The first row is a heading. */
void out_table_print(const struct out_table *table, FILE *out);

/* "1:05": the time that the pending REQUEST had left when it was fetched. */
void out_time_left(const json_t *request, char *out, size_t size);

#endif
