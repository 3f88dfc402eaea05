/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
/* agentctl: finds the verb, reads nothing else of the command line, and runs it. */

#include "agentctl/verb.h"

#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "agentctl/output.h"
#include "supervisord/base/log.h"

static const struct verb *const verbs[] = {
	&verb_run,
	&verb_ps,
	&verb_stop, /* sessions */
	&verb_pending,
	&verb_approve,
	&verb_tui,
	&verb_allow,
	&verb_deny, /* answers */
	&verb_why,
	&verb_policy_check,
	&verb_policy_explain,
	&verb_plan, /* policy */
	&verb_log_show,
	&verb_log_tail,
	&verb_log_verify, /* records */
	&verb_daemon_start,
	&verb_daemon_stop,
	&verb_daemon_status,
	&verb_doctor, /* the program */
	&verb_version,
};

static void print_help(FILE *out)
{
	(void)fputs(
		"usage: agentctl VERB [OPTIONS] [ARGUMENTS]\n"
		"\n"
		"Runs programs under a policy, answers their questions, shows what was recorded.\n"
		"\n",
		out);
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		(void)fprintf(out, "  %-16s %s\n", verbs[i]->name, verbs[i]->summary);
	(void)fputs(
		"\n"
		"agentctl VERB --help shows a verb's options and examples.\n"
		"\n"
		"  agentctl run -- make            run make under the core policy, in this folder\n"
		"  agentctl approve                answer its questions, in another terminal\n"
		"  agentctl why last               why the last thing was denied\n",
		out);
}

/* Does WORDS (N of them) begin with the words of NAME? The number of words, or 0. */
static int match_name(const char *name, char **words, int n)
{
	const char *space = strchr(name, ' ');
	size_t first = space ? (size_t)(space - name) : strlen(name);

	if (n < 1 || strlen(words[0]) != first || strncmp(words[0], name, first) != 0)
		return 0;
	if (!space)
		return 1;
	return n >= 2 && strcmp(words[1], space + 1) == 0 ? 2 : 0;
}

/* "agentctl policy": the verbs that begin with this word. False when there are none. */
static bool print_group(const char *word, FILE *out)
{
	size_t length = strlen(word);
	bool found = false;

	for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
		const char *name = verbs[i]->name;

		if (strncmp(name, word, length) != 0 || name[length] != ' ')
			continue;
		if (!found)
			(void)fprintf(out, "usage: agentctl %s VERB ...\n\n", word);
		found = true;
		(void)fprintf(out, "  %-16s %s\n", name, verbs[i]->summary);
	}
	return found;
}

static int unknown_verb(const char *word, const char *second)
{
	if (!print_group(word, stderr))
		out_error("there is no verb \"%s\"; agentctl --help lists them", word);
	else if (second)
		out_error("there is no verb \"%s %s\"", word, second);
	return EXIT_USAGE;
}

static int run_verb(const struct verb *verb, int argc, char **argv)
{
	struct options options;
	int status;

	if (options_init(&options, verb->options, verb->n_options, argc, argv,
		    verb->stop_at_operand) < 0)
		out_of_memory();
	status = verb->main(verb, &options);
	options_deinit(&options);
	if (fflush(stdout) != 0 && status == EXIT_OK)
		status = verb->usage_status == EXIT_SUPERVISOR ? EXIT_SUPERVISOR : EXIT_FAILED;
	return status;
}

/* "help VERB" is "VERB --help". */
static int show_help(int argc, char **argv)
{
	static char option[] = "--help", *only_help[] = {option};

	if (argc < 1) {
		print_help(stdout);
		return EXIT_OK;
	}
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		if (match_name(verbs[i]->name, argv, argc) > 0)
			return run_verb(verbs[i], 1, only_help);
	return print_group(argv[0], stdout) ? EXIT_OK : unknown_verb(argv[0], NULL);
}

int main(int argc, char **argv)
{
	(void)setlocale(LC_CTYPE, "");
	log_init("agentctl");
	/* A parent may have left SIGCHLD ignored: then nobody could learn an exit status. */
	(void)signal(SIGCHLD, SIG_DFL);

	if (argc < 2) {
		print_help(stderr);
		return EXIT_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
		strcmp(argv[1], "help") == 0)
		return show_help(argc - 2, argv + 2);
	if (strcmp(argv[1], "--version") == 0)
		argv[1] += 2;
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
		int n = match_name(verbs[i]->name, argv + 1, argc - 1);

		if (n > 0)
			return run_verb(verbs[i], argc - 1 - n, argv + 1 + n);
	}
	if (argc == 3 && strcmp(argv[2], "--help") == 0 && print_group(argv[1], stdout))
		return EXIT_OK;
	return unknown_verb(argv[1], argv[2]);
}
