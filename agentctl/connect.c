/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
/* Verbs and the daemon. */

#include "agentctl/connect.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "agentctl/output.h"
#include "supervisord/base/error.h"
#include "supervisord/base/file.h"
#include "supervisord/proto/bus.h"

void connect_dirs(struct dirs *dirs)
{
	int r = dirs_init(dirs);

	if (r == -ENOMEM)
		out_of_memory();
	if (r < 0) {
		out_error("no home folder can be found: set HOME");
		exit(EXIT_SUPERVISOR);
	}
}

/* Our own seccomp mode is 2 and the control socket cannot be reached: such a process is supervised,
 * whatever its environment says. */
static bool is_filtered(void)
{
	_cleanup_(freep) char *status = NULL;
	size_t size;

	if (file_read(AT_FDCWD, "/proc/self/status", 65536, &status, &size) < 0)
		return false;
	return strstr(status, "\nSeccomp:\t2\n") != NULL;
}

bool connect_inside_session(void)
{
	struct dirs dirs;
	bool inside = false;

	if (getenv("AGENT_SUPERVISOR_SESSION"))
		return true;
	if (!is_filtered() || dirs_init(&dirs) < 0)
		return false;
	{
		_cleanup_(client_closep) struct client *client = NULL;
		int r = client_connect(dirs.control, &client);

		inside = r == -EACCES || r == -EPERM;
	}
	dirs_deinit(&dirs);
	return inside;
}

int connect_daemon(const struct dirs *dirs, struct client **clientp)
{
	int r;

	if (connect_inside_session()) {
		out_error("a supervised program cannot talk to its supervisor; use another "
			  "terminal");
		return -EACCES;
	}
	r = client_connect(dirs->control, clientp);
	if (r == 0)
		return 0;
	if (r == -ENOENT || r == -ECONNREFUSED || r == -ENOTDIR)
		return -ENOENT;
	if (r == -EPERM)
		out_error("the control socket %s belongs to another user", dirs->control);
	else
		out_error(
			"the supervisor cannot be reached at %s: %s", dirs->control, strerror(-r));
	return err_trace(r);
}

/* Which of the supervisor's folders cannot be used? False when both can. */
static bool explain_folders(const struct dirs *dirs)
{
	static const char *const variables[] = {"XDG_RUNTIME_DIR", "XDG_STATE_HOME"};
	const char *const folders[] = {dirs->runtime, dirs->state};

	for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
		_cleanup_(closep) int fd = -1;
		int r = dir_open_private(folders[i], &fd);

		if (r == 0)
			continue;
		out_error("the supervisor cannot use its folder %s (see %s): %s", folders[i],
			variables[i],
			r == -EPERM ? "it is not yours, or open to others; it takes mode 0700"
				    : strerror(-r));
		return true;
	}
	return false;
}

static void explain_start(const struct dirs *dirs, int r)
{
	_cleanup_(freep) char *program = NULL;

	if (dirs_find_program("agent-supervisord", &program) == -ENOENT)
		out_error("agent-supervisord is not beside this program: the installation is "
			  "incomplete");
	else if (explain_folders(dirs))
		;
	else if (r == -EPERM)
		out_error("the control socket %s belongs to another user", dirs->control);
	else if (r == -EHOSTDOWN || r == -ETIMEDOUT)
		out_error("the supervisor %s; the end of %s/daemon.log says more",
			r == -EHOSTDOWN ? "ended while it started" : "does not become ready",
			dirs->state);
	else
		out_error("the supervisor could not be started: %s", strerror(-r));
}

int connect_start(const struct dirs *dirs)
{
	_cleanup_(client_closep) struct client *client = NULL;
	int r = client_connect_or_start(dirs->control, &client);

	if (r < 0)
		explain_start(dirs, r);
	return r;
}

int connect_required(const struct dirs *dirs, struct client **clientp)
{
	int r = connect_daemon(dirs, clientp);

	if (r == -ENOENT)
		out_error("no supervisor is running: no session has been started, or "
			  "\"agentctl daemon start\" is needed");
	return r;
}

int connect_call(struct client *client, const char *method, json_t *parameter, json_t **resultp)
{
	_cleanup_(json_decrefp) json_t *owned = parameter;
	struct client_error error = {0};
	int r = client_call(client, BUS_CONTROL, method, owned, resultp, &error);

	if (r == 0)
		return 0;
	if (r == -ENOMEM)
		out_of_memory();
	if (r == -EREMOTEIO)
		out_error("%s", error.message[0] ? error.message : error.name);
	else
		out_error("the supervisor did not answer: %s", strerror(-r));
	return r;
}

int connect_list(
	const char *method, bool json, const char *empty, void (*print)(const json_t *list))
{
	_cleanup_(client_closep) struct client *client = NULL;
	_cleanup_(json_decrefp) json_t *list = NULL;
	struct dirs dirs;
	int r;

	connect_dirs(&dirs);
	r = connect_daemon(&dirs, &client);
	dirs_deinit(&dirs);
	if (r == -ENOENT)
		list = json_array();
	else if (r < 0 || connect_call(client, method, NULL, &list) < 0)
		return EXIT_FAILED;
	if (json)
		out_json(list);
	else if (json_array_size(list) == 0)
		puts(empty);
	else
		print(list);
	return EXIT_OK;
}
