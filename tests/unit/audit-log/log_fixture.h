/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef TESTS_UNIT_AUDIT_LOG_LOG_FIXTURE_H
#define TESTS_UNIT_AUDIT_LOG_LOG_FIXTURE_H

/* Logs in temporary folders. */

#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "audit-log/audit.h"
#include "supervisord/base/file.h"
#include "supervisord/base/log.h"

struct fixture {
	char root[64]; /* the temporary folder */
	char dir[80];  /* root/log */
};

static inline int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static inline int fixture_setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	log_set_fd(-1);
	strcpy(f->root, "/tmp/audit-test-XXXXXX");
	if (!f || !mkdtemp(f->root))
		return -1;
	snprintf(f->dir, sizeof(f->dir), "%s/log", f->root);
	*state = f;
	return 0;
}

static inline int fixture_teardown(void **state)
{
	struct fixture *f = *state;

	nftw(f->root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(f);
	return 0;
}

static inline struct audit_log *open_log(const char *dir)
{
	struct audit_log *log = NULL;
	char *reason = NULL;
	int r = audit_log_open(dir, &log, &reason);

	if (r != 0)
		print_error("audit_log_open: %d %s\n", r, reason ? reason : "");
	free(reason);
	assert_int_equal(r, 0);
	return log;
}

/* AUDIT_E_TAMPERED, and what it said. */
static inline void assert_open_refused(const char *dir)
{
	struct audit_log *log = NULL;
	char *reason = NULL;

	assert_int_equal(audit_log_open(dir, &log, &reason), AUDIT_E_TAMPERED);
	assert_null(log);
	assert_non_null(reason);
	free(reason);
}

static inline void append_one(struct audit_log *log, unsigned i)
{
	json_t *record = json_pack("{s:s, s:i, s:s}", "type", "test.record", "number", (int)i,
		"text", "a record of an ordinary length, such as a decision has");

	assert_int_equal(audit_log_append(log, record, NULL), 0);
	json_decref(record);
}

static inline void append_many(struct audit_log *log, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		append_one(log, i);
	assert_int_equal(audit_log_commit(log), 0);
}

/* A closed log with N records beside its own. */
static inline void make_log(const char *dir, unsigned n)
{
	struct audit_log *log = open_log(dir);

	append_many(log, n);
	audit_log_close(log);
}

static inline enum audit_status verify_with(
	const char *dir, const char *checkpoint, const char *vkey, struct audit_report *report)
{
	const struct audit_verify_options options = {.vkey = vkey, .checkpoint = checkpoint};
	int r = audit_verify(dir, &options, report);

	assert_int_equal(r, report->status);
	return report->status;
}

static inline enum audit_status verify_log(const char *dir)
{
	struct audit_report report;
	enum audit_status status = verify_with(dir, NULL, NULL, &report);

	if (status == AUDIT_TAMPERED)
		print_message("# %s\n", report.message);
	return status;
}

static inline char *path_of(const char *dir, const char *name)
{
	char *path = NULL;

	assert_true(asprintf(&path, "%s/%s", dir, name) > 0);
	return path;
}

static inline char *read_all(const char *dir, const char *name, size_t *sizep)
{
	char *path = path_of(dir, name), *data = NULL;

	assert_int_equal(file_read(AT_FDCWD, path, 1U << 28, &data, sizep), 0);
	free(path);
	return data;
}

static inline void write_all(const char *dir, const char *name, const char *data, size_t size)
{
	char *path = path_of(dir, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, data, size), 0);
	close(fd);
	free(path);
}

/* Copies the folder FROM to TO. */
static inline void copy_dir(const char *from, const char *to)
{
	char command[512];

	snprintf(command, sizeof(command), "rm -rf '%s' && cp -a '%s' '%s'", to, from, to);
	assert_int_equal(system(command), 0);
}

/* Runs a shell command in DIR. */
static inline void in_dir(const char *dir, const char *command)
{
	char text[1024];

	snprintf(text, sizeof(text), "cd '%s' && %s", dir, command);
	assert_int_equal(system(text), 0);
}

#define SEGMENT "seg/000000000000.jsonl"

#endif
