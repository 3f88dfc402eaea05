/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "policy-lang/ast.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A copy of line number LINE, owned by the caller; NULL where there is none. */
static char *source_line(const struct ast_policy *policy, unsigned line)
{
	const char *p = policy->text;
	const char *end = policy->text + policy->size;
	const char *stop;

	if (!line)
		return NULL;
	while (--line) {
		p = memchr(p, '\n', (size_t)(end - p));
		if (!p)
			return NULL;
		p++;
	}
	stop = memchr(p, '\n', (size_t)(end - p));
	if (!stop)
		stop = end;
	if (stop > p && stop[-1] == '\r')
		stop--;
	return strndup(p, (size_t)(stop - p));
}

void ast_diag(struct diag_list *diags, enum diag_severity severity, const struct ast_policy *policy,
	unsigned line, unsigned column, const char *format, ...)
{
	_cleanup_(freep) char *message = NULL;
	_cleanup_(freep) char *source = source_line(policy, line);
	va_list args;
	int n;

	va_start(args, format);
	n = vasprintf(&message, format, args);
	va_end(args);
	if (n < 0)
		message = NULL;
	diag_add(diags, severity, policy->file, line, column, source, "%s",
		message ? message : "out of memory");
}

const struct ast_set *ast_find_set(const struct ast_policy *policy, const char *name)
{
	for (size_t i = 0; i < policy->n_sets; i++)
		if (!strcmp(policy->sets[i].name.text, name))
			return &policy->sets[i];
	return NULL;
}
