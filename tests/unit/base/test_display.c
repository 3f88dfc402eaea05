/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <string.h>

#include <cmocka.h>

#include "supervisord/base/display.h"

#define BYTES(s) s, sizeof(s) - 1

static const struct {
	const char *name;
	const char *data;
	size_t size;
	const char *shown;
	unsigned flags;
} escapes[] = {
	{"printable ASCII", BYTES("a b~!\"'"), "a b~!\"'", 0},
	{"the empty text", BYTES(""), "", 0},
	{"backslash", BYTES("a\\x1b"), "a\\\\x1b", 0},
	{"newline and tab", BYTES("a\n[allow]\tb"), "a\\n[allow]\\tb", DISPLAY_ESCAPED},
	{"NUL", BYTES("a\0b"), "a\\x00b", DISPLAY_ESCAPED},
	{"terminal control", BYTES("\033[2K\r\a\177"), "\\x1b[2K\\x0d\\x07\\x7f", DISPLAY_ESCAPED},
	{"C1 as a letter", BYTES("\302\233"), "\\xc2\\x9b", DISPLAY_ESCAPED},
	{"C1 as a byte", BYTES("\233"), "\\x9b", DISPLAY_ESCAPED},
	{"letters", BYTES("\303\244\342\202\254\346\227\245"), "\303\244\342\202\254\346\227\245",
		DISPLAY_NON_ASCII},
	{"a letter of 4 bytes", BYTES("\360\237\246\212"), "\360\237\246\212", DISPLAY_NON_ASCII},
	{"combining mark", BYTES("e\314\201"), "e\314\201", DISPLAY_NON_ASCII},
	{"no-break space", BYTES("a\302\240b"), "a\\u{00a0}b", DISPLAY_ESCAPED},
	{"soft hyphen", BYTES("\302\255"), "\\u{00ad}", DISPLAY_ESCAPED},
	{"bidi override", BYTES("\342\200\256txt"), "\\u{202e}txt", DISPLAY_ESCAPED},
	{"bidi isolate", BYTES("\342\201\246"), "\\u{2066}", DISPLAY_ESCAPED},
	{"direction mark", BYTES("\342\200\216"), "\\u{200e}", DISPLAY_ESCAPED},
	{"Arabic letter mark", BYTES("\330\234"), "\\u{061c}", DISPLAY_ESCAPED},
	{"zero width", BYTES("ok\342\200\213.txt"), "ok\\u{200b}.txt", DISPLAY_ESCAPED},
	{"word joiner", BYTES("\342\201\240"), "\\u{2060}", DISPLAY_ESCAPED},
	{"byte order mark", BYTES("\357\273\277"), "\\u{feff}", DISPLAY_ESCAPED},
	{"line separator", BYTES("\342\200\250"), "\\u{2028}", DISPLAY_ESCAPED},
	{"paragraph separator", BYTES("\342\200\251"), "\\u{2029}", DISPLAY_ESCAPED},
	{"variation selector", BYTES("\357\270\217"), "\\u{fe0f}", DISPLAY_ESCAPED},
	{"variation selector 17", BYTES("\363\240\204\200"), "\\u{e0100}", DISPLAY_ESCAPED},
	{"tag", BYTES("\363\240\201\201"), "\\u{e0041}", DISPLAY_ESCAPED},
	{"Hangul filler", BYTES("\343\205\244\341\205\237"), "\\u{3164}\\u{115f}", DISPLAY_ESCAPED},
	{"Mongolian separator", BYTES("\341\240\216"), "\\u{180e}", DISPLAY_ESCAPED},
	{"musical control", BYTES("\360\235\205\263"), "\\u{1d173}", DISPLAY_ESCAPED},
	{"shorthand control", BYTES("\360\233\262\240"), "\\u{1bca0}", DISPLAY_ESCAPED},
	{"private use", BYTES("\356\200\200\363\260\200\200"), "\\u{e000}\\u{f0000}",
		DISPLAY_ESCAPED},
	{"noncharacters", BYTES("\357\277\277\357\267\220\360\237\277\276"),
		"\\u{ffff}\\u{fdd0}\\u{1fffe}", DISPLAY_ESCAPED},
	{"unassigned plane", BYTES("\361\200\200\200"), "\\u{40000}", DISPLAY_ESCAPED},
	{"lone continuation", BYTES("\200"), "\\x80", DISPLAY_ESCAPED},
	{"overlong slash", BYTES("\300\257"), "\\xc0\\xaf", DISPLAY_ESCAPED},
	{"overlong of 3", BYTES("\340\200\257"), "\\xe0\\x80\\xaf", DISPLAY_ESCAPED},
	{"overlong of 4", BYTES("\360\200\200\257"), "\\xf0\\x80\\x80\\xaf", DISPLAY_ESCAPED},
	{"surrogate", BYTES("\355\240\200"), "\\xed\\xa0\\x80", DISPLAY_ESCAPED},
	{"beyond the last", BYTES("\364\220\200\200"), "\\xf4\\x90\\x80\\x80", DISPLAY_ESCAPED},
	{"bytes of no text", BYTES("\377\376\365"), "\\xff\\xfe\\xf5", DISPLAY_ESCAPED},
	{"cut sequence", BYTES("a\342\202"), "a\\xe2\\x82", DISPLAY_ESCAPED},
	{"cut by a letter", BYTES("\342\202x"), "\\xe2\\x82x", DISPLAY_ESCAPED},
	{"Cyrillic a in Latin", BYTES("p\320\260sswd"), "p\320\260sswd",
		DISPLAY_NON_ASCII | DISPLAY_MIXED_SCRIPT},
	{"Greek o in Latin", BYTES("g\316\277\316\277gle"), "g\316\277\316\277gle",
		DISPLAY_NON_ASCII | DISPLAY_MIXED_SCRIPT},
	{"scripts in words of their own", BYTES("\320\260\320\261/abc.txt"),
		"\320\260\320\261/abc.txt", DISPLAY_NON_ASCII},
	{"mixture around a digit", BYTES("a1\320\260"), "a1\320\260",
		DISPLAY_NON_ASCII | DISPLAY_MIXED_SCRIPT},
	{"mixture around a hidden one", BYTES("a\342\200\213\320\260"), "a\\u{200b}\320\260",
		DISPLAY_ESCAPED | DISPLAY_NON_ASCII | DISPLAY_MIXED_SCRIPT},
};

static void makes_every_class_visible(void **state)
{
	unsigned flags;
	char *shown;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_LEN(escapes); i++) {
		print_message("# %s\n", escapes[i].name);
		shown = display_escape(escapes[i].data, escapes[i].size, &flags);
		assert_string_equal(shown, escapes[i].shown);
		assert_int_equal(flags, escapes[i].flags);
		free(shown);
	}
}

static void every_byte_alone_is_safe_for_a_terminal(void **state)
{
	unsigned byte;
	char c, *shown, *p;

	(void)state;
	for (byte = 0; byte < 256; byte++) {
		c = (char)byte;
		shown = display_escape(&c, 1, NULL);
		for (p = shown; *p; p++)
			assert_in_range(*p, 0x20, 0x7e);
		free(shown);
	}
}

static void a_short_text_is_not_cut(void **state)
{
	_cleanup_(freep) char *shown = display_escape_short("a\nb", 80, NULL);

	(void)state;
	assert_string_equal(shown, "a\\nb");
}

static void a_long_text_keeps_its_end_and_names_what_is_missing(void **state)
{
	_cleanup_(freep) char *shown = NULL;
	char text[1001];
	unsigned flags;

	(void)state;
	memset(text, 'a', 1000);
	memcpy(text + 960, "/home/u/secret/the-end-of-a-path-40-byte", 40);
	text[500] = '\033';
	text[1000] = '\0';
	shown = display_escape_short(text, 100, &flags);
	assert_true(strlen(shown) <= 100);
	assert_int_equal(flags, DISPLAY_ESCAPED);
	assert_memory_equal(shown, text, 42);
	assert_memory_equal(shown + 42, "...[918 bytes]...", 17);
	assert_string_equal(shown + strlen(shown) - 40, text + 960);
}

static void a_cut_never_splits_an_escape_or_a_letter(void **state)
{
	static const char *const units[] = {
		"\n", "\033", "\303\244", "\342\200\256", "\360\237\246\212", "\\", "\377"};
	char text[2001], *shown, *whole, *tail, *head_end;
	size_t i, n, max;

	(void)state;
	for (i = 0; i < ARRAY_LEN(units); i++) {
		n = strlen(units[i]);
		for (max = 0; max + n < sizeof(text); max += n)
			memcpy(text + max, units[i], n);
		text[max] = '\0';
		whole = display_escape(units[i], n, NULL);
		for (max = 80; max < 110; max++) {
			shown = display_escape_short(text, max, NULL);
			assert_true(strlen(shown) <= max);
			head_end = strstr(shown, "...[");
			tail = strstr(shown, "]...");
			assert_non_null(head_end);
			assert_non_null(tail);
			assert_int_equal((size_t)(head_end - shown) % strlen(whole), 0);
			assert_int_equal(strlen(tail + 4) % strlen(whole), 0);
			assert_memory_equal(shown, whole, strlen(whole));
			assert_memory_equal(tail + 4, whole, strlen(whole));
			free(shown);
		}
		free(whole);
	}
}

static void an_argv_reads_back_in_a_shell(void **state)
{
	static const struct {
		const char *argv[4];
		size_t n;
		const char *shown;
	} cases[] = {
		{{"git", "push", "--force"}, 3, "git push --force"},
		{{"a b", "", "it's"}, 3, "'a b' '' 'it'\\''s'"},
		{{"echo", "$HOME", "`id`", "a;b"}, 4, "echo '$HOME' '`id`' 'a;b'"},
		{{"echo", "a\\b", "~"}, 3, "echo 'a\\b' '~'"},
		{{"echo", "a\n'\\\033"}, 2, "echo $'a\\n\\'\\\\\\x1b'"},
		{{"echo", "\342\200\256x", "\363\240\201\201", "\377"}, 4,
			"echo $'\\u202ex' $'\\U000e0041' $'\\xff'"},
		{{"A=b", "A=b"}, 2, "'A=b' A=b"},
		{{"echo", "\303\244"}, 2, "echo '\303\244'"},
		{{NULL}, 0, ""},
	};
	char *shown;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_LEN(cases); i++) {
		shown = display_argv(cases[i].argv, cases[i].n);
		assert_string_equal(shown, cases[i].shown);
		free(shown);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(makes_every_class_visible),
		cmocka_unit_test(every_byte_alone_is_safe_for_a_terminal),
		cmocka_unit_test(a_short_text_is_not_cut),
		cmocka_unit_test(a_long_text_keeps_its_end_and_names_what_is_missing),
		cmocka_unit_test(a_cut_never_splits_an_escape_or_a_letter),
		cmocka_unit_test(an_argv_reads_back_in_a_shell),
	};

	return cmocka_run_group_tests_name("display", tests, NULL, NULL);
}
