/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "policy-lang/host.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#include "supervisord/base/parse.h"

#define HOST_MAX 253

static const uint8_t v4_mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

bool host_parse_address(const char *text, uint8_t addr[16], bool *is_v4p)
{
	char buffer[INET6_ADDRSTRLEN + 3];
	size_t size = strlen(text);

	if (size >= 2 && text[0] == '[' && text[size - 1] == ']') {
		text++;
		size -= 2;
	}
	if (size >= sizeof(buffer))
		return false;
	memcpy(buffer, text, size);
	buffer[size] = '\0';
	*is_v4p = false;
	if (inet_pton(AF_INET, buffer, addr + 12) == 1) {
		memcpy(addr, v4_mapped, sizeof(v4_mapped));
		*is_v4p = true;
		return true;
	}
	if (inet_pton(AF_INET6, buffer, addr) != 1)
		return false;
	*is_v4p = !memcmp(addr, v4_mapped, sizeof(v4_mapped));
	return true;
}

static const char *name_fault(const char *name, size_t size)
{
	size_t label = 0;

	if (!size)
		return "the name of a host is missing";
	if (size > HOST_MAX)
		return "this is longer than the name of a host can be";
	for (size_t i = 0; i < size; i++) {
		unsigned char c = (unsigned char)name[i];

		if (c == '.') {
			if (!label)
				return "an empty label in the name of a host";
			label = 0;
			continue;
		}
		if (c >= 0x80)
			return "write the host in its ASCII form (xn--...)";
		if (c == '*')
			return "a star stands in front: \"*.name\" for one label, \"**.name\" for "
			       "any";
		if (c == '/' || c == ':')
			return "a host is a name, an address or a network; the port is a clause";
		if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_'))
			return "this character cannot be in the name of a host";
		if (++label > 63)
			return "a label of this host is longer than 63 characters";
	}
	return NULL;
}

/* "1.2.3", "0x7f.1", "2130706433": programs take them for addresses, the policy would not. */
static bool looks_numeric(const char *name, size_t size)
{
	const char *last = memrchr(name, '.', size);

	last = last ? last + 1 : name;
	if (*last >= '0' && *last <= '9')
		return true;
	return false;
}

static const char *read_name(struct arena *arena, struct host_pattern *pattern, const char *text)
{
	size_t size = strlen(text);
	const char *fault;
	char *name;

	pattern->kind = HOST_NAME;
	if (size > 2 && !memcmp(text, "*.", 2)) {
		pattern->kind = HOST_ONE_LABEL;
		text += 2;
	} else if (size > 3 && !memcmp(text, "**.", 3)) {
		pattern->kind = HOST_LABELS;
		text += 3;
	} else if (!strcmp(text, "*") || !strcmp(text, "**")) {
		return "a pattern for every host is not accepted; use `default` for that";
	}
	size = strlen(text);
	if (size && text[size - 1] == '.')
		size--;
	name = arena_copy(arena, text, size);
	if (!name)
		return NULL;
	for (size_t i = 0; i < size; i++)
		if (name[i] >= 'A' && name[i] <= 'Z')
			name[i] = (char)(name[i] - 'A' + 'a');
	fault = name_fault(name, size);
	if (fault)
		return fault;
	if (looks_numeric(name, size))
		return "this is not a complete address; write all four numbers or a network "
		       "a.b.c.d/N";
	if (pattern->kind != HOST_NAME && !memchr(name, '.', size))
		return "this covers a whole top-level domain";
	if (pattern->kind == HOST_NAME && !strcmp(name, "localhost"))
		pattern->kind = HOST_LOCAL;
	pattern->name = name;
	pattern->size = size;
	return NULL;
}

static const char *read_network(struct host_pattern *pattern, const char *text, const char *slash)
{
	char address[64];
	size_t size = (size_t)(slash - text);
	uint64_t bits;
	bool is_v4;

	if (size >= sizeof(address))
		return "this is no network; write a.b.c.d/N or an IPv6 prefix";
	memcpy(address, text, size);
	address[size] = '\0';
	if (!host_parse_address(address, pattern->addr, &is_v4))
		return "this is no network; write a.b.c.d/N or an IPv6 prefix";
	if (parse_u64(slash + 1, is_v4 ? 32 : 128, &bits) < 0)
		return is_v4 ? "the length of an IPv4 prefix is 0 to 32"
			     : "the length of an IPv6 prefix is 0 to 128";
	pattern->kind = HOST_NETWORK;
	pattern->bits = (unsigned)bits + (is_v4 ? 96 : 0);
	for (unsigned i = pattern->bits; i < 128; i++)
		if (pattern->addr[i / 8] & (0x80u >> i % 8))
			return "this network has bits set behind its prefix";
	return NULL;
}

struct host_pattern *host_pattern_new(struct arena *arena, const char *text, const char **messagep)
{
	struct host_pattern *pattern = arena_alloc(arena, sizeof(*pattern));
	const char *slash = strchr(text, '/');
	bool is_v4;

	*messagep = NULL;
	if (!pattern)
		return NULL;
	if (slash && slash != text) {
		*messagep = read_network(pattern, text, slash);
	} else if (host_parse_address(text, pattern->addr, &is_v4)) {
		pattern->kind = HOST_NETWORK;
		pattern->bits = 128;
		return pattern;
	} else {
		*messagep = read_name(arena, pattern, text);
		if (!*messagep && !pattern->name)
			return NULL;
	}
	return *messagep ? NULL : pattern;
}

/* The IPv4 address inside an IPv6 one, in mapped form. */
static bool find_inner(const uint8_t addr[16], uint8_t inner[16])
{
	static const uint8_t nat64[12] = {0, 0x64, 0xff, 0x9b};
	static const uint8_t zeros[12] = {0};

	memcpy(inner, v4_mapped, sizeof(v4_mapped));
	if (!memcmp(addr, nat64, sizeof(nat64))) {
		memcpy(inner + 12, addr + 12, 4);
		return true;
	}
	if (addr[0] == 0x20 && addr[1] == 0x02) {
		memcpy(inner + 12, addr + 2, 4);
		return true;
	}
	/* ::a.b.c.d, but neither :: nor ::1 */
	if (!memcmp(addr, zeros, sizeof(zeros)) && (addr[12] || addr[13] || addr[14])) {
		memcpy(inner + 12, addr + 12, 4);
		return true;
	}
	return false;
}

void host_view_init(struct host_view *view, const char *host, const uint8_t addr[16])
{
	static const uint8_t zeros[16] = {0};
	bool is_v4;

	*view = (struct host_view){.has_addr = memcmp(addr, zeros, 16) != 0};
	memcpy(view->addr, addr, 16);
	if (host && host_parse_address(host, view->addr, &is_v4)) {
		view->has_addr = true;
	} else if (host) {
		memcpy(view->addr, addr, 16);
		view->name = host;
		view->size = strlen(host);
		if (view->size && host[view->size - 1] == '.')
			view->size--;
	}
	if (view->has_addr)
		view->has_inner = find_inner(view->addr, view->inner);
}

static bool in_network(const struct host_pattern *pattern, const uint8_t addr[16])
{
	unsigned bytes = pattern->bits / 8, rest = pattern->bits % 8;

	if (memcmp(addr, pattern->addr, bytes) != 0)
		return false;
	return !rest || !((addr[bytes] ^ pattern->addr[bytes]) & (0xff00u >> rest & 0xff));
}

static bool is_loopback(const uint8_t addr[16], bool strict)
{
	static const uint8_t one[16] = {[15] = 1};
	static const uint8_t any[16] = {0};
	static const uint8_t any4[16] = {[10] = 0xff, [11] = 0xff};

	if (!memcmp(addr, v4_mapped, sizeof(v4_mapped)) && addr[12] == 127)
		return true;
	if (!memcmp(addr, one, 16))
		return true;
	/* Connecting to "any" reaches this host as well. */
	return strict && (!memcmp(addr, any, 16) || !memcmp(addr, any4, 16));
}

static bool name_is(const char *name, size_t size, const char *host, size_t host_size)
{
	return size == host_size && !strncasecmp(name, host, size);
}

static bool match_name(const struct host_pattern *pattern, const struct host_view *view)
{
	const char *tail;
	size_t label;

	if (!view->name)
		return false;
	if (pattern->kind == HOST_NAME)
		return name_is(pattern->name, pattern->size, view->name, view->size);
	if (view->size < pattern->size + 2)
		return false;
	tail = view->name + view->size - pattern->size;
	if (tail[-1] != '.' || strncasecmp(pattern->name, tail, pattern->size) != 0)
		return false;
	label = view->size - pattern->size - 1;
	return pattern->kind == HOST_LABELS || !memchr(view->name, '.', label);
}

bool host_pattern_match(
	const struct host_pattern *pattern, const struct host_view *view, bool strict)
{
	switch (pattern->kind) {
	case HOST_NETWORK:
		return (view->has_addr && in_network(pattern, view->addr)) ||
		       (strict && view->has_inner && in_network(pattern, view->inner));
	case HOST_LOCAL:
		if (view->name && name_is("localhost", 9, view->name, view->size))
			return true;
		return (view->has_addr && is_loopback(view->addr, strict)) ||
		       (strict && view->has_inner && is_loopback(view->inner, strict));
	case HOST_NAME:
	case HOST_ONE_LABEL:
	case HOST_LABELS:
		break;
	}
	return match_name(pattern, view);
}

bool host_pattern_includes(const struct host_pattern *outer, const struct host_pattern *inner)
{
	struct host_view view;
	static const uint8_t zeros[16] = {0};

	if (inner->kind == HOST_NETWORK)
		return outer->kind == HOST_NETWORK
			       ? outer->bits <= inner->bits && in_network(outer, inner->addr)
			       : outer->kind == HOST_LOCAL && inner->bits >= 104 &&
					 is_loopback(inner->addr, false);
	if (inner->kind == HOST_LOCAL)
		return outer->kind == HOST_LOCAL;
	if (inner->kind == HOST_NAME) {
		host_view_init(&view, inner->name, zeros);
		return host_pattern_match(outer, &view, false);
	}
	if (outer->kind == HOST_ONE_LABEL || outer->kind == HOST_LABELS) {
		bool same = name_is(outer->name, outer->size, inner->name, inner->size);

		if (same)
			return outer->kind == HOST_LABELS || inner->kind == HOST_ONE_LABEL;
		return outer->kind == HOST_LABELS && inner->size > outer->size + 1 &&
		       inner->name[inner->size - outer->size - 1] == '.' &&
		       !strncasecmp(
			       outer->name, inner->name + inner->size - outer->size, outer->size);
	}
	return false;
}
