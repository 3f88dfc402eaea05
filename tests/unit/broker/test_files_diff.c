/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */

/* Every file call answered by the broker gives what the kernel gives: one program, run bare and
 * under the handlers, prints the same. */

#include "tests/unit/broker/harness.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wunused-result"
#pragma GCC diagnostic ignored "-Wnonnull"
#pragma GCC diagnostic ignored "-Wstack-protector"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wformat-signedness"
#define main diff_files_main
#include "tests/fixtures/diff_files.c"
#undef main
#pragma GCC diagnostic pop

#define ALLOW_ALL "allow read,write,create,delete,rename,link,chmod,list \"/**\"\n"

static char run_name[] = "diff_files", run_bare[64], run_folder[64];
static const char *run_output;

static void run_program(void)
{
	char *argv[] = {run_name, run_folder, NULL};

	if (!freopen(run_output, "w", stdout))
		_exit(93);
	_exit(diff_files_main(2, argv));
}

static void compare(const char *bare, const char *supervised)
{
	char a[4096], b[4096];
	unsigned lines = 0, different = 0;
	FILE *fa = fopen(bare, "r"), *fb = fopen(supervised, "r");

	assert_non_null(fa);
	assert_non_null(fb);
	while (fgets(a, sizeof(a), fa)) {
		if (!fgets(b, sizeof(b), fb))
			strcpy(b, "(end)\n");
		lines++;
		if (strcmp(a, b) != 0) {
			different++;
			print_error("bare:       %.200s\nsupervised: %.200s\n", a, b);
		}
	}
	assert_null(fgets(b, sizeof(b), fb));
	fclose(fa);
	fclose(fb);
	assert_true(lines > 400);
	assert_int_equal(different, 0);
}

static void every_call_gives_what_the_kernel_gives(_unused_ void **state)
{
	char bare[96], supervised[96];
	int status;
	pid_t pid;

	harness_start(ALLOW_ALL);
	(void)snprintf(run_bare, sizeof(run_bare), "%.40s/bare", harness.dir);
	harness_mkdir("bare");
	harness_mkdir("under");
	(void)snprintf(bare, sizeof(bare), "%.40s/bare.txt", harness.dir);
	(void)snprintf(supervised, sizeof(supervised), "%.40s/supervised.txt", harness.dir);
	strcpy(run_folder, run_bare);
	run_output = bare;
	fflush(stdout);
	pid = fork();
	if (pid == 0)
		run_program();
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	(void)snprintf(run_folder, sizeof(run_folder), "%.40s/under", harness.dir);
	run_output = supervised;
	assert_int_equal(harness_run(run_program), 0);
	compare(bare, supervised);
	assert_int_equal(harness.n_denied, 0);
	harness_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_call_gives_what_the_kernel_gives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
