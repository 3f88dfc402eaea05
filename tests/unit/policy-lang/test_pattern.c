/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "tests/unit/policy-lang/support.h"

#include "policy-lang/bind.h"
#include "policy-lang/host.h"
#include "policy-lang/pattern.h"

static struct path_pattern *bound(struct arena *arena, const char *glob)
{
	const struct bind_context context = {.arena = arena, .vars = &sample_vars};
	const struct ast_string string = {.text = glob, .glob = glob, .size = strlen(glob)};
	const char *message;
	struct path_pattern *pattern = bind_path(&context, &string, &message);

	if (!pattern)
		fail_msg("%s: %s", glob, message);
	return pattern;
}

static bool matches(const char *glob, const char *path)
{
	struct path_view view;
	struct arena arena;
	bool result;

	arena_init(&arena);
	path_view_init(&view, path);
	result = path_pattern_match(bound(&arena, glob), &view);
	arena_deinit(&arena);
	return result;
}

static void matches_components(void **state)
{
	static const struct {
		const char *glob, *path;
		bool match;
	} cases[] = {
		{"/a/b", "/a/b", true},
		{"/a/b", "/a/bc", false},
		{"/a/b", "/a", false},
		{"/a/b", "/a/b/c", false},
		{"/a/*", "/a/b", true},
		{"/a/*", "/a/.b", true},
		{"/a/*", "/a", false},
		{"/a/*", "/a/b/c", false},
		{"/a/*.c", "/a/x.c", true},
		{"/a/*.c", "/a/.c", true},
		{"/a/*.c", "/a/x.cc", false},
		{"/a/x*y*z", "/a/xyz", true},
		{"/a/x*y*z", "/a/x1y2yz", true},
		{"/a/x*y*z", "/a/xz", false},
		{"/a/**", "/a", true},
		{"/a/**", "/a/b", true},
		{"/a/**", "/a/b/c/d", true},
		{"/a/**", "/ab", false},
		{"/**", "/", true},
		{"/**", "/x/y", true},
		{"**", "/x", true},
		{"**/.env", "/.env", true},
		{"**/.env", "/a/b/.env", true},
		{"**/.env", "/a/b/.env.local", false},
		{"/a/**/b/**/c", "/a/b/c", true},
		{"/a/**/b/**/c", "/a/x/b/y/z/c", true},
		{"/a/**/b/**/c", "/a/x/c", false},
		{"/a/**/b", "/a/b/b/x/b", true},
		{"/a/**/*.c", "/a/x.c", true},
		{"/a/**/*.c", "/a/x/y.c", true},
		{"~/x", "/home/user/x", true},
		{"~", "/home/user", true},
		{"$PROJECT/**", "/home/user/project/a", true},
		{"$TMP/x", "/tmp/x", true},
		{"$XDG_CONFIG_HOME/x", "/home/user/.config/x", true},
		/* slashes and dots say nothing new */
		{"/d/", "/d", true},
		{"//d", "/d", true},
		{"/d/.", "/d", true},
		{"/d/../d", "/d", true},
		{"/../d", "/d", true},
		{"/d", "/d/", true},
		{"/d", "//d", true},
		/* an escaped star is a star */
		{"/a/\\*", "/a/*", true},
		{"/a/\\*", "/a/b", false},
		{"/a/\\**", "/a/*b", true},
		{"/a/\\**", "/a/b", false},
		/* other characters of globs are themselves */
		{"/a/[b]?", "/a/[b]?", true},
		{"/a/[b]?", "/a/bb", false},
		/* a view that cannot be trusted matches nothing */
		{"/**", "relative", false},
		{"/**", "", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (matches(cases[i].glob, cases[i].path) != cases[i].match)
			fail_msg("%s on %s", cases[i].glob, cases[i].path);
}

static void includes_only_what_is_certain(void **state)
{
	static const struct {
		const char *outer, *inner;
		bool includes;
	} cases[] = {
		{"/a/**", "/a", true},
		{"/a/**", "/a/b/*", true},
		{"/a/**", "/a/**", true},
		{"/a/**", "/a/**/c", true},
		{"/a/**", "/**", false},
		{"/a/*", "/a/b", true},
		{"/a/*", "/a/*.c", true},
		{"/a/*", "/a/**", false},
		{"/a/*.c", "/a/*", false},
		{"/a/*.c", "/a/x.c", true},
		{"/a/**/b", "/a/b", true},
		{"/a/**/b", "/a/*/b", true},
		{"/a/**/b", "/a/**/b", true},
		{"/a/**/b", "/a/**", false},
		{"/a/**/.git/**", "/a/.git/hooks/**", true},
		{"/a/**/.git/**", "/a/x/y/.git", true},
		{"/a/b", "/a/*", false},
	};
	struct arena arena;

	(void)state;
	arena_init(&arena);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (path_pattern_includes(bound(&arena, cases[i].outer),
			    bound(&arena, cases[i].inner)) != cases[i].includes)
			fail_msg("%s and %s", cases[i].outer, cases[i].inner);
	arena_deinit(&arena);
}

static void knows_what_meets_and_covers_a_tree(void **state)
{
	static const struct {
		const char *glob, *tree;
		bool meets, covers;
	} cases[] = {
		{"/a/**", "/a", true, true},
		{"/a/**", "/a/b", true, true},
		{"/a/**", "/", true, false},
		{"/a/**", "/b", false, false},
		{"/a/b", "/a", true, false},
		{"/a/b", "/a/b", true, false},
		{"/a/b", "/a/b/c", false, false},
		{"**/.env", "/a", true, false},
		{"/a/**/x/**", "/a", true, false},
		{"/a/**/x/**", "/a/x", true, true},
		{"/a/*", "/a", true, false},
		{"/a/*/c", "/a/b/d", false, false},
		{"/**", "/", true, true},
	};
	struct arena arena;

	(void)state;
	arena_init(&arena);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct path_view tree;
		struct path_pattern *pattern = bound(&arena, cases[i].glob);

		path_view_init(&tree, cases[i].tree);
		if (path_pattern_meets_tree(pattern, &tree) != cases[i].meets ||
			path_pattern_covers_tree(pattern, &tree) != cases[i].covers)
			fail_msg("%s and %s", cases[i].glob, cases[i].tree);
	}
	arena_deinit(&arena);
}

static void a_path_too_deep_to_judge_is_bad(void **state)
{
	char path[4096] = "";
	struct path_view view;

	(void)state;
	for (int i = 0; i < 600; i++)
		strcat(path, "/a");
	path_view_init(&view, path);
	assert_true(view.bad);
	path_view_init(&view, "/a/../b");
	assert_true(view.dots);
	assert_int_equal(view.n, 1);
}

static bool host_matches(const char *text, const char *host, const char *address, bool strict)
{
	static const uint8_t unknown[16] = {0};
	struct host_pattern *pattern;
	struct host_view view;
	struct arena arena;
	const char *message;
	uint8_t addr[16];
	bool is_v4, result;

	arena_init(&arena);
	pattern = host_pattern_new(&arena, text, &message);
	if (!pattern)
		fail_msg("%s: %s", text, message);
	if (address)
		assert_true(host_parse_address(address, addr, &is_v4));
	host_view_init(&view, host, address ? addr : unknown);
	result = host_pattern_match(pattern, &view, strict);
	arena_deinit(&arena);
	return result;
}

static void matches_hosts(void **state)
{
	static const struct {
		const char *pattern, *host, *address;
		bool loose, strict;
	} cases[] = {
		{"example.org", "example.org", NULL, true, true},
		{"example.org", "EXAMPLE.org.", NULL, true, true},
		{"Example.ORG.", "example.org", NULL, true, true},
		{"example.org", "api.example.org", NULL, false, false},
		{"*.example.org", "api.example.org", NULL, true, true},
		{"*.example.org", "a.b.example.org", NULL, false, false},
		{"*.example.org", "example.org", NULL, false, false},
		{"*.example.org", "notexample.org", NULL, false, false},
		{"**.example.org", "a.b.example.org", NULL, true, true},
		{"**.example.org", "example.org", NULL, false, false},
		{"10.0.0.0/8", "10.1.2.3", NULL, true, true},
		{"10.0.0.0/8", "11.1.2.3", NULL, false, false},
		{"10.0.0.0/8", "name.example", "10.1.2.3", true, true},
		{"10.0.0.0/8", "::ffff:10.1.2.3", NULL, true, true},
		{"169.254.0.0/16", "64:ff9b::a9fe:a9fe", NULL, false, true},
		{"169.254.0.0/16", "2002:a9fe:a9fe::1", NULL, false, true},
		{"fe80::/10", "fe80::1", NULL, true, true},
		{"fe80::/10", "fec0::1", NULL, false, false},
		{"192.0.2.1", "192.0.2.1", NULL, true, true},
		{"192.0.2.1", "192.0.2.2", NULL, false, false},
		{"::/0", "192.0.2.1", NULL, true, true},
		{"0.0.0.0/0", "2001:db8::1", NULL, false, false},
		{"localhost", "127.9.9.9", NULL, true, true},
		{"localhost", "::1", NULL, true, true},
		{"localhost", "LOCALHOST", NULL, true, true},
		{"localhost", "0.0.0.0", NULL, false, true},
		{"localhost", "::", "::", false, true},
		{"localhost", "192.0.2.1", NULL, false, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (host_matches(cases[i].pattern, cases[i].host, cases[i].address, false) !=
				cases[i].loose ||
			host_matches(cases[i].pattern, cases[i].host, cases[i].address, true) !=
				cases[i].strict)
			fail_msg("%s on %s", cases[i].pattern, cases[i].host);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(matches_components),
		cmocka_unit_test(includes_only_what_is_certain),
		cmocka_unit_test(knows_what_meets_and_covers_a_tree),
		cmocka_unit_test(a_path_too_deep_to_judge_is_bad),
		cmocka_unit_test(matches_hosts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
