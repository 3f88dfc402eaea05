/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "log_fixture.h"

#include <errno.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "audit-log/record.h"
#include "audit-log/writer.h"
#include "supervisord/base/clock.h"

static void makes_a_log_that_verifies_and_is_private(void **state)
{
	struct fixture *f = *state;
	struct audit_report report;
	char *checkpoint = NULL, *vkey = NULL;
	struct stat st;

	make_log(f->dir, 10);
	/* log.open, log.key, 10 of ours, log.close */
	assert_int_equal(verify_with(f->dir, NULL, NULL, &report), AUDIT_UNANCHORED);
	assert_int_equal(report.size, 13);
	assert_int_equal(report.first_bad, UINT64_MAX);
	assert_non_null(strstr(report.message, "tail not anchored since 20"));
	assert_int_equal(audit_checkpoint_text(f->dir, &checkpoint), 0);
	assert_int_equal(audit_log_vkey(f->dir, &vkey), 0);
	assert_int_equal(verify_with(f->dir, checkpoint, vkey, &report), AUDIT_OK);
	assert_int_equal(report.anchored, 13);
	free(checkpoint);
	free(vkey);
	assert_int_equal(stat(f->dir, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	in_dir(f->dir, "test -z \"$(find . -type f -perm /077)\"");
}

static int count_record(void *userdata, uint64_t index, const char *line, size_t size)
{
	unsigned *n = userdata;
	struct audit_record record;

	assert_int_equal(audit_record_parse(line, size, &record, NULL), 0);
	assert_int_equal(record.seq, index);
	++*n;
	return 0;
}

static void goes_on_after_a_restart_with_a_new_epoch(void **state)
{
	struct fixture *f = *state;
	unsigned n = 0;

	for (unsigned i = 0; i < 5; i++)
		make_log(f->dir, i);
	assert_int_equal(verify_log(f->dir), AUDIT_UNANCHORED);
	/* 1 log.open; 5 log.key; 5 log.close; 0+1+2+3+4 */
	assert_int_equal(audit_read(f->dir, 0, count_record, &n), 0);
	assert_int_equal(n, 21);
	n = 0;
	assert_int_equal(audit_read(f->dir, 20, count_record, &n), 0);
	assert_int_equal(n, 1);
	/* Only the last epoch's key is left. */
	in_dir(f->dir, "test \"$(ls keys)\" = \"$(printf 'epoch-000000000005\\nidentity')\"");
}

static void refuses_a_second_writer(void **state)
{
	struct fixture *f = *state;
	struct audit_log *log = open_log(f->dir), *second = NULL;
	char *reason = NULL;

	assert_int_equal(audit_log_open(f->dir, &second, &reason), AUDIT_E_LOCKED);
	assert_null(second);
	audit_log_close(log);
	audit_log_close(open_log(f->dir));
}

static void refuses_types_that_only_the_log_writes(void **state)
{
	struct fixture *f = *state;
	struct audit_log *log = open_log(f->dir);
	json_t *record = json_pack("{s:s, s:s}", "type", "log.key", "role", "epoch");

	assert_int_equal(audit_log_append(log, record, NULL), -EINVAL);
	json_decref(record);
	record = json_pack("{s:i}", "number", 1);
	assert_int_equal(audit_log_append(log, record, NULL), -EINVAL);
	json_decref(record);
	audit_log_close(log);
}

static void commits_more_than_one_segment_and_starts_from_tiles(void **state)
{
	struct fixture *f = *state;
	struct audit_log *log = open_log(f->dir);
	struct audit_report report;
	unsigned n = 0;

	append_many(log, 240000);
	audit_log_close(log);
	assert_int_equal(verify_with(f->dir, NULL, NULL, &report), AUDIT_UNANCHORED);
	in_dir(f->dir, "test \"$(ls seg | wc -l)\" = 4");
	assert_int_equal(audit_read(f->dir, 200000, count_record, &n), 0);
	assert_int_equal(n, report.size - 200000);
	make_log(f->dir, 3);
	assert_int_equal(verify_log(f->dir), AUDIT_UNANCHORED);
	/* Tiles that are gone are made again, and that is recorded. */
	in_dir(f->dir, "rm tile/1/000 tile/0/700");
	assert_int_equal(verify_log(f->dir), AUDIT_TAMPERED);
	make_log(f->dir, 1);
	assert_int_equal(verify_log(f->dir), AUDIT_UNANCHORED);
	in_dir(f->dir, "grep -q '\"tiles_rebuilt\":true' seg/000000196608.jsonl");
}

static uint64_t fake_realtime, fake_boottime;

static uint64_t get_realtime(void)
{
	return fake_realtime;
}

static uint64_t get_boottime(void)
{
	return fake_boottime;
}

static void records_a_step_of_the_wall_clock_and_still_verifies(void **state)
{
	static const int64_t step[] = {-3600, 86400, -86400 * 365 * 20LL, 3};
	struct fixture *f = *state;
	struct audit_log *log = open_log(f->dir);

	fake_realtime = clock_realtime_usec();
	fake_boottime = clock_boottime_usec();
	audit_log_set_clocks(log, get_realtime, get_boottime);
	for (size_t i = 0; i < ARRAY_LEN(step); i++) {
		append_one(log, 1);
		fake_realtime = (uint64_t)((int64_t)fake_realtime + step[i] * 1000000);
		fake_boottime += 10;
		append_one(log, 2);
		/* Both clocks on: a suspend, no step. */
		fake_realtime += 7200 * USEC_PER_SEC;
		fake_boottime += 7200 * USEC_PER_SEC;
		append_one(log, 3);
	}
	audit_log_close(log);
	assert_int_equal(verify_log(f->dir), AUDIT_UNANCHORED);
	in_dir(f->dir, "test $(grep -c '\"type\":\"time.step\"' " SEGMENT ") = 4");
}

static void begins_a_new_epoch_after_a_day_and_seals_an_empty_one(void **state)
{
	struct fixture *f = *state;
	struct audit_log *log = open_log(f->dir);

	fake_realtime = clock_realtime_usec();
	fake_boottime = clock_boottime_usec();
	audit_log_set_clocks(log, get_realtime, get_boottime);
	append_one(log, 1);
	for (unsigned i = 0; i < 3; i++) {
		fake_realtime += AUDIT_EPOCH_USEC_MAX * 3;
		fake_boottime += AUDIT_EPOCH_USEC_MAX * 3;
		assert_int_equal(audit_log_tick(log), 0);
		assert_int_equal(verify_log(f->dir), AUDIT_UNANCHORED);
	}
	append_one(log, 2);
	audit_log_close(log);
	assert_int_equal(verify_log(f->dir), AUDIT_UNANCHORED);
	in_dir(f->dir, "test $(grep -c '\"type\":\"log.key\"' " SEGMENT ") = 4");
	in_dir(f->dir, "test $(grep -c '\"type\":\"log.tick\"' " SEGMENT ") = 2");
}

/* N3: whatever is left of the last record, the log opens, says so and verifies. */
static void takes_up_a_log_cut_at_every_byte_of_its_unsigned_end(void **state)
{
	struct fixture *f = *state;
	size_t base_size;
	char *base, copy[100], boot[37];

	snprintf(copy, sizeof(copy), "%s/copy", f->root);
	make_log(f->dir, 3);
	clock_boot_id(boot);
	base = read_all(f->dir, SEGMENT, &base_size);
	/* Behind the signed end: one complete record and a part of a second. */
	for (size_t part = 0; part <= 200; part += part < 20 ? 1 : 20) {
		char line[600], *all;
		size_t n;
		struct audit_log *again;
		unsigned seq = 0;

		copy_dir(f->dir, copy);
		for (size_t i = 0; i < base_size; i++)
			seq += base[i] == '\n';
		n = (size_t)snprintf(line, sizeof(line),
			"{\"boot\":\"%s\",\"host\":\"h\",\"mono\":%llu,\"seq\":%u,"
			"\"time\":\"2026-01-01T00:00:00.000Z\",\"type\":\"test.extra\"}\n",
			boot, (unsigned long long)clock_boottime_usec(), seq);
		all = malloc(base_size + 2 * n);
		memcpy(all, base, base_size);
		memcpy(all + base_size, line, n);
		memcpy(all + base_size + n, line, n);
		if (part > n - 1)
			part = n - 1;
		write_all(copy, SEGMENT, all, base_size + n + part);
		free(all);
		assert_int_equal(verify_log(copy), AUDIT_UNANCHORED);
		again = open_log(copy);
		append_many(again, 1);
		audit_log_close(again);
		assert_int_equal(verify_log(copy), AUDIT_UNANCHORED);
		in_dir(copy, "grep -q '\"type\":\"log.recovered\"' " SEGMENT);
		in_dir(copy, "grep -q 'test.extra' " SEGMENT);
		if (part > 0)
			in_dir(copy, "ls recovered/*.bin >/dev/null");
		if (part == n - 1)
			break;
	}
	free(base);
}

static void child_writes(const char *dir, int fd)
{
	struct audit_log *log = open_log(dir);

	for (uint64_t i = 0;; i++) {
		uint64_t size;

		append_one(log, (unsigned)i);
		if (i % 7 == 0) {
			if (audit_log_commit(log) != 0)
				_exit(1);
			size = audit_log_size(log);
			/* Acknowledged: from here on it must never be lost. */
			if (write(fd, &size, sizeof(size)) != sizeof(size))
				_exit(1);
		}
	}
}

static void loses_no_acknowledged_record_when_it_is_killed(void **state)
{
	struct fixture *f = *state;
	unsigned seed = 4711;

	for (unsigned round = 0; round < 40; round++) {
		uint64_t acknowledged = 0, size;
		unsigned n_acks = (unsigned)rand_r(&seed) % 12;
		struct audit_report report;
		int pipe_fd[2], status;
		pid_t pid;

		assert_int_equal(pipe(pipe_fd), 0);
		pid = fork();
		if (pid == 0) {
			close(pipe_fd[0]);
			child_writes(f->dir, pipe_fd[1]);
			_exit(1);
		}
		close(pipe_fd[1]);
		for (unsigned i = 0; i <= n_acks; i++)
			assert_int_equal(read(pipe_fd[0], &acknowledged, sizeof(acknowledged)),
				sizeof(acknowledged));
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		while (read(pipe_fd[0], &size, sizeof(size)) == sizeof(size))
			acknowledged = size;
		close(pipe_fd[0]);
		assert_int_equal(verify_with(f->dir, NULL, NULL, &report), AUDIT_UNANCHORED);
		assert_true(report.size >= acknowledged);
	}
	audit_log_close(open_log(f->dir));
	assert_int_equal(verify_log(f->dir), AUDIT_UNANCHORED);
}

/* N1, N14 */
static void survives_a_full_disk_and_resumes_by_itself(void **state)
{
	struct fixture *f = *state;
	char filler[200];
	struct audit_log *log;
	json_t *record;
	int r = 0;

	if (mkdir(f->dir, 0700) < 0 || mount("audit-test", f->dir, "tmpfs", MS_NOSUID | MS_NODEV,
					       "size=1m,mode=0700") < 0) {
		print_message("# skipped: a tmpfs cannot be mounted: %s\n", strerror(errno));
		skip();
	}
	log = open_log(f->dir);
	append_many(log, 10);
	snprintf(filler, sizeof(filler), "head -c 2000000 /dev/zero >'%s/filler' 2>/dev/null; true",
		f->dir);
	assert_int_equal(system(filler), 0);
	for (unsigned i = 0; i < 10000 && r == 0; i++) {
		append_one(log, i);
		r = audit_log_commit(log);
	}
	assert_int_equal(r, -ENOSPC);
	assert_true(audit_log_pending(log) > 0);
	record = json_pack("{s:s}", "type", "test.refused");
	assert_int_equal(audit_log_append(log, record, NULL), -EROFS);
	json_decref(record);
	assert_int_equal(audit_log_commit(log), -ENOSPC);
	assert_int_equal(verify_log(f->dir), AUDIT_UNANCHORED);
	snprintf(filler, sizeof(filler), "rm '%s/filler'", f->dir);
	assert_int_equal(system(filler), 0);
	assert_int_equal(audit_log_commit(log), 0);
	append_many(log, 10);
	audit_log_close(log);
	r = verify_log(f->dir);
	in_dir(f->dir, "grep -q '\"error\":\"ENOSPC\".*\"refused\":1,.*log.pressure' " SEGMENT);
	make_log(f->dir, 1);
	assert_int_equal(verify_log(f->dir), AUDIT_UNANCHORED);
	umount(f->dir);
	assert_int_equal(r, AUDIT_UNANCHORED);
}

static void refuses_to_write_on_what_was_tampered_with(void **state)
{
	static const char *const command[] = {
		"rm checkpoint",
		"rm checkpoints",
		"rm keys/identity",
		"rm keys/epoch-*",
		"rm -r seg",
		"sed -i 5d " SEGMENT,
		"sed -i '5s/number/nunber/' " SEGMENT,
		"truncate -s -1 " SEGMENT,
		"rm checkpoint origin",
		"sed -i s/created/creatad/ origin",
	};
	struct fixture *f = *state;
	char copy[100];

	snprintf(copy, sizeof(copy), "%s/copy", f->root);
	make_log(f->dir, 20);
	for (size_t i = 0; i < ARRAY_LEN(command); i++) {
		copy_dir(f->dir, copy);
		in_dir(copy, command[i]);
		assert_open_refused(copy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, fixture_setup, fixture_teardown)
		T(makes_a_log_that_verifies_and_is_private),
		T(goes_on_after_a_restart_with_a_new_epoch),
		T(refuses_a_second_writer),
		T(refuses_types_that_only_the_log_writes),
		T(commits_more_than_one_segment_and_starts_from_tiles),
		T(records_a_step_of_the_wall_clock_and_still_verifies),
		T(begins_a_new_epoch_after_a_day_and_seals_an_empty_one),
		T(takes_up_a_log_cut_at_every_byte_of_its_unsigned_end),
		T(loses_no_acknowledged_record_when_it_is_killed),
		T(survives_a_full_disk_and_resumes_by_itself),
		T(refuses_to_write_on_what_was_tampered_with),
#undef T
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
