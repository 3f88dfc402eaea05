/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */

#include "supervisord/base/dirs.h"

#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "supervisord/base/error.h"
#include "supervisord/base/proc.h"

#define DIRS_NAME "agent-supervisor"
#define DIRS_PASSWD_MAX (64 * 1024)

/* "BASE/NAME"; NULL when out of memory. */
static char *dirs_join(const char *base, const char *name)
{
	char *path = NULL;

	return asprintf(&path, "%s/%s", base, name) < 0 ? NULL : path;
}

/* A copy of PATH without slashes at its end. */
static char *dirs_trim(const char *path)
{
	size_t size = strlen(path);

	while (size > 1 && path[size - 1] == '/')
		size--;
	return strndup(path, size);
}

/* The variable NAME where it is an absolute path: relative ones are to be ignored, as the XDG base
 * directory rules say. */
static const char *dirs_env(const char *name)
{
	const char *value = getenv(name);

	return value && value[0] == '/' ? value : NULL;
}

static int dirs_find_home(char **homep)
{
	_cleanup_(freep) char *space = NULL;
	const char *home = dirs_env("HOME");
	struct passwd entry, *found = NULL;

	if (!home) {
		space = malloc(DIRS_PASSWD_MAX);
		if (!space)
			return err_trace(-ENOMEM);
		if (getpwuid_r(geteuid(), &entry, space, DIRS_PASSWD_MAX, &found) != 0 || !found ||
			found->pw_dir[0] != '/')
			return err_trace(-ENOENT);
		home = found->pw_dir;
	}
	*homep = dirs_trim(home);
	return *homep ? 0 : err_trace(-ENOMEM);
}

/* $VARIABLE/agent-supervisor, else HOME/FALLBACK/agent-supervisor. */
static char *dirs_xdg(const char *variable, const char *home, const char *fallback)
{
	_cleanup_(freep) char *base = NULL;
	const char *value = dirs_env(variable);

	base = value ? dirs_trim(value) : dirs_join(home, fallback);
	return base ? dirs_join(base, DIRS_NAME) : NULL;
}

static char *dirs_find_runtime(void)
{
	const char *value = dirs_env("XDG_RUNTIME_DIR");
	_cleanup_(freep) char *base = NULL;
	char *path = NULL;
	struct stat st;

	if (value) {
		base = dirs_trim(value);
		return base ? dirs_join(base, DIRS_NAME) : NULL;
	}
	if (asprintf(&base, "/run/user/%u", geteuid()) < 0) {
		base = NULL;
		return NULL;
	}
	if (lstat(base, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid())
		return dirs_join(base, DIRS_NAME);
	return asprintf(&path, "/tmp/" DIRS_NAME "-%u", geteuid()) < 0 ? NULL : path;
}

int dirs_init(struct dirs *dirs)
{
	int r;

	*dirs = (struct dirs){0};
	r = dirs_find_home(&dirs->home);
	if (r < 0)
		return err_trace(r);
	dirs->config = dirs_xdg("XDG_CONFIG_HOME", dirs->home, ".config");
	dirs->state = dirs_xdg("XDG_STATE_HOME", dirs->home, ".local/state");
	dirs->runtime = dirs_find_runtime();
	dirs->org = strdup("/etc/" DIRS_NAME);
	if (dirs->state) {
		dirs->audit = dirs_join(dirs->state, "audit/default");
		dirs->spool = dirs_join(dirs->state, "spool");
	}
	if (dirs->runtime)
		dirs->control = dirs_join(dirs->runtime, "control");
	if (dirs->config && dirs->org && dirs->audit && dirs->spool && dirs->control)
		return 0;
	dirs_deinit(dirs);
	return err_trace(-ENOMEM);
}

void dirs_deinit(struct dirs *dirs)
{
	freep(&dirs->home);
	freep(&dirs->config);
	freep(&dirs->state);
	freep(&dirs->runtime);
	freep(&dirs->org);
	freep(&dirs->audit);
	freep(&dirs->spool);
	freep(&dirs->control);
	*dirs = (struct dirs){0};
}

/* The folder of the running program, UP levels higher. */
static int dirs_own_folder(unsigned up, char **folderp)
{
	_cleanup_(freep) char *path = NULL;
	char *slash;
	unsigned i;
	int r;

	r = proc_link(getpid(), "exe", &path);
	if (r < 0)
		return err_trace(r);
	for (i = 0; i <= up; i++) {
		slash = strrchr(path, '/');
		if (!slash)
			return err_trace(-ENOENT);
		*slash = '\0';
	}
	*folderp = TAKE_PTR(path);
	return 0;
}

static int dirs_find_beside(unsigned up, const char *name, int access_mode, char **pathp)
{
	_cleanup_(freep) char *folder = NULL;
	_cleanup_(freep) char *path = NULL;
	int r;

	r = dirs_own_folder(up, &folder);
	if (r < 0)
		return r;
	path = dirs_join(folder, name);
	if (!path)
		return err_trace(-ENOMEM);
	if (access(path, access_mode) < 0)
		return err_errno();
	*pathp = TAKE_PTR(path);
	return 0;
}

int dirs_find_program(const char *name, char **pathp)
{
	return dirs_find_beside(0, name, X_OK, pathp);
}

int dirs_find_preload(char **pathp)
{
	int r;

	r = dirs_find_beside(1, "lib/agent-supervisor-open.so", R_OK, pathp);
	if (r < 0)
		r = dirs_find_beside(
			1, "lib/agent-supervisor/agent-supervisor-open.so", R_OK, pathp);
	return r;
}
