/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */

#include "supervisord/proto/grant.h"

#include <arpa/inet.h>
#include <string.h>

#include "supervisord/base/buf.h"
#include "supervisord/base/error.h"

#define GRANT_TEXT_MAX (4 * REQUEST_JSON_MAX)

static const char *const grant_scope_names[_GRANT_SCOPE_N] = {
	[GRANT_EXACT] = "exact",
	[GRANT_DIR] = "dir",
	[GRANT_SUBCOMMAND] = "subcommand",
	[GRANT_PROGRAM] = "program",
	[GRANT_HOST] = "host",
};

static const char *const grant_duration_names[_GRANT_DURATION_N] = {
	[GRANT_ONCE] = "once",
	[GRANT_SESSION] = "session",
	[GRANT_SPAN] = "span",
	[GRANT_FOREVER] = "forever",
};

const char *grant_scope_name(enum grant_scope scope)
{
	return (size_t)scope < _GRANT_SCOPE_N ? grant_scope_names[scope] : "?";
}

int grant_scope_from_name(const char *name, enum grant_scope *scopep)
{
	size_t i;

	for (i = 0; i < _GRANT_SCOPE_N; i++)
		if (strcmp(grant_scope_names[i], name) == 0) {
			*scopep = (enum grant_scope)i;
			return 0;
		}
	return -EINVAL;
}

const char *grant_duration_name(enum grant_duration duration)
{
	return (size_t)duration < _GRANT_DURATION_N ? grant_duration_names[duration] : "?";
}

static int grant_duration_from_name(const char *name, enum grant_duration *durationp)
{
	size_t i;

	for (i = 0; i < _GRANT_DURATION_N; i++)
		if (strcmp(grant_duration_names[i], name) == 0) {
			*durationp = (enum grant_duration)i;
			return 0;
		}
	return -EINVAL;
}

static bool grant_is_net(const struct request *request)
{
	return request->op == OP_CONNECT || request->op == OP_LISTEN;
}

/* Bytes of the folder of PATH, without the slash behind it; 0 where that is the root. */
static size_t grant_folder_size(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? (size_t)(slash - path) : 0;
}

/* How many elements of argv the subcommand scope fixes: all up to the first argument that is not an
 * option. Options in front of it count, because they may change what it does. 0 = there is none. */
static size_t grant_subcommand_size(const struct request *request)
{
	size_t i;

	for (i = 1; i < request->n_argv; i++)
		if (request->argv[i][0] != '-')
			return i + 1;
	return 0;
}

unsigned grant_scopes_for(const struct request *request)
{
	unsigned scopes = 1u << GRANT_EXACT;

	/* Nobody means everything below the root when asked about one file. */
	if ((OP_MASK(request->op) & OP_MASK_FILE) && grant_folder_size(request->path) > 0)
		scopes |= 1u << GRANT_DIR;
	if (request->op == OP_EXEC)
		scopes |= 1u << GRANT_PROGRAM;
	if (request->op == OP_EXEC && grant_subcommand_size(request) > 0)
		scopes |= 1u << GRANT_SUBCOMMAND;
	if (grant_is_net(request) && request->proto != NET_UNIX)
		scopes |= 1u << GRANT_HOST;
	return scopes;
}

/* SIZE bytes as a string of the policy language that stands for exactly these bytes: whatever is
 * not plainly itself there, wildcards included, becomes \xHH. */
static void grant_put_quoted(struct buf *out, const char *text, size_t size, const char *suffix)
{
	size_t i;

	(void)buf_puts(out, " \"");
	for (i = 0; i < size; i++)
		if (text[i] == '"' || text[i] == '\\')
			(void)buf_printf(out, "\\%c", text[i]);
		else if (text[i] < 0x20 || text[i] >= 0x7f || strchr("*?[]{}$", text[i]))
			(void)buf_printf(out, "\\x%02x", (unsigned)(unsigned char)text[i]);
		else
			(void)buf_putc(out, text[i]);
	(void)buf_printf(out, "%s\"", suffix);
}

static void grant_put_exec(struct buf *out, const struct request *request, enum grant_scope scope)
{
	size_t n, i;

	(void)buf_puts(out, " args");
	n = scope == GRANT_SUBCOMMAND ? grant_subcommand_size(request)
	    : scope == GRANT_EXACT    ? request->n_argv
				      : 1;
	for (i = 1; i < n; i++)
		grant_put_quoted(out, request->argv[i], strlen(request->argv[i]), "");
	if (scope != GRANT_EXACT)
		(void)buf_puts(out, " ...");
}

static void grant_put_net(struct buf *out, const struct request *request, enum grant_scope scope)
{
	const char *path = request->path ? request->path : "";
	const char *host = request->host;
	char numeric[INET6_ADDRSTRLEN] = "";

	(void)buf_printf(out, " %s", net_proto_name(request->proto));
	if (request->proto == NET_UNIX) {
		grant_put_quoted(out, path, strlen(path), "");
		return;
	}
	if (!host) {
		if (IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)(const void *)request->addr))
			(void)inet_ntop(AF_INET, request->addr + 12, numeric, sizeof(numeric));
		else
			(void)inet_ntop(AF_INET6, request->addr, numeric, sizeof(numeric));
		host = numeric;
	}
	grant_put_quoted(out, host, strlen(host), "");
	if (scope == GRANT_HOST)
		(void)buf_puts(out, " port any");
	else
		(void)buf_printf(out, " port %u", request->port);
}

char *grant_rule_text(const struct request *request, enum grant_scope scope)
{
	const char *path = request->path ? request->path : "";
	_cleanup_(buf_deinit) struct buf out;

	buf_init(&out, GRANT_TEXT_MAX);
	(void)buf_printf(&out, "grant %s", op_name(request->op));
	if (grant_is_net(request)) {
		grant_put_net(&out, request, scope);
	} else if (scope == GRANT_DIR) {
		grant_put_quoted(&out, path, grant_folder_size(path), "/**");
	} else {
		grant_put_quoted(&out, path, strlen(path), "");
		if (request->op == OP_EXEC)
			grant_put_exec(&out, request, scope);
	}
	return buf_take(&out);
}

static bool grant_same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Has PATH a component that could lead out of the folder in front of it? */
static bool grant_has_dots(const char *path)
{
	const char *part;
	size_t size;

	for (part = path; *part; part += size) {
		part += strspn(part, "/");
		size = strcspn(part, "/");
		if ((size == 1 && part[0] == '.') ||
			(size == 2 && part[0] == '.' && part[1] == '.'))
			return true;
	}
	return false;
}

static bool grant_covers_dir(const struct request *like, const struct request *request)
{
	size_t size = grant_folder_size(like->path);

	if (size == 0 || !request->path || !(OP_MASK(like->op) & OP_MASK_FILE))
		return false;
	return strncmp(like->path, request->path, size) == 0 && request->path[size] == '/' &&
	       request->path[size + 1] && !grant_has_dots(request->path);
}

static bool grant_covers_exec(
	enum grant_scope scope, const struct request *like, const struct request *request)
{
	size_t n, i;

	if (!grant_same(like->path, request->path) ||
		!grant_same(like->interpreter, request->interpreter))
		return false;
	if (scope == GRANT_PROGRAM)
		return true;
	if (scope == GRANT_EXACT) {
		if (like->n_argv != request->n_argv)
			return false;
		n = like->n_argv;
		i = 0;
	} else {
		n = grant_subcommand_size(like);
		if (scope != GRANT_SUBCOMMAND || n == 0 || request->n_argv < n)
			return false;
		i = 1; /* the name that the caller gave does not matter to a scope wider than exact
			*/
	}
	for (; i < n; i++)
		if (strcmp(like->argv[i], request->argv[i]) != 0)
			return false;
	return true;
}

/* Is TEXT an address in numbers? Such a host says what its addr says. */
static bool grant_is_numeric(const char *text)
{
	struct in6_addr addr;

	return inet_pton(AF_INET, text, &addr) == 1 || inet_pton(AF_INET6, text, &addr) == 1;
}

static bool grant_covers_net(
	enum grant_scope scope, const struct request *like, const struct request *request)
{
	if (like->proto != request->proto)
		return false;
	if (like->proto == NET_UNIX)
		return scope == GRANT_EXACT && like->path && grant_same(like->path, request->path);
	if (!grant_same(like->host, request->host))
		return false;
	/* A name was judged as a name, whatever address it has today. */
	if ((!like->host || grant_is_numeric(like->host)) &&
		memcmp(like->addr, request->addr, sizeof(like->addr)) != 0)
		return false;
	return scope == GRANT_HOST || (scope == GRANT_EXACT && like->port == request->port);
}

bool grant_covers(const struct grant *grant, const struct request *request, const char *rule,
	uint64_t now_usec)
{
	const struct request *like = grant->like;

	if (like->op != request->op || !grant->rule || !rule || strcmp(grant->rule, rule) != 0)
		return false;
	if (grant->deadline_usec ? now_usec >= grant->deadline_usec : grant->duration == GRANT_SPAN)
		return false;
	/* The two short durations end with their session. */
	if ((grant->duration == GRANT_ONCE || grant->duration == GRANT_SESSION) && like->session &&
		request->session && strcmp(like->session, request->session) != 0)
		return false;
	if (request->op == OP_EXEC)
		return grant_covers_exec(grant->scope, like, request);
	if (grant_is_net(request))
		return grant_covers_net(grant->scope, like, request);
	if (grant->scope == GRANT_DIR)
		return grant_covers_dir(like, request);
	return grant->scope == GRANT_EXACT && grant_same(like->path, request->path) &&
	       grant_same(like->other, request->other);
}

json_t *grant_to_json(const struct grant *grant)
{
	_cleanup_(json_decrefp) json_t *json = json_object();

	if (!json || grant->deadline_usec > INT64_MAX)
		return NULL;
	if (json_object_set_new(json, "id", json_string(grant->id)) < 0 ||
		json_object_set_new(json, "scope", json_string(grant_scope_name(grant->scope))) <
			0 ||
		json_object_set_new(
			json, "duration", json_string(grant_duration_name(grant->duration))) < 0 ||
		json_object_set_new(json, "deadline_usec",
			json_integer((json_int_t)grant->deadline_usec)) < 0 ||
		json_set_bytes(json, "rule", grant->rule, strlen(grant->rule)) < 0 ||
		json_object_set_new(json, "like", request_to_json(grant->like)) < 0)
		return NULL;
	return TAKE_PTR(json);
}

int grant_from_json(json_t *json, struct grant **grantp)
{
	_cleanup_(grant_freep) struct grant *grant = calloc(1, sizeof(*grant));
	const char *scope, *duration;
	struct json_reader reader;
	json_t *like;
	int r;

	if (!grant)
		return err_trace(-ENOMEM);
	json_reader_init(&reader, json);
	json_read_bytes(&reader, "id", true, &grant->id, NULL);
	scope = json_read_str(&reader, "scope", true);
	duration = json_read_str(&reader, "duration", true);
	grant->deadline_usec = json_read_u64(&reader, "deadline_usec", true);
	json_read_bytes(&reader, "rule", true, &grant->rule, NULL);
	like = json_read_object(&reader, "like", true);
	r = json_reader_finish(&reader);
	if (r < 0)
		return r;
	if (grant_scope_from_name(scope, &grant->scope) < 0 ||
		grant_duration_from_name(duration, &grant->duration) < 0)
		return -EBADMSG;
	r = request_from_json(like, &grant->like);
	if (r < 0)
		return r;
	*grantp = TAKE_PTR(grant);
	return 0;
}

void grant_free(struct grant *grant)
{
	if (!grant)
		return;
	free(grant->id);
	free(grant->rule);
	request_free(grant->like);
	free(grant);
}
