/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef AUDIT_LOG_ORIGIN_H
#define AUDIT_LOG_ORIGIN_H

/* The file "origin": which log this is and which key it is verified with. */

#include "audit-log/note.h"
#include "supervisord/base/clock.h"

#define AUDIT_ORIGIN_FILE "origin"
#define AUDIT_CHECKPOINT_FILE "checkpoint"
#define AUDIT_HISTORY_FILE "checkpoints"
#define AUDIT_TAIL_FILE "tail"
#define AUDIT_ANCHOR_DIR "anchors"
#define AUDIT_FORMAT 1

struct audit_origin {
	struct audit_vkey identity;   /* its name is the log's name */
	char created[CLOCK_TEXT_MAX]; /* the time of record 0 */
};

/* 0; -ENOENT; -EBADMSG (damaged, or of a later format); -errno. */
int audit_origin_read(int dir_fd, struct audit_origin *origin) _must_use_;
int audit_origin_write(int dir_fd, const struct audit_origin *origin) _must_use_;

/* "agent-supervisor/<host>/<uid>/<8 hex digits>": a name that no other log has. */
void audit_origin_make_name(char out[AUDIT_KEY_NAME_MAX + 1]);

#endif
