/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_DAEMON_RECORDS_H
#define SUPERVISORD_DAEMON_RECORDS_H

/* The records that the daemon itself writes. Each function returns a new reference, or NULL when
 * out of memory. */

#include "supervisord/base/json.h"
#include "supervisord/daemon/peer.h"
#include "supervisord/daemon/queue.h"
#include "supervisord/daemon/sessions.h"

json_t *record_daemon(const char *type);
json_t *record_session_start(const struct session *session);
json_t *record_session(const char *type, const struct session *session);
/* "ask", "ask.timeout", "ask.withdrawn": what was asked, by whom, by which rule. SESSION may be
 * NULL. */
json_t *record_pending(
	const char *type, const struct pending *pending, const struct session *session);
/* "approval": who answered what, how long it took. */
json_t *record_approval(const struct pending *pending, const struct session *session,
	const struct peer *approver, const char *channel, const char *note, uint64_t now_usec);
/* "decision" without a person: denied at once after repeated refusals, or covered by a grant. */
json_t *record_decision(const struct request *request, const struct rule *rule,
	const struct session *session, const char *decision, const char *why);
json_t *record_peer_refused(const struct peer *peer, enum peer_verdict verdict,
	const struct session *session, const char *method);
/* For `agentctl why`. */
json_t *denial_from_pending(const struct pending *pending, uint64_t realtime_usec);
json_t *denial_from_request(const struct request *request, const struct rule *rule,
	const char *session, const char *why, uint64_t realtime_usec);

#endif
