/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_BROKER_SPOOL_H
#define SUPERVISORD_BROKER_SPOOL_H

/* The spool file of one session: records that found no daemon. DIR/SESSION.jsonl, mode 0600: a
 * header line {"broker_pid":P,"broker_start":T,"index":I,"session":"ID","spool":1}, then one record
 * a line. A last line without a newline was never acknowledged and does not count. Not thread-safe.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "supervisord/base/cleanup.h"

#define SPOOL_BYTES_MAX (256u * 1024 * 1024)

struct spool;

/* Nothing is created yet. SESSION is copied; INDEX is the log index of its session.start. 0,
 * -ENOMEM, or -EINVAL for an id that is no file name. */
int spool_new(const char *dir, const char *session, uint64_t index, pid_t broker_pid,
	uint64_t broker_start, struct spool **spoolp) _must_use_;
/* Closes; a file with records stays. */
void spool_free(struct spool *spool);
DEFINE_CLEANUP(struct spool *, spool_free);

/* Adds one line (without its newline). On failure the file is as it was. 0, -ENOSPC, -errno. */
int spool_append(struct spool *spool, const char *line, size_t size) _must_use_;
/* Makes everything appended durable. 0 or -errno. */
int spool_sync(struct spool *spool) _must_use_;
/* Are there records in it? */
bool spool_is_empty(const struct spool *spool);

/* Calls FN for each record from byte offset *OFFSETP on (0 = the first), until it returns non-zero,
 * which is returned with *OFFSETP behind the last record that FN took with 0. 0 at the end. -errno.
 */
typedef int (*spool_fn)(void *userdata, const char *line, size_t size);
int spool_read(struct spool *spool, uint64_t *offsetp, spool_fn fn, void *userdata) _must_use_;

/* Is there no record from byte OFFSET on? */
bool spool_is_end(const struct spool *spool, uint64_t offset);

/* Everything was replayed: removes the file. 0 or -errno. */
int spool_remove(struct spool *spool) _must_use_;

#endif
