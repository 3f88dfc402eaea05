/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */

/* The strict messages: a request that is accepted writes back to a message that reads as the same
 * request, and its texts are safe. Grants and specs take the same bytes. */

#include <stdint.h>
#include <string.h>

#include "supervisord/proto/grant.h"
#include "supervisord/proto/spec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_request(json_t *json)
{
	static const uint8_t digest[32];
	_cleanup_(request_freep) struct request *request = NULL;
	_cleanup_(request_freep) struct request *back = NULL;
	_cleanup_(json_decrefp) json_t *written = NULL;
	_cleanup_(freep) char *text = NULL;
	uint8_t first[32], second[32];
	unsigned scope;
	char *rule, *p;

	if (request_from_json(json, &request) != 0)
		return;
	written = request_to_json(request);
	if (!written || request_from_json(written, &back) != 0 || !request_same(request, back))
		abort();
	request_fingerprint(request, "id", "rule", digest, first);
	request_fingerprint(back, "id", "rule", digest, second);
	if (memcmp(first, second, sizeof(first)) != 0)
		abort();
	text = request_object_text(request);
	for (p = text; p && *p; p++)
		if ((unsigned char)*p < 0x20)
			abort();
	for (scope = 0; scope < _GRANT_SCOPE_N; scope++) {
		if (!(grant_scopes_for(request) & 1u << scope))
			continue;
		rule = grant_rule_text(request, (enum grant_scope)scope);
		for (p = rule; p && *p; p++)
			if ((unsigned char)*p < 0x20 || (unsigned char)*p >= 0x7f)
				abort();
		free(rule);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(json_decrefp) json_t *json = NULL;
	_cleanup_(spec_freep) struct session_spec *spec = NULL;
	_cleanup_(grant_freep) struct grant *grant = NULL;

	if (json_parse_strict((const char *)data, size, REQUEST_JSON_MAX, &json) != 0)
		return 0;
	check_request(json);
	if (grant_from_json(json, &grant) == 0 &&
		grant_covers(grant, grant->like, grant->rule, 0) && grant->scope == GRANT_HOST &&
		grant->like->proto == NET_UNIX)
		abort();
	(void)!spec_from_json(json, &spec);
	return 0;
}
