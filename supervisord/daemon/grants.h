/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_DAEMON_GRANTS_H
#define SUPERVISORD_DAEMON_GRANTS_H

/* Standing answers of one session: grants that people gave, and requests that they refused again
 * and again. */

#include <stdbool.h>
#include <stdint.h>

#include "supervisord/base/dirs.h"
#include "supervisord/proto/grant.h"

#define GRANTS_MAX 1024
#define REFUSALS_MAX 1024
#define REFUSALS_BEFORE_AUTO 2 /* the third identical request is denied at once */

struct refusal {
	uint8_t key[32]; /* queue_key */
	unsigned n;
};

struct grants {
	struct grant *items[GRANTS_MAX];
	size_t n_items;
	struct refusal refusals[REFUSALS_MAX];
	size_t n_refusals; /* ever; a ring */
};

void grants_init(struct grants *grants);
void grants_deinit(struct grants *grants);

/* Takes GRANT, also on failure. 0 or -ENOSPC. */
int grants_add(struct grants *grants, struct grant *grant) _must_use_;
/* The grant that covers REQUEST asked by RULE at NOW_USEC (boottime), or NULL. Drops expired ones.
 */
const struct grant *grants_find(
	struct grants *grants, const struct request *request, const char *rule, uint64_t now_usec);
/* Takes the grant with this id away; false when there is none. */
bool grants_remove(struct grants *grants, const char *id);
/* Appends each grant in force as an object with "session", "rule_text", "remaining_ms" to ARRAY. */
int grants_to_json(
	struct grants *grants, const char *session, uint64_t now_usec, json_t *array) _must_use_;

/* A person refused this key. FOR_SESSION = and does not want to be asked again. */
void grants_note_refusal(struct grants *grants, const uint8_t key[32], bool for_session);
/* Is a request with this key to be denied without asking? */
bool grants_is_refused(const struct grants *grants, const uint8_t key[32]);

/* A grant for an answer. DEADLINE_USEC only for spans. Strings and REQUEST are copied. 0, -ENOMEM.
 */
int grant_make(const char *id, const struct request *request, const char *rule,
	enum grant_scope scope, enum grant_duration duration, uint64_t deadline_usec,
	struct grant **grantp) _must_use_;

/* Appends the grant to the file "grants.policy" in the configuration folder, with a comment that
 * says who and when; the old file stays whole until the new one is durable. The new text is read
 * and judged before: it must allow REQUEST. BY is escaped text. 0 (also when the same line is
 * there); -EINVAL (the file would not be valid, or not answer the request); -EFBIG; -errno. */
int grants_store(const struct dirs *dirs, const struct request *request, enum grant_scope scope,
	const char *by, uint64_t realtime_usec) _must_use_;

#endif
