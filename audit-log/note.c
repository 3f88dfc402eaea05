/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "audit-log/note.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "supervisord/base/parse.h"

/* MUST:
 * 1. what is verified is the exact bytes up to and with the newline before the last empty line;
 * 2. a known key with a false signature rejects the note, whatever else it carries;
 * 3. base64 has one spelling (padding, no stray bits), so that no byte can change unnoticed. */

#define SIG_PREFIX "\xe2\x80\x94 " /* U+2014 and a space */
#define SIG_PREFIX_SIZE 4
#define RAW_MAX (AUDIT_NOTE_LINE_MAX / 4 * 3)

/* Length of the UTF-8 character at P, 0 when it is not one (RFC 3629: no surrogates, no long
 * forms). */
static size_t utf8_char(const uint8_t *p, size_t size)
{
	static const uint32_t lowest[] = {0, 0, 0x80, 0x800, 0x10000};
	uint32_t c;
	size_t n;

	if (p[0] < 0x80)
		return 1;
	n = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
	if (p[0] < 0xc2 || p[0] > 0xf4 || n > size)
		return 0;
	c = p[0] & (0x7fU >> n);
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3fU);
	}
	if (c < lowest[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	return n;
}

static bool is_note_text(const char *data, size_t size)
{
	const uint8_t *p = (const uint8_t *)data;

	for (size_t i = 0; i < size;) {
		size_t n = utf8_char(p + i, size - i);

		if (n == 0 || (p[i] < 0x20 && p[i] != '\n') || p[i] == 0x7f)
			return false;
		i += n;
	}
	return true;
}

static bool is_key_name(const char *name, size_t size)
{
	if (size == 0 || size > AUDIT_KEY_NAME_MAX || !is_note_text(name, size))
		return false;
	for (size_t i = 0; i < size; i++)
		if (name[i] == ' ' || name[i] == '+' || name[i] == '\n')
			return false;
	return true;
}

static uint32_t read_be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Strict base64 of exactly SIZE characters. */
static bool base64_decode(
	const char *text, size_t size, uint8_t *out, size_t out_max, size_t *out_sizep)
{
	const char *end = NULL;

	if (size == 0 || size > AUDIT_NOTE_LINE_MAX)
		return false;
	/* libsodium takes some bytes above 0x7f for digits. */
	for (size_t i = 0; i < size; i++)
		if ((uint8_t)text[i] > 0x7f)
			return false;
	return sodium_base642bin(out, out_max, text, size, NULL, out_sizep, &end,
		       sodium_base64_VARIANT_ORIGINAL) == 0 &&
	       end == text + size;
}

int audit_vkey_init(
	struct audit_vkey *key, const char *name, uint8_t type, const uint8_t pk[AUDIT_PK_SIZE])
{
	size_t name_size = strlen(name);
	crypto_hash_sha256_state state;
	uint8_t hash[AUDIT_HASH_SIZE];
	const uint8_t middle[2] = {'\n', type};

	if (!is_key_name(name, name_size))
		return AUDIT_NOTE_E_MALFORMED;
	memset(key, 0, sizeof(*key));
	memcpy(key->name, name, name_size);
	key->type = type;
	memcpy(key->pk, pk, AUDIT_PK_SIZE);
	crypto_hash_sha256_init(&state);
	crypto_hash_sha256_update(&state, (const uint8_t *)name, name_size);
	crypto_hash_sha256_update(&state, middle, sizeof(middle));
	crypto_hash_sha256_update(&state, pk, AUDIT_PK_SIZE);
	crypto_hash_sha256_final(&state, hash);
	key->id = read_be32(hash);
	return 0;
}

int audit_vkey_parse(const char *text, struct audit_vkey *key)
{
	const char *first = strchr(text, '+');
	const char *second = first ? strchr(first + 1, '+') : NULL;
	char name[AUDIT_KEY_NAME_MAX + 1] = "";
	uint8_t raw[1 + AUDIT_PK_SIZE], id[4];
	char hex[9] = "";
	size_t raw_size = 0, name_size;

	if (!first || !second || second - first != 9)
		return AUDIT_NOTE_E_MALFORMED;
	name_size = (size_t)(first - text);
	if (name_size > AUDIT_KEY_NAME_MAX)
		return AUDIT_NOTE_E_MALFORMED;
	memcpy(name, text, name_size);
	memcpy(hex, first + 1, 8);
	/* One spelling: lower case. */
	if (strpbrk(hex, "ABCDEF") || parse_hex(hex, id, sizeof(id)) < 0)
		return AUDIT_NOTE_E_MALFORMED;
	if (!base64_decode(second + 1, strlen(second + 1), raw, sizeof(raw), &raw_size) ||
		raw_size != sizeof(raw))
		return AUDIT_NOTE_E_MALFORMED;
	if (raw[0] != AUDIT_KEY_ED25519 && raw[0] != AUDIT_KEY_COSIGNATURE)
		return AUDIT_NOTE_E_MALFORMED;
	if (audit_vkey_init(key, name, raw[0], raw + 1) != 0 || key->id != read_be32(id))
		return AUDIT_NOTE_E_MALFORMED;
	return 0;
}

char *audit_vkey_format(const struct audit_vkey *key)
{
	char base64[sodium_base64_ENCODED_LEN(1 + AUDIT_PK_SIZE, sodium_base64_VARIANT_ORIGINAL)];
	uint8_t raw[1 + AUDIT_PK_SIZE];
	char *text = NULL;

	raw[0] = key->type;
	memcpy(raw + 1, key->pk, AUDIT_PK_SIZE);
	sodium_bin2base64(base64, sizeof(base64), raw, sizeof(raw), sodium_base64_VARIANT_ORIGINAL);
	if (asprintf(&text, "%s+%08" PRIx32 "+%s", key->name, key->id, base64) < 0)
		return NULL;
	return text;
}

/* One signature line, without its newline. */
static int parse_sig_line(const char *line, size_t size, struct audit_note_sig *sig)
{
	uint8_t raw[RAW_MAX];
	const char *space;
	size_t raw_size = 0;

	if (size < SIG_PREFIX_SIZE || memcmp(line, SIG_PREFIX, SIG_PREFIX_SIZE) != 0)
		return AUDIT_NOTE_E_MALFORMED;
	line += SIG_PREFIX_SIZE;
	size -= SIG_PREFIX_SIZE;
	space = memchr(line, ' ', size);
	if (!space)
		return AUDIT_NOTE_E_MALFORMED;
	sig->name = line;
	sig->name_size = (size_t)(space - line);
	sig->base64 = space + 1;
	sig->base64_size = size - sig->name_size - 1;
	if (!is_key_name(sig->name, sig->name_size))
		return AUDIT_NOTE_E_MALFORMED;
	if (!base64_decode(sig->base64, sig->base64_size, raw, sizeof(raw), &raw_size) ||
		raw_size < 5)
		return AUDIT_NOTE_E_MALFORMED;
	sig->id = read_be32(raw);
	return 0;
}

int audit_note_parse(const char *data, size_t size, struct audit_note *note)
{
	size_t split = 0;

	memset(note, 0, sizeof(*note));
	if (size < 4 || size > AUDIT_NOTE_MAX || data[size - 1] != '\n' ||
		!is_note_text(data, size))
		return AUDIT_NOTE_E_MALFORMED;
	/* The last empty line: the text ends with its first newline. */
	for (size_t i = size - 1; i > 0; i--)
		if (data[i] == '\n' && data[i - 1] == '\n') {
			split = i;
			break;
		}
	if (split == 0)
		return AUDIT_NOTE_E_MALFORMED;
	note->text = data;
	note->text_size = split;
	for (size_t at = split + 1; at < size;) {
		const char *end = memchr(data + at, '\n', size - at);
		size_t length = (size_t)(end - (data + at));

		if (note->n_sigs == AUDIT_NOTE_SIGS_MAX)
			return AUDIT_NOTE_E_MALFORMED;
		if (parse_sig_line(data + at, length, &note->sigs[note->n_sigs]) != 0)
			return AUDIT_NOTE_E_MALFORMED;
		note->n_sigs++;
		at += length + 1;
	}
	return note->n_sigs > 0 ? 0 : AUDIT_NOTE_E_MALFORMED;
}

/* A cosignature covers a header with its own time, then the text. */
static bool check_cosignature(const struct audit_note *note, const struct audit_vkey *key,
	const uint8_t *raw, uint64_t *timestampp)
{
	uint64_t time = (uint64_t)read_be32(raw) << 32 | read_be32(raw + 4);
	struct buf message;
	bool good;

	buf_init(&message, AUDIT_NOTE_MAX + 128);
	buf_printf(&message, "cosignature/v1\ntime %" PRIu64 "\n", time);
	buf_append(&message, note->text, note->text_size);
	good = message.error == 0 &&
	       crypto_sign_verify_detached(
		       raw + 8, (const uint8_t *)message.data, message.size, key->pk) == 0;
	buf_deinit(&message);
	if (good)
		*timestampp = time;
	return good;
}

int audit_note_check(
	const struct audit_note *note, const struct audit_vkey *key, uint64_t *timestampp)
{
	size_t name_size = strlen(key->name);
	uint64_t timestamp = 0;
	bool found = false;

	for (size_t i = 0; i < note->n_sigs; i++) {
		const struct audit_note_sig *sig = &note->sigs[i];
		uint8_t raw[RAW_MAX];
		size_t raw_size = 0;
		bool good = false;

		if (sig->id != key->id || sig->name_size != name_size ||
			memcmp(sig->name, key->name, name_size) != 0)
			continue;
		if (!base64_decode(sig->base64, sig->base64_size, raw, sizeof(raw), &raw_size))
			return AUDIT_NOTE_E_BAD_SIGNATURE;
		if (key->type == AUDIT_KEY_ED25519 && raw_size == 4 + AUDIT_SIG_SIZE)
			good = crypto_sign_verify_detached(raw + 4, (const uint8_t *)note->text,
				       note->text_size, key->pk) == 0;
		else if (key->type == AUDIT_KEY_COSIGNATURE && raw_size == 4 + 8 + AUDIT_SIG_SIZE)
			good = check_cosignature(note, key, raw + 4, &timestamp);
		if (!good)
			return AUDIT_NOTE_E_BAD_SIGNATURE;
		found = true;
	}
	if (!found)
		return AUDIT_NOTE_E_NO_KEY;
	if (timestampp)
		*timestampp = timestamp;
	return 0;
}

int audit_note_verify(const struct audit_note *note, const struct audit_vkey *keys, size_t n_keys)
{
	bool found = false;

	for (size_t i = 0; i < n_keys; i++) {
		int r = audit_note_check(note, &keys[i], NULL);

		if (r == AUDIT_NOTE_E_BAD_SIGNATURE)
			return r;
		found = found || r == 0;
	}
	return found ? 0 : AUDIT_NOTE_E_NO_KEY;
}

void audit_note_add_signature(
	struct buf *buf, const struct audit_vkey *key, const uint8_t *signature, size_t size)
{
	char base64[sodium_base64_ENCODED_LEN(
		4 + 8 + AUDIT_SIG_SIZE, sodium_base64_VARIANT_ORIGINAL)];
	uint8_t raw[4 + 8 + AUDIT_SIG_SIZE];

	if (size > sizeof(raw) - 4) {
		buf->error = buf->error ? buf->error : -EINVAL;
		return;
	}
	for (unsigned i = 0; i < 4; i++)
		raw[i] = (uint8_t)(key->id >> (24 - 8 * i));
	memcpy(raw + 4, signature, size);
	sodium_bin2base64(base64, sizeof(base64), raw, 4 + size, sodium_base64_VARIANT_ORIGINAL);
	buf_printf(buf, SIG_PREFIX "%s %s\n", key->name, base64);
}

size_t audit_note_measure(const char *data, size_t size)
{
	size_t at = 0;
	bool in_sigs = false, signed_ = false;

	while (at < size) {
		const char *end = memchr(data + at, '\n', size - at);
		size_t length;

		if (!end)
			return 0;
		length = (size_t)(end - (data + at));
		if (!in_sigs) {
			in_sigs = length == 0 && at > 0;
		} else if (length > SIG_PREFIX_SIZE &&
			   memcmp(data + at, SIG_PREFIX, SIG_PREFIX_SIZE) == 0) {
			signed_ = true;
		} else {
			return signed_ ? at : 0;
		}
		at += length + 1;
	}
	return signed_ ? at : 0;
}

int audit_checkpoint_parse(const char *text, size_t size, struct audit_checkpoint *checkpoint)
{
	const char *line[3];
	size_t length[3], at = 0, root_size = 0;
	char digits[24] = "";

	memset(checkpoint, 0, sizeof(*checkpoint));
	for (unsigned i = 0; at < size; i++) {
		const char *end = memchr(text + at, '\n', size - at);

		/* Every line, extensions too, has something in it and an end. */
		if (!end || end == text + at)
			return AUDIT_NOTE_E_MALFORMED;
		if (i < 3) {
			line[i] = text + at;
			length[i] = (size_t)(end - line[i]);
		}
		at = (size_t)(end - text) + 1;
		if (at >= size && i < 2)
			return AUDIT_NOTE_E_MALFORMED;
	}
	if (at == 0 || length[1] >= sizeof(digits))
		return AUDIT_NOTE_E_MALFORMED;
	memcpy(digits, line[1], length[1]);
	if (parse_u64(digits, INT64_MAX, &checkpoint->size) < 0)
		return AUDIT_NOTE_E_MALFORMED;
	if (!base64_decode(line[2], length[2], checkpoint->root, AUDIT_HASH_SIZE, &root_size) ||
		root_size != AUDIT_HASH_SIZE)
		return AUDIT_NOTE_E_MALFORMED;
	checkpoint->origin = line[0];
	checkpoint->origin_size = length[0];
	return 0;
}

void audit_checkpoint_format(
	struct buf *buf, const char *origin, uint64_t size, const uint8_t root[AUDIT_HASH_SIZE])
{
	char base64[sodium_base64_ENCODED_LEN(AUDIT_HASH_SIZE, sodium_base64_VARIANT_ORIGINAL)];

	sodium_bin2base64(
		base64, sizeof(base64), root, AUDIT_HASH_SIZE, sodium_base64_VARIANT_ORIGINAL);
	buf_printf(buf, "%s\n%" PRIu64 "\n%s\n", origin, size, base64);
}
