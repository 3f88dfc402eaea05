/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "supervisord/base/file.h"
#include "supervisord/broker/spool.h"

static char dir[64];

static int setup(void **state)
{
	struct spool *spool = NULL;

	snprintf(dir, sizeof(dir), "/tmp/test-spool-XXXXXX");
	assert_non_null(mkdtemp(dir));
	assert_int_equal(spool_new(dir, "bcdfghjk", 7, 42, 99, &spool), 0);
	*state = spool;
	return 0;
}

static int teardown(void **state)
{
	struct spool *spool = *state;

	assert_int_equal(spool_remove(spool), 0);
	spool_free(spool);
	assert_int_equal(rmdir(dir), 0);
	return 0;
}

static void nothing_is_made_before_the_first_record(void **state)
{
	struct spool *spool = *state;

	assert_true(spool_is_empty(spool));
	assert_int_equal(spool_sync(spool), 0);
	assert_true(spool_is_end(spool, 0));
}

static void the_file_is_private_and_begins_with_its_header(void **state)
{
	struct spool *spool = *state;
	char path[128], *text = NULL;
	struct stat st;
	size_t size;

	assert_int_equal(spool_append(spool, "{}", 2), 0);
	assert_int_equal(spool_sync(spool), 0);
	snprintf(path, sizeof(path), "%s/bcdfghjk.jsonl", dir);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(file_read(AT_FDCWD, path, 4096, &text, &size), 0);
	assert_string_equal(text, "{\"broker_pid\":42,\"broker_start\":99,\"index\":7,\"session\":"
				  "\"bcdfghjk\",\"spool\":1}\n{}\n");
	free(text);
}

struct reader {
	size_t n, max, bytes;
};

static int on_line(void *userdata, const char *line, size_t size)
{
	struct reader *reader = userdata;

	(void)line;
	if (reader->n == reader->max)
		return 1;
	reader->n++;
	reader->bytes += size;
	return 0;
}

static void records_are_read_in_parts(void **state)
{
	struct spool *spool = *state;
	struct reader reader = {.max = 4};
	uint64_t offset = 0;
	char line[10000];

	memset(line, 'x', sizeof(line));
	for (size_t i = 0; i < 10; i++)
		assert_int_equal(spool_append(spool, line, i * 1000 + 1), 0);
	assert_int_equal(spool_read(spool, &offset, on_line, &reader), 1);
	assert_int_equal(reader.n, 4);
	assert_false(spool_is_end(spool, offset));
	reader.max = 100;
	assert_int_equal(spool_read(spool, &offset, on_line, &reader), 0);
	assert_int_equal(reader.n, 10);
	assert_int_equal(reader.bytes, 45010);
	assert_true(spool_is_end(spool, offset));
	assert_int_equal(spool_remove(spool), 0);
	assert_true(spool_is_empty(spool));
	assert_int_equal(spool_append(spool, line, 1), 0);
	assert_false(spool_is_empty(spool));
}

static void an_id_that_is_no_file_name_is_refused(void **state)
{
	struct spool *other = NULL;

	(void)state;
	assert_int_equal(spool_new(dir, "../x", 0, 1, 1, &other), -EINVAL);
	assert_int_equal(spool_new(dir, "", 0, 1, 1, &other), -EINVAL);
	assert_int_equal(spool_new(dir, ".x", 0, 1, 1, &other), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			nothing_is_made_before_the_first_record, setup, teardown),
		cmocka_unit_test_setup_teardown(
			the_file_is_private_and_begins_with_its_header, setup, teardown),
		cmocka_unit_test_setup_teardown(records_are_read_in_parts, setup, teardown),
		cmocka_unit_test_setup_teardown(
			an_id_that_is_no_file_name_is_refused, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
