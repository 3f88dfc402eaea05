/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "tests/unit/policy-lang/support.h"

/* One fault: where it is and a part of the message. */
struct fault {
	const char *body;
	unsigned line, column;
	const char *message;
};

static void expect_fault(enum policy_layer layer, const struct fault *fault)
{
	struct policy_set *set;
	struct diag_list diags;
	int r;

	diag_list_init(&diags);
	assert_int_equal(policy_set_new(&sample_vars, &set), 0);
	r = add_text(set, "t.policy", layer, fault->body, &diags);
	if (!r)
		r = policy_set_seal(set, &diags);
	if (r != POLICY_E_INVALID || !diags.n_items)
		fail_msg("accepted: %s", fault->body);
	if (diags.items[0].line != fault->line || diags.items[0].column != fault->column ||
		!strstr(diags.items[0].message, fault->message)) {
		diag_list_print(&diags, stderr);
		fail_msg("expected %u:%u: %s for: %s", fault->line, fault->column, fault->message,
			fault->body);
	}
	policy_set_free(set);
	diag_list_deinit(&diags);
}

static void says_where_a_statement_is_wrong(void **state)
{
	static const struct fault faults[] = {
		{"alow read \"/x\"\n", 2, 1, "did you mean \"allow\"?"},
		{"allow reed \"/x\"\n", 2, 7, "did you mean \"read\"?"},
		{"allow newtork \"example.com\"\n", 2, 7, "unknown word \"newtork\""},
		{"allow read \"/x\" excpt \"/x/y\"\n", 2, 17, "did you mean \"except\"?"},
		{"allow read /x\n", 2, 12, "in double quotes"},
		{"allow read '/x'\n", 2, 12, "in double quotes"},
		{"allow read \"/x\n", 2, 12, "no closing quote"},
		{"allow read \"/x\\q\"\n", 2, 15, "unknown escape"},
		{"allow read \"/x\\x0g\"\n", 2, 15, "two hexadecimal digits"},
		{"allow read \"/x\\x00\"\n", 2, 15, "NUL"},
		{"allow read\n", 2, 11, "expected a target"},
		{"allow read \"/x\", \"/y\"\n", 2, 16, "separated by blanks"},
		{"allow read \"\"\n", 2, 12, "empty string"},
		{"allow read,read \"/x\"\n", 2, 12, "named twice"},
		{"allow read,exec \"/x\"\n", 2, 12, "rule of its own"},
		{"allow read \"x\"\n", 2, 12, "a path begins with"},
		{"allow read \"./x\"\n", 2, 12, "a path begins with"},
		{"allow read \"~bob/x\"\n", 2, 12, "own home"},
		{"allow read \"$PROJCT/x\"\n", 2, 12, "did you mean $PROJECT?"},
		{"allow read \"/a**/x\"\n", 2, 12, "whole components"},
		{"allow read \"/a/*/../x\"\n", 2, 12, "behind a wildcard"},
		{"allow read @src\n", 2, 12, "no set \"src\""},
		{"set src = { \"/x\" }\nallow read @scr\n", 3, 12, "did you mean \"@src\"?"},
		{"set src = { }\nallow read @src\n", 2, 5, "empty"},
		{"set s = { \"/x\" }\nbin s = { \"/y\" }\nallow read @s\n", 3, 5,
			"already is a set"},
		{"set s = { \"/x\" @t }\n", 2, 16, "not other sets"},
		{"a: allow read \"/x\"\na: deny read \"/y\"\n", 3, 1, "already is a rule"},
		{"allow read \"/x\" because \"a\" because \"b\"\n", 2, 29, "given twice"},
		{"allow read \"/x\" offer once\n", 2, 17, "ask rules only"},
		{"ask read \"/x\" offer twice\n", 2, 21, "where once, session"},
		{"ask read \"/x\" offer 0s\n", 2, 21, "at least 1s"},
		{"ask read \"/x\" scope host\n", 2, 21, "no meaning"},
		{"ask read \"/x\" scope domain\n", 2, 21, "not supported"},
		{"ask read \"/x\" timeout 5\n", 2, 23, "a span such as"},
		{"ask read \"/x\" timeout 5x\n", 2, 23, "a span is digits"},
		{"allow read \"/x\" has \"y\"\n", 2, 17, "belongs to exec"},
		{"allow read \"/x\" port 1\n", 2, 17, "belongs to connect"},
		{"allow connect tcp \"h.example\" port 0\n", 2, 36, "1 to 65535"},
		{"allow connect tcp \"h.example\" port 65536\n", 2, 36, "1 to 65535"},
		{"allow connect tcp \"h.example\" port 9-1\n", 2, 38, "not lower"},
		{"allow connect unix \"/x\" port 1\n", 2, 25, "no port"},
		{"allow connect tcp,unix \"/x\"\n", 2, 19, "rule of their own"},
		{"allow connect tcp \"*\" port 1\n", 2, 19, "every host"},
		{"allow connect tcp \"*.com\" port 1\n", 2, 19, "top-level"},
		{"allow connect tcp \"b\303\274.example\"\n", 2, 19, "ASCII form"},
		{"allow connect tcp \"10.0.0.1/8\"\n", 2, 19, "behind its prefix"},
		{"allow connect tcp \"10.0.0\"\n", 2, 19, "complete address"},
		{"allow connect tcp \"http://x.example\"\n", 2, 19, "no network"},
		{"limit procs 10\n", 2, 1, "not supported"},
		{"delegate user read \"/x\"\n", 2, 1, "not supported"},
		{"dns real\n", 2, 1, "not supported"},
		{"for agent \"x\" { }\n", 2, 1, "not supported"},
		{"allow signal TERM to children\n", 2, 7, "signals"},
		{"default hide read\n", 2, 9, "allow, ask, deny or defer"},
		{"default defer read\n", 2, 1, "org layer"},
		{"policy \"x\" lang 1 layer user\n", 2, 1, "once"},
		{"allow read \"/x\" deny read \"/y\"\n", 2, 17, "unknown word \"deny\""},
		{"test \"x\" { }\n", 2, 6, "expects nothing"},
		{"test \"x\" {\n expect alow read \"/x\"\n}\n", 3, 9, "did you mean \"allow\"?"},
		{"grant read \"/x\" until 2026-02-30T00:00:00Z\n", 2, 23, "expected a time"},
		{"allow read \"/x\" until 2026-01-01T00:00:00Z\n", 2, 17, "grants only"},
		{"use \"cora\"\n", 2, 5, "did you mean \"core\"?"},
		{"allow env \"A B\"\n", 2, 11, "letters, digits"},
		{"allow env \"A*B\"\n", 2, 11, "beginning or the end"},
		{"allow env \"LD_PRELOAD\"\n", 2, 11, "never passed"},
		{"set env LD_PRELOAD \"x\"\n", 2, 9, "never passed"},
		{"ask env \"A\"\n", 2, 5, "allowed or denied"},
		{"allow read \"/x\" ;\n", 2, 17, "means nothing"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(faults); i++)
		expect_fault(LAYER_USER, &faults[i]);
}

static void a_project_can_only_narrow(void **state)
{
	static const struct fault faults[] = {
		{"allow read \"/x\"\n", 2, 1, "only narrow"},
		{"deny read \"/y\"\ngrant read \"/x\"\n", 3, 1, "only narrow"},
		{"default allow read\n", 2, 1, "only narrow"},
		{"allow env \"A\"\n", 2, 1, "only narrow"},
		{"set env A \"x\"\n", 2, 1, "only narrow"},
		{"use \"core\"\n", 2, 5, "cannot choose"},
		{"a: allow connect tcp \"x.example\" port 443\n", 2, 1, "only narrow"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(faults); i++)
		expect_fault(LAYER_PROJECT, &faults[i]);
	policy_set_free(sealed_one(LAYER_PROJECT,
		"ask read \"/a\"\ndeny write \"/b\"\nhide \"/c\"\ndefault deny exec\n"
		"deny env \"X\"\ntest \"t\" {\n expect deny write \"/b\"\n}\n"));
}

static void a_grant_stands_in_the_user_layer_only(void **state)
{
	static const struct fault fault = {"grant read \"/x\"\n", 2, 1, "user layer only"};

	(void)state;
	expect_fault(LAYER_BUILTIN, &fault);
	expect_fault(LAYER_ORG, &fault);
}

static void a_failing_test_is_an_error_at_its_line(void **state)
{
	static const struct fault fault = {"allow read \"/x/**\"\ndeny read \"/x/y\"\ntest \"t\" "
					   "{\n\texpect allow read \"/x/z\"\n"
					   "\texpect allow read \"/x/y\"\n}\n",
		6, 2, "expects allow, but the answer is deny, by t.policy:3"};

	(void)state;
	expect_fault(LAYER_USER, &fault);
}

static void whole_texts_that_are_no_policy_are_refused(void **state)
{
	static const struct {
		const char *text;
		size_t size;
		unsigned line, column;
		const char *message;
	} cases[] = {
		{"", 0, 0, 0, "holds no policy"},
		{"# only a comment\n\n", 18, 0, 0, "holds no policy"},
		{"allow read \"/x\"\n", 16, 1, 1, "no policy header"},
		{"policy \"x\" lang 2 layer user\n", 29, 1, 17, "newer agent-supervisor"},
		{"policy \"x\" lang 1 layer org\n", 28, 1, 25, "read as layer user"},
		{"policy \"x\" lang 1 layer usr\n", 28, 1, 25, "unknown layer"},
		{"policy \"x\" lang 1\n", 18, 1, 18, "expected \"layer\""},
		{"policy \"x\" lang 1 layer user\n\0\n", 31, 2, 1, "NUL"},
		{"policy \"x\" lang 1 layer user\n# \xff\n", 33, 2, 3, "not UTF-8"},
		{"policy \"x\" lang 1 layer user\n# \xc0\xaf\n", 34, 2, 3, "not UTF-8"},
		{"policy \"x\" lang 1 layer user\n# \x1b[2J\n", 36, 2, 3, "control character"},
		{"policy \"x\" lang 1 layer user\r# x\n", 33, 1, 29, "carriage return"},
		{"policy \"x\" lang 1 layer user\n# \xe2\x80\xae\n", 35, 2, 3, "direction of text"},
		{"\xef\xbb\xbfpolicy \"x\" lang 1 layer user\n", 32, 1, 1, "byte order mark"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct policy_set *set;
		struct diag_list diags;

		diag_list_init(&diags);
		assert_int_equal(policy_set_new(&sample_vars, &set), 0);
		assert_int_equal(
			policy_set_add(set, "f", cases[i].text, cases[i].size, LAYER_USER, &diags),
			POLICY_E_INVALID);
		assert_true(diags.n_items);
		assert_non_null(strstr(diags.items[0].message, cases[i].message));
		assert_int_equal(diags.items[0].line, cases[i].line);
		assert_int_equal(diags.items[0].column, cases[i].column);
		policy_set_free(set);
		diag_list_deinit(&diags);
	}
}

static void reads_crlf_and_a_last_line_without_newline(void **state)
{
	static const char text[] = "\r\n# c\r\npolicy \"x\" lang 1 layer user\r\nallow read "
				   "\"/x\"\r\ndeny read \"/y\"";
	struct policy_set *set;
	struct diag_list diags;

	(void)state;
	diag_list_init(&diags);
	assert_int_equal(policy_set_new(&sample_vars, &set), 0);
	assert_int_equal(policy_set_add(set, "f", text, sizeof(text) - 1, LAYER_USER, &diags), 0);
	assert_int_equal(policy_set_seal(set, &diags), 0);
	expect_verdict(set, "read /x", VERDICT_ALLOW);
	expect_verdict(set, "read /y", VERDICT_DENY);
	policy_set_free(set);
	diag_list_deinit(&diags);
}

static void reports_several_faults_in_one_run(void **state)
{
	struct policy_set *set;
	struct diag_list diags;

	(void)state;
	diag_list_init(&diags);
	assert_int_equal(policy_set_new(&sample_vars, &set), 0);
	assert_int_equal(
		add_text(set, "f", LAYER_USER,
			"alow read \"/x\"\nallow read \"/ok\"\nset s = {\n  \"/a\"\n  @b\n}\n"
			"test \"x\" {\n expect foo read \"/x\"\n}\ndeny reed \"/z\"\n",
			&diags),
		POLICY_E_INVALID);
	assert_int_equal(diags.n_items, 4);
	assert_int_equal(diags.items[0].line, 2);
	assert_int_equal(diags.items[1].line, 6);
	assert_int_equal(diags.items[2].line, 9);
	assert_int_equal(diags.items[3].line, 11);
	policy_set_free(set);
	diag_list_deinit(&diags);
}

static void columns_count_characters(void **state)
{
	static const struct fault fault = {
		"allow read \"/\303\244\303\266\" foo\n", 2, 18, "unknown word \"foo\""};

	(void)state;
	expect_fault(LAYER_USER, &fault);
}

static void limits_have_messages_of_their_own(void **state)
{
	char body[16384];
	struct fault fault = {.body = body, .line = 2, .column = 12};
	int n;

	(void)state;
	n = snprintf(body, sizeof(body), "allow read \"/%0*d\"\n", 5000, 0);
	assert_true(n > 0);
	fault.message = "too long";
	fault.column = 12 + 4096;
	/* The column is that of the first byte too many, behind the quote. */
	fault.column += 1;
	expect_fault(LAYER_USER, &fault);
	strcpy(body, "allow read \"");
	for (int i = 0; i < 70; i++)
		strcat(body, "/a");
	strcat(body, "\"\n");
	fault.message = "62 components";
	fault.column = 12;
	expect_fault(LAYER_USER, &fault);
}

static void a_text_that_is_too_large_is_refused(void **state)
{
	char *text = calloc(1, POLICY_TEXT_MAX + 1);
	struct policy_set *set;
	struct diag_list diags;

	(void)state;
	assert_non_null(text);
	diag_list_init(&diags);
	assert_int_equal(policy_set_new(&sample_vars, &set), 0);
	assert_int_equal(policy_set_add(set, "f", text, POLICY_TEXT_MAX + 1, LAYER_USER, &diags),
		POLICY_E_INVALID);
	assert_non_null(strstr(diags.items[0].message, "1 MiB"));
	policy_set_free(set);
	diag_list_deinit(&diags);
	free(text);
}

static void warns_of_what_says_nothing(void **state)
{
	static const struct {
		const char *body, *message;
	} cases[] = {
		{"", "no rules"},
		{"set s = { \"/x\" }\nallow read \"/y\"\n", "no rule uses"},
		{"deny read \"/x/y\" except \"/x/**\"\n", "wholly excepted"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct policy_set *set;
		struct diag_list diags;

		diag_list_init(&diags);
		assert_int_equal(policy_set_new(&sample_vars, &set), 0);
		assert_int_equal(add_text(set, "f", LAYER_USER, cases[i].body, &diags), 0);
		assert_int_equal(diags.n_items, 1);
		assert_int_equal(diags.items[0].severity, DIAG_WARNING);
		assert_non_null(strstr(diags.items[0].message, cases[i].message));
		policy_set_free(set);
		diag_list_deinit(&diags);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(says_where_a_statement_is_wrong),
		cmocka_unit_test(a_project_can_only_narrow),
		cmocka_unit_test(a_grant_stands_in_the_user_layer_only),
		cmocka_unit_test(a_failing_test_is_an_error_at_its_line),
		cmocka_unit_test(whole_texts_that_are_no_policy_are_refused),
		cmocka_unit_test(reads_crlf_and_a_last_line_without_newline),
		cmocka_unit_test(reports_several_faults_in_one_run),
		cmocka_unit_test(columns_count_characters),
		cmocka_unit_test(limits_have_messages_of_their_own),
		cmocka_unit_test(a_text_that_is_too_large_is_refused),
		cmocka_unit_test(warns_of_what_says_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
