/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef AUDIT_LOG_WRITER_H
#define AUDIT_LOG_WRITER_H

/* The open log, shared by writer.c (append, epochs), commit.c (disk), open.c (creation, lock) and
 * recover.c (start of an existing log). Not for other folders.
 *
 * MUST:
 * 1. tree, tiles and segment position describe what is durable and covered by a checkpoint; they
 * move only after all writes of a commit have succeeded;
 * 2. an epoch's key is erased only after a checkpoint with its successor's signature is in
 * "checkpoint" and in "checkpoints";
 * 3. nothing here makes a new identity key where a log already is. */

#include "audit-log/audit.h"
#include "audit-log/key.h"
#include "audit-log/origin.h"
#include "audit-log/tile.h"
#include "supervisord/base/buf.h"

#define AUDIT_NEW_RECORDS 2 /* log.open and log.key: what a log is created with */
#define AUDIT_EPOCH_RECORDS_MAX 100000ULL
#define AUDIT_EPOCH_USEC_MAX (24ULL * 3600 * USEC_PER_SEC)
#define AUDIT_EPOCH_SLACK (3600 * USEC_PER_SEC) /* what a reader grants beyond that */
#define AUDIT_PENDING_MAX 8192 /* records that wait for a commit before append makes one */
#define AUDIT_PENDING_BYTES_MAX (4U << 20)
#define AUDIT_LINES_MAX (16U << 20)
#define AUDIT_STEP_USEC_MAX (2 * (int64_t)USEC_PER_SEC)
#define AUDIT_HISTORY_USEC USEC_PER_SEC /* unforced checkpoints in "checkpoints": one a second */

struct audit_pending {
	uint8_t leaf[AUDIT_HASH_SIZE];
	size_t end; /* in log->lines, behind the newline */
};

struct audit_log {
	int dir_fd, seg_dir_fd, keys_fd, lock_fd;
	struct audit_origin origin;
	char host[65];
	char boot[37];

	struct audit_key *identity;
	struct audit_key
		*epoch_key; /* announced by a record that a checkpoint covers; NULL at first */
	struct audit_key
		*next_key;       /* announced by a later record; signs with epoch_key until then */
	uint64_t epoch;          /* of the last log.key record, pending ones included */
	uint64_t epoch_index;    /* of that record */
	uint64_t epoch_boottime; /* of that record */

	/* durable */
	struct audit_tree tree;
	struct audit_tiles *tiles, *scratch;
	int segment_fd;
	uint64_t segment;
	uint64_t segment_bytes;
	bool unsigned_records; /* recovered records that no checkpoint covers yet */

	/* pending */
	struct buf lines;
	struct audit_pending *pending;
	size_t n_pending, n_alloc;
	bool failed;
	int failed_error;
	uint64_t failed_realtime;
	uint64_t n_refused;

	/* "checkpoint" and "checkpoints" */
	char *note;
	size_t note_size;
	bool history_due; /* note is not in "checkpoints" yet */
	int history_fd;
	uint64_t history_bytes;
	uint64_t history_boottime;

	int64_t clock_offset; /* wall clock minus boot time at the last record */
	uint64_t (*realtime)(void);
	uint64_t (*boottime)(void);
};

/* writer.c */
int audit_log_append_own(struct audit_log *log, json_t *record) _must_use_;
/* Announces a new epoch key with a log.key record. REASON is "start", "age", "count". */
int audit_log_rotate(struct audit_log *log, const char *reason) _must_use_;
/* For tests: other clocks from the next record on. */
void audit_log_set_clocks(
	struct audit_log *log, uint64_t (*realtime)(void), uint64_t (*boottime)(void));

/* commit.c */
/* Writes what is pending and a checkpoint; puts it into "checkpoints" when FORCE, at a change of
 * epochs, or when the last one there is older than a second. */
int audit_log_commit_once(struct audit_log *log, bool force) _must_use_;
/* Opens "checkpoints" for writing. */
int audit_log_open_history(struct audit_log *log) _must_use_;
/* A tile that became full, for audit_tiles_add: USERDATA is the log. */
int audit_log_write_tile(
	void *userdata, unsigned level, uint64_t number, const uint8_t hash[AUDIT_TILE_BYTES]);

/* recover.c */
/* Takes up an existing log: keys, tree, tail. 0; AUDIT_E_TAMPERED with *REASONP; -errno. */
int audit_log_recover(struct audit_log *log, char **reasonp) _must_use_;

#endif
