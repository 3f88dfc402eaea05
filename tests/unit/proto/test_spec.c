/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "supervisord/proto/spec.h"

static char arg0[] = "agent", arg1[] = "--x\377", env0[] = "A=\033[2J", cwd[] = "/home/u/p\n",
	    workspace[] = "/home/u", agent[] = "agent", profile[] = "core",
	    control[] = "/run/control", file[] = "user.policy", text[] = "# a\0b\n\377";
static char *argv[] = {arg0, arg1}, *env[] = {env0};
static struct spec_policy policy = {
	.file = file, .layer = LAYER_PROJECT, .text = text, .size = sizeof(text) - 1};

static struct session_spec make(void)
{
	return (struct session_spec){
		.argv = argv,
		.n_argv = 2,
		.env = env,
		.n_env = 1,
		.cwd = cwd,
		.workspace = workspace,
		.agent = agent,
		.profile = profile,
		.policies = &policy,
		.n_policies = 1,
		.pty = true,
		.rows = 24,
		.cols = 65535,
		.no_ask = true,
		.reduced_userns = true,
		.timeout_usec = 5000000,
		.control = control,
	};
}

static void a_spec_round_trips_through_a_sealed_memfd(void **state)
{
	_cleanup_(spec_freep) struct session_spec *back = NULL;
	_cleanup_(closep) int fd = -1;
	struct session_spec spec = make();

	(void)state;
	assert_int_equal(spec_to_memfd(&spec, &fd), 0);
	assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	assert_int_equal(spec_from_fd(fd, &back), 0);
	assert_int_equal(back->n_argv, 2);
	assert_string_equal(back->argv[1], arg1);
	assert_int_equal(back->n_env, 1);
	assert_string_equal(back->env[0], env0);
	assert_string_equal(back->cwd, cwd);
	assert_string_equal(back->workspace, workspace);
	assert_string_equal(back->agent, agent);
	assert_string_equal(back->profile, profile);
	assert_string_equal(back->control, control);
	assert_null(back->preload);
	assert_int_equal(back->n_policies, 1);
	assert_string_equal(back->policies[0].file, file);
	assert_int_equal(back->policies[0].layer, LAYER_PROJECT);
	assert_int_equal(back->policies[0].size, policy.size);
	assert_memory_equal(back->policies[0].text, text, policy.size);
	assert_true(back->pty && back->no_ask && back->reduced_userns);
	assert_false(back->force_no_userns);
	assert_int_equal(back->rows, 24);
	assert_int_equal(back->cols, 65535);
	assert_int_equal(back->timeout_usec, 5000000);
}

static void a_sealed_spec_cannot_be_changed(void **state)
{
	_cleanup_(closep) int fd = -1;
	struct session_spec spec = make();

	(void)state;
	assert_int_equal(spec_to_memfd(&spec, &fd), 0);
	assert_int_equal(pwrite(fd, "x", 1, 0), -1);
	assert_int_equal(ftruncate(fd, 0), -1);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE), -1);
	assert_ptr_equal(mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
}

/* A memfd with the content of a good spec, and SEALS. */
static int copy_with_seals(int seals)
{
	_cleanup_(closep) int sealed = -1;
	struct session_spec spec = make();
	char data[4096];
	ssize_t n;
	int fd;

	assert_int_equal(spec_to_memfd(&spec, &sealed), 0);
	n = pread(sealed, data, sizeof(data), 0);
	assert_in_range(n, 1, sizeof(data) - 1);
	fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	assert_int_equal(write(fd, data, (size_t)n), n);
	if (seals)
		assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

static void a_spec_that_could_still_change_is_refused(void **state)
{
	static const int seals[] = {
		0,
		F_SEAL_WRITE,
		F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE,
		F_SEAL_SEAL | F_SEAL_GROW | F_SEAL_WRITE,
		F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_WRITE,
		F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW,
	};
	struct session_spec *spec = NULL;
	size_t i;
	int fd;

	(void)state;
	for (i = 0; i < ARRAY_LEN(seals); i++) {
		fd = copy_with_seals(seals[i]);
		assert_int_equal(spec_from_fd(fd, &spec), -EPERM);
		close(fd);
	}
	fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	assert_int_equal(spec_from_fd(fd, &spec), -EPERM);
	close(fd);
	assert_int_equal(spec_from_fd(-1, &spec), -EPERM);
	assert_null(spec);
	fd = copy_with_seals(F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
	assert_int_equal(spec_from_fd(fd, &spec), 0);
	close(fd);
	spec_free(spec);
}

static void malformed_specs_are_refused(void **state)
{
	static const char *const required[] = {"argv", "env", "cwd", "workspace", "pty", "rows",
		"cols", "no_ask", "reduced_userns", "force_no_userns", "timeout_usec", "policies"};
	struct session_spec *back = NULL;
	struct session_spec spec = make();
	_cleanup_(closep) int fd = -1;
	json_t *json;
	char data[4096];
	ssize_t n;
	size_t i;

	(void)state;
	assert_int_equal(spec_to_memfd(&spec, &fd), 0);
	n = pread(fd, data, sizeof(data), 0);
	for (i = 0; i <= ARRAY_LEN(required); i++) {
		assert_int_equal(json_parse_strict(data, (size_t)n, sizeof(data), &json), 0);
		if (i < ARRAY_LEN(required))
			json_object_del(json, required[i]);
		else
			json_object_set_new(json, "more", json_true());
		assert_int_equal(spec_from_json(json, &back), -EBADMSG);
		json_decref(json);
	}
	assert_null(back);
}

static void a_spec_without_argv_or_with_a_relative_folder_is_refused(void **state)
{
	static char relative[] = "p";
	struct session_spec *back = NULL;
	struct session_spec spec = make();
	int fd;

	(void)state;
	spec.n_argv = 0;
	assert_int_equal(spec_to_memfd(&spec, &fd), 0);
	assert_int_equal(spec_from_fd(fd, &back), -EBADMSG);
	close(fd);
	spec = make();
	spec.workspace = relative;
	assert_int_equal(spec_to_memfd(&spec, &fd), 0);
	assert_int_equal(spec_from_fd(fd, &back), -EBADMSG);
	close(fd);
	assert_null(back);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_spec_round_trips_through_a_sealed_memfd),
		cmocka_unit_test(a_sealed_spec_cannot_be_changed),
		cmocka_unit_test(a_spec_that_could_still_change_is_refused),
		cmocka_unit_test(malformed_specs_are_refused),
		cmocka_unit_test(a_spec_without_argv_or_with_a_relative_folder_is_refused),
	};

	return cmocka_run_group_tests_name("spec", tests, NULL, NULL);
}
