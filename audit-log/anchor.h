/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef AUDIT_LOG_ANCHOR_H
#define AUDIT_LOG_ANCHOR_H

/* Copies of the log's head in places that the log's owner cannot change. */

#include <stdint.h>

#include "audit-log/tree.h"

/* Writes the head to the system journal, whose files belong to root: AUDIT_ORIGIN, AUDIT_SIZE,
 * AUDIT_ROOT (base64). Best effort: without a journal nothing happens. */
void audit_anchor_journal(const char *origin, uint64_t size, const uint8_t root[AUDIT_HASH_SIZE]);

#endif
