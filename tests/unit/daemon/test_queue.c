/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "supervisord/base/clock.h"
#include "supervisord/daemon/queue.h"

static size_t n_freed;

static void free_reply(void *reply)
{
	(void)reply;
	n_freed++;
}

static int setup(void **state)
{
	struct queue *queue = malloc(sizeof(*queue));

	queue_init(queue, free_reply);
	n_freed = 0;
	*state = queue;
	return 0;
}

static int teardown(void **state)
{
	queue_deinit(*state);
	free(*state);
	return 0;
}

static struct rule *make_rule(unsigned durations, unsigned scopes)
{
	struct rule *rule = calloc(1, sizeof(*rule));

	rule->id = strdup("a.policy:1");
	rule->text = strdup("ask read \"~/**\"");
	rule->layer = LAYER_USER;
	rule->durations = durations;
	rule->scopes = scopes;
	rule->spans_usec[0] = 600 * USEC_PER_SEC;
	rule->n_spans = 1;
	return rule;
}

static struct request *make_request(const char *session, const char *path)
{
	struct request *request = request_new(OP_READ);

	request->path = strdup(path);
	request->program = strdup("/bin/cat");
	request->session = strdup(session);
	return request;
}

#define DURATIONS (1u << GRANT_SESSION | 1u << GRANT_SPAN)

/* Adds and opens a row, or adds a waiter to one. */
static int add(struct queue *queue, const char *session, const char *path, uint64_t serial,
	uint64_t now, uint64_t timeout, struct pending **pendingp)
{
	struct queue_ask ask = {
		.session = session, .ask = serial, .timeout_usec = timeout, .bytes = 100};
	int r;

	ask.request = make_request(session, path);
	ask.rule = make_rule(DURATIONS, 0);
	ask.reply = &n_freed;
	r = queue_add(queue, &ask, now, 1000, pendingp);
	if (r != 0) {
		request_free(ask.request);
		rule_free(ask.rule);
	} else {
		(*pendingp)->state = PENDING_OPEN;
	}
	return r;
}

static void identical_requests_of_a_session_are_one_row(void **state)
{
	struct queue *queue = *state;
	struct pending *a, *b, *c;

	assert_int_equal(add(queue, "s1", "/x", 1, 0, USEC_PER_SEC, &a), 0);
	assert_int_equal(add(queue, "s1", "/x", 2, 5, USEC_PER_SEC, &b), QUEUE_E_COALESCED);
	assert_ptr_equal(a, b);
	assert_int_equal(a->n_waiters, 2);
	assert_int_equal(add(queue, "s2", "/x", 3, 5, USEC_PER_SEC, &c), 0);
	assert_ptr_not_equal(a, c);
	assert_int_equal(add(queue, "s1", "/y", 4, 5, USEC_PER_SEC, &c), 0);
	assert_int_equal(queue->n_pending, 3);
	assert_int_equal(queue->n_waiters, 4);
}

static void a_closed_row_takes_no_more_waiters_and_no_second_answer(void **state)
{
	struct queue *queue = *state;
	struct pending *a, *b, *found;
	const struct closed_entry *closed = NULL;
	char id[QUEUE_ID_MAX];

	assert_int_equal(add(queue, "s1", "/x", 1, 0, USEC_PER_SEC, &a), 0);
	memcpy(id, a->id, sizeof(id));
	queue_close(queue, a, OUTCOME_ALLOWED, "somebody");
	assert_int_equal(add(queue, "s1", "/x", 2, 0, USEC_PER_SEC, &b), 0);
	assert_ptr_not_equal(a, b);
	assert_int_equal(queue_find(queue, id, &found, &closed), QUEUE_E_CLOSED);
	assert_string_equal(closed->by, "somebody");
	assert_int_equal(closed->outcome, OUTCOME_ALLOWED);
	queue_remove(queue, a);
	assert_int_equal(n_freed, 1);
	assert_int_equal(queue->n_waiters, 1);
}

static void prefixes_find_one_row_or_are_refused(void **state)
{
	struct queue *queue = *state;
	const struct closed_entry *closed;
	struct pending *a, *b, *found;
	char prefix[QUEUE_ID_MAX];

	assert_int_equal(add(queue, "s1", "/x", 1, 0, USEC_PER_SEC, &a), 0);
	assert_int_equal(queue_find(queue, "", &found, &closed), QUEUE_E_UNKNOWN);
	assert_int_equal(queue_find(queue, "zzzzzzzz", &found, &closed), QUEUE_E_UNKNOWN);
	snprintf(prefix, sizeof(prefix), "%.3s", a->id);
	assert_int_equal(queue_find(queue, prefix, &found, &closed), 0);
	assert_ptr_equal(found, a);
	assert_int_equal(add(queue, "s1", "/y", 2, 0, USEC_PER_SEC, &b), 0);
	memcpy(b->id, a->id, 3);
	assert_int_equal(queue_find(queue, prefix, &found, &closed),
		strcmp(a->id, b->id) != 0 ? QUEUE_E_AMBIGUOUS : 0);
}

static void a_row_that_is_not_recorded_yet_cannot_be_answered(void **state)
{
	struct queue *queue = *state;
	const struct closed_entry *closed;
	struct pending *a, *found;

	assert_int_equal(add(queue, "s1", "/x", 1, 0, USEC_PER_SEC, &a), 0);
	a->state = PENDING_RECORDING;
	assert_int_equal(queue_find(queue, a->id, &found, &closed), QUEUE_E_UNKNOWN);
}

static void answers_need_the_fingerprint_and_an_offer(void **state)
{
	struct queue *queue = *state;
	const uint64_t span = 600 * USEC_PER_SEC;
	uint8_t stale[32] = {0};
	struct pending *a;

	assert_int_equal(add(queue, "s1", "/d/x", 1, 0, USEC_PER_SEC, &a), 0);
	assert_int_equal(
		pending_check_answer(a, true, GRANT_ONCE, 0, GRANT_EXACT, stale), QUEUE_E_STALE);
	assert_int_equal(
		pending_check_answer(a, false, GRANT_ONCE, 0, GRANT_EXACT, stale), QUEUE_E_STALE);
	assert_int_equal(
		pending_check_answer(a, true, GRANT_ONCE, 0, GRANT_EXACT, a->fingerprint), 0);
	assert_int_equal(
		pending_check_answer(a, true, GRANT_SESSION, 0, GRANT_EXACT, a->fingerprint), 0);
	assert_int_equal(
		pending_check_answer(a, true, GRANT_SPAN, span, GRANT_EXACT, a->fingerprint), 0);
	assert_int_equal(
		pending_check_answer(a, true, GRANT_SPAN, span + 1, GRANT_EXACT, a->fingerprint),
		QUEUE_E_NOT_OFFERED);
	assert_int_equal(
		pending_check_answer(a, true, GRANT_FOREVER, 0, GRANT_EXACT, a->fingerprint),
		QUEUE_E_NOT_OFFERED);
	assert_int_equal(pending_check_answer(a, true, GRANT_ONCE, 0, GRANT_DIR, a->fingerprint),
		QUEUE_E_NOT_OFFERED);
	assert_int_equal(
		pending_check_answer(a, false, GRANT_FOREVER, 0, GRANT_EXACT, a->fingerprint),
		QUEUE_E_NOT_OFFERED);
}

static void the_earliest_deadline_expires_first(void **state)
{
	struct queue *queue = *state;
	struct pending *a, *b;

	assert_int_equal(queue_next_deadline(queue) == UINT64_MAX, 1);
	assert_int_equal(add(queue, "s1", "/x", 1, 1000, 20 * USEC_PER_SEC, &a), 0);
	assert_int_equal(add(queue, "s1", "/y", 2, 1000, 10 * USEC_PER_SEC, &b), 0);
	assert_int_equal(queue_next_deadline(queue), 1000 + 10 * USEC_PER_SEC);
	assert_null(queue_next_expired(queue, 999 + 10 * USEC_PER_SEC));
	assert_ptr_equal(queue_next_expired(queue, 1000 + 10 * USEC_PER_SEC), b);
	queue_close(queue, b, OUTCOME_TIMEOUT, "timeout");
	assert_null(queue_next_expired(queue, 1000 + 10 * USEC_PER_SEC));
	assert_int_equal(queue_next_deadline(queue), 1000 + 20 * USEC_PER_SEC);
}

static void a_withdrawn_waiter_leaves_the_others(void **state)
{
	struct queue *queue = *state;
	struct pending *a, *b;

	assert_int_equal(add(queue, "s1", "/x", 1, 0, USEC_PER_SEC, &a), 0);
	assert_int_equal(add(queue, "s1", "/x", 2, 0, USEC_PER_SEC, &b), QUEUE_E_COALESCED);
	assert_int_equal(queue_withdraw(queue, "s2", 1, &b), QUEUE_E_UNKNOWN);
	assert_int_equal(queue_withdraw(queue, "s1", 1, &b), 0);
	assert_ptr_equal(a, b);
	assert_int_equal(a->n_waiters, 1);
	assert_int_equal(queue_withdraw(queue, "s1", 1, &b), QUEUE_E_UNKNOWN);
	assert_int_equal(n_freed, 1);
}

static void four_letters_tell_a_row_from_all_others_and_from_those_just_closed(void **state)
{
	enum { N = 3000, CLOSED = 1000 };
	static char ids[N][QUEUE_ID_MAX];
	struct queue *queue = *state;
	struct pending *row;
	char path[32];

	for (unsigned i = 0; i < N; i++) {
		(void)snprintf(path, sizeof(path), "/%u", i);
		assert_int_equal(add(queue, "s1", path, i, 0, USEC_PER_SEC, &row), 0);
		memcpy(ids[i], row->id, sizeof(ids[i]));
		for (unsigned j = 0; j < i; j++)
			assert_true(strncmp(ids[i], ids[j], 4) != 0);
		if (i < CLOSED) {
			queue_close(queue, row, OUTCOME_WITHDRAWN, "the requester");
			queue_remove(queue, row);
		}
	}
}

static void too_many_bytes_are_refused(void **state)
{
	struct queue *queue = *state;
	struct queue_ask ask = {.session = "s1", .ask = 1, .bytes = QUEUE_BYTES_MAX + 1};
	struct pending *a;

	ask.request = make_request("s1", "/x");
	ask.rule = make_rule(0, 0);
	assert_int_equal(queue_add(queue, &ask, 0, 0, &a), QUEUE_E_FULL);
	request_free(ask.request);
	rule_free(ask.rule);
}

static int add_bytes(struct queue *queue, const char *session, const char *path, size_t bytes)
{
	struct queue_ask ask = {.session = session, .ask = 1, .bytes = bytes};
	struct pending *row;
	int r;

	ask.request = make_request(session, path);
	ask.rule = make_rule(0, 0);
	r = queue_add(queue, &ask, 0, 0, &row);
	if (r != 0) {
		request_free(ask.request);
		rule_free(ask.rule);
	}
	return r;
}

static void one_session_leaves_room_for_the_others(void **state)
{
	struct queue *queue = *state;

	assert_int_equal(add_bytes(queue, "s1", "/1", QUEUE_BYTES_MAX / 2 - 10), 0);
	assert_int_equal(add_bytes(queue, "s1", "/2", 10), 0);
	assert_int_equal(add_bytes(queue, "s1", "/3", 1), QUEUE_E_FULL);
	assert_int_equal(add_bytes(queue, "s2", "/1", QUEUE_BYTES_MAX / 2), 0);
	assert_int_equal(add_bytes(queue, "s3", "/1", 1), QUEUE_E_FULL);
}

/* A row whose every text is N times FILL. */
static void assert_shown_within_size(struct queue *queue, const char *fill, size_t n)
{
	struct queue_ask ask = {.session = "s1", .ask = 1};
	_cleanup_(json_decrefp) json_t *json = NULL;
	_cleanup_(freep) char *shown = NULL;
	struct pending *row;
	char *text = calloc(n + 2, strlen(fill) + 1);

	text[0] = '/';
	for (size_t i = 0; i < n; i++)
		strcat(text, fill);
	ask.request = make_request("s1", text);
	ask.request->op = OP_EXEC;
	ask.request->alias = strdup(text);
	ask.request->other = strdup(text);
	ask.request->interpreter = strdup(text);
	ask.request->cwd = strdup(text);
	ask.request->argv = calloc(4, sizeof(char *));
	for (ask.request->n_argv = 0; ask.request->n_argv < 4; ask.request->n_argv++)
		ask.request->argv[ask.request->n_argv] = strdup(text);
	ask.request->argv[1][0] = '-';
	ask.rule = make_rule(~0u, ~0u);
	ask.rule->reason = strdup(text);
	ask.bytes = pending_shown_size(ask.request, ask.rule, text);
	assert_int_equal(queue_add(queue, &ask, 0, 0, &row), 0);
	json = pending_to_json(row, text, 0, 0);
	shown = json_write(json);
	assert_non_null(shown);
	assert_true(strlen(shown) <= row->bytes);
	free(text);
}

static void the_size_of_what_is_shown_is_known_before(void **state)
{
	static const char *const fills[] = {"", "a", " ", "\"", "'", "\\", "*", "$", "?", "\001",
		"\n", "\xff", "\xc3\xa9", "\xc2\xad", "\xe2\x80\xae", "\xf3\xa0\x81\x81",
		"\xf0\x9f\x98\x80", "a*\"'\\\001\xff"};

	for (size_t i = 0; i < ARRAY_LEN(fills); i++)
		assert_shown_within_size(*state, fills[i], 1000);
}

static void what_is_shown_has_every_member_and_is_escaped(void **state)
{
	static const char *const members[] = {"id", "session", "op", "object", "real_path",
		"program", "argv", "pid", "cwd", "rule", "layer", "reason", "deadline", "durations",
		"scopes", "fingerprint", "count", "uid", "risk", "rule_text", "agent",
		"scope_rules", "remaining_ms"};
	struct queue *queue = *state;
	struct pending *a;
	json_t *json;

	assert_int_equal(add(queue, "s1", "/x\033[2J", 1, 0, 60 * USEC_PER_SEC, &a), 0);
	json = pending_to_json(a, "agent", 10 * USEC_PER_SEC, 1000 * USEC_PER_SEC);
	for (size_t i = 0; i < ARRAY_LEN(members); i++)
		if (!json_object_get(json, members[i]))
			fail_msg("no member %s", members[i]);
	assert_string_equal(json_string_value(json_object_get(json, "real_path")), "/x\\x1b[2J");
	assert_string_equal(json_string_value(json_object_get(json, "risk")), "high");
	assert_int_equal(json_integer_value(json_object_get(json, "remaining_ms")), 50000);
	assert_int_equal(json_integer_value(json_object_get(json, "deadline")), 1050);
	assert_int_equal(json_array_size(json_object_get(json, "scopes")), 1);
	assert_int_equal(json_array_size(json_object_get(json, "durations")), 3);
	json_decref(json);
}

static void rules_are_read_strictly(void **state)
{
	struct rule *rule = NULL;
	json_t *json = json_pack("{s:s,s:s,s:s,s:[s,s],s:[i],s:[s]}", "id", "a:1", "text", "ask",
		"layer", "org", "durations", "once", "span", "spans_usec", 5, "scopes", "dir");

	(void)state;
	assert_int_equal(rule_from_json(json, &rule), 0);
	assert_int_equal(rule->layer, LAYER_ORG);
	assert_true(rule_offers_span(rule, 5));
	assert_false(rule_offers_span(rule, 6));
	rule_free(rule);
	json_object_set_new(json, "surprise", json_true());
	assert_int_equal(rule_from_json(json, &rule), -EBADMSG);
	json_object_del(json, "surprise");
	json_object_set_new(json, "durations", json_pack("[s]", "always"));
	assert_int_equal(rule_from_json(json, &rule), -EBADMSG);
	json_decref(json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			identical_requests_of_a_session_are_one_row, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_closed_row_takes_no_more_waiters_and_no_second_answer, setup, teardown),
		cmocka_unit_test_setup_teardown(
			prefixes_find_one_row_or_are_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_row_that_is_not_recorded_yet_cannot_be_answered, setup, teardown),
		cmocka_unit_test_setup_teardown(
			answers_need_the_fingerprint_and_an_offer, setup, teardown),
		cmocka_unit_test_setup_teardown(
			the_earliest_deadline_expires_first, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_withdrawn_waiter_leaves_the_others, setup, teardown),
		cmocka_unit_test_setup_teardown(
			four_letters_tell_a_row_from_all_others_and_from_those_just_closed, setup,
			teardown),
		cmocka_unit_test_setup_teardown(too_many_bytes_are_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(
			one_session_leaves_room_for_the_others, setup, teardown),
		cmocka_unit_test_setup_teardown(
			the_size_of_what_is_shown_is_known_before, setup, teardown),
		cmocka_unit_test_setup_teardown(
			what_is_shown_has_every_member_and_is_escaped, setup, teardown),
		cmocka_unit_test(rules_are_read_strictly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
