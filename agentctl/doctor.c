/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
/* agentctl doctor: what this system offers, tried with real children, and what is in the way. */

#include <string.h>

#include "agentctl/connect.h"
#include "agentctl/output.h"
#include "supervisord/sandbox/probe.h"

static const char help[] =
	"usage: agentctl doctor [--json]\n"
	"\n"
	"Tries every primitive that the supervisor needs, with real child processes, and says\n"
	"what is missing, what is lost without it, and the one thing to do. Changes nothing.\n"
	"Exit status 0 when sessions can run, 1 when not.\n"
	"\n"
	"  --json   one object\n"
	"\n"
	"  agentctl doctor\n";

static const struct option_def options_[] = {{"json", 0, NULL}};

static void print_item(const struct probe_result *item)
{
	const char *word = item->ok ? "ok" : item->required ? "MISSING" : "absent";

	if (item->ok && item->value > 1)
		printf("%-8s %-22s %d\n", word, item->name, item->value);
	else
		printf("%-8s %s\n", word, item->name);
	if (item->ok)
		return;
	if (item->error)
		printf("         cause: %s\n", strerror(item->error));
	printf("         lost without it: %s\n", item->what);
	if (item->remedy[0])
		printf("         remedy: %s\n", item->remedy);
}

static bool find_program(const char *name, bool json)
{
	_cleanup_(freep) char *path = NULL;
	int r = dirs_find_program(name, &path);

	if (!json && r == 0)
		printf("%-8s %s (%s)\n", "ok", name, path);
	else if (!json)
		printf("%-8s %s\n         remedy: it must stand beside agentctl; install or build "
		       "again\n",
			"MISSING", name);
	return r == 0;
}

/* "running", "not running" (it is started when needed) or "unreachable". */
static const char *daemon_state(void)
{
	_cleanup_(client_closep) struct client *client = NULL;
	struct dirs dirs;
	int r;

	connect_dirs(&dirs);
	r = client_connect(dirs.control, &client);
	dirs_deinit(&dirs);
	if (r == 0)
		return "running";
	return r == -ENOENT || r == -ECONNREFUSED ? "not running" : "unreachable";
}

static int doctor(bool json)
{
	static const char *const programs[] = {"agent-supervisord", "agent-broker", "agent-tui"};
	_cleanup_(json_decrefp) json_t *object = NULL;
	struct probe probe;
	bool good, complete = true;
	const char *daemon = daemon_state();
	int r = probe_run(&probe);

	if (r < 0) {
		out_error("this system cannot be probed: %s", strerror(-r));
		return EXIT_FAILED;
	}
	for (size_t i = 0; !json && i < _PROBE_N; i++)
		print_item(&probe.items[i]);
	for (size_t i = 0; i < ARRAY_LEN(programs); i++)
		complete = find_program(programs[i], json) && complete;
	good = !probe_missing(&probe) && complete;
	if (!json) {
		printf("%-8s supervisor: %s\n",
			strcmp(daemon, "unreachable") == 0 ? "MISSING" : "ok", daemon);
		puts(good ? "sessions can run here" : "sessions cannot run here yet");
		return good ? EXIT_OK : EXIT_FAILED;
	}
	object = json_pack("{s:o, s:b, s:b, s:s}", "probe", probe_to_json(&probe), "programs",
		complete, "ok", good, "daemon", daemon);
	if (!object)
		out_of_memory();
	out_json(object);
	return good ? EXIT_OK : EXIT_FAILED;
}

static int verb_main(const struct verb *verb, struct options *options)
{
	bool json = false;
	int status = out_one_flag(verb, options, &json);

	return status >= 0 ? status : doctor(json);
}

const struct verb verb_doctor = {
	.name = "doctor",
	.summary = "find out whether sessions can run here",
	.help = help,
	.options = options_,
	.n_options = ARRAY_LEN(options_),
	.usage_status = EXIT_USAGE,
	.main = verb_main,
};
