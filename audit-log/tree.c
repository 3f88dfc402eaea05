/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "audit-log/tree.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>

#include "supervisord/base/error.h"

/* The tree of RFC 6962. Leaves and inner nodes are told apart by a first byte, so that neither can
 * be passed off as the other; a range is split at the largest power of two below its length. */

void audit_hash_leaf(const void *data, size_t size, uint8_t out[AUDIT_HASH_SIZE])
{
	static const uint8_t prefix = 0x00;
	crypto_hash_sha256_state state;

	crypto_hash_sha256_init(&state);
	crypto_hash_sha256_update(&state, &prefix, 1);
	crypto_hash_sha256_update(&state, data, size);
	crypto_hash_sha256_final(&state, out);
}

void audit_hash_node(const uint8_t left[AUDIT_HASH_SIZE], const uint8_t right[AUDIT_HASH_SIZE],
	uint8_t out[AUDIT_HASH_SIZE])
{
	uint8_t both[1 + 2 * AUDIT_HASH_SIZE];

	both[0] = 0x01;
	memcpy(both + 1, left, AUDIT_HASH_SIZE);
	memcpy(both + 1 + AUDIT_HASH_SIZE, right, AUDIT_HASH_SIZE);
	crypto_hash_sha256(out, both, sizeof(both));
}

void audit_tree_init(struct audit_tree *tree)
{
	memset(tree, 0, sizeof(*tree));
}

void audit_tree_append_subtree(struct audit_tree *tree, unsigned height,
	const uint8_t hash[AUDIT_HASH_SIZE], struct audit_tree_step *step)
{
	uint8_t h[AUDIT_HASH_SIZE];
	unsigned level = height;

	memcpy(h, hash, sizeof(h));
	if (step) {
		memcpy(step->hash[0], h, sizeof(h));
		step->n = 1;
	}
	while (level < AUDIT_TREE_HEIGHT_MAX && tree->size >> level & 1) {
		audit_hash_node(tree->node[level], h, h);
		level++;
		if (step && level % AUDIT_TILE_HEIGHT == 0 && step->n < AUDIT_TILE_LEVELS)
			memcpy(step->hash[step->n++], h, sizeof(h));
	}
	memcpy(tree->node[level], h, sizeof(h));
	tree->size += 1ULL << height;
}

void audit_tree_append(
	struct audit_tree *tree, const uint8_t leaf[AUDIT_HASH_SIZE], struct audit_tree_step *step)
{
	audit_tree_append_subtree(tree, 0, leaf, step);
}

void audit_tree_root(const struct audit_tree *tree, uint8_t out[AUDIT_HASH_SIZE])
{
	bool have = false;

	if (tree->size == 0) {
		crypto_hash_sha256(out, (const uint8_t *)"", 0);
		return;
	}
	for (unsigned level = 0; level <= AUDIT_TREE_HEIGHT_MAX; level++) {
		if (!(tree->size >> level & 1))
			continue;
		if (have)
			audit_hash_node(tree->node[level], out, out);
		else
			memcpy(out, tree->node[level], AUDIT_HASH_SIZE);
		have = true;
	}
}

/* The largest power of two below N; N at least 2. */
static uint64_t split_point(uint64_t n)
{
	return 1ULL << (63 - __builtin_clzll(n - 1));
}

/* The hash of the leaves [LO, HI). LO is always a multiple of the power of two that covers it, as
 * every range comes from splitting [0, n). */
static int range_hash(audit_tree_get_fn get, void *userdata, uint64_t lo, uint64_t hi,
	uint8_t out[AUDIT_HASH_SIZE])
{
	uint64_t n = hi - lo;
	uint8_t right[AUDIT_HASH_SIZE];
	uint64_t k;
	int r;

	if ((n & (n - 1)) == 0) {
		unsigned height = (unsigned)__builtin_ctzll(n);

		return get(userdata, height, lo >> height, out);
	}
	k = split_point(n);
	r = range_hash(get, userdata, lo, lo + k, out);
	if (r < 0)
		return r;
	r = range_hash(get, userdata, lo + k, hi, right);
	if (r < 0)
		return r;
	audit_hash_node(out, right, out);
	return 0;
}

static int proof_add(
	audit_tree_get_fn get, void *userdata, uint64_t lo, uint64_t hi, struct audit_proof *proof)
{
	if (proof->n_hashes >= AUDIT_PROOF_MAX)
		return -EOVERFLOW;
	return range_hash(get, userdata, lo, hi, proof->hash[proof->n_hashes++]);
}

static int inclusion_path(audit_tree_get_fn get, void *userdata, uint64_t index, uint64_t lo,
	uint64_t hi, struct audit_proof *proof)
{
	uint64_t k;
	int r;

	if (hi - lo == 1)
		return 0;
	k = split_point(hi - lo);
	if (index < lo + k) {
		r = inclusion_path(get, userdata, index, lo, lo + k, proof);
		return r < 0 ? r : proof_add(get, userdata, lo + k, hi, proof);
	}
	r = inclusion_path(get, userdata, index, lo + k, hi, proof);
	return r < 0 ? r : proof_add(get, userdata, lo, lo + k, proof);
}

int audit_proof_inclusion(audit_tree_get_fn get, void *userdata, uint64_t index, uint64_t size,
	struct audit_proof *proof)
{
	proof->n_hashes = 0;
	if (index >= size)
		return -EINVAL;
	return err_trace(inclusion_path(get, userdata, index, 0, size, proof));
}

/* KNOWN: the old tree's root is this very range, so its hash need not be in the proof. */
static int consistency_path(audit_tree_get_fn get, void *userdata, uint64_t old_size, uint64_t lo,
	uint64_t hi, bool known, struct audit_proof *proof)
{
	uint64_t k;
	int r;

	if (old_size == hi)
		return known ? 0 : proof_add(get, userdata, lo, hi, proof);
	k = split_point(hi - lo);
	if (old_size <= lo + k) {
		r = consistency_path(get, userdata, old_size, lo, lo + k, known, proof);
		return r < 0 ? r : proof_add(get, userdata, lo + k, hi, proof);
	}
	r = consistency_path(get, userdata, old_size, lo + k, hi, false, proof);
	return r < 0 ? r : proof_add(get, userdata, lo, lo + k, proof);
}

int audit_proof_consistency(audit_tree_get_fn get, void *userdata, uint64_t old_size, uint64_t size,
	struct audit_proof *proof)
{
	proof->n_hashes = 0;
	if (old_size == 0 || old_size > size)
		return -EINVAL;
	return err_trace(consistency_path(get, userdata, old_size, 0, size, true, proof));
}

bool audit_proof_check_inclusion(const struct audit_proof *proof, uint64_t index, uint64_t size,
	const uint8_t leaf[AUDIT_HASH_SIZE], const uint8_t root[AUDIT_HASH_SIZE])
{
	uint64_t fn = index, sn = size - 1;
	uint8_t h[AUDIT_HASH_SIZE];

	if (index >= size)
		return false;
	memcpy(h, leaf, sizeof(h));
	for (size_t i = 0; i < proof->n_hashes; i++) {
		if (sn == 0)
			return false;
		if (fn & 1 || fn == sn) {
			audit_hash_node(proof->hash[i], h, h);
			while (!(fn & 1) && fn != 0) {
				fn >>= 1;
				sn >>= 1;
			}
		} else {
			audit_hash_node(h, proof->hash[i], h);
		}
		fn >>= 1;
		sn >>= 1;
	}
	return sn == 0 && memcmp(h, root, sizeof(h)) == 0;
}

bool audit_proof_check_consistency(const struct audit_proof *proof, uint64_t old_size,
	uint64_t size, const uint8_t old_root[AUDIT_HASH_SIZE], const uint8_t root[AUDIT_HASH_SIZE])
{
	uint8_t fr[AUDIT_HASH_SIZE], sr[AUDIT_HASH_SIZE];
	uint64_t fn = old_size - 1, sn = size - 1;
	size_t i = 0;

	if (old_size == 0 || old_size > size)
		return false;
	if (old_size == size)
		return proof->n_hashes == 0 && memcmp(old_root, root, AUDIT_HASH_SIZE) == 0;
	while (fn & 1) {
		fn >>= 1;
		sn >>= 1;
	}
	/* Where the old size is a power of two, the walk starts at the old root itself. */
	if ((old_size & (old_size - 1)) == 0) {
		memcpy(fr, old_root, sizeof(fr));
	} else {
		if (proof->n_hashes == 0)
			return false;
		memcpy(fr, proof->hash[i++], sizeof(fr));
	}
	memcpy(sr, fr, sizeof(sr));
	for (; i < proof->n_hashes; i++) {
		if (sn == 0)
			return false;
		if (fn & 1 || fn == sn) {
			audit_hash_node(proof->hash[i], fr, fr);
			audit_hash_node(proof->hash[i], sr, sr);
			while (!(fn & 1) && fn != 0) {
				fn >>= 1;
				sn >>= 1;
			}
		} else {
			audit_hash_node(sr, proof->hash[i], sr);
		}
		fn >>= 1;
		sn >>= 1;
	}
	return sn == 0 && memcmp(fr, old_root, sizeof(fr)) == 0 &&
	       memcmp(sr, root, sizeof(sr)) == 0;
}
