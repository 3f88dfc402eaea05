/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "audit-log/anchor.h"

#include <inttypes.h>
#include <sodium.h>
#include <unistd.h>

/* The location that sd_journal_send would give is a function of this library: of no use. */
#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-journal.h>

#include "supervisord/base/log.h"

#define JOURNAL_SOCKET "/run/systemd/journal/socket"
#define JOURNAL_MESSAGE_ID "5d3f1c8a7e0b4b6f9a52c4e8d1f7306b"

void audit_anchor_journal(const char *origin, uint64_t size, const uint8_t root[AUDIT_HASH_SIZE])
{
	char base64[sodium_base64_ENCODED_LEN(AUDIT_HASH_SIZE, sodium_base64_VARIANT_ORIGINAL)];
	int r;

	if (access(JOURNAL_SOCKET, W_OK) < 0)
		return;
	sodium_bin2base64(
		base64, sizeof(base64), root, AUDIT_HASH_SIZE, sodium_base64_VARIANT_ORIGINAL);
	r = sd_journal_send("MESSAGE=audit log head: %" PRIu64 " records", size,
		"MESSAGE_ID=" JOURNAL_MESSAGE_ID, "PRIORITY=6", "AUDIT_ORIGIN=%s", origin,
		"AUDIT_SIZE=%" PRIu64, size, "AUDIT_ROOT=%s", base64, NULL);
	if (r < 0)
		log_debug_r(r, "cannot write the log's head to the system journal");
}
