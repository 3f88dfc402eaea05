/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_DAEMON_AUDIT_SINK_H
#define SUPERVISORD_DAEMON_AUDIT_SINK_H

/* The single way into the audit log. Records are committed in groups: 50 ms after the first, at 64,
 * or, where somebody waits for one, as soon as the loop has nothing else to do.
 *
 * MUST: 1 a waiting caller hears "durable" only after audit_log_commit() said so; 2 while the log
 * cannot persist, nobody is told that anything is durable; 3 a tampered log takes nothing at all.
 */

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "supervisord/base/json.h"

enum sink_state {
	SINK_OK,
	SINK_FAILED,   /* cannot persist now; tries again every second */
	SINK_TAMPERED, /* closed until the folder was put aside and a restart */
};

struct audit_sink;

/* Opens the log in the folder DIR. A tampered log gives a sink in that state and 0. -EBUSY: another
 * writer has the log. -errno: it cannot be opened. EVENT is borrowed and must outlive the sink. */
int audit_sink_new(const char *dir, sd_event *event, struct audit_sink **sinkp) _must_use_;
/* Commits what is there, tells everybody who waits, closes. */
void audit_sink_free(struct audit_sink *sink);
DEFINE_CLEANUP(struct audit_sink *, audit_sink_free);

/* R = 0: the record is durable and has this INDEX; -errno: it is not (it may become so later).
 * Never called from inside audit_sink_append. */
typedef void (*audit_sink_fn)(void *userdata, int r, uint64_t index);

/* Adds RECORD (borrowed). With FN the caller waits for it: 0 means that FN will be called once; on
 * failure it is not called: -EROFS (cannot persist now), -EKEYREJECTED (tampered), -E2BIG, -ENOMEM.
 * URGENT: commit soon. Without FN the record is the daemon's own note: while the log cannot persist
 * it is kept in memory and, beyond a bound, counted as lost. */
int audit_sink_append(
	struct audit_sink *sink, json_t *record, bool urgent, audit_sink_fn fn, void *userdata);

/* Makes everything durable now. 0 or -errno. */
int audit_sink_commit(struct audit_sink *sink);

enum sink_state audit_sink_state(const struct audit_sink *sink);
/* For people: what is wrong, "" when nothing is. */
const char *audit_sink_problem(const struct audit_sink *sink);
/* {"state","size","pending","problem","dir"}. New reference. */
json_t *audit_sink_to_json(const struct audit_sink *sink);

#endif
