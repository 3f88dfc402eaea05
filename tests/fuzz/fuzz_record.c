/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */

/* Stored lines: what is read as a record can be written again below the cap, and then reads the
 * same. */

#include <sodium.h>
#include <stdint.h>
#include <string.h>

#include "audit-log/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct audit_stamp stamp = {.seq = 1,
		.realtime_usec = 1767225600000000,
		.boottime_usec = 2,
		.boot = "00000000-0000-4000-8000-000000000001",
		.host = "host1"};
	_cleanup_(json_decrefp) json_t *json = NULL;
	_cleanup_(freep) char *text = malloc(size + 1), *line = NULL;
	struct audit_record record, again;
	size_t line_size = 0;
	uint64_t usec;

	if (!text || sodium_init() < 0)
		return 0;
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	if (audit_record_parse_time(text, &usec) > 0)
		abort();
	if (audit_record_parse(text, size, &record, &json) < 0)
		return 0;
	if (audit_record_render(json, &stamp, &line, &line_size) < 0)
		return 0;
	if (line_size > AUDIT_RECORD_MAX || memchr(line, '\n', line_size))
		abort();
	if (audit_record_parse(line, line_size, &again, NULL) < 0 || again.seq != 1 ||
		strcmp(again.type, record.type) != 0)
		abort();
	return 0;
}
