/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
/* agent-supervisord: asks people, keeps their answers, writes the audit log. One for each user. It
 * does not fork: agentctl starts it in the background, systemd as a user service. */

#include <getopt.h>
#include <stdio.h>
#include <sys/stat.h>

#include "supervisord/base/log.h"
#include "supervisord/daemon/daemon.h"

static const char help[] =
	"Usage: agent-supervisord [--foreground]\n"
	"\n"
	"Asks people about what agents want to do, keeps the answers, and writes the signed\n"
	"audit log. One runs for each user; `agentctl` starts it when it is needed.\n"
	"\n"
	"  --foreground  stay in the foreground (the default: it never forks)\n"
	"  --help        this text\n"
	"  --version     the version\n"
	"\n"
	"Files: $XDG_RUNTIME_DIR/agent-supervisor/control (socket),\n"
	"$XDG_STATE_HOME/agent-supervisor/audit/ (log). AGENT_SUPERVISOR_LOG=debug tells more.\n"
	"SIGTERM ends it: what waits for an answer is denied, sessions go on by their rules.\n"
	"\n"
	"Examples:\n"
	"  agent-supervisord\n"
	"  AGENT_SUPERVISOR_LOG=info agent-supervisord --foreground\n";

enum { OPT_HELP = 256, OPT_VERSION, OPT_FOREGROUND };

/* -1: go on; else the exit status. */
static int parse_options(int argc, char **argv)
{
	static const struct option options[] = {
		{"help", no_argument, NULL, OPT_HELP},
		{"version", no_argument, NULL, OPT_VERSION},
		{"foreground", no_argument, NULL, OPT_FOREGROUND},
		{NULL, 0, NULL, 0},
	};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		switch (c) {
		case OPT_HELP:
			(void)fputs(help, stdout);
			return 0;
		case OPT_VERSION:
			(void)puts("agent-supervisord " AGENT_SUPERVISOR_VERSION);
			return 0;
		case OPT_FOREGROUND:
			break;
		default:
			return 2;
		}
	}
	if (optind == argc)
		return -1;
	(void)fprintf(stderr, "agent-supervisord: takes no arguments; see --help\n");
	return 2;
}

int main(int argc, char **argv)
{
	_cleanup_(daemon_freep) struct daemon *daemon = NULL;
	int r;

	log_init("agent-supervisord");
	(void)umask(0077);
	r = parse_options(argc, argv);
	if (r >= 0)
		return r;
	r = daemon_new(&daemon);
	if (r == DAEMON_E_RUNNING) {
		log_notice("already running for this user");
		return 0;
	}
	if (r < 0) {
		log_error_r(r, "cannot start");
		return 1;
	}
	r = daemon_run(daemon);
	if (r < 0) {
		log_error_r(r, "the event loop failed");
		return 1;
	}
	return 0;
}
