/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef AUDIT_LOG_TREE_H
#define AUDIT_LOG_TREE_H

/* The Merkle tree of RFC 6962: hashes, the growing right edge, proofs and their checks. Pure
 * computation; nothing here touches a file. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "supervisord/base/cleanup.h"

#define AUDIT_HASH_SIZE 32
#define AUDIT_TREE_HEIGHT_MAX 63
#define AUDIT_TILE_HEIGHT 8 /* levels of the tree in one C2SP tile */
#define AUDIT_TILE_LEVELS 8 /* 8 * 8 covers every possible height */
#define AUDIT_PROOF_MAX 126 /* hashes in the longest proof */

/* A tree that is only appended to. node[h] is in use where bit h of size is set. */
struct audit_tree {
	uint64_t size;
	uint8_t node[AUDIT_TREE_HEIGHT_MAX + 1][AUDIT_HASH_SIZE];
};

/* What one append completed: hash[0] is the leaf, hash[k] the perfect subtree of height 8k that
 * ends with this leaf: one new entry each for the tiles of levels 0 to n-1. */
struct audit_tree_step {
	unsigned n;
	uint8_t hash[AUDIT_TILE_LEVELS][AUDIT_HASH_SIZE];
};

/* SHA-256(0x00 || data). */
void audit_hash_leaf(const void *data, size_t size, uint8_t out[AUDIT_HASH_SIZE]);
/* SHA-256(0x01 || left || right). OUT may be one of the two. */
void audit_hash_node(const uint8_t left[AUDIT_HASH_SIZE], const uint8_t right[AUDIT_HASH_SIZE],
	uint8_t out[AUDIT_HASH_SIZE]);

void audit_tree_init(struct audit_tree *tree);
/* Adds a leaf hash. STEP may be NULL. */
void audit_tree_append(
	struct audit_tree *tree, const uint8_t leaf[AUDIT_HASH_SIZE], struct audit_tree_step *step);
/* Adds a perfect subtree of 2^HEIGHT leaves by its hash; the size must be a multiple of 2^HEIGHT.
 * STEP (may be NULL) begins at hash[0] = the entry for the tile level HEIGHT / 8, which must
 * divide. */
void audit_tree_append_subtree(struct audit_tree *tree, unsigned height,
	const uint8_t hash[AUDIT_HASH_SIZE], struct audit_tree_step *step);
/* The root; SHA-256("") for the empty tree. */
void audit_tree_root(const struct audit_tree *tree, uint8_t out[AUDIT_HASH_SIZE]);

/* Gives the hash of the perfect subtree of 2^HEIGHT leaves that begins at leaf INDEX << HEIGHT.
 * 0 or -errno. */
typedef int (*audit_tree_get_fn)(
	void *userdata, unsigned height, uint64_t index, uint8_t out[AUDIT_HASH_SIZE]);

struct audit_proof {
	size_t n_hashes;
	uint8_t hash[AUDIT_PROOF_MAX][AUDIT_HASH_SIZE];
};

/* Inclusion of leaf INDEX in the tree of SIZE leaves. 0; -EINVAL (INDEX not below SIZE); what GET
 * gave. */
int audit_proof_inclusion(audit_tree_get_fn get, void *userdata, uint64_t index, uint64_t size,
	struct audit_proof *proof) _must_use_;
/* Consistency of the tree of OLD_SIZE leaves with that of SIZE. 0; -EINVAL (0 or above SIZE); what
 * GET gave. */
int audit_proof_consistency(audit_tree_get_fn get, void *userdata, uint64_t old_size, uint64_t size,
	struct audit_proof *proof) _must_use_;

/* Does PROOF show that LEAF is number INDEX in the tree of SIZE leaves with ROOT? */
bool audit_proof_check_inclusion(const struct audit_proof *proof, uint64_t index, uint64_t size,
	const uint8_t leaf[AUDIT_HASH_SIZE], const uint8_t root[AUDIT_HASH_SIZE]) _must_use_;
/* Does PROOF show that the tree of SIZE leaves begins with that of OLD_SIZE leaves? */
bool audit_proof_check_consistency(const struct audit_proof *proof, uint64_t old_size,
	uint64_t size, const uint8_t old_root[AUDIT_HASH_SIZE],
	const uint8_t root[AUDIT_HASH_SIZE]) _must_use_;

#endif
