/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "audit-log/tile.h"
#include "audit-log/tree.h"
#include "supervisord/base/parse.h"

#define N_MAX 40

static void assert_hex(const uint8_t hash[AUDIT_HASH_SIZE], const char *hex)
{
	char text[2 * AUDIT_HASH_SIZE + 1];

	format_hex(hash, AUDIT_HASH_SIZE, text);
	assert_string_equal(text, hex);
}

static void from_hex(const char *hex, uint8_t hash[AUDIT_HASH_SIZE])
{
	assert_int_equal(parse_hex(hex, hash, AUDIT_HASH_SIZE), 0);
}

static void gives_the_published_roots_of_the_reference_inputs(void **state)
{
	static const struct {
		const char *data;
		size_t size;
	} input[] = {{"", 0}, {"\x00", 1}, {"\x10", 1}, {"\x20\x21", 2}, {"\x30\x31", 2},
		{"\x40\x41\x42\x43", 4}, {"\x50\x51\x52\x53\x54\x55\x56\x57", 8},
		{"\x60\x61\x62\x63\x64\x65\x66\x67\x68\x69\x6a\x6b\x6c\x6d\x6e\x6f", 16}};
	static const char *const root[] = {
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		"6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
		"fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
		"aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
		"d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
		"4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
		"76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
		"ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
		"5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"};
	uint8_t hash[AUDIT_HASH_SIZE];
	struct audit_tree tree;

	(void)state;
	audit_tree_init(&tree);
	for (size_t i = 0; i <= ARRAY_LEN(input); i++) {
		audit_tree_root(&tree, hash);
		assert_hex(hash, root[i]);
		if (i == ARRAY_LEN(input))
			break;
		audit_hash_leaf(input[i].data, input[i].size, hash);
		audit_tree_append(&tree, hash, NULL);
	}
}

/* Leaves and a getter that computes any perfect subtree from them. */
struct leaves {
	uint8_t leaf[N_MAX][AUDIT_HASH_SIZE];
};

static int get(void *userdata, unsigned height, uint64_t index, uint8_t out[AUDIT_HASH_SIZE])
{
	struct leaves *leaves = userdata;
	struct audit_tree tree;

	audit_tree_init(&tree);
	for (uint64_t i = index << height; i < (index + 1) << height; i++) {
		assert_true(i < N_MAX);
		audit_tree_append(&tree, leaves->leaf[i], NULL);
	}
	audit_tree_root(&tree, out);
	return 0;
}

static void root_of(const struct leaves *leaves, uint64_t n, uint8_t out[AUDIT_HASH_SIZE])
{
	struct audit_tree tree;

	audit_tree_init(&tree);
	for (uint64_t i = 0; i < n; i++)
		audit_tree_append(&tree, leaves->leaf[i], NULL);
	audit_tree_root(&tree, out);
}

static const char *const vector_leaf[] = {"{\"seq\":0,\"type\":\"log.open\"}",
	"{\"seq\":1,\"type\":\"exec\",\"decision\":\"allow\"}",
	"{\"seq\":2,\"type\":\"file.write\",\"decision\":\"deny\"}",
	"{\"seq\":3,\"type\":\"net.connect\",\"decision\":\"ask\"}",
	"{\"seq\":4,\"type\":\"approval\",\"decision\":\"allow\"}"};

static void vector_leaves(struct leaves *leaves)
{
	memset(leaves, 0, sizeof(*leaves));
	for (size_t i = 0; i < ARRAY_LEN(vector_leaf); i++)
		audit_hash_leaf(vector_leaf[i], strlen(vector_leaf[i]), leaves->leaf[i]);
}

static void gives_the_roots_and_proofs_of_the_vectors(void **state)
{
	static const char *const root[] = {
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		"93f1f01ebdd128b8cb39542a49f6dfd4be07c327e590b95e75497a9a30c5a29d",
		"81b6259c6e43d8d2881fad6f86dd3e7ca55c6fc131eb803729b2aa816d12c300",
		"6ba66f188c7d4084726a542382a632cc6ad099634f13ebe13fdcc056f9faa04c",
		"6ee6696ea0af00c9105dd9044f0ccb2f5a1d0f3e01ca26744515a0921abcfca2",
		"9267a3bced5a99d6e3b2e03481a0ad5d1354efb16b82b5a483af90e270dac88d"};
	static const char *const inclusion2[] = {
		"998f1b21194a21383a621e972d36962a182d682279ca1b4271dd025931ab59b2",
		"81b6259c6e43d8d2881fad6f86dd3e7ca55c6fc131eb803729b2aa816d12c300",
		"4c40b1f7bf5f382e1406f7fdb60f65a68af4f38dbdd533ef51bff35c0bee2c7e"};
	static const char *const consistency3[] = {
		"ba6b5bb4c32c32b42b389ac1f42b9cc99b5fd46cca42df63c7b4c33cc6aa61a8",
		"998f1b21194a21383a621e972d36962a182d682279ca1b4271dd025931ab59b2",
		"81b6259c6e43d8d2881fad6f86dd3e7ca55c6fc131eb803729b2aa816d12c300",
		"4c40b1f7bf5f382e1406f7fdb60f65a68af4f38dbdd533ef51bff35c0bee2c7e"};
	uint8_t old[AUDIT_HASH_SIZE], now[AUDIT_HASH_SIZE];
	struct audit_proof proof;
	struct leaves leaves;

	(void)state;
	vector_leaves(&leaves);
	for (size_t i = 0; i < ARRAY_LEN(root); i++) {
		root_of(&leaves, i, now);
		assert_hex(now, root[i]);
	}
	assert_int_equal(audit_proof_inclusion(get, &leaves, 2, 5, &proof), 0);
	assert_int_equal(proof.n_hashes, ARRAY_LEN(inclusion2));
	for (size_t i = 0; i < proof.n_hashes; i++)
		assert_hex(proof.hash[i], inclusion2[i]);
	assert_true(audit_proof_check_inclusion(&proof, 2, 5, leaves.leaf[2], now));
	/* Another leaf with this proof. */
	assert_false(audit_proof_check_inclusion(&proof, 1, 5, leaves.leaf[1], now));
	assert_int_equal(audit_proof_inclusion(get, &leaves, 4, 5, &proof), 0);
	assert_int_equal(proof.n_hashes, 1);
	assert_hex(proof.hash[0], root[4]);

	assert_int_equal(audit_proof_consistency(get, &leaves, 3, 5, &proof), 0);
	assert_int_equal(proof.n_hashes, ARRAY_LEN(consistency3));
	for (size_t i = 0; i < proof.n_hashes; i++)
		assert_hex(proof.hash[i], consistency3[i]);
	from_hex(root[3], old);
	assert_true(audit_proof_check_consistency(&proof, 3, 5, old, now));
	assert_int_equal(audit_proof_consistency(get, &leaves, 4, 5, &proof), 0);
	assert_int_equal(proof.n_hashes, 1);
}

static void refuses_a_rewritten_leaf(void **state)
{
	static const char rewritten[] = "{\"seq\":1,\"type\":\"exec\",\"decision\":\"deny\"}";
	uint8_t old[AUDIT_HASH_SIZE], now[AUDIT_HASH_SIZE];
	struct audit_proof proof;
	struct leaves leaves;

	(void)state;
	vector_leaves(&leaves);
	root_of(&leaves, 3, old);
	audit_hash_leaf(rewritten, sizeof(rewritten) - 1, leaves.leaf[1]);
	root_of(&leaves, 5, now);
	assert_int_equal(audit_proof_consistency(get, &leaves, 3, 5, &proof), 0);
	assert_false(audit_proof_check_consistency(&proof, 3, 5, old, now));
}

static void number_leaves(struct leaves *leaves)
{
	for (uint8_t i = 0; i < N_MAX; i++)
		audit_hash_leaf(&i, 1, leaves->leaf[i]);
}

static void proves_inclusion_of_every_leaf_of_every_small_tree(void **state)
{
	uint8_t root[AUDIT_HASH_SIZE];
	struct audit_proof proof;
	struct leaves leaves;

	(void)state;
	number_leaves(&leaves);
	for (uint64_t n = 1; n < N_MAX; n++) {
		root_of(&leaves, n, root);
		for (uint64_t i = 0; i < n; i++) {
			assert_int_equal(audit_proof_inclusion(get, &leaves, i, n, &proof), 0);
			assert_true(
				audit_proof_check_inclusion(&proof, i, n, leaves.leaf[i], root));
			/* Any other index or leaf is refused, and so is a longer proof. */
			for (uint64_t j = 0; j < n; j++)
				assert_int_equal(audit_proof_check_inclusion(
							 &proof, i, n, leaves.leaf[j], root),
					i == j);
			proof.n_hashes++;
			assert_false(
				audit_proof_check_inclusion(&proof, i, n, leaves.leaf[i], root));
		}
		assert_int_equal(audit_proof_inclusion(get, &leaves, n, n, &proof), -EINVAL);
	}
}

static void proves_consistency_of_every_pair_of_small_trees(void **state)
{
	uint8_t old[AUDIT_HASH_SIZE], root[AUDIT_HASH_SIZE];
	struct audit_proof proof;
	struct leaves leaves;

	(void)state;
	number_leaves(&leaves);
	for (uint64_t n = 1; n < N_MAX; n++) {
		root_of(&leaves, n, root);
		for (uint64_t m = 1; m <= n; m++) {
			root_of(&leaves, m, old);
			assert_int_equal(audit_proof_consistency(get, &leaves, m, n, &proof), 0);
			assert_true(audit_proof_check_consistency(&proof, m, n, old, root));
			old[0] ^= 1;
			assert_false(audit_proof_check_consistency(&proof, m, n, old, root));
			old[0] ^= 1;
			for (size_t k = 0; k < proof.n_hashes; k++) {
				proof.hash[k][31] ^= 0x80;
				assert_false(
					audit_proof_check_consistency(&proof, m, n, old, root));
				proof.hash[k][31] ^= 0x80;
			}
		}
	}
}

/* The entries that appends complete must equal the perfect subtrees. */
static int count_tile(
	void *userdata, unsigned level, uint64_t number, const uint8_t hash[AUDIT_TILE_BYTES])
{
	static uint8_t level1[AUDIT_HASH_SIZE];
	unsigned *n = userdata;
	struct audit_tree tree;

	audit_tree_init(&tree);
	for (unsigned i = 0; i < AUDIT_TILE_WIDTH; i++)
		audit_tree_append(&tree, hash + i * AUDIT_HASH_SIZE, NULL);
	audit_tree_root(&tree, level1);
	if (level == 0)
		assert_int_equal(number, n[0]);
	n[level]++;
	return 0;
}

static void fills_tiles_of_each_level(void **state)
{
	static struct audit_tiles tiles;
	unsigned n[AUDIT_TILE_LEVELS] = {0};
	uint8_t leaf[AUDIT_HASH_SIZE], root[AUDIT_HASH_SIZE], same[AUDIT_HASH_SIZE];
	struct audit_tree tree, upper;

	(void)state;
	audit_tree_init(&tree);
	audit_tiles_init(&tiles);
	for (unsigned i = 0; i < 65536; i++) {
		struct audit_tree_step step;

		audit_hash_leaf(&i, sizeof(i), leaf);
		audit_tree_append(&tree, leaf, &step);
		assert_int_equal(audit_tiles_add(&tiles, 0, &step, count_tile, n), 0);
	}
	assert_int_equal(n[0], 256);
	assert_int_equal(n[1], 1);
	assert_int_equal(tiles.level[2].n_hashes, 1);
	audit_tree_root(&tree, root);
	assert_memory_equal(tiles.level[2].hash[0], root, sizeof(root));
	audit_tree_init(&upper);
	audit_tree_append_subtree(&upper, 16, tiles.level[2].hash[0], NULL);
	audit_tree_root(&upper, same);
	assert_memory_equal(same, root, sizeof(root));
}

static void names_tiles_as_the_specification_does(void **state)
{
	char path[AUDIT_TILE_PATH_MAX];

	(void)state;
	audit_tile_path(0, 0, path);
	assert_string_equal(path, "tile/0/000");
	audit_tile_path(1, 1234067, path);
	assert_string_equal(path, "tile/1/x001/x234/067");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gives_the_published_roots_of_the_reference_inputs),
		cmocka_unit_test(gives_the_roots_and_proofs_of_the_vectors),
		cmocka_unit_test(refuses_a_rewritten_leaf),
		cmocka_unit_test(proves_inclusion_of_every_leaf_of_every_small_tree),
		cmocka_unit_test(proves_consistency_of_every_pair_of_small_trees),
		cmocka_unit_test(fills_tiles_of_each_level),
		cmocka_unit_test(names_tiles_as_the_specification_does),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
