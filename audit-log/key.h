/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef AUDIT_LOG_KEY_H
#define AUDIT_LOG_KEY_H

/* The log's private keys: the identity key, which readers know, and the epoch keys, each of which
 * is erased when the next one has been announced, so that nobody can sign the past again. The only
 * place that holds secrets. */

#include <stdint.h>

#include "audit-log/note.h"

#define AUDIT_KEY_DIR "keys"
#define AUDIT_KEY_IDENTITY "identity"
#define AUDIT_KEY_FILE_MAX 32

struct audit_key;

enum {
	AUDIT_KEY_E_BAD = 1, /* the file is there and is not a key of this name */
};

/* A fresh Ed25519 key in locked memory. 0; -ENOMEM; -EINVAL (NAME cannot name a key). */
int audit_key_generate(const char *name, struct audit_key **keyp) _must_use_;
/* Reads FILE in DIR_FD. 0; AUDIT_KEY_E_BAD; -ENOENT; -EPERM (open to others); -errno. */
int audit_key_load(
	int dir_fd, const char *file, const char *name, struct audit_key **keyp) _must_use_;
/* Writes FILE (0600, replaced as a whole, durable). 0 or -errno. */
int audit_key_save(const struct audit_key *key, int dir_fd, const char *file) _must_use_;
/* Wipes and frees. */
void audit_key_free(struct audit_key *key);
DEFINE_CLEANUP(struct audit_key *, audit_key_free);

/* Overwrites and unlinks FILE. 0 (also when it is not there) or -errno. */
int audit_key_erase(int dir_fd, const char *file) _must_use_;

/* "epoch-000000000001" */
void audit_key_epoch_file(uint64_t epoch, char out[AUDIT_KEY_FILE_MAX]);
/* The epoch that a file name speaks of; 0 = none. */
uint64_t audit_key_epoch_of(const char *file);
/* The highest epoch that has a file in DIR_FD (0 = none), and whether the one before has one too.
 */
int audit_key_highest_epoch(int dir_fd, uint64_t *epochp, bool *previousp) _must_use_;

/* Borrowed. */
const struct audit_vkey *audit_key_public(const struct audit_key *key);
void audit_key_sign(const struct audit_key *key, const void *data, size_t size,
	uint8_t signature[AUDIT_SIG_SIZE]);

#endif
