/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */

#include "supervisord/proto/op.h"

#include <string.h>

static const char *const op_names[_OP_N] = {
	[OP_READ] = "read",
	[OP_WRITE] = "write",
	[OP_CREATE] = "create",
	[OP_DELETE] = "delete",
	[OP_RENAME] = "rename",
	[OP_LINK] = "link",
	[OP_CHMOD] = "chmod",
	[OP_LIST] = "list",
	[OP_EXEC] = "exec",
	[OP_CONNECT] = "connect",
	[OP_LISTEN] = "listen",
	[OP_SIGNAL] = "signal",
};

static const char *const verdict_names[_VERDICT_N] = {
	[VERDICT_ALLOW] = "allow",
	[VERDICT_ASK] = "ask",
	[VERDICT_HIDE] = "hide",
	[VERDICT_DENY] = "deny",
};

static const char *const net_proto_names[_NET_PROTO_N] = {
	[NET_TCP] = "tcp",
	[NET_UDP] = "udp",
	[NET_UNIX] = "unix",
};

static const char *const policy_layer_names[_LAYER_N] = {
	[LAYER_BUILTIN] = "builtin",
	[LAYER_ORG] = "org",
	[LAYER_USER] = "user",
	[LAYER_PROJECT] = "project",
	[LAYER_SESSION] = "session",
};

static const char *name_at(const char *const *names, size_t n, size_t i)
{
	return i < n ? names[i] : "?";
}

/* The index of NAME, or -EINVAL. */
static int name_find(const char *const *names, size_t n, const char *name)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (strcmp(names[i], name) == 0)
			return (int)i;
	return -EINVAL;
}

const char *op_name(enum op op)
{
	return name_at(op_names, _OP_N, (size_t)op);
}

const char *verdict_name(enum verdict verdict)
{
	return name_at(verdict_names, _VERDICT_N, (size_t)verdict);
}

const char *net_proto_name(enum net_proto proto)
{
	return name_at(net_proto_names, _NET_PROTO_N, (size_t)proto);
}

const char *policy_layer_name(enum policy_layer layer)
{
	return name_at(policy_layer_names, _LAYER_N, (size_t)layer);
}

int op_from_name(const char *name, enum op *opp)
{
	int i = name_find(op_names, _OP_N, name);

	if (i < 0)
		return i;
	*opp = (enum op)i;
	return 0;
}

int verdict_from_name(const char *name, enum verdict *verdictp)
{
	int i = name_find(verdict_names, _VERDICT_N, name);

	if (i < 0)
		return i;
	*verdictp = (enum verdict)i;
	return 0;
}

int net_proto_from_name(const char *name, enum net_proto *protop)
{
	int i = name_find(net_proto_names, _NET_PROTO_N, name);

	if (i < 0)
		return i;
	*protop = (enum net_proto)i;
	return 0;
}

int policy_layer_from_name(const char *name, enum policy_layer *layerp)
{
	int i = name_find(policy_layer_names, _LAYER_N, name);

	if (i < 0)
		return i;
	*layerp = (enum policy_layer)i;
	return 0;
}
