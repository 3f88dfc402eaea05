/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
/* agentctl daemon start, stop, status. */

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/syscall.h>

#include "agentctl/connect.h"
#include "agentctl/output.h"

#define STOP_WAIT_MS 30000

static const char start_help[] =
	"usage: agentctl daemon start\n"
	"\n"
	"Starts the supervisor when none runs. \"agentctl run\" does it too.\n"
	"\n"
	"  agentctl daemon start\n";
static const char stop_help[] =
	"usage: agentctl daemon stop [--force]\n"
	"\n"
	"Stops the supervisor once its log is safe. Refused while sessions run.\n"
	"\n"
	"      --force   also while sessions run: their questions are denied\n"
	"\n"
	"  agentctl daemon stop\n";
static const char status_help[] =
	"usage: agentctl daemon status [--json]\n"
	"\n"
	"Says whether the supervisor runs, and how it is. Exit status 0 when\n"
	"it runs, 1 when not.\n"
	"\n"
	"      --json   one object\n"
	"\n"
	"  agentctl daemon status\n";

static const struct option_def stop_options[] = {{"force", 0, NULL}};
static const struct option_def status_options[] = {{"json", 0, NULL}};

static int start_main(const struct verb *verb, struct options *options)
{
	struct dirs dirs;
	bool flag = false;
	int r, status = out_one_flag(verb, options, &flag);

	if (status >= 0)
		return status;
	if (connect_inside_session()) {
		out_error("a supervised program cannot start a supervisor");
		return EXIT_FAILED;
	}
	connect_dirs(&dirs);
	r = connect_start(&dirs);
	dirs_deinit(&dirs);
	if (r < 0)
		return EXIT_FAILED;
	puts("running");
	return EXIT_OK;
}

/* A descriptor of the running daemon's process, or -1: its death can be waited for. */
static int daemon_pidfd(struct client *client)
{
	_cleanup_(json_decrefp) json_t *state = NULL;
	json_int_t pid;

	if (connect_call(client, "Status", NULL, &state) < 0)
		return -1;
	pid = json_integer_value(json_object_get(state, "pid"));
	return pid > 0 ? (int)syscall(SYS_pidfd_open, (pid_t)pid, 0) : -1;
}

/* The daemon's last act is to close its log: stopped means that its process is gone. */
static int wait_stopped(int pidfd)
{
	struct pollfd fd = {.fd = pidfd, .events = POLLIN};
	int r;

	do
		r = poll(&fd, 1, STOP_WAIT_MS);
	while (r < 0 && errno == EINTR);
	if (pidfd < 0 || r > 0) {
		puts("stopped");
		return EXIT_OK;
	}
	out_error("the supervisor is still stopping");
	return EXIT_FAILED;
}

static int stop_daemon(const struct dirs *dirs, bool force)
{
	_cleanup_(client_closep) struct client *client = NULL;
	_cleanup_(json_decrefp) json_t *result = NULL;
	_cleanup_(closep) int pidfd = -1;
	json_t *parameter;
	int r = connect_daemon(dirs, &client);

	if (r == -ENOENT) {
		puts("not running");
		return EXIT_OK;
	}
	if (r < 0)
		return EXIT_FAILED;
	parameter = force ? json_pack("{s:b}", "force", 1) : json_object();
	if (!parameter)
		out_of_memory();
	pidfd = daemon_pidfd(client);
	if (connect_call(client, "Shutdown", parameter, &result) < 0)
		return EXIT_FAILED;
	client_close(TAKE_PTR(client));
	return wait_stopped(pidfd);
}

static int stop_main(const struct verb *verb, struct options *options)
{
	struct dirs dirs;
	bool force = false;
	int status = out_one_flag(verb, options, &force);

	if (status >= 0)
		return status;
	connect_dirs(&dirs);
	status = stop_daemon(&dirs, force);
	dirs_deinit(&dirs);
	return status;
}

static void print_status(const json_t *state)
{
	const json_t *log = json_object_get(state, "log");
	_cleanup_(freep) char *version = out_member(state, "version");
	_cleanup_(freep) char *log_state = out_member(log, "state");
	_cleanup_(freep) char *dir = out_member(log, "dir");

	printf("running  version %s, pid %lld\n", version,
		(long long)json_integer_value(json_object_get(state, "pid")));
	printf("  sessions  %lld\n",
		(long long)json_integer_value(json_object_get(state, "sessions")));
	printf("  pending   %lld\n",
		(long long)json_integer_value(json_object_get(state, "pending")));
	printf("  log       %s  %s\n", log_state, dir);
}

static int status_main(const struct verb *verb, struct options *options)
{
	_cleanup_(client_closep) struct client *client = NULL;
	_cleanup_(json_decrefp) json_t *state = NULL;
	struct dirs dirs;
	bool json = false;
	int r, status = out_one_flag(verb, options, &json);

	if (status >= 0)
		return status;
	connect_dirs(&dirs);
	r = connect_daemon(&dirs, &client);
	dirs_deinit(&dirs);
	if (r == -ENOENT) {
		puts(json ? "{\"running\":false}" : "not running");
		return EXIT_FAILED;
	}
	if (r < 0 || connect_call(client, "Status", NULL, &state) < 0)
		return EXIT_FAILED;
	if (json) {
		json_object_set_new(state, "running", json_true());
		out_json(state);
	} else {
		print_status(state);
	}
	return EXIT_OK;
}

const struct verb verb_daemon_start = {
	.name = "daemon start",
	.summary = "start the supervisor",
	.help = start_help,
	.usage_status = EXIT_USAGE,
	.main = start_main,
};

const struct verb verb_daemon_stop = {
	.name = "daemon stop",
	.summary = "stop the supervisor",
	.help = stop_help,
	.options = stop_options,
	.n_options = ARRAY_LEN(stop_options),
	.usage_status = EXIT_USAGE,
	.main = stop_main,
};

const struct verb verb_daemon_status = {
	.name = "daemon status",
	.summary = "say whether the supervisor runs",
	.help = status_help,
	.options = status_options,
	.n_options = ARRAY_LEN(status_options),
	.usage_status = EXIT_USAGE,
	.main = status_main,
};
