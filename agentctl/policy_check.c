/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
/* agentctl policy check: reads policy files as a session would, and says what is wrong with them.
 */

#include <string.h>

#include "agentctl/connect.h"
#include "agentctl/output.h"
#include "agentctl/policies.h"
#include "supervisord/base/diag.h"

static const char help[] =
	"usage: agentctl policy check [--json] [--layer LAYER] FILE...\n"
	"\n"
	"Checks policy files together with the shipped core policy, and runs their inline tests.\n"
	"Prints FILE:LINE:COL: message. Exit status 0 when all are usable, 78 when not.\n"
	"\n"
	"      --layer LAYER   where they would stand: builtin, org, user, project (default: what\n"
	"                      each file says itself)\n"
	"      --json          an array of objects: file line column severity message\n"
	"\n"
	"  agentctl policy check ~/.config/agent-supervisor/policy.d/*.policy\n"
	"  agentctl policy check .agent-policy\n";

enum {
	OPT_JSON,
	OPT_LAYER,
};

static const struct option_def options_[] = {
	[OPT_JSON] = {"json", 0, NULL},
	[OPT_LAYER] = {"layer", 0, "LAYER"},
};

/* The word behind "layer" in the first statement; user when it cannot be found: the parser then
 * says what is wrong with that line. */
static enum policy_layer stated_layer(const struct spec_policy *policy)
{
	const char *line = policy->text;
	enum policy_layer layer;
	char word[16];

	while (line && *line) {
		const char *start = line + strspn(line, " \t\r\n");
		const char *at;

		if (*start == '#') {
			line = strchr(start, '\n');
			continue;
		}
		at = strstr(start, " layer ");
		if (at && sscanf(at + 7, "%15s", word) == 1 &&
			policy_layer_from_name(word, &layer) == 0)
			return layer;
		break;
	}
	return LAYER_USER;
}

static json_t *diags_to_json(const struct diag_list *diags)
{
	json_t *array = json_array();

	if (!array)
		out_of_memory();
	for (size_t i = 0; i < diags->n_items; i++) {
		const struct diag *diag = &diags->items[i];
		_cleanup_(freep) char *file = out_safe(diag->file);
		_cleanup_(freep) char *message = out_safe(diag->message);
		json_t *object = json_pack("{s:s, s:i, s:i, s:s, s:s}", "file", file, "line",
			(int)diag->line, "column", (int)diag->column, "severity",
			diag->severity == DIAG_ERROR ? "error" : "warning", "message", message);

		if (!object || json_array_append_new(array, object) < 0)
			out_of_memory();
	}
	return array;
}

/* Adds all, then seals. */
static int check_all(
	struct policy_set *set, const struct session_spec *spec, struct diag_list *diags)
{
	struct diag_list shipped; /* what nobody here can mend */
	bool builtin = false;
	int r = 0;

	diag_list_init(&shipped);
	for (size_t i = 0; i < spec->n_policies; i++) {
		const struct spec_policy *policy = &spec->policies[i];
		int s = policy_set_add(
			set, policy->file, policy->text, policy->size, policy->layer, diags);

		if (policy->layer == LAYER_BUILTIN)
			builtin = true;
		if (r == 0)
			r = s;
	}
	/* A shipped policy under work stands for itself. */
	if (r == 0 && !builtin)
		r = policy_set_add_builtin(set, "core", &shipped);
	diag_list_deinit(&shipped);
	return r != 0 ? r : policy_set_seal(set, diags);
}

static int check(const struct session_spec *spec, bool json)
{
	_cleanup_(policy_set_freep) struct policy_set *set = NULL;
	struct policies_vars vars;
	struct diag_list diags;
	struct dirs dirs;
	int r;

	connect_dirs(&dirs);
	policies_vars_init(&vars, &dirs, spec->workspace);
	diag_list_init(&diags);
	r = policy_set_new(&vars.vars, &set);
	if (r == 0)
		r = check_all(set, spec, &diags);
	if (r == -ENOMEM)
		out_of_memory();
	if (json) {
		_cleanup_(json_decrefp) json_t *array = diags_to_json(&diags);

		out_json(array);
	} else {
		diag_list_print(&diags, stdout);
		if (r == 0)
			printf("%zu %s usable\n", spec->n_policies,
				spec->n_policies == 1 ? "policy is" : "policies are");
	}
	diag_list_deinit(&diags);
	policies_vars_deinit(&vars);
	dirs_deinit(&dirs);
	return r == 0 ? EXIT_OK : EXIT_POLICY;
}

static int verb_main(const struct verb *verb, struct options *options)
{
	_cleanup_(spec_freep) struct session_spec *spec = calloc(1, sizeof(*spec));
	enum policy_layer layer = _LAYER_N;
	const char *value;
	bool json = false;
	int id;

	if (!spec)
		out_of_memory();
	while ((id = options_next(options, &value)) >= 0) {
		if (id == OPT_JSON)
			json = true;
		else if (policy_layer_from_name(value, &layer) < 0)
			return out_usage(verb, "there is no layer \"%s\"", value);
	}
	if (id != OPTIONS_END)
		return out_options(verb, options, id);
	if (options->n_operands == 0)
		return out_usage(verb, "needs at least one file");
	spec->workspace = realpath(".", NULL);
	if (!spec->workspace)
		return out_usage(verb, "the current folder cannot be used: %s", strerror(errno));
	for (int i = 0; i < options->n_operands; i++) {
		/* Only a check: no matter who owns the file. */
		int status = policies_read_file(spec, options->operands[i], LAYER_BUILTIN);

		if (status >= 0)
			return status;
		spec->policies[i].layer =
			layer != _LAYER_N ? layer : stated_layer(&spec->policies[i]);
	}
	return check(spec, json);
}

const struct verb verb_policy_check = {
	.name = "policy check",
	.summary = "check policy files",
	.help = help,
	.options = options_,
	.n_options = ARRAY_LEN(options_),
	.usage_status = EXIT_USAGE,
	.main = verb_main,
};
