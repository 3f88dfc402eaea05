/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_BROKER_DECIDE_H
#define SUPERVISORD_BROKER_DECIDE_H

/* The one way from a request to a verdict in the broker: policy, session grants, a person, record.
 */

#include "supervisord/broker/notification.h"
#include "supervisord/proto/request.h"

/* Judges REQUEST (subject filled in here; op and object by the caller). For an ask it calls
 * worker_may_block() and waits for the answer; --no-ask and a dead daemon deny. A denial is durable
 * in the log before this returns; an allow is recorded once per (program, operation, object, rule).
 * Returns VERDICT_ALLOW, VERDICT_HIDE or VERDICT_DENY; never VERDICT_ASK. When the requester went
 * away meanwhile: VERDICT_DENY. */
enum verdict decide(struct notification *n, struct request *request);

#define DECIDE_MAX 16 /* requests judged as one */

/* Judges several requests of one operation (the two ends of a rename) as one: the strictest wins;
 * at most one question is asked at a time. */
enum verdict decide_all(struct notification *n, struct request *const *requests, size_t n_requests);

/* A refusal that no rule made (an exec that did not verify, an argument that was swapped): recorded
 * as an event TYPE ("attack.exec", "refused.abstract-socket" ...) with DETAIL, durable before
 * return. */
void decide_record_event(struct notification *n, const char *type, const struct request *request,
	const char *detail);

#endif
