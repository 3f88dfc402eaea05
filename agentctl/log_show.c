/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
/* agentctl log show: the audit log's records. */

#include <string.h>

#include "agentctl/connect.h"
#include "agentctl/log_line.h"
#include "agentctl/output.h"
#include "audit-log/audit.h"

static const char help[] =
	"usage: agentctl log show [--json] [--session ID] [--type TYPE]\n"
	"\n"
	"Prints the records of the audit log, oldest first.\n"
	"\n"
	"      --json          the records as they are in the log, one a line\n"
	"  -s, --session ID    only those of one session; the beginning of its id is enough\n"
	"  -t, --type TYPE     only this type, or group of types: session, decision, ask, log ...\n"
	"\n"
	"  agentctl log show --session s7\n"
	"  agentctl log show --json --type decision | jq -r .object\n";

enum {
	OPT_JSON,
	OPT_SESSION,
	OPT_TYPE,
};

static const struct option_def options_[] = {
	[OPT_JSON] = {"json", 0, NULL},
	[OPT_SESSION] = {"session", 's', "ID"},
	[OPT_TYPE] = {"type", 't', "TYPE"},
};

static int on_record(void *userdata, uint64_t index, const char *line, size_t size)
{
	log_line_print(userdata, index, line, size);
	return ferror(stdout) ? 1 : 0;
}

static int verb_main(const struct verb *verb, struct options *options)
{
	struct log_filter filter = {0};
	struct dirs dirs;
	const char *value;
	int id, r;

	while ((id = options_next(options, &value)) >= 0) {
		if (id == OPT_JSON)
			filter.json = true;
		else if (id == OPT_SESSION)
			filter.session = value;
		else
			filter.type = value;
	}
	if (id != OPTIONS_END)
		return out_options(verb, options, id);
	if (options->n_operands > 0)
		return out_usage(verb, "takes no arguments");
	connect_dirs(&dirs);
	r = audit_read(dirs.audit, 0, on_record, &filter);
	if (r == -ENOENT)
		out_error("there is no log yet in %s", dirs.audit);
	else if (r < 0)
		out_error("the log in %s cannot be read: %s", dirs.audit, strerror(-r));
	dirs_deinit(&dirs);
	return r < 0 ? EXIT_FAILED : EXIT_OK;
}

const struct verb verb_log_show = {
	.name = "log show",
	.summary = "print the audit log",
	.help = help,
	.options = options_,
	.n_options = ARRAY_LEN(options_),
	.usage_status = EXIT_USAGE,
	.main = verb_main,
};
