/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_BASE_PARSE_H
#define SUPERVISORD_BASE_PARSE_H

/* Strict readers of numbers and spans: the whole text must be eaten, no sign, no blanks. */

#include <stddef.h>
#include <stdint.h>

#include "supervisord/base/cleanup.h"

/* Decimal digits only, no leading zero but "0" itself. 0, -EINVAL or -ERANGE (above max). */
int parse_u64(const char *text, uint64_t max, uint64_t *valuep) _must_use_;

/* INT followed by s, m, h or d, as in the policy language; at least 1s, at most 3650d. In
 * microseconds. 0, -EINVAL or -ERANGE. */
int parse_span(const char *text, uint64_t *usecp) _must_use_;

/* The largest unit that is exact: 90 s is "90s", 120 s is "2m". Writes at most SIZE bytes. */
void format_span(uint64_t usec, char *out, size_t size);

/* Lower-case hexadecimal; OUT has 2*SIZE+1 bytes. */
void format_hex(const uint8_t *data, size_t size, char *out);
/* The reverse; TEXT must have exactly 2*SIZE digits. 0 or -EINVAL. */
int parse_hex(const char *text, uint8_t *data, size_t size) _must_use_;

#endif
