/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sodium.h>

#include "audit-log/note.h"
#include "supervisord/base/file.h"
#include "supervisord/base/parse.h"

#define LOG_VKEY                                                                                   \
	"example.org/supervisor/host1/audit+70810843+AQOhB7/zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4"
#define WITNESS_VKEY "witness.example.org/w1+f3c080b6+BCmsuuFBvMrwsi4alNNNC8c2HlJtC/4SyJeUvJMilm3X"
#define DASH "\xe2\x80\x94 "
#define SIG DASH "a AAAAAAA=\n" /* an id and one byte */

__attribute__((noinline)) static char *vector_note(size_t *sizep)
{
	char *data = NULL;

	assert_int_equal(
		file_read(AT_FDCWD, "tests/fixtures/vectors/checkpoint.note", 65536, &data, sizep),
		0);
	return data;
}

static void checks_both_signatures_of_the_vector(void **state)
{
	struct audit_checkpoint checkpoint;
	struct audit_vkey log, witness;
	struct audit_note note;
	char hex[65];
	uint64_t time = 1;
	uint8_t hash[32];
	size_t size;
	char *data = vector_note(&size);

	(void)state;
	assert_int_equal(size, 347);
	assert_int_equal(audit_note_parse(data, size, &note), 0);
	assert_int_equal(note.text_size, 82);
	crypto_hash_sha256(hash, (const uint8_t *)note.text, note.text_size);
	format_hex(hash, sizeof(hash), hex);
	assert_string_equal(
		hex, "efd23a0b176cd7e9082ec1b2bbf085e763596807c01b69e51cd667087afe9061");
	assert_int_equal(note.n_sigs, 2);
	assert_int_equal(audit_vkey_parse(LOG_VKEY, &log), 0);
	assert_int_equal(audit_vkey_parse(WITNESS_VKEY, &witness), 0);
	assert_int_equal(log.id, 0x70810843);
	assert_int_equal(witness.id, 0xf3c080b6);
	assert_int_equal(audit_note_check(&note, &log, &time), 0);
	assert_int_equal(time, 0);
	assert_int_equal(audit_note_check(&note, &witness, &time), 0);
	assert_int_equal(time, 1767225600);
	assert_int_equal(audit_checkpoint_parse(note.text, note.text_size, &checkpoint), 0);
	assert_int_equal(checkpoint.size, 5);
	format_hex(checkpoint.root, 32, hex);
	assert_string_equal(
		hex, "9267a3bced5a99d6e3b2e03481a0ad5d1354efb16b82b5a483af90e270dac88d");
	free(data);
}

static void makes_the_note_of_the_vector_from_its_seeds(void **state)
{
	uint8_t seed[32], pk[32], sk[64], sig[64], raw[72] = {0, 0, 0, 0, 0x69, 0x55, 0xb9, 0x00};
	struct audit_vkey key;
	struct audit_checkpoint checkpoint;
	struct audit_note note;
	struct buf made, message;
	size_t size, text_size;
	char *data = vector_note(&size), *vkey;

	(void)state;
	assert_int_equal(audit_note_parse(data, size, &note), 0);
	assert_int_equal(audit_checkpoint_parse(note.text, note.text_size, &checkpoint), 0);
	buf_init(&made, 4096);
	audit_checkpoint_format(&made, "example.org/supervisor/host1/audit", 5, checkpoint.root);
	text_size = made.size;
	buf_putc(&made, '\n');
	for (uint8_t i = 0; i < 32; i++)
		seed[i] = i;
	crypto_sign_seed_keypair(pk, sk, seed);
	assert_int_equal(audit_vkey_init(&key, "example.org/supervisor/host1/audit", 1, pk), 0);
	vkey = audit_vkey_format(&key);
	assert_string_equal(vkey, LOG_VKEY);
	free(vkey);
	crypto_sign_detached(sig, NULL, (const uint8_t *)made.data, text_size, sk);
	audit_note_add_signature(&made, &key, sig, sizeof(sig));
	for (uint8_t i = 0; i < 32; i++)
		seed[i] = (uint8_t)(0x20 + i);
	crypto_sign_seed_keypair(pk, sk, seed);
	assert_int_equal(audit_vkey_init(&key, "witness.example.org/w1", 4, pk), 0);
	buf_init(&message, 4096);
	buf_puts(&message, "cosignature/v1\ntime 1767225600\n");
	buf_append(&message, made.data, text_size);
	crypto_sign_detached(raw + 8, NULL, (const uint8_t *)message.data, message.size, sk);
	audit_note_add_signature(&made, &key, raw, sizeof(raw));
	assert_int_equal(made.size, size);
	assert_memory_equal(made.data, data, size);
	buf_deinit(&made);
	buf_deinit(&message);
	free(data);
}

static void rejects_a_note_with_any_bit_changed(void **state)
{
	struct audit_vkey keys[2];
	size_t size;
	char *data = vector_note(&size);

	(void)state;
	assert_int_equal(audit_vkey_parse(LOG_VKEY, &keys[0]), 0);
	assert_int_equal(audit_vkey_parse(WITNESS_VKEY, &keys[1]), 0);
	for (size_t i = 0; i < size * 8; i++) {
		struct audit_note note;
		bool good;

		data[i / 8] = (char)(data[i / 8] ^ (1 << i % 8));
		good = audit_note_parse(data, size, &note) == 0 &&
		       audit_note_check(&note, &keys[0], NULL) == 0 &&
		       audit_note_check(&note, &keys[1], NULL) == 0;
		assert_false(good);
		data[i / 8] = (char)(data[i / 8] ^ (1 << i % 8));
	}
	free(data);
}

static void parses_notes_as_the_table_says(void **state)
{
	static const struct {
		const char *text;
		bool good;
	} row[] = {
		{"text\n\n" SIG, true},
		{"text\n\n" SIG SIG SIG, true},
		{"a\n\nb\n\n" SIG, true}, /* split at the last empty line */
		{"\n\n" SIG, true},
		{"text \xc3\xa9\n\n" SIG, true},
		{"", false},
		{"\n", false},
		{"text\n", false},
		{"text\n\n", false},
		{"text\n" SIG, false},
		{"text\n\n\n" SIG, true}, /* the text is "text\n\n" */
		{"text\n\n" SIG "\n", false},
		{"text\n\n" SIG "x\n", false},
		{"text\n\n" DASH "a AAAAAAA=", false},
		{"text\n\n- a AAAAAAA=\n", false},
		{"text\n\n" DASH "aAAAAAAA=\n", false},
		{"text\n\n" DASH " AAAAAAA=\n", false},
		{"text\n\n" DASH "a  AAAAAAA=\n", false},
		{"text\n\n" DASH "a+b AAAAAAA=\n", false},
		{"text\n\n" DASH "a AAAAAAA\n", false},  /* no padding */
		{"text\n\n" DASH "a AAAAAAB=\n", false}, /* stray bits */
		{"text\n\n" DASH "a AAAAAAA=\r\n", false},
		{"text\n\n" DASH "a AAAA\n", false},     /* no room for an id */
		{"text\n\n" DASH "a AAA_AAA=\n", false}, /* the other alphabet */
		{"te\rxt\n\n" SIG, false},
		{"te\txt\n\n" SIG, false},
		{"te\x7fxt\n\n" SIG, false},
		{"te\xffxt\n\n" SIG, false},
		{"te\xc0\xafxt\n\n" SIG, false},
		{"te\xed\xa0\x80xt\n\n" SIG, false},
		{"te\xf4\x90\x80\x80xt\n\n" SIG, false},
		{"te\xe2\x80\n\n" SIG, false},
	};
	struct audit_note note;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		bool good = audit_note_parse(row[i].text, strlen(row[i].text), &note) == 0;

		if (good != row[i].good)
			fail_msg("row %zu: %s", i, row[i].text);
	}
	assert_int_equal(audit_note_parse("te\0xt\n\n" SIG, 7 + sizeof(SIG) - 1, &note),
		AUDIT_NOTE_E_MALFORMED);
}

static void accepts_sixteen_signatures_and_refuses_a_hundred(void **state)
{
	struct audit_note note;
	struct buf buf;

	(void)state;
	buf_init(&buf, 65536);
	buf_puts(&buf, "text\n\n");
	for (unsigned i = 1; i <= 100; i++) {
		buf_puts(&buf, SIG);
		assert_int_equal(audit_note_parse(buf.data, buf.size, &note),
			i <= AUDIT_NOTE_SIGS_MAX ? 0 : AUDIT_NOTE_E_MALFORMED);
		assert_true(i > 16 || note.n_sigs == i);
	}
	buf_deinit(&buf);
}

static void one_false_signature_of_a_known_key_rejects(void **state)
{
	struct audit_vkey key, other;
	struct audit_note note;
	struct buf buf;
	size_t size;
	char *data = vector_note(&size), *line;

	(void)state;
	assert_int_equal(audit_vkey_parse(LOG_VKEY, &key), 0);
	assert_int_equal(audit_vkey_init(&other, "someone.else", 1, key.pk), 0);
	buf_init(&buf, 65536);
	buf_append(&buf, data, size);
	/* the log's line once more, with another signature */
	line = strdup(strstr(data, DASH));
	*strchr(line, '\n') = '\0';
	line[strlen(line) - 10] = line[strlen(line) - 10] == 'A' ? 'B' : 'A';
	buf_printf(&buf, "%s\n", line);
	assert_int_equal(audit_note_parse(buf.data, buf.size, &note), 0);
	assert_int_equal(audit_note_verify(&note, &key, 1), AUDIT_NOTE_E_BAD_SIGNATURE);
	assert_int_equal(audit_note_verify(&note, &other, 1), AUDIT_NOTE_E_NO_KEY);
	free(line);
	free(data);
	buf_deinit(&buf);
}

static void refuses_what_is_not_a_key(void **state)
{
	static const char *const text[] = {
		"",
		"a",
		"a+b",
		"+70810843+AQOhB7/zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4",
		"example.org/supervisor/host1/audit+70810844+AQOhB7/"
		"zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4",
		"example.org/supervisor/host2/audit+70810843+AQOhB7/"
		"zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4",
		"example.org/supervisor/host1/audit+70810843+AgOhB7/"
		"zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4",
		"example.org/supervisor/host1/audit+70810843+AQOhB7/"
		"zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG",
		"example.org/supervisor/host1/audit+70810843+",
		LOG_VKEY "\n",
		/* a byte that libsodium reads as a slash */
		"example.org/supervisor/host1/"
		"audit+70810843+AQOhB7\xc9zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4",
		LOG_VKEY " ",
	};
	struct audit_vkey key;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(text); i++)
		assert_int_equal(audit_vkey_parse(text[i], &key), AUDIT_NOTE_E_MALFORMED);
}

static void parses_checkpoints_strictly(void **state)
{
#define ROOT "kmejvO1amdbjsuA0gaCtXRNU77FrgrWkg6+Q4nDayI0="
	static const struct {
		const char *text;
		bool good;
	} row[] = {
		{"o\n5\n" ROOT "\n", true},
		{"o\n0\n" ROOT "\n", true},
		{"o\n5\n" ROOT "\nextension\n", true},
		{"o\n9223372036854775807\n" ROOT "\n", true},
		{"o\n9223372036854775808\n" ROOT "\n", false},
		{"o\n05\n" ROOT "\n", false},
		{"o\n-5\n" ROOT "\n", false},
		{"o\n5 \n" ROOT "\n", false},
		{"o\n\n" ROOT "\n", false},
		{"\n5\n" ROOT "\n", false},
		{"o\n5\n" ROOT "\n\n", false},
		{"o\n5\n" ROOT, false},
		{"o\n5\n", false},
		{"o\n", false},
		{"", false},
		{"o\n5\nkmejvO1amdbjsuA0gaCtXRNU77FrgrWkg6+Q4nDayA==\n", false},
	};
	struct audit_checkpoint checkpoint;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		bool good =
			audit_checkpoint_parse(row[i].text, strlen(row[i].text), &checkpoint) == 0;

		if (good != row[i].good)
			fail_msg("row %zu: %s", i, row[i].text);
	}
}

static void measures_the_first_of_several_notes(void **state)
{
	static const char one[] = "text\n\n" SIG SIG, two[] = "text\n\n" SIG SIG "text\n\n" SIG;

	(void)state;
	assert_int_equal(audit_note_measure(one, strlen(one)), strlen(one));
	assert_int_equal(audit_note_measure(two, strlen(two)), strlen(one));
	assert_int_equal(audit_note_measure(one, strlen(one) - 1), 0);
	assert_int_equal(audit_note_measure("text\n\n", 6), 0);
	assert_int_equal(audit_note_measure("text\n\nx\n", 8), 0);
	assert_int_equal(audit_note_measure("", 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(checks_both_signatures_of_the_vector),
		cmocka_unit_test(makes_the_note_of_the_vector_from_its_seeds),
		cmocka_unit_test(rejects_a_note_with_any_bit_changed),
		cmocka_unit_test(parses_notes_as_the_table_says),
		cmocka_unit_test(accepts_sixteen_signatures_and_refuses_a_hundred),
		cmocka_unit_test(one_false_signature_of_a_known_key_rejects),
		cmocka_unit_test(refuses_what_is_not_a_key),
		cmocka_unit_test(parses_checkpoints_strictly),
		cmocka_unit_test(measures_the_first_of_several_notes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
