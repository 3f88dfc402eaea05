/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_BROKER_RECORD_H
#define SUPERVISORD_BROKER_RECORD_H

/* What of the decisions goes into the log: allows once per (program, operation, object, rule) and
 * counted after that, denials each until they repeat. Thread-safe. */

#include <stdbool.h>
#include <stdint.h>

#include "policy-lang/policy.h"
#include "supervisord/base/json.h"
#include "supervisord/proto/request.h"

#define RECORD_KEYS_MAX                                                                            \
	(1u << 16) /* distinct decisions remembered; later ones are recorded each time */

struct link;
struct record_table;

int record_table_new(struct record_table **tablep) _must_use_;
void record_table_free(struct record_table *table);
DEFINE_CLEANUP(struct record_table *, record_table_free);

/* Notes one more decision. True when it is the first of its kind and must be recorded now. PID
 * takes part in the key of denials (0 for allows): each process's denial is on record. */
bool record_table_first(struct record_table *table, const struct request *request, const char *rule,
	enum verdict verdict, pid_t pid);

/* The record of a decision. New reference, NULL when out of memory. NOTE may be NULL. */
json_t *record_decision(const struct request *request, enum verdict verdict,
	const struct policy_rule_info *rule, const char *outcome, const char *remedy);

/* Sends one "decision.count" record for each kind of decision that was met more than once, and one
 * "decision.totals". At the session's end, before link_end(). 0 or -errno. */
int record_table_flush(struct record_table *table, struct link *link) _must_use_;

#endif
