/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
/* Reads command lines. Knows nothing of any verb. */

#include "agentctl/options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int options_init(struct options *options, const struct option_def *defs, size_t n_defs, int argc,
	char **argv, bool stop_at_operand)
{
	*options = (struct options){
		.defs = defs,
		.n_defs = n_defs,
		.argv = argv,
		.argc = argc,
		.stop_at_operand = stop_at_operand,
	};
	options->operands = calloc((size_t)argc + 1, sizeof(char *));
	return options->operands ? 0 : -ENOMEM;
}

void options_deinit(struct options *options)
{
	free(options->operands);
	options->operands = NULL;
}

static int fail(struct options *options, const char *what, const char *name, int length)
{
	(void)snprintf(options->error, sizeof(options->error), "%s%.*s", what, length, name);
	return OPTIONS_ERROR;
}

static int take_value(struct options *options, int id, const char *attached, const char **valuep)
{
	if (attached) {
		*valuep = attached;
		return id;
	}
	if (options->next >= options->argc) {
		const char *name = options->defs[id].name;

		(void)snprintf(options->error, sizeof(options->error),
			"option --%s needs a value (%s)", name, options->defs[id].argument);
		return OPTIONS_ERROR;
	}
	*valuep = options->argv[options->next++];
	return id;
}

static int next_long(struct options *options, const char *word, const char **valuep)
{
	const char *equals = strchr(word, '=');
	size_t length = equals ? (size_t)(equals - word) : strlen(word);

	for (size_t i = 0; i < options->n_defs; i++) {
		const struct option_def *def = &options->defs[i];

		if (strlen(def->name) != length || strncmp(def->name, word, length) != 0)
			continue;
		if (def->argument)
			return take_value(options, (int)i, equals ? equals + 1 : NULL, valuep);
		if (equals)
			return fail(
				options, "no value is allowed for option --", word, (int)length);
		return (int)i;
	}
	if (length == 4 && !equals && strncmp(word, "help", 4) == 0)
		return OPTIONS_HELP;
	return fail(options, "unknown option --", word, length > 80 ? 80 : (int)length);
}

static int next_letter(struct options *options, const char **valuep)
{
	char letter = *options->letters++;
	const char *rest = *options->letters ? options->letters : NULL;

	options->letters = rest;
	for (size_t i = 0; i < options->n_defs; i++) {
		const struct option_def *def = &options->defs[i];

		if (def->letter != letter)
			continue;
		if (!def->argument)
			return (int)i;
		options->letters = NULL;
		return take_value(options, (int)i, rest, valuep);
	}
	if (letter == 'h')
		return OPTIONS_HELP;
	return fail(options, "unknown option -", &letter, 1);
}

static int end_with_rest(struct options *options)
{
	while (options->next < options->argc)
		options->operands[options->n_operands++] = options->argv[options->next++];
	return OPTIONS_END;
}

int options_next(struct options *options, const char **valuep)
{
	*valuep = NULL;
	if (options->letters)
		return next_letter(options, valuep);
	while (options->next < options->argc) {
		char *word = options->argv[options->next];

		if (word[0] == '-' && word[1] == '-' && word[2] == '\0') {
			options->next++;
			return end_with_rest(options);
		}
		if (word[0] != '-' || word[1] == '\0') {
			if (options->stop_at_operand)
				return end_with_rest(options);
			options->operands[options->n_operands++] = word;
			options->next++;
			continue;
		}
		options->next++;
		if (word[1] == '-')
			return next_long(options, word + 2, valuep);
		options->letters = word + 1;
		return next_letter(options, valuep);
	}
	return OPTIONS_END;
}
