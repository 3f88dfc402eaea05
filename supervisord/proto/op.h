/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_PROTO_OP_H
#define SUPERVISORD_PROTO_OP_H

/* The words of the decision: operation, verdict, protocol, layer. Their numbers never travel; their
 * names do (policies, messages, records). */

#include "supervisord/base/cleanup.h"

enum op {
	OP_READ,
	OP_WRITE,
	OP_CREATE,
	OP_DELETE,
	OP_RENAME,
	OP_LINK,
	OP_CHMOD, /* chmod, chown, utimes, xattr */
	OP_LIST,
	OP_EXEC,
	OP_CONNECT,
	OP_LISTEN,
	OP_SIGNAL,
	_OP_N,
};

#define OP_MASK(op) (1u << (op))
#define OP_MASK_FILE                                                                               \
	(OP_MASK(OP_READ) | OP_MASK(OP_WRITE) | OP_MASK(OP_CREATE) | OP_MASK(OP_DELETE) |          \
		OP_MASK(OP_RENAME) | OP_MASK(OP_LINK) | OP_MASK(OP_CHMOD) | OP_MASK(OP_LIST))

/* Ordered: the larger is the stricter. */
enum verdict {
	VERDICT_ALLOW,
	VERDICT_ASK,
	VERDICT_HIDE,
	VERDICT_DENY,
	_VERDICT_N,
};

enum net_proto {
	NET_TCP,
	NET_UDP,
	NET_UNIX,
	_NET_PROTO_N,
};

enum policy_layer {
	LAYER_BUILTIN,
	LAYER_ORG,
	LAYER_USER,
	LAYER_PROJECT,
	LAYER_SESSION,
	_LAYER_N,
};

/* Names as in the policy language; "?" for a number out of range. */
const char *op_name(enum op op);
const char *verdict_name(enum verdict verdict);
const char *net_proto_name(enum net_proto proto);
const char *policy_layer_name(enum policy_layer layer);

/* 0, or -EINVAL for an unknown word. */
int op_from_name(const char *name, enum op *opp) _must_use_;
int verdict_from_name(const char *name, enum verdict *verdictp) _must_use_;
int net_proto_from_name(const char *name, enum net_proto *protop) _must_use_;
int policy_layer_from_name(const char *name, enum policy_layer *layerp) _must_use_;

#endif
