/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */

#include "supervisord/proto/request.h"

#include <arpa/inet.h>
#include <limits.h>
#include <sodium.h>
#include <string.h>

#include "supervisord/base/buf.h"
#include "supervisord/base/display.h"
#include "supervisord/base/error.h"
#include "supervisord/base/parse.h"

#define REQUEST_TEXT_MAX (4 * REQUEST_JSON_MAX)

struct request *request_new(enum op op)
{
	struct request *request = calloc(1, sizeof(*request));

	if (request)
		request->op = op;
	return request;
}

void request_free(struct request *request)
{
	if (!request)
		return;
	json_bytes_array_free(request->argv, request->n_argv);
	json_bytes_array_free(request->command, request->n_command);
	free(request->path);
	free(request->alias);
	free(request->other);
	free(request->interpreter);
	free(request->host);
	free(request->program);
	free(request->cwd);
	free(request->session);
	free(request);
}

static bool request_is_net(const struct request *request)
{
	return request->op == OP_CONNECT || request->op == OP_LISTEN;
}

/* The program that really runs, then the arguments. The agent chooses argv[0] freely: where it does
 * not name the program, it is shown behind it instead of in its place. */
static void request_put_argv(struct buf *out, const struct request *request)
{
	const char *name = request->n_argv ? request->argv[0] : NULL;
	const char *path = request->path ? request->path : "";
	const char *last = strrchr(path, '/');
	_cleanup_(freep) char *program = display_argv(&path, 1);
	_cleanup_(freep) char *rest = NULL;
	_cleanup_(freep) char *shown = NULL;
	const char *const *argv;
	size_t skip = name ? 1 : 0;

	/* An array of writable strings read as one of constant strings. */
	memcpy(&argv, &request->argv, sizeof(argv));
	rest = display_argv(skip ? argv + 1 : NULL, request->n_argv - skip);
	if (!program || !rest) {
		out->error = -ENOMEM;
		return;
	}
	(void)buf_puts(out, program);
	if (name && strcmp(name, path) != 0 && (!last || strcmp(name, last + 1) != 0)) {
		shown = display_argv(&name, 1);
		if (!shown) {
			out->error = -ENOMEM;
			return;
		}
		(void)buf_printf(out, " (called %s)", shown);
	}
	if (*rest)
		(void)buf_printf(out, " %s", rest);
}

static void request_put_text(struct buf *out, const char *text)
{
	_cleanup_(freep) char *shown = display_escape(text, strlen(text), NULL);

	if (shown)
		(void)buf_puts(out, shown);
	else
		out->error = -ENOMEM;
}

static void request_put_host(struct buf *out, const struct request *request)
{
	const char *host = request->host;
	char numeric[INET6_ADDRSTRLEN] = "";

	if (!host) {
		if (IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)(const void *)request->addr))
			(void)inet_ntop(AF_INET, request->addr + 12, numeric, sizeof(numeric));
		else
			(void)inet_ntop(AF_INET6, request->addr, numeric, sizeof(numeric));
		host = numeric;
	}
	if (strchr(host, ':'))
		(void)buf_putc(out, '[');
	request_put_text(out, host);
	if (strchr(host, ':'))
		(void)buf_putc(out, ']');
	(void)buf_printf(out, ":%u", request->port);
}

char *request_object_text(const struct request *request)
{
	_cleanup_(buf_deinit) struct buf out;

	buf_init(&out, REQUEST_TEXT_MAX);
	if (request->op == OP_EXEC) {
		request_put_argv(&out, request);
	} else if (request_is_net(request) && request->proto != NET_UNIX) {
		request_put_host(&out, request);
	} else {
		if (request->path)
			request_put_text(&out, request->path);
		if (request->path && request->other)
			(void)buf_puts(&out, " -> ");
		if (request->other)
			request_put_text(&out, request->other);
	}
	return buf_take(&out);
}

/* The strings of a request by the names that they have in messages. */
#define REQUEST_STRINGS(X)                                                                         \
	X(path)                                                                                    \
	X(alias)                                                                                   \
	X(other)                                                                                   \
	X(interpreter)                                                                             \
	X(host)                                                                                    \
	X(program)                                                                                 \
	X(cwd)                                                                                     \
	X(session)

static int request_set_string(json_t *json, const char *key, const char *value)
{
	return value ? json_set_bytes(json, key, value, strlen(value)) : 0;
}

static int request_set_u64(json_t *json, const char *key, uint64_t value)
{
	return value > INT64_MAX ? -1
				 : json_object_set_new(json, key, json_integer((json_int_t)value));
}

static int request_set_net(json_t *json, const struct request *request)
{
	char addr[2 * sizeof(request->addr) + 1];

	format_hex(request->addr, sizeof(request->addr), addr);
	if (json_object_set_new(json, "proto", json_string(net_proto_name(request->proto))) < 0 ||
		json_object_set_new(json, "addr", json_string(addr)) < 0)
		return -ENOMEM;
	return request_set_u64(json, "port", request->port);
}

json_t *request_to_json(const struct request *request)
{
	_cleanup_(json_decrefp) json_t *json = json_object();

	if (!json || json_object_set_new(json, "op", json_string(op_name(request->op))) < 0)
		return NULL;
#define SET(name)                                                                                  \
	if (request_set_string(json, #name, request->name) < 0)                                    \
		return NULL;
	REQUEST_STRINGS(SET)
#undef SET
	if (request->fresh_repo && json_object_set_new(json, "fresh_repo", json_true()) < 0)
		return NULL;
	if (request->op == OP_EXEC &&
		json_set_bytes_array(json, "argv", request->argv, request->n_argv) < 0)
		return NULL;
	if (request->n_command > 0 &&
		json_set_bytes_array(json, "command", request->command, request->n_command) < 0)
		return NULL;
	if (request_is_net(request) && request_set_net(json, request) < 0)
		return NULL;
	if (request_set_u64(json, "pid", (uint64_t)request->pid) < 0 ||
		request_set_u64(json, "inner_pid", (uint64_t)request->inner_pid) < 0 ||
		request_set_u64(json, "start_ticks", request->start_ticks) < 0 ||
		request_set_u64(json, "uid", request->uid) < 0)
		return NULL;
	return TAKE_PTR(json);
}

/* Reads a number of at most MAX. */
static uint64_t request_read_u64(struct json_reader *reader, const char *key, uint64_t max)
{
	uint64_t value = json_read_u64(reader, key, true);

	if (value <= max)
		return value;
	reader->error = -EBADMSG;
	return 0;
}

static void request_read_net(struct json_reader *reader, struct request *request)
{
	const char *proto = json_read_str(reader, "proto", true);
	const char *addr = json_read_str(reader, "addr", true);

	request->port = (uint16_t)request_read_u64(reader, "port", UINT16_MAX);
	if (reader->error)
		return;
	if (net_proto_from_name(proto, &request->proto) < 0 ||
		parse_hex(addr, request->addr, sizeof(request->addr)) < 0)
		reader->error = -EBADMSG;
}

/* Does every member that its operation needs stand there, and none that contradicts it? */
static bool request_is_complete(const struct request *request)
{
	if (OP_MASK(request->op) & OP_MASK_FILE)
		return request->path && request->path[0] == '/';
	if (request->op == OP_EXEC)
		return request->path && request->path[0];
	if (request_is_net(request))
		return request->proto != NET_UNIX || (request->path && !request->host);
	return true;
}

int request_from_json(json_t *json, struct request **requestp)
{
	_cleanup_(request_freep) struct request *request = request_new(OP_READ);
	struct json_reader reader;
	const char *op;
	int r;

	if (!request)
		return err_trace(-ENOMEM);
	json_reader_init(&reader, json);
	op = json_read_str(&reader, "op", true);
	if (!op || op_from_name(op, &request->op) < 0)
		return -EBADMSG;
#define READ(name) json_read_bytes(&reader, #name, false, &request->name, NULL);
	REQUEST_STRINGS(READ)
#undef READ
	request->fresh_repo = json_read_bool(&reader, "fresh_repo", false);
	if (request->op == OP_EXEC)
		json_read_bytes_array(
			&reader, "argv", true, REQUEST_ARGV_MAX, &request->argv, &request->n_argv);
	json_read_bytes_array(&reader, "command", false, REQUEST_ARGV_MAX, &request->command,
		&request->n_command);
	if (request_is_net(request))
		request_read_net(&reader, request);
	request->pid = (pid_t)request_read_u64(&reader, "pid", INT_MAX);
	request->inner_pid = (pid_t)request_read_u64(&reader, "inner_pid", INT_MAX);
	request->start_ticks = json_read_u64(&reader, "start_ticks", true);
	request->uid = (uid_t)request_read_u64(&reader, "uid", UINT32_MAX);
	r = json_reader_finish(&reader);
	if (r < 0)
		return r;
	if (!request_is_complete(request))
		return -EBADMSG;
	*requestp = TAKE_PTR(request);
	return 0;
}

/* A length as 8 bytes, low first, on every machine. */
static void request_hash_length(crypto_generichash_state *state, uint64_t length)
{
	uint8_t bytes[8];
	size_t i;

	for (i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(length >> (8 * i));
	(void)crypto_generichash_update(state, bytes, sizeof(bytes));
}

static void request_hash_bytes(crypto_generichash_state *state, const void *data, size_t size)
{
	request_hash_length(state, size);
	(void)crypto_generichash_update(state, data, size);
}

/* No string and the empty string differ. */
static void request_hash_string(crypto_generichash_state *state, const char *text)
{
	if (text)
		request_hash_bytes(state, text, strlen(text));
	else
		request_hash_length(state, UINT64_MAX);
}

void request_fingerprint(const struct request *request, const char *id, const char *rule,
	const uint8_t policy_digest[32], uint8_t out[32])
{
	const uint8_t port[2] = {(uint8_t)(request->port >> 8), (uint8_t)request->port};
	crypto_generichash_state state;
	size_t i;

	(void)crypto_generichash_init(&state, NULL, 0, 32);
	request_hash_string(&state, "agent-supervisor request 1");
	request_hash_string(&state, id);
	request_hash_string(&state, request->session);
	request_hash_string(&state, op_name(request->op));
	request_hash_string(&state, request->path);
	request_hash_string(&state, request->alias);
	request_hash_string(&state, request->other);
	request_hash_length(&state, request->n_argv);
	for (i = 0; i < request->n_argv; i++)
		request_hash_string(&state, request->argv[i]);
	request_hash_string(&state, request->interpreter);
	request_hash_string(
		&state, request_is_net(request) ? net_proto_name(request->proto) : NULL);
	request_hash_string(&state, request->host);
	request_hash_bytes(&state, request->addr, sizeof(request->addr));
	request_hash_bytes(&state, port, sizeof(port));
	request_hash_string(&state, request->program);
	request_hash_string(&state, rule);
	request_hash_bytes(&state, policy_digest, 32);
	(void)crypto_generichash_final(&state, out, 32);
}

static bool request_string_same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

bool request_same(const struct request *a, const struct request *b)
{
	size_t i;

	if (a->op != b->op || a->n_argv != b->n_argv || a->proto != b->proto ||
		a->port != b->port || memcmp(a->addr, b->addr, sizeof(a->addr)) != 0)
		return false;
	for (i = 0; i < a->n_argv; i++)
		if (strcmp(a->argv[i], b->argv[i]) != 0)
			return false;
	/* "rm -rf build" does in each folder something else. */
	if (a->op == OP_EXEC && !request_string_same(a->cwd, b->cwd))
		return false;
	return request_string_same(a->path, b->path) && request_string_same(a->alias, b->alias) &&
	       request_string_same(a->other, b->other) &&
	       request_string_same(a->interpreter, b->interpreter) &&
	       request_string_same(a->host, b->host) && request_string_same(a->program, b->program);
}
