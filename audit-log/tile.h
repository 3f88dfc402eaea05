/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef AUDIT_LOG_TILE_H
#define AUDIT_LOG_TILE_H

/* Hash tiles in the layout of C2SP tlog-tiles: tile/<L>/<N>, 256 hashes each. Only full tiles are
 * on disk; the hashes of the tile that is being filled stay in memory and in the file "tail" (level
 * 0 only, a hint that helps the verifier to name a damaged record). */

#include <stdint.h>

#include "audit-log/tree.h"

#define AUDIT_TILE_WIDTH 256
#define AUDIT_TILE_BYTES (AUDIT_TILE_WIDTH * AUDIT_HASH_SIZE)
#define AUDIT_TILE_PATH_MAX 64

struct audit_tile {
	uint64_t number; /* of the tile that is being filled */
	unsigned n_hashes;
	uint8_t hash[AUDIT_TILE_WIDTH][AUDIT_HASH_SIZE];
};

/* The tiles being filled, one a level. */
struct audit_tiles {
	struct audit_tile level[AUDIT_TILE_LEVELS];
};

/* Called for each tile that became full. 0 or -errno, which stops the append. */
typedef int (*audit_tile_fn)(
	void *userdata, unsigned level, uint64_t number, const uint8_t hash[AUDIT_TILE_BYTES]);

/* "tile/<level>/<number>", the number in groups of three digits, "x" before all but the last. */
void audit_tile_path(unsigned level, uint64_t number, char out[AUDIT_TILE_PATH_MAX]);

void audit_tiles_init(struct audit_tiles *tiles);
/* Adds the hashes of STEP to the levels from LEVEL on. A tile that is full is handed to FN and
 * begun anew. 0 or what FN gave. */
int audit_tiles_add(struct audit_tiles *tiles, unsigned level, const struct audit_tree_step *step,
	audit_tile_fn fn, void *userdata) _must_use_;

/* Writes a full tile below DIR_FD (durably, replacing). 0 or -errno. */
int audit_tile_write(int dir_fd, unsigned level, uint64_t number,
	const uint8_t hash[AUDIT_TILE_BYTES]) _must_use_;
/* Reads a full tile. 0; -ENOENT; -EBADMSG (wrong size); -errno. */
int audit_tile_read(
	int dir_fd, unsigned level, uint64_t number, uint8_t hash[AUDIT_TILE_BYTES]) _must_use_;

#endif
