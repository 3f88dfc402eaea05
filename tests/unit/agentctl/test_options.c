/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "agentctl/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static const struct option_def defs[] = {
	{"json", 'j', NULL},
	{"for", 'f', "DURATION"},
	{"verbose", 'v', NULL},
};

#define WORDS(...)                                                                                 \
	(char *[])                                                                                 \
	{                                                                                          \
		__VA_ARGS__, NULL                                                                  \
	}

static void start(struct options *options, char **words, bool stop)
{
	int n = 0;

	while (words[n])
		n++;
	assert_int_equal(options_init(options, defs, ARRAY_LEN(defs), n, words, stop), 0);
}

static char w_json[] = "--json", w_for[] = "--for", w_for_eq[] = "--for=10m",
	    w_session[] = "session", w_id[] = "7", w_dd[] = "--", w_cluster[] = "-jvfonce",
	    w_bad[] = "--jsn", w_help[] = "-h", w_flag_value[] = "--json=yes", w_dash[] = "-",
	    w_ls[] = "ls", w_l[] = "-l", w_abbrev[] = "--fo";

static void operands_may_stand_among_options(void **state)
{
	struct options o;
	const char *value;

	(void)state;
	start(&o, WORDS(w_id, w_for, w_session, w_json), false);
	assert_int_equal(options_next(&o, &value), 1);
	assert_string_equal(value, "session");
	assert_int_equal(options_next(&o, &value), 0);
	assert_null(value);
	assert_int_equal(options_next(&o, &value), OPTIONS_END);
	assert_int_equal(o.n_operands, 1);
	assert_string_equal(o.operands[0], "7");
	options_deinit(&o);
}

static void a_value_may_be_attached_with_an_equals_sign(void **state)
{
	struct options o;
	const char *value;

	(void)state;
	start(&o, WORDS(w_for_eq), false);
	assert_int_equal(options_next(&o, &value), 1);
	assert_string_equal(value, "10m");
	options_deinit(&o);
}

static void letters_may_be_clustered_and_carry_a_value(void **state)
{
	struct options o;
	const char *value;

	(void)state;
	start(&o, WORDS(w_cluster), false);
	assert_int_equal(options_next(&o, &value), 0);
	assert_int_equal(options_next(&o, &value), 2);
	assert_int_equal(options_next(&o, &value), 1);
	assert_string_equal(value, "once");
	assert_int_equal(options_next(&o, &value), OPTIONS_END);
	options_deinit(&o);
}

static void a_command_keeps_its_own_options(void **state)
{
	struct options o;
	const char *value;

	(void)state;
	start(&o, WORDS(w_json, w_ls, w_l, w_json, w_dd), true);
	assert_int_equal(options_next(&o, &value), 0);
	assert_int_equal(options_next(&o, &value), OPTIONS_END);
	assert_int_equal(o.n_operands, 4);
	assert_string_equal(o.operands[1], "-l");
	assert_string_equal(o.operands[3], "--");
	options_deinit(&o);
}

static void everything_behind_two_dashes_is_an_operand(void **state)
{
	struct options o;
	const char *value;

	(void)state;
	start(&o, WORDS(w_dd, w_json, w_l), false);
	assert_int_equal(options_next(&o, &value), OPTIONS_END);
	assert_int_equal(o.n_operands, 2);
	assert_string_equal(o.operands[0], "--json");
	options_deinit(&o);
}

static void a_single_dash_is_an_operand(void **state)
{
	struct options o;
	const char *value;

	(void)state;
	start(&o, WORDS(w_dash), false);
	assert_int_equal(options_next(&o, &value), OPTIONS_END);
	assert_int_equal(o.n_operands, 1);
	options_deinit(&o);
}

static void expect_error(char **words, const char *part)
{
	struct options o;
	const char *value;

	start(&o, words, false);
	assert_int_equal(options_next(&o, &value), OPTIONS_ERROR);
	assert_non_null(strstr(o.error, part));
	options_deinit(&o);
}

static void refuses_unknown_abbreviated_and_misused_options(void **state)
{
	(void)state;
	expect_error(WORDS(w_bad), "unknown option --jsn");
	expect_error(WORDS(w_abbrev), "unknown option --fo");
	expect_error(WORDS(w_flag_value), "no value is allowed for option --json");
	expect_error(WORDS(w_for), "option --for needs a value");
	expect_error(WORDS(w_l), "unknown option -l");
}

static void help_is_always_there(void **state)
{
	struct options o;
	const char *value;

	(void)state;
	start(&o, WORDS(w_help), false);
	assert_int_equal(options_next(&o, &value), OPTIONS_HELP);
	options_deinit(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(operands_may_stand_among_options),
		cmocka_unit_test(a_value_may_be_attached_with_an_equals_sign),
		cmocka_unit_test(letters_may_be_clustered_and_carry_a_value),
		cmocka_unit_test(a_command_keeps_its_own_options),
		cmocka_unit_test(everything_behind_two_dashes_is_an_operand),
		cmocka_unit_test(a_single_dash_is_an_operand),
		cmocka_unit_test(refuses_unknown_abbreviated_and_misused_options),
		cmocka_unit_test(help_is_always_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
