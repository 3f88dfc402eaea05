/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef AUDIT_LOG_NOTE_H
#define AUDIT_LOG_NOTE_H

/* Signed notes, verifier keys, cosignatures and checkpoints, as the C2SP specifications of those
 * names define them. Parsing borrows the caller's bytes and never changes them. */

#include <stddef.h>
#include <stdint.h>

#include "audit-log/tree.h"
#include "supervisord/base/buf.h"

#define AUDIT_NOTE_MAX 65536     /* bytes of one note */
#define AUDIT_NOTE_SIGS_MAX 64   /* signature lines of one note */
#define AUDIT_NOTE_LINE_MAX 8192 /* bytes of one signature's base64 */
#define AUDIT_KEY_NAME_MAX 255
#define AUDIT_SIG_SIZE 64
#define AUDIT_PK_SIZE 32

enum audit_key_type {
	AUDIT_KEY_ED25519 = 0x01,
	AUDIT_KEY_COSIGNATURE = 0x04, /* Ed25519 with a time */
};

enum {
	AUDIT_NOTE_E_MALFORMED = 1, /* not the format */
	AUDIT_NOTE_E_NO_KEY,        /* no signature line of this key */
	AUDIT_NOTE_E_BAD_SIGNATURE, /* a line of this key, and its signature is false */
};

struct audit_vkey {
	char name[AUDIT_KEY_NAME_MAX + 1];
	uint32_t id;
	uint8_t type;
	uint8_t pk[AUDIT_PK_SIZE];
};

struct audit_note_sig {
	const char *name; /* not terminated */
	size_t name_size;
	uint32_t id;
	const char *base64; /* id and signature, not terminated */
	size_t base64_size;
};

struct audit_note {
	const char *text; /* with its last newline; this is what is signed */
	size_t text_size;
	size_t n_sigs;
	struct audit_note_sig sigs[AUDIT_NOTE_SIGS_MAX];
};

struct audit_checkpoint {
	const char *origin; /* not terminated; borrowed from the note's text */
	size_t origin_size;
	uint64_t size;
	uint8_t root[AUDIT_HASH_SIZE];
};

/* Fills KEY and computes its id. 0 or AUDIT_NOTE_E_MALFORMED (name empty, too long, with a space, a
 * plus sign or a control character). */
int audit_vkey_init(struct audit_vkey *key, const char *name, uint8_t type,
	const uint8_t pk[AUDIT_PK_SIZE]) _must_use_;
/* Reads "<name>+<id>+<base64>" of the two types above. 0 or AUDIT_NOTE_E_MALFORMED. */
int audit_vkey_parse(const char *text, struct audit_vkey *key) _must_use_;
/* The reverse, owned by the caller; NULL when out of memory. */
char *audit_vkey_format(const struct audit_vkey *key);

/* Splits a note. 0 or AUDIT_NOTE_E_MALFORMED. NOTE borrows DATA. */
int audit_note_parse(const char *data, size_t size, struct audit_note *note) _must_use_;
/* Checks every signature line of KEY. 0 = at least one and all true; AUDIT_NOTE_E_NO_KEY;
 * AUDIT_NOTE_E_BAD_SIGNATURE. *TIMESTAMPP (may be NULL) is the cosignature's time, else 0. */
int audit_note_check(const struct audit_note *note, const struct audit_vkey *key,
	uint64_t *timestampp) _must_use_;
/* The rule for a set of known keys: one false signature rejects, unknown lines are passed over, at
 * least one must be true. 0, AUDIT_NOTE_E_NO_KEY, AUDIT_NOTE_E_BAD_SIGNATURE. */
int audit_note_verify(
	const struct audit_note *note, const struct audit_vkey *keys, size_t n_keys) _must_use_;
/* Appends one signature line; SIGNATURE is SIZE bytes (64, or 8 + 64 for a cosignature). */
void audit_note_add_signature(
	struct buf *buf, const struct audit_vkey *key, const uint8_t *signature, size_t size);
/* How many bytes the first note of a sequence of notes takes, or 0 when it is not complete: a text,
 * an empty line, signature lines, and something other than a signature line or the end. */
size_t audit_note_measure(const char *data, size_t size);

/* Reads the text of a note as a checkpoint. 0 or AUDIT_NOTE_E_MALFORMED. */
int audit_checkpoint_parse(
	const char *text, size_t size, struct audit_checkpoint *checkpoint) _must_use_;
/* Appends a checkpoint's text. Errors stick in BUF. */
void audit_checkpoint_format(
	struct buf *buf, const char *origin, uint64_t size, const uint8_t root[AUDIT_HASH_SIZE]);

#endif
