/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
/* Makes the specification of a session. Starts nothing. */

#include "agentctl/run_spec.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "agentctl/output.h"
#include "agentctl/policies.h"

extern char **environ;

static char *copy(const char *text)
{
	char *result = strdup(text);

	if (!result)
		out_of_memory();
	return result;
}

static char **copy_list(char *const *list, size_t n)
{
	char **result = calloc(n + 1, sizeof(char *));

	if (!result)
		out_of_memory();
	for (size_t i = 0; i < n; i++)
		result[i] = copy(list[i]);
	return result;
}

static void copy_environment(struct session_spec *spec)
{
	size_t n = 0;

	while (environ && environ[n])
		n++;
	spec->env = copy_list(environ, n);
	spec->n_env = n;
}

static void fill_terminal(struct session_spec *spec)
{
	struct winsize size = {.ws_row = 24, .ws_col = 80};

	spec->pty = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	if (spec->pty && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0)
		size = (struct winsize){.ws_row = 24, .ws_col = 80};
	spec->rows = size.ws_row;
	spec->cols = size.ws_col;
}

/* -1, or the exit status. */
static int fill_folders(
	const struct verb *verb, const struct run_options *options, struct session_spec *spec)
{
	const char *workspace = options->workspace ? options->workspace : ".";
	struct stat st;

	spec->cwd = realpath(".", NULL);
	if (!spec->cwd) {
		out_error("the current folder cannot be used: %s", strerror(errno));
		return verb->usage_status == EXIT_SUPERVISOR ? EXIT_SUPERVISOR : EXIT_FAILED;
	}
	spec->workspace = realpath(workspace, NULL);
	if (!spec->workspace || stat(spec->workspace, &st) < 0)
		return out_usage(
			verb, "the workspace %s cannot be used: %s", workspace, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return out_usage(verb, "the workspace %s is not a folder", workspace);
	return -1;
}

static void warn_wide_workspace(const struct dirs *dirs, const struct session_spec *spec)
{
	_cleanup_(freep) char *home = realpath(dirs->home, NULL);
	bool root = strcmp(spec->workspace, "/") == 0;

	if (root || (home && strcmp(home, spec->workspace) == 0))
		out_error("the workspace is %s: everything in it counts as the project "
			  "(--workspace DIR narrows it)",
			root ? "the whole file system" : "your whole home folder");
}

int run_spec_make(const struct verb *verb, const struct run_options *options,
	const struct dirs *dirs, char *const *command, size_t n, struct session_spec **specp,
	struct policy_set **setp)
{
	_cleanup_(spec_freep) struct session_spec *spec = calloc(1, sizeof(*spec));
	const char *slash;
	int status;

	if (!spec)
		out_of_memory();
	status = fill_folders(verb, options, spec);
	if (status >= 0)
		return status;
	spec->argv = copy_list(command, n);
	spec->n_argv = n;
	slash = n > 0 ? strrchr(command[0], '/') : NULL;
	spec->agent = copy(slash ? slash + 1 : n > 0 ? command[0] : "-");
	copy_environment(spec);
	spec->profile = copy(options->profile);
	spec->control = copy(dirs->control);
	if (dirs_find_preload(&spec->preload) < 0)
		spec->preload = NULL; /* only an accelerator */
	spec->no_ask = options->no_ask;
	spec->reduced_userns = options->reduced_userns;
	spec->timeout_usec = options->timeout_usec;
	fill_terminal(spec);
	status = policies_read(dirs, options->policies, options->n_policies, spec);
	if (status < 0)
		status = policies_load(dirs, spec, setp);
	if (status >= 0)
		return status;
	if (verb == &verb_run)
		warn_wide_workspace(dirs, spec);
	*specp = TAKE_PTR(spec);
	return -1;
}
