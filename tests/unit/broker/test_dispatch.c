/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */

/* The filter's table and the dispatcher's must agree. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "supervisord/broker/notification.h"
#include "supervisord/sandbox/syscalls.h"

static bool notifies(const struct syscall_entry *entry)
{
	return entry->disposition == SYSCALL_NOTIFY || entry->disposition == SYSCALL_NOTIFY_OPEN ||
	       entry->disposition == SYSCALL_NOTIFY_ADDR;
}

static void every_notified_call_has_a_handler(void **state)
{
	size_t n = 0;

	(void)state;
	for (size_t i = 0; i < syscall_table_size; i++) {
		if (!notifies(&syscall_table[i]) || syscall_table[i].nr < 0)
			continue;
		n++;
		if (!dispatch_handler(syscall_table[i].nr))
			fail_msg("%s is notified but has no handler", syscall_table[i].name);
	}
	assert_true(n > 30);
}

static void a_call_that_is_merely_allowed_has_no_handler(void **state)
{
	(void)state;
	for (size_t i = 0; i < syscall_table_size; i++) {
		if (syscall_table[i].disposition == SYSCALL_ALLOW && syscall_table[i].nr >= 0)
			assert_null(dispatch_handler(syscall_table[i].nr));
	}
}

static void an_unknown_number_has_no_handler(void **state)
{
	(void)state;
	assert_null(dispatch_handler(-1));
	assert_null(dispatch_handler(100000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_notified_call_has_a_handler),
		cmocka_unit_test(a_call_that_is_merely_allowed_has_no_handler),
		cmocka_unit_test(an_unknown_number_has_no_handler),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
