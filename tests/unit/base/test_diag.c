/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <string.h>

#include <cmocka.h>

#include "supervisord/base/diag.h"

static char *print(const struct diag_list *list)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	diag_list_print(list, out);
	fclose(out);
	return text;
}

static void points_at_the_column_with_a_caret(void **state)
{
	_cleanup_(freep) char *text = NULL;
	struct diag_list list;

	(void)state;
	diag_list_init(&list);
	diag_add(&list, DIAG_ERROR, "a.policy", 3, 7, "allow fly \"/\"", "unknown operation '%s'",
		"fly");
	text = print(&list);
	assert_string_equal(text, "a.policy:3:7: error: unknown operation 'fly'\n"
				  "    allow fly \"/\"\n"
				  "          ^\n");
	diag_list_deinit(&list);
}

static void the_caret_stands_right_behind_an_escape_and_a_letter(void **state)
{
	_cleanup_(freep) char *text = NULL;
	struct diag_list list;

	(void)state;
	diag_list_init(&list);
	diag_add(&list, DIAG_WARNING, "a", 1, 4, "\t\303\244\033x", "m");
	text = print(&list);
	assert_string_equal(text, "a:1:4: warning: m\n    \\t\303\244\\x1bx\n           ^\n");
	diag_list_deinit(&list);
}

static void escapes_hostile_names_and_messages(void **state)
{
	_cleanup_(freep) char *text = NULL;
	struct diag_list list;

	(void)state;
	diag_list_init(&list);
	diag_add(&list, DIAG_ERROR, "a\n", 0, 0, NULL, "bad %s", "\033[31m");
	text = print(&list);
	assert_string_equal(text, "a\\n: error: bad \\x1b[31m\n");
	diag_list_deinit(&list);
}

static void counts_what_it_does_not_keep(void **state)
{
	_cleanup_(freep) char *text = NULL;
	struct diag_list list;
	unsigned i;

	(void)state;
	diag_list_init(&list);
	for (i = 0; i < DIAG_MAX + 5; i++)
		diag_add(&list, DIAG_ERROR, "f", i + 1, 1, NULL, "m");
	assert_int_equal(list.n_items, DIAG_MAX);
	assert_int_equal(list.n_errors, DIAG_MAX + 5);
	assert_int_equal(list.n_dropped, 5);
	text = print(&list);
	assert_non_null(strstr(text, "(5 more not shown)\n"));
	diag_list_deinit(&list);
	diag_list_deinit(&list);
	assert_int_equal(list.n_errors, 0);
}

static void warnings_are_no_errors(void **state)
{
	struct diag_list list;

	(void)state;
	diag_list_init(&list);
	diag_add(&list, DIAG_WARNING, "f", 1, 1, NULL, "m");
	assert_int_equal(list.n_errors, 0);
	assert_int_equal(list.n_items, 1);
	diag_list_deinit(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(points_at_the_column_with_a_caret),
		cmocka_unit_test(the_caret_stands_right_behind_an_escape_and_a_letter),
		cmocka_unit_test(escapes_hostile_names_and_messages),
		cmocka_unit_test(counts_what_it_does_not_keep),
		cmocka_unit_test(warnings_are_no_errors),
	};

	return cmocka_run_group_tests_name("diag", tests, NULL, NULL);
}
