/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
/* agentctl log tail: the last records, and those that come. */

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>

#include "agentctl/connect.h"
#include "agentctl/log_line.h"
#include "agentctl/output.h"
#include "audit-log/audit.h"
#include "supervisord/base/parse.h"

#define TAIL_MAX 1000000

static const char help[] = "usage: agentctl log tail [-f] [-n N] [--json]\n"
			   "\n"
			   "Prints the last records of the audit log.\n"
			   "\n"
			   "  -f, --follow    go on with every new record, until interrupted\n"
			   "  -n, --lines N   start with the last N (10)\n"
			   "      --json      the records as they are in the log, one a line\n"
			   "\n"
			   "  agentctl log tail -n 50\n"
			   "  agentctl log tail -f --json | jq -c '[.type, .object]'\n";

enum {
	OPT_FOLLOW,
	OPT_LINES,
	OPT_JSON,
};

static const struct option_def options_[] = {
	[OPT_FOLLOW] = {"follow", 'f', NULL},
	[OPT_LINES] = {"lines", 'n', "N"},
	[OPT_JSON] = {"json", 0, NULL},
};

struct tail {
	struct log_filter filter;
	uint64_t next;
};

static int on_count(void *userdata, uint64_t index, const char *line, size_t size)
{
	(void)line;
	(void)size;
	*(uint64_t *)userdata = index + 1;
	return 0;
}

static int on_record(void *userdata, uint64_t index, const char *line, size_t size)
{
	struct tail *tail = userdata;

	log_line_print(&tail->filter, index, line, size);
	tail->next = index + 1;
	return ferror(stdout) ? 1 : 0;
}

static int read_failed(const char *dir, int r)
{
	if (r == -ENOENT)
		out_error("there is no log yet in %s", dir);
	else
		out_error("the log in %s cannot be read: %s", dir, strerror(-r));
	return EXIT_FAILED;
}

/* Prints what is new, each time the log's folder changes. */
static int follow(const char *dir, struct tail *tail)
{
	_cleanup_(closep) int fd = inotify_init1(IN_CLOEXEC);
	_cleanup_(freep) char *segments = NULL;
	char events[4096];
	int r;

	if (asprintf(&segments, "%s/seg", dir) < 0)
		out_of_memory();
	if (fd < 0 || inotify_add_watch(fd, segments, IN_MODIFY | IN_CREATE | IN_MOVED_TO) < 0) {
		out_error("the log in %s cannot be watched: %s", dir, strerror(errno));
		return EXIT_FAILED;
	}
	for (;;) {
		struct pollfd fds[] = {
			{.fd = fd, .events = POLLIN},
			/* The reader of a pipe that is gone: nobody wants more. */
			{.fd = STDOUT_FILENO, .events = 0},
		};

		r = audit_read(dir, tail->next, on_record, tail);
		if (r < 0)
			return read_failed(dir, r);
		if (r > 0 || fflush(stdout) != 0)
			return EXIT_OK;
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return EXIT_FAILED;
		if (fds[1].revents & POLLERR)
			return EXIT_OK;
		if (fds[0].revents && read(fd, events, sizeof(events)) < 0 && errno != EINTR)
			return EXIT_FAILED;
	}
}

static int tail_log(const char *dir, uint64_t lines, bool following, struct tail *tail)
{
	uint64_t size = 0;
	int r = audit_read(dir, 0, on_count, &size);

	if (r < 0)
		return read_failed(dir, r);
	tail->next = size > lines ? size - lines : 0;
	if (following)
		return follow(dir, tail);
	r = audit_read(dir, tail->next, on_record, tail);
	return r < 0 ? read_failed(dir, r) : EXIT_OK;
}

static int verb_main(const struct verb *verb, struct options *options)
{
	struct tail tail = {0};
	bool following = false;
	uint64_t lines = 10;
	const char *value;
	struct dirs dirs;
	int id, status;

	while ((id = options_next(options, &value)) >= 0) {
		if (id == OPT_FOLLOW)
			following = true;
		else if (id == OPT_JSON)
			tail.filter.json = true;
		else if (parse_u64(value, TAIL_MAX, &lines) < 0)
			return out_usage(verb, "-n takes a number, not \"%s\"", value);
	}
	if (id != OPTIONS_END)
		return out_options(verb, options, id);
	if (options->n_operands > 0)
		return out_usage(verb, "takes no arguments");
	connect_dirs(&dirs);
	status = tail_log(dirs.audit, lines, following, &tail);
	dirs_deinit(&dirs);
	return status;
}

const struct verb verb_log_tail = {
	.name = "log tail",
	.summary = "print the last records, and follow",
	.help = help,
	.options = options_,
	.n_options = ARRAY_LEN(options_),
	.usage_status = EXIT_USAGE,
	.main = verb_main,
};
