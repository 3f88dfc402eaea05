/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>

#include "supervisord/proto/op.h"

static void every_name_reads_back(void **state)
{
	enum policy_layer layer;
	enum net_proto proto;
	enum verdict verdict;
	enum op op;
	unsigned i;

	(void)state;
	for (i = 0; i < _OP_N; i++) {
		assert_int_equal(op_from_name(op_name((enum op)i), &op), 0);
		assert_int_equal(op, i);
	}
	for (i = 0; i < _VERDICT_N; i++) {
		assert_int_equal(verdict_from_name(verdict_name((enum verdict)i), &verdict), 0);
		assert_int_equal(verdict, i);
	}
	for (i = 0; i < _NET_PROTO_N; i++) {
		assert_int_equal(net_proto_from_name(net_proto_name((enum net_proto)i), &proto), 0);
		assert_int_equal(proto, i);
	}
	for (i = 0; i < _LAYER_N; i++) {
		assert_int_equal(
			policy_layer_from_name(policy_layer_name((enum policy_layer)i), &layer), 0);
		assert_int_equal(layer, i);
	}
}

static void unknown_words_are_refused(void **state)
{
	static const char *const words[] = {"", "?", "READ", "read ", "reads", "rea"};
	enum policy_layer layer;
	enum net_proto proto;
	enum verdict verdict;
	enum op op;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_LEN(words); i++) {
		assert_int_equal(op_from_name(words[i], &op), -EINVAL);
		assert_int_equal(verdict_from_name(words[i], &verdict), -EINVAL);
		assert_int_equal(net_proto_from_name(words[i], &proto), -EINVAL);
		assert_int_equal(policy_layer_from_name(words[i], &layer), -EINVAL);
	}
}

static void numbers_out_of_range_have_a_name_too(void **state)
{
	(void)state;
	assert_string_equal(op_name(_OP_N), "?");
	assert_string_equal(verdict_name((enum verdict)99), "?");
	assert_string_equal(net_proto_name(_NET_PROTO_N), "?");
	assert_string_equal(policy_layer_name(_LAYER_N), "?");
}

static void the_stricter_verdict_is_the_larger(void **state)
{
	(void)state;
	assert_true(VERDICT_ALLOW < VERDICT_ASK);
	assert_true(VERDICT_ASK < VERDICT_HIDE);
	assert_true(VERDICT_HIDE < VERDICT_DENY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_name_reads_back),
		cmocka_unit_test(unknown_words_are_refused),
		cmocka_unit_test(numbers_out_of_range_have_a_name_too),
		cmocka_unit_test(the_stricter_verdict_is_the_larger),
	};

	return cmocka_run_group_tests_name("op", tests, NULL, NULL);
}
