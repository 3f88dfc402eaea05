/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef AUDIT_LOG_RECORD_H
#define AUDIT_LOG_RECORD_H

/* One record: a JSON object on one line. The bytes of the line without its newline are the leaf of
 * the tree; nobody writes them a second time. */

#include <stdbool.h>
#include <stdint.h>

#include "supervisord/base/clock.h"
#include "supervisord/base/json.h"

#define AUDIT_RECORD_MAX 32768 /* bytes of a record that we write */
#define AUDIT_LINE_MAX 65535   /* bytes of a record that a reader accepts (C2SP entry bundles) */
#define AUDIT_FIELD_MAX 8192   /* bytes of one text; longer ones are replaced by their digest */
#define AUDIT_HEAD_MAX 256     /* bytes of the beginning that stay beside the digest */

/* What the log itself adds to each record. */
struct audit_stamp {
	uint64_t seq;
	uint64_t realtime_usec; /* "time" */
	uint64_t boottime_usec; /* "mono": since boot, suspend included */
	const char *boot;       /* "boot" */
	const char *host;       /* "host" */
};

/* The line of RECORD (borrowed, unchanged) with the stamp, without newline; owned by the caller.
 * Texts, arrays and objects that are too long become {"head","len","sha256"}. 0; -EINVAL (not an
 * object, no "type", a real number); -E2BIG (too long whatever is replaced); -ENOMEM. */
int audit_record_render(const json_t *record, const struct audit_stamp *stamp, char **linep,
	size_t *sizep) _must_use_;

/* Types that only the log itself writes. */
bool audit_record_type_is_reserved(const char *type);

/* The part of a stored record that the log reads back. */
struct audit_record {
	uint64_t seq;
	uint64_t realtime_usec;
	uint64_t boottime_usec;
	char type[64];
	char boot[37];
	char time[CLOCK_TEXT_MAX];
};

/* Reads a stored line. *JSONP (may be NULL) is a new reference. 0; -EBADMSG (not a record). */
int audit_record_parse(
	const char *line, size_t size, struct audit_record *record, json_t **jsonp) _must_use_;

/* Microseconds since 1970 of "2026-01-31T12:34:56.789Z". 0 or -EINVAL. */
int audit_record_parse_time(const char *text, uint64_t *usecp) _must_use_;

#endif
