/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_DAEMON_DENIALS_H
#define SUPERVISORD_DAEMON_DENIALS_H

/* The latest refusals of one session, for `agentctl why`. */

#include <stdint.h>

#include "supervisord/base/json.h"

#define DENIALS_MAX 256

struct denials {
	json_t *items[DENIALS_MAX];
	size_t n_items; /* ever; a ring */
};

void denials_init(struct denials *denials);
void denials_deinit(struct denials *denials);

/* Adds a refusal; takes the reference. Members: time_usec (realtime), session, op, object, rule,
 * layer, reason, remedy, program, pid. One of the same op, object, pid and rule within two seconds
 * is completed instead: the broker and the daemon may both tell of it. */
void denials_add(struct denials *denials, json_t *denial);
/* The refusal that RECORD, a decision record of the broker, tells of. New reference or NULL. */
json_t *denial_from_record(json_t *record, const char *session, uint64_t realtime_usec);
/* Appends the last MAX refusals, newest first, to ARRAY (borrowed members); PID 0 = all. */
void denials_list(const struct denials *denials, size_t max, int64_t pid, json_t *array);
/* Appends everything in FROM to TO and empties FROM. */
void denials_move(struct denials *from, struct denials *to);

#endif
