/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
/* agentctl policy explain: what the policies say to a request, by the same evaluator as in a
 * session. */

#include "agentctl/connect.h"
#include "agentctl/output.h"
#include "agentctl/run_spec.h"
#include "supervisord/base/parse.h"
#include "supervisord/proto/grant.h"

static const char help[] =
	"usage: agentctl policy explain [--json] [OPTIONS of run] WORDS...\n"
	"\n"
	"Says what a session started here with these options would answer to a request: the\n"
	"verdict first, then every rule that matches, then the line that would change it.\n"
	"\n"
	"  agentctl policy explain read ~/.ssh/id_ed25519\n"
	"  agentctl policy explain exec /usr/bin/git push origin main\n"
	"  agentctl policy explain connect tcp 192.0.2.1 port 443\n"
	"  agentctl policy explain env NPM_TOKEN\n"
	"  agentctl policy explain --policy ~/ci.policy --json write ~/notes.txt\n"
	"\n"
	"  -p, --policy FILE   as in \"agentctl run\"; also --profile and --workspace\n"
	"      --json          one object\n";

static json_t *rule_to_json(const struct policy_rule_info *rule)
{
	_cleanup_(freep) char *text = out_safe(rule->text);
	_cleanup_(freep) char *reason = rule->reason ? out_safe(rule->reason) : NULL;
	_cleanup_(freep) char *id = out_safe(rule->id);
	json_t *object = json_pack("{s:s, s:s, s:s, s:s, s:s?, s:i}", "verdict",
		verdict_name(rule->verdict), "layer", policy_layer_name(rule->layer), "rule", id,
		"text", text, "reason", reason, "line", (int)rule->line);

	if (!object)
		out_of_memory();
	return object;
}

static void print_durations(const struct policy_rule_info *rule)
{
	char span[32];

	(void)fputs("  offers:", stdout);
	for (unsigned d = 0; d < _GRANT_DURATION_N; d++)
		if (d != GRANT_SPAN && (rule->durations & (1u << d)))
			printf(" %s", grant_duration_name((enum grant_duration)d));
	for (size_t i = 0; i < rule->n_spans; i++) {
		format_span(rule->spans_usec[i], span, sizeof(span));
		printf(" %s", span);
	}
	(void)fputc('\n', stdout);
}

struct explanation {
	const struct request *request;
	enum verdict verdict;
	const struct policy_rule_info *rule;
	const struct policy_rule_info **trace;
	size_t n_trace;
	char *remedy;
};

static void print_text(const struct explanation *e)
{
	_cleanup_(freep) char *object = request_object_text(e->request);
	_cleanup_(freep) char *safe = out_safe(object);

	printf("%s  %s %s\n", verdict_name(e->verdict), op_name(e->request->op), safe);
	for (size_t i = 0; i < e->n_trace; i++) {
		const struct policy_rule_info *rule = e->trace[i];
		_cleanup_(freep) char *id = out_safe(rule->id);
		_cleanup_(freep) char *text = out_safe(rule->text);

		printf("  %-8s %s  %s%s\n", policy_layer_name(rule->layer), id, text,
			i == 0 ? "      <- decides" : "");
	}
	if (e->n_trace == 0) {
		_cleanup_(freep) char *id = out_safe(e->rule->id);
		_cleanup_(freep) char *text = out_safe(e->rule->text);

		printf("  %-8s %s  %s      <- decides\n", policy_layer_name(e->rule->layer), id,
			text);
	}
	if (e->verdict == VERDICT_ASK)
		print_durations(e->rule);
	if (e->rule->reason) {
		_cleanup_(freep) char *reason = out_safe(e->rule->reason);

		printf("  because: %s\n", reason);
	}
	if (e->remedy) {
		_cleanup_(freep) char *remedy = out_safe(e->remedy);

		printf("  to change: %s\n", remedy);
	} else if (e->verdict != VERDICT_ALLOW) {
		puts("  to change: no line of yours can change this answer");
	}
}

static void print_json(const struct explanation *e)
{
	_cleanup_(json_decrefp) json_t *object = NULL;
	_cleanup_(freep) char *text = request_object_text(e->request);
	_cleanup_(freep) char *remedy = e->remedy ? out_safe(e->remedy) : NULL;
	json_t *matches = json_array();

	for (size_t i = 0; matches && i < e->n_trace; i++)
		json_array_append_new(matches, rule_to_json(e->trace[i]));
	object = json_pack("{s:s, s:s, s:s?, s:o, s:o, s:s?}", "verdict", verdict_name(e->verdict),
		"op", op_name(e->request->op), "object", text, "decides", rule_to_json(e->rule),
		"matches", matches, "remedy", remedy);
	if (!object)
		out_of_memory();
	out_json(object);
}

static int explain(const struct policy_set *set, const struct session_spec *spec, bool json)
{
	_cleanup_(request_freep) struct request *request = NULL;
	_cleanup_(freep) char *message = NULL;
	struct explanation e = {0};
	int r = policy_request_parse(
		set, (const char *const *)spec->argv, spec->n_argv, spec->cwd, &request, &message);

	if (r == -ENOMEM)
		out_of_memory();
	if (r != 0) {
		out_error("%s", message ? message : "this is not a request");
		return EXIT_USAGE;
	}
	e.request = request;
	e.verdict = policy_set_eval(set, request, &e.rule);
	if (policy_set_trace(set, request, &e.trace, &e.n_trace) < 0)
		out_of_memory();
	e.remedy = policy_set_remedy(set, request);
	if (json)
		print_json(&e);
	else
		print_text(&e);
	free(e.trace);
	free(e.remedy);
	return EXIT_OK;
}

/* "env NAME": no request of a session's, but people ask why a variable is not there. */
static int explain_env(const struct policy_set *set, const struct session_spec *spec, bool json)
{
	const char *name = spec->argv[1];
	bool allowed = policy_set_env_allowed(set, name);
	_cleanup_(freep) char *safe = out_safe(name);

	if (json) {
		_cleanup_(json_decrefp) json_t *object = json_pack("{s:s, s:s, s:s}", "verdict",
			allowed ? "allow" : "deny", "op", "env", "object", safe);

		if (!object)
			out_of_memory();
		out_json(object);
		return EXIT_OK;
	}
	printf("%s  env %s\n", allowed ? "allow" : "deny", safe);
	if (policy_env_never_passed(name))
		puts("  to change: no line of yours can change this answer");
	else
		printf("  to change: %s env \"%s\"   (in a user policy)\n",
			allowed ? "deny" : "allow", safe);
	return EXIT_OK;
}

static int verb_main(const struct verb *verb, struct options *options)
{
	_cleanup_(policy_set_freep) struct policy_set *set = NULL;
	_cleanup_(spec_freep) struct session_spec *spec = NULL;
	struct run_options run_options;
	struct dirs dirs;
	int status = run_options_read(verb, options, &run_options);

	if (status < 0 && options->n_operands == 0)
		status = out_usage(verb, "needs a request, such as: read ~/notes.txt");
	if (status < 0) {
		connect_dirs(&dirs);
		status = run_spec_make(verb, &run_options, &dirs, options->operands,
			(size_t)options->n_operands, &spec, &set);
		dirs_deinit(&dirs);
	}
	if (status < 0)
		status = spec->n_argv == 2 && strcmp(spec->argv[0], "env") == 0
				 ? explain_env(set, spec, run_options.json)
				 : explain(set, spec, run_options.json);
	run_options_deinit(&run_options);
	return status;
}

const struct verb verb_policy_explain = {
	.name = "policy explain",
	.summary = "say what the policies answer to a request, and why",
	.help = help,
	.options = run_option_defs,
	.n_options = RUN_OPTIONS_N,
	.usage_status = EXIT_USAGE,
	.stop_at_operand = true,
	.main = verb_main,
};
