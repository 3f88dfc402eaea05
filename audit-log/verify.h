/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef AUDIT_LOG_VERIFY_H
#define AUDIT_LOG_VERIFY_H

/* The verifier's state, shared by verify.c (the pass over the records) and verify_open.c (what is
 * read before it, and the verdict). Not for other folders. */

#include "audit-log/audit.h"
#include "audit-log/history.h"
#include "audit-log/origin.h"
#include "audit-log/reader.h"
#include "audit-log/record.h"
#include "audit-log/tile.h"
#include "audit-log/writer.h"

#define VERIFY_E_FAILED 1      /* the report says what is wrong */
#define VERIFY_CREATION_MAX 16 /* records that a log is created with, at most */
#define VERIFY_OUTSIDE_MAX 256 /* checkpoints from outside */

struct verify_outside {
	uint64_t size;
	uint8_t root[AUDIT_HASH_SIZE];
};

struct verify {
	struct audit_report *report; /* borrowed */
	int dir_fd, seg_fd;
	struct audit_origin origin;
	struct audit_vkey key; /* the pinned one, or that of origin */

	/* the file "checkpoint" */
	char *text;
	size_t text_size;
	struct audit_checkpoint checkpoint;

	/* the file "checkpoints" */
	struct audit_history history;
	const char *next; /* the note that comes next; NULL = none */
	size_t next_bytes;
	uint64_t next_size;

	size_t n_outside;
	struct verify_outside outside[VERIFY_OUTSIDE_MAX];

	/* keys found beside the log, when this is the machine that writes it */
	uint64_t highest_key;
	bool have_previous_key;

	/* the pass */
	struct audit_tree tree;
	struct audit_tiles *tiles;
	uint64_t good;       /* covered by the last note that was right */
	uint64_t note_epoch; /* the epoch at that note */
	uint64_t epoch, epoch_index, epoch_boottime;
	char epoch_boot[37];
	struct audit_vkey epoch_keys[2]; /* of this epoch and of the one before */
	char *previous;                  /* the line before */
	size_t previous_size;
	char unanchored_since[CLOCK_TEXT_MAX];
	uint64_t n_unsigned;
	bool torn; /* "checkpoints" ended in the middle of a note */
	bool bad_tile, bad_tile_missing;
	uint64_t bad_tile_index;
	char bad_tile_path[AUDIT_TILE_PATH_MAX];
};

/* Fills the report; always VERIFY_E_FAILED. The text must not hold bytes from the log. */
int audit_verify_fail(struct verify *v, enum audit_status status, uint64_t first_bad,
	const char *format, ...) _printf_(4, 5);

/* The pass. 0, VERIFY_E_FAILED, -errno. */
int audit_verify_records(struct verify *v) _must_use_;

#endif
