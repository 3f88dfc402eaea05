/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "log_fixture.h"

#include <sys/wait.h>

/* contrib/verify/verify_log.py was written from the format's description alone: the two must agree.
 */

static int second_verifier(const char *dir, const char *options)
{
	char command[600];
	int status;

	snprintf(command, sizeof(command),
		"/usr/bin/python3 contrib/verify/verify_log.py '%s' %s >/dev/null 2>&1", dir,
		options);
	status = system(command);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void need_python(void)
{
	if (system("/usr/bin/python3 -c 'import cryptography' 2>/dev/null") == 0)
		return;
	if (system("/usr/bin/python3 -c '' 2>/dev/null && openssl version >/dev/null 2>&1") == 0)
		return;
	print_message("# skipped: neither python3 with cryptography nor openssl is here\n");
	skip();
}

static void agrees_on_sound_logs(void **state)
{
	struct fixture *f = *state;
	char options[200], *vkey = NULL;

	need_python();
	assert_int_equal(second_verifier(f->dir, ""), 3);
	for (unsigned i = 0; i < 4; i++) {
		make_log(f->dir, i * 100);
		assert_int_equal(second_verifier(f->dir, ""), AUDIT_UNANCHORED);
	}
	snprintf(options, sizeof(options), "--checkpoint '%s/checkpoint'", f->dir);
	assert_int_equal(second_verifier(f->dir, options), AUDIT_OK);
	assert_int_equal(audit_log_vkey(f->dir, &vkey), 0);
	snprintf(options, sizeof(options), "--vkey '%s'", vkey);
	assert_int_equal(second_verifier(f->dir, options), AUDIT_UNANCHORED);
	free(vkey);
	assert_int_equal(
		second_verifier(f->dir, "--vkey 'example.org/supervisor/host1/audit+70810843+"
					"AQOhB7/zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4'"),
		AUDIT_TAMPERED);
}

static void agrees_on_changed_logs(void **state)
{
	static const char *const command[] = {
		"sed -i 1d " SEGMENT,
		"sed -i 51d " SEGMENT,
		"sed -i '$d' " SEGMENT,
		"sed -i '51{h;d};52{G}' " SEGMENT,
		"sed -i 51p " SEGMENT,
		"sed -i '51s/.*//' " SEGMENT,
		"truncate -s -1 " SEGMENT,
		"echo '{}' >>" SEGMENT,
		"rm -r seg",
		"rm tile/0/000",
		"rm origin",
		"rm checkpoint",
		"rm checkpoints",
		": >checkpoints",
		"sed -i 5d checkpoint",
		"sed -i 6d checkpoint",
		"sed -i 6d checkpoints",
		"sed -i 1,6d checkpoints",
		"sed -i '6{p;s/ [^ ]*$/ AAAAAAAAAAAA/}' checkpoint",
		"head -c -20 checkpoints >x && mv x checkpoints",
		"tail -n 6 checkpoints >x && mv x checkpoints",
	};
	struct fixture *f = *state;
	char copy[100];

	need_python();
	snprintf(copy, sizeof(copy), "%s/copy", f->root);
	make_log(f->dir, 300);
	make_log(f->dir, 30);
	for (size_t i = 0; i < ARRAY_LEN(command); i++) {
		struct audit_report report;
		int ours, theirs;

		copy_dir(f->dir, copy);
		in_dir(copy, command[i]);
		ours = (int)verify_with(copy, NULL, NULL, &report);
		theirs = second_verifier(copy, "");
		if (ours != theirs)
			fail_msg("%s: %d (%s), the other says %d", command[i], ours, report.message,
				theirs);
	}
}

static void agrees_on_flipped_bytes(void **state)
{
	static const char *const file[] = {
		SEGMENT, "tile/0/000", "checkpoint", "checkpoints", "origin"};
	struct fixture *f = *state;
	unsigned seed = 99;

	need_python();
	make_log(f->dir, 300);
	make_log(f->dir, 30);
	for (unsigned i = 0; i < 60; i++) {
		const char *name = file[i % ARRAY_LEN(file)];
		size_t size, at;
		char *data = read_all(f->dir, name, &size), good;
		int ours, theirs;
		struct audit_report report;

		at = (size_t)rand_r(&seed) % size;
		good = data[at];
		data[at] = (char)(data[at] ^ (1 << rand_r(&seed) % 8));
		write_all(f->dir, name, data, size);
		ours = (int)verify_with(f->dir, NULL, NULL, &report);
		theirs = second_verifier(f->dir, "");
		if (ours != AUDIT_TAMPERED || theirs != AUDIT_TAMPERED)
			fail_msg("byte %zu of %s: %d and %d", at, name, ours, theirs);
		data[at] = good;
		write_all(f->dir, name, data, size);
		free(data);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, fixture_setup, fixture_teardown)
		T(agrees_on_sound_logs),
		T(agrees_on_changed_logs),
		T(agrees_on_flipped_bytes),
#undef T
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
