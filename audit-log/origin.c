/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "audit-log/origin.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "supervisord/base/error.h"
#include "supervisord/base/file.h"
#include "supervisord/base/json.h"

#define ORIGIN_MAX 65536

int audit_origin_read(int dir_fd, struct audit_origin *origin)
{
	_cleanup_(json_decrefp) json_t *json = NULL;
	_cleanup_(freep) char *text = NULL;
	struct json_reader reader;
	const char *name, *vkey, *created;
	json_t *vkeys;
	size_t size = 0;
	int r;

	memset(origin, 0, sizeof(*origin));
	r = file_read(dir_fd, AUDIT_ORIGIN_FILE, ORIGIN_MAX, &text, &size);
	if (r < 0)
		return r;
	/* One newline at the end, and nothing else around the object. */
	if (size == 0 || text[size - 1] != '\n')
		return -EBADMSG;
	if (json_parse_strict(text, size - 1, ORIGIN_MAX, &json) < 0 || !json_is_object(json))
		return -EBADMSG;
	json_reader_init(&reader, json);
	name = json_read_str(&reader, "origin", true);
	created = json_read_str(&reader, "created", true);
	vkeys = json_read_array(&reader, "vkeys", true);
	if (json_read_u64(&reader, "format", true) != AUDIT_FORMAT ||
		json_reader_finish(&reader) < 0 || json_array_size(vkeys) != 1)
		return -EBADMSG;
	vkey = json_string_value(json_array_get(vkeys, 0));
	if (!vkey || audit_vkey_parse(vkey, &origin->identity) != 0 ||
		origin->identity.type != AUDIT_KEY_ED25519)
		return -EBADMSG;
	if (!name || strcmp(name, origin->identity.name) != 0 || !created ||
		strlen(created) >= sizeof(origin->created))
		return -EBADMSG;
	memcpy(origin->created, created, strlen(created) + 1);
	return 0;
}

int audit_origin_write(int dir_fd, const struct audit_origin *origin)
{
	_cleanup_(freep) char *vkey = audit_vkey_format(&origin->identity);
	_cleanup_(json_decrefp) json_t *json = NULL;
	_cleanup_(freep) char *text = NULL, *line = NULL;

	if (!vkey)
		return err_trace(-ENOMEM);
	json = json_pack("{s:s, s:i, s:s, s:[s]}", "created", origin->created, "format",
		AUDIT_FORMAT, "origin", origin->identity.name, "vkeys", vkey);
	text = json ? json_write(json) : NULL;
	if (!text || asprintf(&line, "%s\n", text) < 0)
		return err_trace(-ENOMEM);
	return err_trace(file_replace(dir_fd, AUDIT_ORIGIN_FILE, line, strlen(line), 0600));
}

void audit_origin_make_name(char out[AUDIT_KEY_NAME_MAX + 1])
{
	char host[65] = "";

	if (gethostname(host, sizeof(host) - 1) < 0 || host[0] == '\0')
		memcpy(host, "localhost", sizeof("localhost"));
	for (char *p = host; *p; p++)
		if (!(*p >= 'a' && *p <= 'z') && !(*p >= 'A' && *p <= 'Z') &&
			!(*p >= '0' && *p <= '9') && *p != '.' && *p != '-')
			*p = '-';
	(void)snprintf(out, AUDIT_KEY_NAME_MAX + 1, "agent-supervisor/%s/%u/%08x", host,
		(unsigned)geteuid(), randombytes_random());
}
