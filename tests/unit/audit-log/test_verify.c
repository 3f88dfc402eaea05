/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "log_fixture.h"

#include <errno.h>
#include <sodium.h>

#include "audit-log/key.h"
#include "audit-log/note.h"
#include "audit-log/origin.h"
#include "audit-log/writer.h"

struct copy {
	char dir[100];
};

static void fresh_copy(const struct fixture *f, struct copy *copy)
{
	snprintf(copy->dir, sizeof(copy->dir), "%s/copy", f->root);
	copy_dir(f->dir, copy->dir);
}

static void gives_three_for_what_cannot_be_read(void **state)
{
	struct fixture *f = *state;
	struct audit_report report;

	assert_int_equal(verify_log(f->dir), AUDIT_UNREADABLE);
	assert_int_equal(mkdir(f->dir, 0700), 0);
	assert_int_equal(verify_log(f->dir), AUDIT_UNREADABLE);
	make_log(f->dir, 1);
	assert_int_equal(verify_with(f->dir, NULL, "no key", &report), AUDIT_UNREADABLE);
}

/* A3 */
static void detects_any_flipped_byte_and_names_the_record(void **state)
{
	static const char *const file[] = {SEGMENT, SEGMENT, SEGMENT, "tile/0/000", "tile/0/001",
		"checkpoint", "checkpoints", "origin"};
	struct fixture *f = *state;
	unsigned seed = 20261130;
	struct audit_report report;

	make_log(f->dir, 300);
	make_log(f->dir, 300);
	for (unsigned i = 0; i < 1000; i++) {
		const char *name = file[i % ARRAY_LEN(file)];
		size_t size, at;
		char *data = read_all(f->dir, name, &size), *old;
		char bit = (char)(1 << (rand_r(&seed) % 8));
		uint64_t index = 0;

		old = malloc(size);
		memcpy(old, data, size);
		at = (size_t)rand_r(&seed) % size;
		data[at] ^= bit;
		for (size_t k = 0; k < at; k++)
			index += old[k] == '\n';
		write_all(f->dir, name, data, size);
		if (verify_with(f->dir, NULL, NULL, &report) != AUDIT_TAMPERED)
			fail_msg("byte %zu of %s, bit %d: %s", at, name, bit, report.message);
		if (strcmp(name, SEGMENT) == 0 && report.first_bad != index)
			fail_msg("byte %zu of record %llu named as %llu: %s", at,
				(unsigned long long)index, (unsigned long long)report.first_bad,
				report.message);
		if (strncmp(name, "tile", 4) == 0)
			assert_int_equal(report.first_bad,
				(strcmp(name, "tile/0/001") == 0 ? 256 : 0) + at / AUDIT_HASH_SIZE);
		write_all(f->dir, name, old, size);
		free(old);
		free(data);
	}
	assert_int_equal(verify_log(f->dir), AUDIT_UNANCHORED);
}

/* A4 */
static void detects_records_removed_swapped_doubled_or_replaced(void **state)
{
	static const struct {
		const char *command;
		uint64_t first_bad;
	} row[] = {
		{"sed -i 1d " SEGMENT, 0},
		{"sed -i 51d " SEGMENT, 50},
		{"sed -i '$d' " SEGMENT, 103},
		{"sed -i '51{h;d};52{G}' " SEGMENT, 50},
		{"sed -i 51p " SEGMENT, 51},
		{"sed -i '51s/.*//' " SEGMENT, 50},
		{"sed -i '51s/.*/junk/' " SEGMENT, 50},
		{"sed -i '51s/type/\\x00/' " SEGMENT, 50},
		{"sed -i '51i {\"seq\":50}' " SEGMENT, 50},
		{"truncate -s -1 " SEGMENT, 103},
		{"truncate -s 0 " SEGMENT, 0},
		{"rm " SEGMENT, 0},
		{"(head -n 50 " SEGMENT
		 "; head -c 50000000 /dev/zero | tr '\\0' a; echo; tail -n +51 " SEGMENT
		 ") >x && mv x " SEGMENT,
			50},
		{"rm -r seg", 0},
		{"mv " SEGMENT " x && mkfifo " SEGMENT, UINT64_MAX},
	};
	struct fixture *f = *state;
	struct audit_report report;
	struct copy copy;

	/* log.open, log.key, 101 records, log.close: the last is number 103 */
	make_log(f->dir, 101);
	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		fresh_copy(f, &copy);
		in_dir(copy.dir, row[i].command);
		verify_with(copy.dir, NULL, NULL, &report);
		if (report.status == AUDIT_OK || report.status == AUDIT_UNANCHORED ||
			report.first_bad != row[i].first_bad)
			fail_msg("%s: %d, record %llu: %s", row[i].command, (int)report.status,
				(unsigned long long)report.first_bad, report.message);
	}
}

/* A6, N8 */
static void refuses_missing_and_foreign_signatures(void **state)
{
	static const char *const command[] = {
		/* one of the two signatures, then both, of the last checkpoint */
		"sed -i 5d checkpoint",
		"sed -i 6d checkpoint",
		"sed -i '5,$d' checkpoint",
		"sed -i '/^\xe2\x80\x94/d' checkpoint",
		/* one in the history */
		"sed -i 6d checkpoints",
		"sed -i 5d checkpoints",
		/* a line of nobody known */
		"sed -i '6{p;s/ [^ ]*$/ AAAAAAAAAAAA/}' checkpoint",
		"rm checkpoint",
		"rm checkpoints",
		"rm origin",
		": >checkpoints",
		": >checkpoint",
		"sed -i 1,5d checkpoints",
		"cp checkpoints checkpoint",
	};
	struct fixture *f = *state;
	struct audit_report report;
	struct copy copy;

	make_log(f->dir, 20);
	for (size_t i = 0; i < ARRAY_LEN(command); i++) {
		fresh_copy(f, &copy);
		in_dir(copy.dir, command[i]);
		if (verify_with(copy.dir, NULL, NULL, &report) != AUDIT_TAMPERED)
			fail_msg("%s: %d: %s", command[i], (int)report.status, report.message);
	}
}

static void refuses_a_log_of_another_key(void **state)
{
	struct fixture *f = *state;
	struct audit_report report;
	char *vkey = NULL, *checkpoint = NULL, other[100];

	snprintf(other, sizeof(other), "%s/other", f->root);
	make_log(f->dir, 5);
	make_log(other, 5);
	assert_int_equal(audit_log_vkey(f->dir, &vkey), 0);
	assert_int_equal(audit_checkpoint_text(f->dir, &checkpoint), 0);
	assert_int_equal(verify_with(f->dir, NULL, vkey, &report), AUDIT_UNANCHORED);
	/* N2: a whole fresh log in the place of the old one. */
	assert_int_equal(verify_with(other, NULL, vkey, &report), AUDIT_TAMPERED);
	assert_int_equal(verify_with(other, checkpoint, NULL, &report), AUDIT_TAMPERED);
	free(vkey);
	free(checkpoint);
}

/* A5, N2 */
static void detects_a_log_set_back_to_an_earlier_state(void **state)
{
	struct fixture *f = *state;
	char *checkpoint = NULL;
	struct audit_report report;
	struct copy copy;
	char command[400];
	struct audit_log *log = open_log(f->dir);

	append_many(log, 60);
	/* The files as they are in the middle of an epoch. */
	fresh_copy(f, &copy);
	append_many(log, 40);
	assert_int_equal(audit_checkpoint_text(f->dir, &checkpoint), 0);
	audit_log_close(log);

	/* Within one epoch only what is kept outside shows it... */
	assert_int_equal(verify_with(copy.dir, NULL, NULL, &report), AUDIT_UNANCHORED);
	assert_int_equal(verify_with(copy.dir, checkpoint, NULL, &report), AUDIT_TAMPERED);
	assert_int_equal(report.first_bad, 62);
	/* ... also after the shorter log was written on. */
	make_log(copy.dir, 100);
	assert_int_equal(verify_with(copy.dir, NULL, NULL, &report), AUDIT_UNANCHORED);
	assert_int_equal(verify_with(copy.dir, checkpoint, NULL, &report), AUDIT_TAMPERED);

	/* The history alone gives a set-back checkpoint away. */
	copy_dir(f->dir, copy.dir);
	make_log(copy.dir, 3);
	snprintf(command, sizeof(command), "cp '%s/checkpoint' checkpoint", f->dir);
	in_dir(copy.dir, command);
	assert_int_equal(verify_log(copy.dir), AUDIT_TAMPERED);
	/* A backup of an earlier epoch in the place of everything but the keys. */
	copy_dir(f->dir, copy.dir);
	make_log(copy.dir, 3);
	snprintf(command, sizeof(command),
		"rm -r seg checkpoint* && cp -a '%s/seg' '%s/checkpoint' '%s/checkpoints' .",
		f->dir, f->dir, f->dir);
	in_dir(copy.dir, command);
	assert_int_equal(verify_log(copy.dir), AUDIT_TAMPERED);
	assert_open_refused(copy.dir);
	free(checkpoint);
}

static void detects_a_lost_or_older_segment(void **state)
{
	static const char *const command[] = {
		"rm seg/000000065536.jsonl",
		"rm seg/000000131072.jsonl",
		"rm seg/000000000000.jsonl",
		"cp seg/000000065536.jsonl seg/000000000000.jsonl",
		"head -n 100 seg/000000131072.jsonl >x && mv x seg/000000131072.jsonl",
		"head -n 65535 seg/000000065536.jsonl >x && mv x seg/000000065536.jsonl",
		"rm tile/0/300",
		"rm tile/1/001",
		"cp tile/0/301 tile/0/300",
	};
	static const uint64_t first_bad[] = {
		65536, 131072, 0, 0, 131172, 131071, 76800, 65536, 76800};
	struct fixture *f = *state;
	struct audit_report report;
	struct audit_log *log;
	struct copy copy;

	log = open_log(f->dir);
	append_many(log, 132000);
	audit_log_close(log);
	for (size_t i = 0; i < ARRAY_LEN(command); i++) {
		fresh_copy(f, &copy);
		in_dir(copy.dir, command[i]);
		if (verify_with(copy.dir, NULL, NULL, &report) != AUDIT_TAMPERED ||
			report.first_bad != first_bad[i])
			fail_msg("%s: %d, record %llu: %s", command[i], (int)report.status,
				(unsigned long long)report.first_bad, report.message);
	}
}

/* N9: today's keys cannot sign last week's records. */
static void refuses_old_records_signed_by_a_later_epoch(void **state)
{
	struct fixture *f = *state;
	_cleanup_(closep) int keys_fd = -1;
	struct audit_key *identity = NULL, *epoch = NULL;
	struct audit_checkpoint checkpoint;
	struct audit_origin origin;
	struct audit_note note;
	uint8_t signature[AUDIT_SIG_SIZE];
	_cleanup_(closep) int dir_fd = -1;
	char *text, *keys;
	struct buf forged;
	size_t size;

	make_log(f->dir, 3);
	make_log(f->dir, 3);
	dir_fd = open(f->dir, O_RDONLY | O_DIRECTORY);
	keys = path_of(f->dir, "keys");
	keys_fd = open(keys, O_RDONLY | O_DIRECTORY);
	free(keys);
	assert_int_equal(audit_origin_read(dir_fd, &origin), 0);
	assert_int_equal(audit_key_load(keys_fd, "identity", origin.identity.name, &identity), 0);
	assert_int_equal(
		audit_key_load(keys_fd, "epoch-000000000002", origin.identity.name, &epoch), 0);
	/* The first note again, with the second epoch's signature in the place of the first's. */
	text = read_all(f->dir, "checkpoints", &size);
	assert_int_equal(audit_note_parse(text, audit_note_measure(text, size), &note), 0);
	assert_int_equal(audit_checkpoint_parse(note.text, note.text_size, &checkpoint), 0);
	buf_init(&forged, 1 << 20);
	buf_append(&forged, note.text, note.text_size);
	buf_putc(&forged, '\n');
	audit_key_sign(identity, note.text, note.text_size, signature);
	audit_note_add_signature(&forged, audit_key_public(identity), signature, 64);
	audit_key_sign(epoch, note.text, note.text_size, signature);
	audit_note_add_signature(&forged, audit_key_public(epoch), signature, 64);
	buf_append(&forged, text + audit_note_measure(text, size),
		size - audit_note_measure(text, size));
	assert_int_equal(forged.error, 0);
	write_all(f->dir, "checkpoints", forged.data, forged.size);
	assert_int_equal(verify_log(f->dir), AUDIT_TAMPERED);
	buf_deinit(&forged);
	free(text);
	audit_key_free(identity);
	audit_key_free(epoch);
}

static void accepts_a_receipt_of_a_known_witness_only(void **state)
{
	struct fixture *f = *state;
	uint8_t pk[32], sk[64], raw[72] = {0, 0, 0, 0, 0x69, 0x55, 0xb9, 0x00};
	const char *witness;
	struct audit_verify_options options = {.witnesses = &witness, .n_witnesses = 1};
	struct audit_report report;
	struct audit_vkey key;
	struct audit_note note;
	struct buf message, receipt;
	char *text = NULL, *vkey;

	make_log(f->dir, 5);
	assert_int_equal(audit_checkpoint_text(f->dir, &text), 0);
	assert_int_equal(audit_note_parse(text, strlen(text), &note), 0);
	crypto_sign_keypair(pk, sk);
	assert_int_equal(audit_vkey_init(&key, "witness.test/w", AUDIT_KEY_COSIGNATURE, pk), 0);
	buf_init(&message, 1 << 16);
	buf_puts(&message, "cosignature/v1\ntime 1767225600\n");
	buf_append(&message, note.text, note.text_size);
	crypto_sign_detached(raw + 8, NULL, (const uint8_t *)message.data, message.size, sk);
	buf_init(&receipt, 1 << 16);
	buf_puts(&receipt, text);
	audit_note_add_signature(&receipt, &key, raw, sizeof(raw));
	in_dir(f->dir, "mkdir anchors");
	write_all(f->dir, "anchors/1.note", receipt.data, receipt.size);
	vkey = audit_vkey_format(&key);
	witness = vkey;
	assert_int_equal(audit_verify(f->dir, &options, &report), AUDIT_OK);
	witness = "witness.example.org/w1+f3c080b6+BCmsuuFBvMrwsi4alNNNC8c2HlJtC/4SyJeUvJMilm3X";
	assert_int_equal(audit_verify(f->dir, &options, &report), AUDIT_UNANCHORED);
	free(vkey);
	free(text);
	buf_deinit(&message);
	buf_deinit(&receipt);
}

static void judges_a_log_that_is_being_written(void **state)
{
	struct fixture *f = *state;
	struct audit_log *log = open_log(f->dir);
	struct audit_report report;

	for (unsigned i = 0; i < 300; i++) {
		append_one(log, i);
		if (i % 3 == 0)
			assert_int_equal(audit_log_commit(log), 0);
		if (i % 10 == 0)
			assert_int_equal(verify_log(f->dir), AUDIT_UNANCHORED);
	}
	/* Lines behind the checkpoint are mentioned and are no error. */
	in_dir(f->dir, "echo '{\"seq\":1}' >>" SEGMENT);
	assert_int_equal(verify_with(f->dir, NULL, NULL, &report), AUDIT_UNANCHORED);
	assert_non_null(strstr(report.message, "1 more not yet signed"));
	audit_log_close(log);
	assert_int_equal(verify_log(f->dir), AUDIT_UNANCHORED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, fixture_setup, fixture_teardown)
		T(gives_three_for_what_cannot_be_read),
		T(detects_any_flipped_byte_and_names_the_record),
		T(detects_records_removed_swapped_doubled_or_replaced),
		T(refuses_missing_and_foreign_signatures),
		T(refuses_a_log_of_another_key),
		T(detects_a_log_set_back_to_an_earlier_state),
		T(detects_a_lost_or_older_segment),
		T(refuses_old_records_signed_by_a_later_epoch),
		T(accepts_a_receipt_of_a_known_witness_only),
		T(judges_a_log_that_is_being_written),
#undef T
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
