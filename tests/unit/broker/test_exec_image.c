/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <elf.h>
#include <fcntl.h>

#include "supervisord/broker/exec.h"

static void check_script(const char *text, const char *interpreter, const char *argument)
{
	unsigned char head[EXEC_HEADER_MAX] = {0};
	struct exec_image image = {0};
	size_t size = strlen(text);

	memcpy(head, text, size);
	assert_int_equal(exec_image_parse(head, size, -1, &image), 0);
	if (!interpreter) {
		assert_int_equal(image.kind, EXEC_OTHER);
	} else {
		assert_int_equal(image.kind, EXEC_SCRIPT);
		assert_string_equal(image.interpreter, interpreter);
		if (argument)
			assert_string_equal(image.argument, argument);
		else
			assert_null(image.argument);
	}
	exec_image_deinit(&image);
}

static void script_lines_are_read_as_the_kernel_reads_them(void **state)
{
	(void)state;
	check_script("#!/bin/sh\n", "/bin/sh", NULL);
	check_script("#!/bin/sh", "/bin/sh", NULL);
	check_script("#! \t/bin/sh \t\n", "/bin/sh", NULL);
	check_script("#!/usr/bin/env -S python3 -u \t\nx", "/usr/bin/env", "-S python3 -u");
	check_script("#!/bin/sh -x", "/bin/sh", "-x");
	check_script("#!sh\n", "sh", NULL);
	check_script("#!\n/bin/sh\n", NULL, NULL);
	check_script("#!   \n", NULL, NULL);
	check_script("#!", NULL, NULL);
	check_script("#", NULL, NULL);
	check_script("", NULL, NULL);
}

static void a_name_cut_off_at_the_line_buffer_does_not_count(void **state)
{
	char text[400];

	(void)state;
	memset(text, 'a', sizeof(text));
	text[0] = '#';
	text[1] = '!';
	text[399] = 0;
	check_script(text, NULL, NULL);
	text[255] = ' ';
	text[300] = 0;
	text[255] = 0;
	{
		char name[254] = "";

		memset(name, 'a', 253);
		check_script(text, name, NULL);
	}
}

static void a_native_program_names_its_loader(void **state)
{
	struct exec_image image = {0};
	int fd = open("/bin/true", O_PATH | O_CLOEXEC);

	(void)state;
	assert_int_equal(exec_image_read(fd, &image), 0);
	assert_int_equal(image.kind, EXEC_ELF);
	assert_string_equal(image.interpreter, "/lib64/ld-linux-x86-64.so.2");
	exec_image_deinit(&image);
	close(fd);
}

/* Damages each byte of a real header in several ways: no crash, no read behind the end. */
static void hostile_headers_are_survived(void **state)
{
	static const unsigned char values[] = {0, 1, 0x7f, 0x80, 0xff};
	unsigned char head[1024];
	int fd = open("/bin/true", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(pread(fd, head, sizeof(head), 0), sizeof(head));
	for (size_t i = 0; i < sizeof(head); i++) {
		for (size_t v = 0; v < sizeof(values); v++) {
			struct exec_image image = {0};
			unsigned char saved = head[i];
			unsigned char *copy;
			size_t size = v == 0 ? i : sizeof(head);

			head[i] = values[v];
			copy = malloc(size + 1);
			assert_non_null(copy);
			memcpy(copy, head, size);
			assert_int_equal(exec_image_parse(copy, size, v % 2 ? fd : -1, &image), 0);
			exec_image_deinit(&image);
			free(copy);
			head[i] = saved;
		}
	}
	close(fd);
}

static void arguments_are_rewritten_as_for_a_script(void **state)
{
	struct exec_args args = {.items = calloc(3, sizeof(char *)), .n = 2};
	char interpreter[] = "/bin/sh", argument[] = "-e";
	struct exec_image image = {
		.kind = EXEC_SCRIPT, .interpreter = interpreter, .argument = argument};
	static const char wanted[] = "/bin/sh\0-e\0./s\0a b";

	(void)state;
	args.items[0] = strdup("zero");
	args.items[1] = strdup("a b");
	assert_int_equal(exec_args_for_script(&args, &image, "./s"), 0);
	assert_true(exec_args_equal(&args, wanted, sizeof(wanted)));
	assert_false(exec_args_equal(&args, wanted, sizeof(wanted) - 1));
	assert_false(exec_args_equal(&args, "/bin/sh\0-e\0./s\0a b\0", sizeof(wanted) + 1));
	assert_false(exec_args_equal(&args, "", 0));
	exec_args_deinit(&args);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(script_lines_are_read_as_the_kernel_reads_them),
		cmocka_unit_test(a_name_cut_off_at_the_line_buffer_does_not_count),
		cmocka_unit_test(a_native_program_names_its_loader),
		cmocka_unit_test(hostile_headers_are_survived),
		cmocka_unit_test(arguments_are_rewritten_as_for_a_script),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
