/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "agentctl/approve_line.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static char text[256];

static struct approve_line parse(const char *typed)
{
	struct approve_line line;

	snprintf(text, sizeof(text), "%s", typed);
	approve_line_parse(text, &line);
	return line;
}

static void stray_keys_decide_nothing(void **state)
{
	static const char *const typed[] = {"", " ", "\r", "y", "Y", "yes", "1", "7", "a", "allow",
		"ALLOW 7", "allow7", "deny", "ok", "y 7", "al 7", "allow 7 now", "allow 7 for",
		"allow 7 scope", "allow 7 for session scope", "\033[A", "aallow 7"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(typed); i++)
		assert_int_not_equal(parse(typed[i]).word, APPROVE_ANSWER);
}

static void an_answer_has_a_verb_and_an_id(void **state)
{
	struct approve_line line = parse("  allow 7  ");

	(void)state;
	assert_int_equal(line.word, APPROVE_ANSWER);
	assert_true(line.answer.allow);
	assert_string_equal(line.id, "7");
	assert_null(line.answer.duration);
	line = parse("allow 12 for session scope dir");
	assert_string_equal(line.answer.duration, "session");
	assert_string_equal(line.answer.scope, "dir");
	line = parse("allow 12 scope dir for 10m");
	assert_string_equal(line.answer.duration, "10m");
}

static void a_denial_may_carry_a_note(void **state)
{
	struct approve_line line = parse("deny 7 not  the production one \r");

	(void)state;
	assert_int_equal(line.word, APPROVE_ANSWER);
	assert_false(line.answer.allow);
	assert_string_equal(line.answer.note, "not  the production one");
	assert_null(parse("deny 7").answer.note);
}

static void other_words_stand_alone(void **state)
{
	(void)state;
	assert_int_equal(parse("skip").word, APPROVE_SKIP);
	assert_int_equal(parse("?").word, APPROVE_HELP);
	assert_int_equal(parse("list").word, APPROVE_LIST);
	assert_int_equal(parse("quit").word, APPROVE_QUIT);
	assert_int_equal(parse("skip 7").word, APPROVE_WRONG);
}

static json_t *two_requests(void)
{
	return json_pack("[{s:s, s:s, s:[s, s]}, {s:s, s:s, s:[s]}]", "id", "7f", "fingerprint",
		"aa", "scopes", "exact", "dir", "id", "7e", "fingerprint", "bb", "scopes", "exact");
}

static void ids_are_found_by_unique_prefix(void **state)
{
	json_t *requests = two_requests(), *found = NULL;

	(void)state;
	assert_int_equal(answer_find(requests, "7f", &found), 0);
	assert_string_equal(json_string_value(json_object_get(found, "fingerprint")), "aa");
	assert_int_equal(answer_find(requests, "7", &found), ANSWER_E_AMBIGUOUS);
	assert_int_equal(answer_find(requests, "8", &found), ANSWER_E_UNKNOWN);
	assert_int_equal(answer_find(requests, "", &found), ANSWER_E_UNKNOWN);
	assert_int_equal(answer_find(requests, "7fa", &found), ANSWER_E_UNKNOWN);
	json_decref(requests);
}

static void an_answer_carries_the_fingerprint_and_the_narrowest_scope(void **state)
{
	json_t *requests = two_requests(), *parameter = NULL;
	struct answer answer = {.allow = true};
	const char *why;

	(void)state;
	assert_int_equal(
		answer_make(json_array_get(requests, 0), &answer, "test", &parameter, &why), 0);
	assert_string_equal(json_string_value(json_object_get(parameter, "fingerprint")), "aa");
	assert_string_equal(json_string_value(json_object_get(parameter, "scope")), "exact");
	assert_string_equal(json_string_value(json_object_get(parameter, "duration")), "once");
	json_decref(parameter);
	answer.duration = "10m";
	assert_int_equal(
		answer_make(json_array_get(requests, 0), &answer, "test", &parameter, &why), 0);
	assert_string_equal(json_string_value(json_object_get(parameter, "duration")), "span");
	assert_int_equal(json_integer_value(json_object_get(parameter, "span_usec")), 600000000);
	json_decref(parameter);
	answer.duration = "always";
	assert_true(
		answer_make(json_array_get(requests, 0), &answer, "test", &parameter, &why) < 0);
	assert_non_null(why);
	json_decref(requests);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stray_keys_decide_nothing),
		cmocka_unit_test(an_answer_has_a_verb_and_an_id),
		cmocka_unit_test(a_denial_may_carry_a_note),
		cmocka_unit_test(other_words_stand_alone),
		cmocka_unit_test(ids_are_found_by_unique_prefix),
		cmocka_unit_test(an_answer_carries_the_fingerprint_and_the_narrowest_scope),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
