/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef AUDIT_LOG_AUDIT_H
#define AUDIT_LOG_AUDIT_H

/* The audit log as the daemon and agentctl see it: open for writing (one writer, locked), append,
 * commit; verify; read. Formats are in audit-log/FORMAT.md. */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "supervisord/base/json.h"

struct audit_log;

/* Results of audit_log_open beyond 0 and -errno. */
enum {
	AUDIT_E_LOCKED = 1, /* another writer has it */
	AUDIT_E_TAMPERED =
		2, /* does not match its last checkpoint: no writing until accept-break */
};

/* Opens the log folder DIR for appending and makes it when it is not there. Recovers a torn tail.
 * On AUDIT_E_TAMPERED *REASONP (owned by the caller) says what was found. */
int audit_log_open(const char *dir, struct audit_log **logp, char **reasonp) _must_use_;
/* Commits, seals and closes. */
void audit_log_close(struct audit_log *log);
DEFINE_CLEANUP(struct audit_log *, audit_log_close);

/* Adds a record. RECORD (borrowed) is an object with at least "type"; seq, time, boot id, monotonic
 * time and host are added here (members of these names are replaced). Nothing is durable yet.
 * *INDEXP (may be NULL) is its index. 0; -E2BIG; -ENOMEM; -EINVAL (no type, a type that only the
 * log itself writes, a real number, nested too deep); -EROFS after a failed commit until
 * audit_log_commit succeeds. */
int audit_log_append(struct audit_log *log, json_t *record, uint64_t *indexp) _must_use_;

/* Makes everything appended durable: write, fdatasync, signed checkpoint. State advances only after
 * the write is durable; on -ENOSPC, -EIO ... the appended records stay queued and the next commit
 * tries again. */
int audit_log_commit(struct audit_log *log) _must_use_;

/* To be called now and then (every few minutes) also when nothing happens: seals an epoch that has
 * lasted long enough. 0 or what audit_log_commit gives. */
int audit_log_tick(struct audit_log *log) _must_use_;

/* Records appended but not yet durable. */
uint64_t audit_log_pending(const struct audit_log *log);
uint64_t audit_log_size(const struct audit_log *log);

/* Verification without the writer. */
enum audit_status {
	AUDIT_OK = 0,         /* everything good and anchored outside */
	AUDIT_TAMPERED = 1,   /* or damaged: first_bad names where */
	AUDIT_UNANCHORED = 2, /* good, but the tail rests on this machine's word alone */
	AUDIT_UNREADABLE = 3, /* no log, no permission, no key */
};

struct audit_report {
	enum audit_status status;
	uint64_t size;
	uint64_t first_bad; /* index; UINT64_MAX = none */
	uint64_t anchored;  /* records covered by an outside anchor */
	char origin[256];
	char root[65];
	char message[512]; /* one sentence for people, escaped */
};

struct audit_verify_options {
	const char *vkey;       /* pinned verifier key, or NULL: the one in the log's folder */
	const char *checkpoint; /* an earlier signed checkpoint (text) from outside, or NULL */
	const char *const *witnesses; /* vkeys whose cosignatures in anchors/ count, or NULL */
	size_t n_witnesses;
};

/* Verifies the log in DIR. Fills REPORT; returns report->status, or -ENOMEM. */
int audit_verify(const char *dir, const struct audit_verify_options *options,
	struct audit_report *report) _must_use_;

/* Calls FN for each record from index FROM on, as the exact line without newline. Stops when FN
 * returns non-zero and returns that. -errno when the log cannot be read. */
typedef int (*audit_record_fn)(void *userdata, uint64_t index, const char *line, size_t size);
int audit_read(const char *dir, uint64_t from, audit_record_fn fn, void *userdata) _must_use_;

/* The latest signed checkpoint of the log in DIR, to keep elsewhere; owned by the caller. 0;
 * -ENOENT; -errno. */
int audit_checkpoint_text(const char *dir, char **textp) _must_use_;
/* The verifier key of the log in DIR; owned by the caller. 0; -ENOENT; -EBADMSG; -errno. */
int audit_log_vkey(const char *dir, char **vkeyp) _must_use_;

#endif
