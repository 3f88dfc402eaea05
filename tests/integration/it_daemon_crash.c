/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
/* Who dies when: the daemon, the broker, a person's program; who may connect; floods. */

#include "tests/integration/it_daemon.h"

#include <sched.h>
#include <sys/resource.h>

#include "supervisord/base/file.h"
#include "supervisord/base/parse.h"
#include "supervisord/proto/request.h"

static int setup(void **state)
{
	struct fx *fx = calloc(1, sizeof(*fx));

	fx_init(fx);
	*state = fx;
	return 0;
}

static int teardown(void **state)
{
	fx_deinit(*state);
	free(*state);
	return 0;
}

static bool spool_exists(const struct fx *fx, const char *session)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s.jsonl", fx->dirs.spool, session);
	return access(path, F_OK) == 0;
}

static void record_n(struct link *link, const char *type, int n, bool gated)
{
	for (int i = 0; i < n; i++)
		assert_int_equal(
			link_record(link, json_pack("{s:s,s:i}", "type", type, "i", i), gated), 0);
}

static void a_killed_daemon_denies_spools_and_gets_everything_later(void **state)
{
	struct fx *fx = *state;
	struct fx_ask ask;
	const char *session;
	struct client *client;
	struct link *link;

	fx_start(fx);
	client = fx_client(fx);
	link = fx_link(fx, &session);
	fx_ask_start(&ask, link, "/home/u/notes.txt", 60 * USEC_PER_SEC);
	json_decref(fx_wait_one(client));
	record_n(link, "before", 5, true);
	(void)fx_end(fx, SIGKILL);
	client_close(client);
	record_n(link, "while", 5, true);
	assert_true(spool_exists(fx, session));
	assert_int_equal(fx_ask_join(&ask), LINK_NO_DAEMON);
	record_n(link, "while", 5, false);
	fx_start(fx);
	FX_WAIT(!spool_exists(fx, session));
	record_n(link, "after", 5, true);
	assert_int_equal(fx_records(fx, "before", "session", session), 5);
	assert_int_equal(fx_records(fx, "while", "session", session), 10);
	assert_int_equal(fx_records(fx, "after", "session", session), 5);
	assert_int_equal(fx_records(fx, "session.start", NULL, NULL), 1);
	assert_int_equal(fx_records(fx, "session.lost", NULL, NULL), 0);
	assert_int_equal(link_end(link, json_pack("{s:i}", "exit", 0)), 0);
	link_free(link);
	assert_true(WIFEXITED(fx_end(fx, SIGTERM)));
	fx_verify(fx);
}

static void an_ask_survives_a_quick_restart(void **state)
{
	struct fx *fx = *state;
	struct client_error error;
	struct fx_ask ask;
	const char *session;
	struct client *client;
	struct link *link;
	json_t *one;

	fx_start(fx);
	client = fx_client(fx);
	link = fx_link(fx, &session);
	fx_ask_start(&ask, link, "/home/u/notes.txt", 60 * USEC_PER_SEC);
	json_decref(fx_wait_one(client));
	client_close(client);
	(void)fx_end(fx, SIGKILL);
	fx_start(fx);
	client = fx_client(fx);
	one = fx_wait_one(client);
	assert_string_equal(json_string_value(json_object_get(one, "session")), session);
	assert_int_equal(fx_decide(client, fx_decision(one, "allow", "once"), &error), 0);
	assert_int_equal(fx_ask_join(&ask), LINK_ALLOWED);
	json_decref(one);
	client_close(client);
	link_free(link);
}

static void an_ended_session_without_daemon_is_recorded_by_the_next(void **state)
{
	struct fx *fx = *state;
	const char *session;
	int status;
	pid_t pid;

	fx_start(fx);
	pid = fork();
	if (pid == 0) {
		struct link *link = fx_link(fx, &session);

		(void)kill(fx->daemon, SIGKILL);
		_exit(link_end(link, json_pack("{s:i}", "exit", 0)) == 0 ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(waitpid(fx->daemon, NULL, 0), fx->daemon);
	fx->daemon = 0;
	fx_start(fx);
	assert_int_equal(fx_records(fx, "session.end", NULL, NULL), 1);
	assert_int_equal(fx_records(fx, "session.lost", NULL, NULL), 0);
	(void)fx_end(fx, SIGTERM);
	fx_verify(fx);
}

static void a_broker_that_dies_is_a_lost_session_and_its_asks_are_withdrawn(void **state)
{
	struct fx *fx = *state;
	struct client *client;
	pid_t pid;

	fx_start(fx);
	client = fx_client(fx);
	pid = fork();
	if (pid == 0) {
		const char *session;
		struct link *link = fx_link(fx, &session);
		struct fx_ask ask;

		fx_ask_start(&ask, link, "/home/u/notes.txt", 60 * USEC_PER_SEC);
		(void)fx_ask_join(&ask);
		_exit(0);
	}
	json_decref(fx_wait_one(client));
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	FX_WAIT(fx_count(client) == 0);
	FX_WAIT(fx_records(fx, "session.lost", NULL, NULL) == 1);
	assert_int_equal(fx_records(fx, "ask.withdrawn", NULL, NULL), 1);
	client_close(client);
}

static void a_client_that_dies_in_mid_call_harms_nobody(void **state)
{
	struct fx *fx = *state;
	struct client *client;

	fx_start(fx);
	client = fx_client(fx);
	for (int i = 0; i < 20; i++) {
		struct client *victim = fx_client(fx);
		sd_bus_message *message = NULL;

		assert_true(sd_bus_message_new_method_call(client_bus(victim), &message, NULL,
				    BUS_PATH, BUS_CONTROL, "Status") >= 0);
		assert_true(sd_bus_send(client_bus(victim), message, NULL) >= 0);
		sd_bus_message_unref(message);
		client_close(victim);
	}
	json_decref(fx_call(client, "Status", NULL));
	client_close(client);
}

/* Runs in a child of the broker. */
static int call_from_inside(const struct fx *fx)
{
	struct client_error error;
	struct client *client = NULL;
	json_t *result = NULL;
	int r;

	if (client_connect(fx->dirs.control, &client) < 0)
		return 10;
	r = client_call(client, BUS_CONTROL, "Requests", NULL, &result, &error);
	return r == -EREMOTEIO && !strcmp(error.name, BUS_ERROR_SELF_APPROVAL) ? 0 : 11;
}

static void nobody_inside_a_session_gets_an_answer(void **state)
{
	struct fx *fx = *state;
	const char *session;
	struct link *link;
	int status;
	pid_t pid;

	fx_start(fx);
	link = fx_link(fx, &session);
	pid = fork();
	if (pid == 0)
		_exit(call_from_inside(fx));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	FX_WAIT(fx_records(fx, "peer.refused", "session", session) == 1);
	/* The next daemon knows it from its first moment, before the broker is back. */
	(void)fx_end(fx, SIGKILL);
	fx_start(fx);
	pid = fork();
	if (pid == 0)
		_exit(call_from_inside(fx));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), 0);
	link_free(link);
}

static void a_peer_in_another_namespace_is_refused(void **state)
{
	struct fx *fx = *state;
	int status;
	pid_t pid;

	fx_start(fx);
	pid = fork();
	if (pid == 0) {
		struct client_error error;
		struct client *client = NULL;
		json_t *result = NULL;

		if (unshare(CLONE_NEWUSER) < 0)
			_exit(77);
		/* The owner of the socket shows as nobody in there: say so to the kernel only. */
		if (client_connect(fx->dirs.control, &client) < 0)
			_exit(0);
		if (client_call(client, BUS_CONTROL, "Requests", NULL, &result, &error) !=
			-EREMOTEIO)
			_exit(1);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* A broker without the link, to send more asks than threads could. */
static struct client *raw_broker(const struct fx *fx, json_t **ruleless)
{
	struct client *client = fx_client(fx);
	struct client_error error;
	char digest[65];
	json_t *result = NULL, *hello;
	const uint8_t bytes[32] = {1};

	format_hex(bytes, sizeof(bytes), digest);
	hello = json_pack("{s:{s:s},s:s,s:s}", "spec", "agent", "raw", "policy_digest", digest,
		"plan_digest", digest);
	assert_int_equal(client_call(client, BUS_BROKER, "Register", hello, &result, &error), 0);
	json_decref(result);
	json_decref(hello);
	*ruleless = json_pack("{s:s,s:I,s:{s:s,s:s,s:s,s:[s]}}", "policy_digest", digest,
		"timeout_usec", (json_int_t)(600 * USEC_PER_SEC), "rule", "id", "a:1", "text",
		"ask", "layer", "user", "durations", "once");
	return client;
}

static int on_raw_answer(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
	size_t *answered = userdata;

	(void)error;
	if (!sd_bus_message_is_method_error(message, NULL))
		++*answered;
	return 1;
}

static void raw_ask(struct client *broker, json_t *base, int n, const char *path, size_t *answered)
{
	struct request *request = fx_request(path);
	sd_bus_message *message = NULL;
	char *text;

	json_object_set_new(base, "request", request_to_json(request));
	json_object_set_new(base, "ask", json_integer(n));
	text = json_write(base);
	assert_true(sd_bus_message_new_method_call(
			    client_bus(broker), &message, NULL, BUS_PATH, BUS_BROKER, "Ask") >= 0);
	assert_true(sd_bus_message_append(message, "s", text) >= 0);
	assert_true(sd_bus_call_async(client_bus(broker), NULL, message, on_raw_answer, answered,
			    UINT64_MAX) >= 0);
	sd_bus_message_unref(message);
	free(text);
	request_free(request);
}

static void drain(struct client *broker)
{
	while (sd_bus_process(client_bus(broker), NULL) > 0)
		;
}

static bool drained(struct client *broker, const size_t *answered, size_t want)
{
	drain(broker);
	return *answered == want;
}

static bool waits(struct client *client, struct client *broker, json_int_t want)
{
	json_t *array;
	bool ok;

	drain(broker);
	array = fx_call(client, "Requests", NULL);
	ok = json_integer_value(json_object_get(json_array_get(array, 0), "count")) == want;
	json_decref(array);
	return ok;
}

static void ten_thousand_identical_asks_are_one_row_and_one_answer(void **state)
{
	struct fx *fx = *state;
	struct client_error error;
	struct client *client, *broker;
	size_t answered = 0;
	json_t *base, *one;

	fx_start(fx);
	client = fx_client(fx);
	broker = raw_broker(fx, &base);
	for (int i = 1; i <= 10000; i++)
		raw_ask(broker, base, i, "/home/u/notes.txt", &answered);
	FX_WAIT(waits(client, broker, 10000));
	one = fx_wait_one(client);
	assert_int_equal(fx_decide(client, fx_decision(one, "allow", "once"), &error), 0);
	FX_WAIT(drained(broker, &answered, 10000));
	assert_int_equal(fx_records(fx, "ask", NULL, NULL), 1);
	json_decref(one);
	json_decref(base);
	client_close(broker);
	client_close(client);
}

static void ten_thousand_different_asks_do_not_stop_the_daemon(void **state)
{
	struct fx *fx = *state;
	struct client *client, *broker;
	size_t answered = 0;
	json_t *base;

	fx_start(fx);
	client = fx_client(fx);
	broker = raw_broker(fx, &base);
	for (int i = 1; i <= 10000; i++) {
		char path[64];

		snprintf(path, sizeof(path), "/home/u/file-%d", i);
		raw_ask(broker, base, i, path, &answered);
		drain(broker);
	}
	FX_WAIT((drain(broker), fx_count(client) == 10000));
	client_close(broker);
	FX_WAIT(fx_count(client) == 0);
	json_decref(fx_call(client, "Status", NULL));
	json_decref(base);
	client_close(client);
	(void)fx_end(fx, SIGTERM);
	fx_verify(fx);
}

/* Asks and withdraws N long requests; how many were shown at once. */
static json_int_t ask_long(
	struct client *client, struct client *broker, json_t *base, int first, int n)
{
	char *path = malloc(400 * 1024 + 1);
	struct client_error error;
	static size_t answered;
	json_int_t shown;

	memset(path, '*', 400 * 1024);
	path[0] = '/';
	path[400 * 1024] = '\0';
	for (int i = 0; i < n; i++) {
		(void)snprintf(path + 1, 16, "%08d", first + i);
		path[9] = '*';
		raw_ask(broker, base, first + i, path, &answered);
		drain(broker);
	}
	free(path);
	/* Answered behind all of them. */
	for (int i = n; i-- > 0;) {
		json_t *parameter = json_pack("{s:i}", "ask", first + i), *result = NULL;

		if (i == n - 1)
			FX_WAIT((shown = (json_int_t)fx_count(client)) > 0);
		assert_int_equal(
			client_call(broker, BUS_BROKER, "Withdraw", parameter, &result, &error), 0);
		json_decref(result);
		json_decref(parameter);
	}
	FX_WAIT(fx_count(client) == 0);
	return shown;
}

static void long_asks_of_one_session_stay_visible_and_keep_no_other_out(void **state)
{
	struct fx *fx = *state;
	struct client *client, *idle, *broker, *other;
	struct client_error error;
	json_t *base, *base2, *result = NULL;
	size_t answered = 0;

	fx_start(fx);
	client = fx_client(fx);
	idle = fx_client(fx);
	json_decref(fx_call(idle, "Status", NULL));
	broker = raw_broker(fx, &base);
	other = raw_broker(fx, &base2);
	for (int i = 0; i < 7; i++)
		assert_true(ask_long(client, broker, base, 1 + 50 * i, 50) < 50);
	raw_ask(other, base2, 1, "/short", &answered);
	drain(other);
	FX_WAIT(fx_count(client) == 1);
	/* Whoever never read what was told is not kept in memory for ever. */
	assert_true(client_call(idle, BUS_CONTROL, "Status", NULL, &result, &error) < 0);
	json_decref(base);
	json_decref(base2);
	client_close(broker);
	client_close(other);
	client_close(idle);
	client_close(client);
}

static void an_ask_that_is_too_long_is_refused(void **state)
{
	struct fx *fx = *state;
	const char *session;
	struct policy_rule_info rule = fx_rule(60 * USEC_PER_SEC);
	const uint8_t digest[32] = {1};
	struct link_result result;
	struct request *request;
	struct link *link;
	char *path;

	fx_start(fx);
	link = fx_link(fx, &session);
	path = malloc(REQUEST_JSON_MAX + 2);
	memset(path, 'a', REQUEST_JSON_MAX + 1);
	path[0] = '/';
	path[REQUEST_JSON_MAX + 1] = '\0';
	request = fx_request(path);
	free(path);
	assert_int_equal(link_ask(link, request, &rule, digest, NULL, NULL, &result), -E2BIG);
	assert_int_equal(result.answer, LINK_REFUSED);
	request_free(request);
	link_free(link);
}

static void a_changed_log_lets_no_session_begin(void **state)
{
	struct fx *fx = *state;
	struct link_hello hello = {.spec_summary = json_object()};
	const char *session;
	struct link *link = NULL;
	char *message = NULL, path[256], *data = NULL, *type;
	size_t size;
	int fd;

	fx_start(fx);
	(void)fx_end(fx, SIGTERM);
	snprintf(path, sizeof(path), "%s/seg/000000000000.jsonl", fx->dirs.audit);
	assert_int_equal(file_read(AT_FDCWD, path, 1 << 20, &data, &size), 0);
	type = strstr(data, "daemon.start");
	assert_non_null(type);
	fd = open(path, O_WRONLY);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, "D", 1, type - data), 1);
	close(fd);
	free(data);
	fx_start(fx);
	assert_int_equal(
		link_start(fx->dirs.control, fx->dirs.spool, &hello, &link, &session, &message),
		-EREMOTEIO);
	assert_non_null(strstr(message, ".broken"));
	free(message);
	json_decref(hello.spec_summary);
}

/* No byte more goes into any file of the daemon, or all may. */
static void limit_files(const struct fx *fx, rlim_t bytes)
{
	const struct rlimit limit = {.rlim_cur = bytes, .rlim_max = RLIM_INFINITY};

	assert_int_equal(prlimit(fx->daemon, RLIMIT_FSIZE, &limit, NULL), 0);
}

static bool log_state_is(struct client *client, const char *want)
{
	json_t *status = fx_call(client, "Status", NULL);
	const char *state =
		json_string_value(json_object_get(json_object_get(status, "log"), "state"));
	bool is = state && !strcmp(state, want);

	json_decref(status);
	return is;
}

static void a_log_that_cannot_be_written_allows_nothing_and_loses_nothing(void **state)
{
	struct fx *fx = *state;
	struct client_error error;
	struct client *client;
	const char *session;
	struct link *link;
	struct fx_ask ask;
	json_t *one;

	fx_start(fx);
	client = fx_client(fx);
	link = fx_link(fx, &session);
	fx_ask_start(&ask, link, "/home/u/notes.txt", 60 * USEC_PER_SEC);
	one = fx_wait_one(client);
	limit_files(fx, 1);
	assert_int_equal(fx_decide(client, fx_decision(one, "allow", "once"), &error), -EREMOTEIO);
	assert_string_equal(error.name, BUS_ERROR_LOG);
	assert_int_equal(fx_ask_join(&ask), LINK_DENIED);
	json_decref(one);
	/* Asks are denied, records are kept by the broker. */
	fx_ask_start(&ask, link, "/home/u/other.txt", 60 * USEC_PER_SEC);
	assert_int_equal(fx_ask_join(&ask), LINK_DENIED);
	record_n(link, "meanwhile", 5, true);
	assert_true(spool_exists(fx, session));
	assert_true(log_state_is(client, "failed"));
	limit_files(fx, RLIM_INFINITY);
	FX_WAIT(log_state_is(client, "ok"));
	FX_WAIT(!spool_exists(fx, session));
	assert_int_equal(fx_records(fx, "meanwhile", "session", session), 5);
	assert_int_equal(fx_records(fx, "approval.void", NULL, NULL), 1);
	assert_int_equal(fx_records(fx, "log.gap", NULL, NULL), 1);
	assert_int_equal(link_end(link, json_object()), 0);
	link_free(link);
	client_close(client);
	(void)fx_end(fx, SIGTERM);
	fx_verify(fx);
}

/* Started on demand: this program and the daemon side by side in one folder. */
static int start_on_demand(void)
{
	_cleanup_(dirs_deinit) struct dirs dirs = {0};
	struct client_error error;
	struct client *client = NULL;
	json_t *status = NULL;

	if (dirs_init(&dirs) < 0 || client_connect_or_start(dirs.control, &client) < 0)
		return 1;
	if (client_call(client, BUS_CONTROL, "Status", NULL, &status, &error) < 0)
		return 2;
	printf("%lld\n", (long long)json_integer_value(json_object_get(status, "pid")));
	client_close(client);
	json_decref(status);
	return 0;
}

static void copy_program(const char *from, const char *to)
{
	char *data = NULL;
	size_t size;
	int fd;

	assert_int_equal(file_read(AT_FDCWD, from, 256u << 20, &data, &size), 0);
	fd = open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, data, size), 0);
	close(fd);
	free(data);
}

static void two_starters_at_once_meet_one_daemon(void **state)
{
	struct fx *fx = *state;
	char program[512], bin[256], self[256], daemon[256];
	const char *build = getenv("BUILD");
	long long pids[2];
	FILE *pipes[2];

	snprintf(program, sizeof(program), "%s/bin/agent-supervisord",
		build ? build : "build/release");
	snprintf(bin, sizeof(bin), "%s/bin", fx->root);
	snprintf(self, sizeof(self), "%s/bin/self", fx->root);
	snprintf(daemon, sizeof(daemon), "%s/bin/agent-supervisord", fx->root);
	assert_int_equal(mkdir(bin, 0700), 0);
	copy_program("/proc/self/exe", self);
	copy_program(program, daemon);
	setenv("IT_DAEMON_START", "1", 1);
	for (int i = 0; i < 2; i++)
		pipes[i] = popen(self, "r");
	unsetenv("IT_DAEMON_START");
	for (int i = 0; i < 2; i++) {
		assert_int_equal(fscanf(pipes[i], "%lld", &pids[i]), 1);
		assert_int_equal(pclose(pipes[i]), 0);
	}
	assert_true(pids[0] > 0);
	assert_int_equal(pids[0], pids[1]);
	assert_int_equal(getsid((pid_t)pids[0]) != getsid(0), 1);
	assert_int_equal(kill((pid_t)pids[0], SIGTERM), 0);
	FX_WAIT(kill((pid_t)pids[0], 0) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_killed_daemon_denies_spools_and_gets_everything_later, setup, teardown),
		cmocka_unit_test_setup_teardown(an_ask_survives_a_quick_restart, setup, teardown),
		cmocka_unit_test_setup_teardown(
			an_ended_session_without_daemon_is_recorded_by_the_next, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_broker_that_dies_is_a_lost_session_and_its_asks_are_withdrawn, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			a_client_that_dies_in_mid_call_harms_nobody, setup, teardown),
		cmocka_unit_test_setup_teardown(
			nobody_inside_a_session_gets_an_answer, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_peer_in_another_namespace_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(
			ten_thousand_identical_asks_are_one_row_and_one_answer, setup, teardown),
		cmocka_unit_test_setup_teardown(
			ten_thousand_different_asks_do_not_stop_the_daemon, setup, teardown),
		cmocka_unit_test_setup_teardown(
			long_asks_of_one_session_stay_visible_and_keep_no_other_out, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			an_ask_that_is_too_long_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_changed_log_lets_no_session_begin, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_log_that_cannot_be_written_allows_nothing_and_loses_nothing, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			two_starters_at_once_meet_one_daemon, setup, teardown),
	};

	if (getenv("IT_DAEMON_START"))
		return start_on_demand();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
