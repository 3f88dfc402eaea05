/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
/* The daemon as people and brokers use it: asks, answers, lists, limits. */

#include "tests/integration/it_daemon.h"

static int setup(void **state)
{
	struct fx *fx = calloc(1, sizeof(*fx));

	fx_init(fx);
	fx_start(fx);
	*state = fx;
	return 0;
}

static int teardown(void **state)
{
	fx_deinit(*state);
	free(*state);
	return 0;
}

static void status_names_version_and_log(void **state)
{
	struct fx *fx = *state;
	struct client *client = fx_client(fx);
	json_t *status = fx_call(client, "Status", NULL);

	assert_string_equal(
		json_string_value(json_object_get(status, "version")), AGENT_SUPERVISOR_VERSION);
	assert_int_equal(json_integer_value(json_object_get(status, "pid")), fx->daemon);
	assert_string_equal(
		json_string_value(json_object_get(json_object_get(status, "log"), "state")), "ok");
	json_decref(status);
	client_close(client);
}

static void an_allowed_ask_is_listed_decided_and_recorded(void **state)
{
	struct fx *fx = *state;
	struct client *client = fx_client(fx);
	struct client_error error;
	const char *session;
	struct link *link = fx_link(fx, &session);
	struct fx_ask ask;
	json_t *one;

	fx_ask_start(&ask, link, "/home/u/notes.txt", 60 * USEC_PER_SEC);
	one = fx_wait_one(client);
	assert_string_equal(json_string_value(json_object_get(one, "session")), session);
	assert_string_equal(json_string_value(json_object_get(one, "object")), "/home/u/notes.txt");
	assert_string_equal(json_string_value(json_object_get(one, "rule")), "test.policy:3");
	assert_true(json_integer_value(json_object_get(one, "remaining_ms")) > 50000);
	assert_int_equal(fx_decide(client, fx_decision(one, "allow", "once"), &error), 0);
	assert_int_equal(fx_ask_join(&ask), LINK_ALLOWED);
	json_decref(one);
	FX_WAIT(fx_count(client) == 0);
	assert_int_equal(fx_records(fx, "ask", "session", session), 1);
	assert_int_equal(fx_records(fx, "approval", "outcome", "allowed"), 1);
	assert_int_equal(link_end(link, json_pack("{s:i}", "exit", 0)), 0);
	assert_int_equal(fx_records(fx, "session.end", "session", session), 1);
	link_free(link);
	client_close(client);
	fx_verify(fx);
}

static void a_denied_ask_is_denied_and_the_third_without_asking(void **state)
{
	struct fx *fx = *state;
	struct client *client = fx_client(fx);
	struct client_error error;
	const char *session;
	struct link *link = fx_link(fx, &session);
	struct fx_ask ask;
	json_t *why;

	for (int i = 0; i < 2; i++) {
		json_t *one;

		fx_ask_start(&ask, link, "/home/u/secret", 60 * USEC_PER_SEC);
		one = fx_wait_one(client);
		assert_int_equal(fx_decide(client, fx_decision(one, "deny", "once"), &error), 0);
		assert_int_equal(fx_ask_join(&ask), LINK_DENIED);
		json_decref(one);
		FX_WAIT(fx_count(client) == 0);
	}
	fx_ask_start(&ask, link, "/home/u/secret", 60 * USEC_PER_SEC);
	assert_int_equal(fx_ask_join(&ask), LINK_DENIED);
	assert_int_equal(fx_records(fx, "ask", NULL, NULL), 2);
	why = fx_call(client, "Why", json_pack("{s:s}", "session", session));
	assert_true(json_array_size(why) >= 1);
	assert_string_equal(json_string_value(json_object_get(json_array_get(why, 0), "rule")),
		"test.policy:3");
	json_decref(why);
	link_free(link);
	client_close(client);
}

static void nobody_answers_and_the_ask_is_denied_in_time(void **state)
{
	struct fx *fx = *state;
	struct client *client = fx_client(fx);
	struct client_error error;
	const char *session;
	struct link *link = fx_link(fx, &session);
	struct fx_ask ask;
	json_t *one;

	fx_ask_start(&ask, link, "/home/u/notes.txt", USEC_PER_SEC);
	one = fx_wait_one(client);
	assert_int_equal(fx_ask_join(&ask), LINK_TIMEOUT);
	assert_int_equal(fx_decide(client, fx_decision(one, "allow", "once"), &error), -EREMOTEIO);
	assert_string_equal(error.name, BUS_ERROR_CLOSED);
	assert_int_equal(fx_records(fx, "ask.timeout", NULL, NULL), 1);
	json_decref(one);
	link_free(link);
	client_close(client);
}

static void a_requester_that_is_gone_withdraws_its_ask(void **state)
{
	struct fx *fx = *state;
	struct client *client = fx_client(fx);
	const char *session;
	struct link *link = fx_link(fx, &session);
	struct fx_ask ask;

	fx_ask_start(&ask, link, "/home/u/notes.txt", 60 * USEC_PER_SEC);
	json_decref(fx_wait_one(client));
	__atomic_store_n(&ask.wanted, false, __ATOMIC_SEQ_CST);
	assert_int_equal(fx_ask_join(&ask), LINK_WITHDRAWN);
	FX_WAIT(fx_count(client) == 0);
	FX_WAIT(fx_records(fx, "ask.withdrawn", NULL, NULL) == 1);
	link_free(link);
	client_close(client);
}

static void what_was_not_shown_or_offered_cannot_be_answered(void **state)
{
	struct fx *fx = *state;
	struct client *client = fx_client(fx);
	struct client_error error;
	const char *session;
	struct link *link = fx_link(fx, &session);
	struct fx_ask ask;
	json_t *one, *stale, *scope;

	fx_ask_start(&ask, link, "/home/u/notes.txt", 60 * USEC_PER_SEC);
	one = fx_wait_one(client);
	stale = fx_decision(one, "allow", "once");
	json_object_set_new(stale, "fingerprint",
		json_string("0000000000000000000000000000000000000000000000000000000000000000"));
	assert_int_equal(fx_decide(client, stale, &error), -EREMOTEIO);
	assert_string_equal(error.name, BUS_ERROR_STALE);
	assert_int_equal(
		fx_decide(client, fx_decision(one, "allow", "forever"), &error), -EREMOTEIO);
	assert_string_equal(error.name, BUS_ERROR_NOT_OFFERED);
	assert_int_equal(fx_decide(client, fx_decision(one, "allow", "11m"), &error), -EREMOTEIO);
	assert_string_equal(error.name, BUS_ERROR_NOT_OFFERED);
	scope = fx_decision(one, "allow", "session");
	json_object_set_new(scope, "scope", json_string("host"));
	assert_int_equal(fx_decide(client, scope, &error), -EREMOTEIO);
	assert_string_equal(error.name, BUS_ERROR_NOT_OFFERED);
	assert_int_equal(fx_count(client), 1);
	assert_int_equal(fx_decide(client, fx_decision(one, "deny", "once"), &error), 0);
	assert_int_equal(fx_ask_join(&ask), LINK_DENIED);
	json_decref(one);
	link_free(link);
	client_close(client);
}

static void a_session_grant_covers_later_asks_without_the_daemon(void **state)
{
	struct fx *fx = *state;
	struct client *client = fx_client(fx);
	struct client_error error;
	const char *session;
	struct link *link = fx_link(fx, &session);
	struct fx_ask ask;
	json_t *one, *answer, *grants;

	fx_ask_start(&ask, link, "/home/u/docs/a", 60 * USEC_PER_SEC);
	one = fx_wait_one(client);
	answer = fx_decision(one, "allow", "10m");
	json_object_set_new(answer, "scope", json_string("dir"));
	assert_int_equal(fx_decide(client, answer, &error), 0);
	assert_int_equal(fx_ask_join(&ask), LINK_ALLOWED);
	json_decref(one);
	grants = fx_call(client, "Grants", NULL);
	assert_int_equal(json_array_size(grants), 1);
	fx_ask_start(&ask, link, "/home/u/docs/b", 60 * USEC_PER_SEC);
	assert_int_equal(fx_ask_join(&ask), LINK_ALLOWED);
	/* Revoked: asked again. */
	json_decref(fx_call(client, "Revoke",
		json_pack("{s:O}", "id", json_object_get(json_array_get(grants, 0), "id"))));
	json_decref(grants);
	do {
		fx_ask_start(&ask, link, "/home/u/docs/c", USEC_PER_SEC);
	} while (fx_ask_join(&ask) == LINK_ALLOWED);
	assert_int_equal(fx_records(fx, "grant.revoked", NULL, NULL), 1);
	link_free(link);
	client_close(client);
}

struct racer {
	const struct fx *fx;
	json_t *parameter;
	pthread_barrier_t *barrier;
	int r;
	struct client_error error;
};

static void *race(void *userdata)
{
	struct racer *racer = userdata;
	struct client *client = fx_client(racer->fx);

	(void)pthread_barrier_wait(racer->barrier);
	racer->r = fx_decide(client, racer->parameter, &racer->error);
	client_close(client);
	return NULL;
}

static void of_two_answers_at_once_exactly_one_counts(void **state)
{
	struct fx *fx = *state;
	struct client *client = fx_client(fx);
	const char *session;
	struct link *link = fx_link(fx, &session);

	for (int i = 0; i < 100; i++) {
		pthread_barrier_t barrier;
		struct racer racers[2];
		pthread_t threads[2];
		struct fx_ask ask;
		char path[64];
		json_t *one;
		int loser;

		snprintf(path, sizeof(path), "/home/u/file-%d", i);
		fx_ask_start(&ask, link, path, 60 * USEC_PER_SEC);
		one = fx_wait_one(client);
		assert_int_equal(pthread_barrier_init(&barrier, NULL, 2), 0);
		for (int j = 0; j < 2; j++) {
			racers[j] = (struct racer){.fx = fx, .barrier = &barrier};
			racers[j].parameter = fx_decision(one, j ? "deny" : "allow", "once");
			assert_int_equal(pthread_create(&threads[j], NULL, race, &racers[j]), 0);
		}
		for (int j = 0; j < 2; j++)
			assert_int_equal(pthread_join(threads[j], NULL), 0);
		pthread_barrier_destroy(&barrier);
		loser = racers[0].r == 0 ? 1 : 0;
		assert_int_equal(racers[!loser].r, 0);
		assert_int_equal(racers[loser].r, -EREMOTEIO);
		assert_string_equal(racers[loser].error.name, BUS_ERROR_CLOSED);
		assert_non_null(strstr(racers[loser].error.message, "already decided by"));
		assert_int_equal(fx_ask_join(&ask), loser == 1 ? LINK_ALLOWED : LINK_DENIED);
		json_decref(one);
	}
	assert_int_equal(fx_records(fx, "approval", NULL, NULL), 100);
	link_free(link);
	client_close(client);
}

static void records_arrive_once_and_in_order(void **state)
{
	struct fx *fx = *state;
	const char *session;
	struct link *link = fx_link(fx, &session);

	for (int i = 0; i < 1000; i++)
		assert_int_equal(link_record(link,
					 json_pack("{s:s,s:s,s:i}", "type", "decision", "decision",
						 i % 10 ? "allow" : "deny", "i", i),
					 i % 100 == 0),
			0);
	assert_int_equal(link_record(link, json_pack("{s:s}", "type", "last"), true), 0);
	assert_int_equal(fx_records(fx, "decision", "session", session), 1000);
	assert_int_equal(link_end(link, json_pack("{s:i}", "exit", 0)), 0);
	assert_int_equal(link_record(link, json_pack("{s:s}", "type", "late"), true), -ESHUTDOWN);
	link_free(link);
	fx_verify(fx);
}

static void stop_reaches_the_broker(void **state)
{
	struct fx *fx = *state;
	struct client *client = fx_client(fx);
	const char *session;
	struct link *link = fx_link(fx, &session);
	struct pollfd pfd = {.fd = link_stop_fd(link), .events = POLLIN};

	assert_int_equal(poll(&pfd, 1, 0), 0);
	json_decref(
		fx_call(client, "Stop", json_pack("{s:s,s:s}", "session", session, "reason", "x")));
	assert_int_equal(poll(&pfd, 1, 10000), 1);
	link_free(link);
	client_close(client);
}

static void shutdown_is_refused_while_a_session_runs(void **state)
{
	struct fx *fx = *state;
	struct client *client = fx_client(fx);
	struct client_error error;
	const char *session;
	struct link *link = fx_link(fx, &session);
	json_t *result = NULL;
	int status;

	assert_int_equal(
		client_call(client, BUS_CONTROL, "Shutdown", NULL, &result, &error), -EREMOTEIO);
	assert_string_equal(error.name, BUS_ERROR_BUSY);
	assert_int_equal(link_end(link, json_object()), 0);
	link_free(link);
	json_decref(fx_call(client, "Shutdown", NULL));
	client_close(client);
	assert_int_equal(waitpid(fx->daemon, &status, 0), fx->daemon);
	fx->daemon = 0;
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	assert_int_equal(access(fx->dirs.control, F_OK), -1);
	assert_int_equal(fx_records(fx, "daemon.stop", NULL, NULL), 1);
	fx_verify(fx);
}

static int send_raw(const char *path, const char *data, size_t size)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	(void)!send(fd, data, size, MSG_NOSIGNAL);
	return fd;
}

static void malformed_bytes_and_parameters_do_no_harm(void **state)
{
	struct fx *fx = *state;
	struct client *client = fx_client(fx);
	struct client_error error;
	json_t *result = NULL, *bad = json_pack("{s:s}", "surprise", "x");
	char junk[4096];

	memset(junk, 0x41, sizeof(junk));
	close(send_raw(fx->dirs.control, junk, sizeof(junk)));
	close(send_raw(fx->dirs.control, "\0AUTH EXTERNAL 39\r\nBEGIN\r\n", 26));
	close(send_raw(fx->dirs.control,
		"\0AUTH EXTERNAL\r\nDATA\r\nBEGIN\r\nl\1\0\1\377\377\377\377", 37));
	assert_int_equal(
		client_call(client, BUS_CONTROL, "Decide", bad, &result, &error), -EREMOTEIO);
	assert_string_equal(error.name, BUS_ERROR_INVALID);
	assert_int_equal(client_call(client, BUS_BROKER, "Ask", bad, &result, &error), -EREMOTEIO);
	assert_string_equal(error.name, BUS_ERROR_NOT_AUTHORIZED);
	assert_int_equal(
		client_call(client, BUS_CONTROL, "Nothing", bad, &result, &error), -EREMOTEIO);
	assert_int_equal(
		client_call(client, BUS_CONTROL, "Decide", NULL, &result, &error), -EREMOTEIO);
	json_decref(bad);
	json_decref(fx_call(client, "Status", NULL));
	client_close(client);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(status_names_version_and_log, setup, teardown),
		cmocka_unit_test_setup_teardown(
			an_allowed_ask_is_listed_decided_and_recorded, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_denied_ask_is_denied_and_the_third_without_asking, setup, teardown),
		cmocka_unit_test_setup_teardown(
			nobody_answers_and_the_ask_is_denied_in_time, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_requester_that_is_gone_withdraws_its_ask, setup, teardown),
		cmocka_unit_test_setup_teardown(
			what_was_not_shown_or_offered_cannot_be_answered, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_session_grant_covers_later_asks_without_the_daemon, setup, teardown),
		cmocka_unit_test_setup_teardown(
			of_two_answers_at_once_exactly_one_counts, setup, teardown),
		cmocka_unit_test_setup_teardown(records_arrive_once_and_in_order, setup, teardown),
		cmocka_unit_test_setup_teardown(stop_reaches_the_broker, setup, teardown),
		cmocka_unit_test_setup_teardown(
			shutdown_is_refused_while_a_session_runs, setup, teardown),
		cmocka_unit_test_setup_teardown(
			malformed_bytes_and_parameters_do_no_harm, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
