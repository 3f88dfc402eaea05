/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_BROKER_LINK_H
#define SUPERVISORD_BROKER_LINK_H

/* The broker's link to the daemon: asks, records, the session's beginning and end. One thread of
 * its own holds the connection; any number of worker threads use the functions below.
 *
 * When the daemon goes away, asks are denied after a grace of 5 s, records go to the session's
 * spool file, and the link tries to connect again every second. After a reconnect it registers the
 * same session again and replays the spool; no record is written twice. When neither the daemon nor
 * the spool takes a gated record, link_record fails and the operation must not take place. */

#include <stdbool.h>
#include <stdint.h>

#include "policy-lang/policy.h"
#include "supervisord/base/json.h"
#include "supervisord/proto/grant.h"
#include "supervisord/proto/request.h"

struct link;

/* What the session is: borrowed for the call of link_start. The summary is an object that people
 * see in `agentctl ps` ("agent", "argv", "cwd", "workspace", "profile" ...) and that the log keeps.
 */
struct link_hello {
	json_t *spec_summary;
	uint8_t policy_digest[32];
	uint8_t plan_digest[32];
};

/* Connects to the socket CONTROL, registers, starts the thread. *SESSIONP (borrowed, lives as long
 * as the link) is the session id. Call it before any other thread of the broker could be in the way
 * of signals: the thread blocks all signals. 0; -errno (no daemon there: -ENOENT, -ECONNREFUSED);
 * when the daemon refuses, -EREMOTEIO with *MESSAGEP (owned by the caller, escaped, for people). */
int link_start(const char *control, const char *spool_dir, const struct link_hello *hello,
	struct link **linkp, const char **sessionp, char **messagep) _must_use_;

enum link_answer {
	LINK_ALLOWED,
	LINK_DENIED,    /* by a person, or at once after repeated denials: see note */
	LINK_TIMEOUT,   /* nobody answered in time */
	LINK_WITHDRAWN, /* nobody wants the answer any more */
	LINK_NO_DAEMON, /* the daemon is gone and did not return within the grace */
	LINK_REFUSED,   /* the daemon cannot ask (log, limits, malformed): see note */
};

struct link_result {
	enum link_answer answer;
	struct grant *grant; /* owned by the caller; the standing answer, or NULL */
	char *note;          /* owned by the caller; for people, escaped, or NULL */
};

void link_result_deinit(struct link_result *result);

/* Asks. Blocks the calling worker until there is an answer or STILL_WANTED(userdata) (called every
 * 250 ms without locks; NULL = always wanted) returns false: then the ask is withdrawn. Grants of
 * this session are looked at first, without a round trip. RULE is the deciding `ask` rule and its
 * timeout; everything is borrowed for the call. 0 with RESULT filled in (anything but LINK_ALLOWED
 * is a refusal), or -ENOMEM, -E2BIG (a request too long to be shown), and then RESULT->answer is
 * LINK_REFUSED. */
int link_ask(struct link *link, const struct request *request, const struct policy_rule_info *rule,
	const uint8_t policy_digest[32], bool (*still_wanted)(void *userdata), void *userdata,
	struct link_result *result) _must_use_;

/* Queues a record (takes the reference, also on failure). Members "session" and "n" are added here.
 * Gated: returns only when it is durable in the log or in the spool. A record with
 * "type":"decision", "decision":"deny" also appears in `agentctl why`, with its members op, object,
 * rule, layer, reason, remedy, program, pid. 0; -EINVAL without a "type"; -ENOBUFS when the queue
 * is full; -errno when neither the daemon nor the spool took it. */
int link_record(struct link *link, json_t *record, bool gated) _must_use_;

/* The session's end, durable in the log or the spool; then stops the thread. STATUS (takes the
 * reference) is an object such as {"exit":0} or {"signal":9}. Later calls answer as without a
 * daemon. 0 or -errno. */
int link_end(struct link *link, json_t *status) _must_use_;

/* Stops the thread where it still runs (the daemon then sees a session that was lost) and frees. No
 * other thread may be inside a function of the link. */
void link_free(struct link *link);
DEFINE_CLEANUP(struct link *, link_free);

/* Readable once the daemon asked to stop the session. Borrowed. */
int link_stop_fd(const struct link *link);

#endif
