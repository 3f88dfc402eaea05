/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "supervisord/broker/session.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "supervisord/base/clock.h"
#include "supervisord/base/diag.h"
#include "supervisord/base/dirs.h"
#include "supervisord/base/error.h"
#include "supervisord/base/log.h"
#include "supervisord/base/parse.h"
#include "supervisord/broker/fresh.h"
#include "supervisord/broker/link.h"
#include "supervisord/broker/record.h"
#include "supervisord/broker/run_channel.h"
#include "supervisord/broker/session_loop.h"
#include "supervisord/broker/workers.h"

#define STATUS_FAILED 125 /* agentctl's exit status: the supervisor failed */
#define STATUS_POLICY 78  /* EX_CONFIG of sysexits(3) */

/* What a session owns; released in reverse. */
struct session {
	struct dirs dirs;
	struct policy_set *policies;
	struct probe probe;
	struct plan *plan;
	struct broker broker;
};

/* The folder that holds PATH, owned by the caller. */
static char *session_above(const char *path)
{
	const char *slash = strrchr(path, '/');

	return strndup(path, slash && slash != path ? (size_t)(slash - path) : 1);
}

/* What the variable says, as dirs_init() reads such variables; NULL = the usual place. */
static const char *session_xdg(const char *name)
{
	const char *value = getenv(name);

	return value && value[0] == '/' ? value : NULL;
}

static int session_policies(struct session *s, const struct session_spec *spec, int run_fd)
{
	struct diag_list diags;
	_cleanup_(freep) char *config = session_above(s->dirs.config);
	_cleanup_(freep) char *state = session_above(s->dirs.state);
	struct policy_vars vars = {
		.home = s->dirs.home,
		.project = spec->workspace,
		.tmp = "/tmp",
		.xdg_config = config,
		.xdg_state = state,
		.xdg_data = session_xdg("XDG_DATA_HOME"),
		.xdg_cache = session_xdg("XDG_CACHE_HOME"),
		.xdg_runtime = session_xdg("XDG_RUNTIME_DIR"),
		.tmp_shared = spec->reduced_userns || spec->force_no_userns,
	};
	int r;

	if (!config || !state)
		return err_trace(-ENOMEM);
	diag_list_init(&diags);
	r = policy_set_new(&vars, &s->policies);
	if (r == 0)
		r = policy_set_add_builtin(s->policies, spec->profile, &diags);
	for (size_t i = 0; r >= 0 && i < spec->n_policies; i++) {
		const struct spec_policy *p = &spec->policies[i];

		r = policy_set_add(s->policies, p->file, p->text, p->size, p->layer, &diags);
	}
	if (r >= 0 && diags.n_errors == 0)
		r = policy_set_seal(s->policies, &diags);
	if (r != 0 || diags.n_errors > 0) {
		const struct diag *first = diags.n_items > 0 ? &diags.items[0] : NULL;

		run_channel_fail(run_fd, STATUS_POLICY, "%s:%u:%u: %s",
			first ? first->file : spec->profile, first ? first->line : 0,
			first ? first->column : 0,
			first ? first->message : "the policy cannot be used");
		r = -EINVAL;
	}
	diag_list_deinit(&diags);
	return r;
}

static int session_plan(struct session *s, const struct session_spec *spec, int run_fd)
{
	_cleanup_(freep) char *message = NULL;
	int r;

	r = probe_run(&s->probe);
	if (r < 0) {
		run_channel_fail(
			run_fd, STATUS_FAILED, "cannot probe the kernel: %s", strerror(-r));
		return r;
	}
	r = plan_build(&s->probe, s->policies, spec, &s->plan, &message);
	if (r != 0) {
		run_channel_fail(run_fd, STATUS_FAILED, "%s",
			message ? message : "no plan can be made for this policy");
		return r < 0 ? r : -EPERM;
	}
	/* Programs inside can know where they are; nothing depends on it. */
	r = plan_set_env(s->plan, "AGENT_SUPERVISOR_SESSION", "1");
	if (r < 0)
		return r;
	if (s->plan->reduced) {
		_cleanup_(freep) char *text = NULL;

		if (asprintf(&text, "reduced protection, without: %s", s->plan->reduced) < 0)
			return -ENOMEM;
		run_channel_send(run_fd, RUN_NOTICE, 0, -1, text);
	}
	return 0;
}

/* What people and the log learn of the session. New reference. */
static json_t *session_summary(const struct session *s, const struct session_spec *spec)
{
	_cleanup_(json_decrefp) json_t *json = json_object();
	_cleanup_(json_decrefp) json_t *argv = json_array();
	int r = 0;

	if (!json || !argv)
		return NULL;
	for (size_t i = 0; i < spec->n_argv; i++) {
		_cleanup_(json_decrefp) json_t *element = json_object();

		if (!element ||
			json_set_bytes(element, "text", spec->argv[i], strlen(spec->argv[i])) < 0)
			return NULL;
		r |= json_array_append(argv, json_object_get(element, "text"));
	}
	r |= json_object_set(json, "argv", argv);
	r |= json_set_bytes(json, "agent", spec->agent, strlen(spec->agent));
	r |= json_set_bytes(json, "cwd", spec->cwd, strlen(spec->cwd));
	r |= json_set_bytes(json, "workspace", spec->workspace, strlen(spec->workspace));
	r |= json_object_set_new(json, "profile", json_string(spec->profile));
	r |= json_object_set_new(json, "landlock_abi", json_integer(s->plan->landlock_abi));
	r |= json_object_set_new(json, "no_ask", json_boolean(spec->no_ask));
	if (s->plan->reduced)
		r |= json_object_set_new(json, "reduced", json_string(s->plan->reduced));
	return r == 0 ? TAKE_PTR(json) : NULL;
}

static int session_register(struct session *s, const struct session_spec *spec, int run_fd)
{
	_cleanup_(json_decrefp) json_t *summary = session_summary(s, spec);
	_cleanup_(freep) char *message = NULL;
	struct link_hello hello = {.spec_summary = summary};
	int r;

	if (!summary)
		return -ENOMEM;
	memcpy(hello.policy_digest, s->broker.policy_digest, sizeof(hello.policy_digest));
	plan_digest(s->plan, hello.plan_digest);
	r = link_start(spec->control, s->dirs.spool, &hello, &s->broker.link, &s->broker.session,
		&message);
	if (r < 0)
		run_channel_fail(run_fd, STATUS_FAILED, "the daemon does not take the session: %s",
			message ? message : strerror(-r));
	return r;
}

/* Waiting requests each hold a few descriptors. After the launch: the agent keeps the limits of its
 * caller. */
static void session_raise_limits(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
	limit = (struct rlimit){0, 0};
	(void)setrlimit(RLIMIT_CORE, &limit);
}

static int session_start(struct session *s, const struct session_spec *spec, int run_fd)
{
	struct broker *b = &s->broker;
	_cleanup_(freep) char *message = NULL;
	int r;

	/* The sandbox is made while this process has one thread; the agent waits before its exec.
	 */
	r = launch_start(s->plan, spec, &b->launch, &message);
	if (r < 0) {
		run_channel_fail(run_fd, STATUS_FAILED, "cannot build the sandbox: %s: %s",
			message ? message : "launch", strerror(-r));
		return r;
	}
	session_raise_limits();
	/* From here on the broker has no right that the agent's user lacks. */
	r = launch_drop_caps();
	if (r >= 0)
		r = record_table_new(&b->records);
	if (r >= 0)
		r = fresh_repos_new(&b->fresh);
	if (r < 0) {
		run_channel_fail(run_fd, STATUS_FAILED, "cannot start: %s", strerror(-r));
		return r;
	}
	r = session_register(s, spec, run_fd);
	if (r < 0)
		return r;
	r = workers_start(b);
	if (r >= 0) {
		run_channel_send(run_fd, RUN_STARTED, 0, b->launch.pty_fd, b->session);
		b->launch.pty_fd = close_fd(b->launch.pty_fd);
		r = launch_go(&b->launch);
	}
	if (r < 0)
		run_channel_fail(run_fd, STATUS_FAILED, "cannot start the agent: %s", strerror(-r));
	return r;
}

/* The agent's exec failed: as env(1), 127 for a missing command and 126 for one that cannot run. */
static void session_report(
	const struct session_spec *spec, const struct session_end *end, int run_fd)
{
	const char *name = spec->argv[0];

	if (end->exec_errno == ENOENT && !strchr(name, '/'))
		run_channel_fail(run_fd, 127, "%s: no such command in PATH", name);
	else if (end->exec_errno != 0)
		run_channel_fail(run_fd, end->exec_errno == ENOENT ? 127 : 126, "%s: %s", name,
			strerror(end->exec_errno));
	else
		run_channel_send(run_fd, RUN_EXITED, end->wait_status, -1, end->why);
}

static json_t *session_status(const struct session_end *end)
{
	json_t *json = json_object();

	if (!json)
		return NULL;
	if (end->exec_errno != 0)
		json_object_set_new(json, "exec_errno", json_integer(end->exec_errno));
	else if (WIFSIGNALED(end->wait_status))
		json_object_set_new(json, "signal", json_integer(WTERMSIG(end->wait_status)));
	else
		json_object_set_new(json, "exit", json_integer(WEXITSTATUS(end->wait_status)));
	if (end->why)
		json_object_set_new(json, "why", json_string(end->why));
	return json;
}

int session_run(const struct session_spec *spec, int run_fd)
{
	struct session s = {.broker = {.spec = spec, .uid = getuid()}};
	struct session_end end = {0};
	json_t *status;
	int r;

	s.broker.launch = (struct launch){.init_pidfd = -1,
		.listener_fd = -1,
		.root_fd = -1,
		.init_sock = -1,
		.pty_fd = -1,
		.gate_fd = -1};
	r = dirs_init(&s.dirs);
	if (r < 0)
		return run_channel_fail(run_fd, STATUS_FAILED, "no home folder: %s", strerror(-r));
	/* After a failure the process ends at once; the kernel releases what is left. */
	if (session_policies(&s, spec, run_fd) != 0 || session_plan(&s, spec, run_fd) != 0)
		return 1;
	s.broker.policies = s.policies;
	s.broker.plan = s.plan;
	policy_set_digest(s.policies, s.broker.policy_digest);
	r = session_start(&s, spec, run_fd);
	if (r < 0) {
		launch_end(&s.broker.launch);
		return 1;
	}
	session_loop(&s.broker, run_fd, &end);
	/* Nothing of the session runs any more before its end is on record. */
	launch_end(&s.broker.launch);
	if (record_table_flush(s.broker.records, s.broker.link) < 0)
		log_error("the session's counts could not be recorded");
	status = session_status(&end);
	if (!status || link_end(s.broker.link, status) < 0)
		log_error("the session's end could not be recorded");
	session_report(spec, &end, run_fd);
	return 0;
}
