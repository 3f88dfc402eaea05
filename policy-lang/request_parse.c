/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "policy-lang/set.h"

#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "policy-lang/suggest.h"
#include "supervisord/base/error.h"
#include "supervisord/base/parse.h"

struct builder {
	const struct policy_vars *vars;
	const char *cwd;
	bool resolve;
	struct request *request;
	char **messagep;
};

static int fault(struct builder *builder, const char *format, ...) _printf_(2, 3);

static int fault(struct builder *builder, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vasprintf(builder->messagep, format, args);
	va_end(args);
	if (n < 0) {
		*builder->messagep = NULL;
		return -ENOMEM;
	}
	return POLICY_E_INVALID;
}

/* TEXT as an absolute path, with variables and dots taken out. */
static int expand_path(struct builder *builder, const char *text, char **pathp)
{
	_cleanup_(arena_deinit) struct arena arena;
	const struct bind_context context = {.arena = &arena, .vars = builder->vars};
	_cleanup_(freep) char *joined = NULL;
	const char *message;
	const char *bound;

	arena_init(&arena);
	if (!*text)
		return fault(builder, "an empty path");
	bound = bind_text(&context, text, &message);
	if (!bound)
		return message ? fault(builder, "%s", message) : -ENOMEM;
	if (bound[0] != '/' && !builder->cwd)
		return fault(builder, "\"%s\" is not absolute", text);
	if (asprintf(&joined, "%s%s%s", bound[0] == '/' ? "" : builder->cwd,
		    bound[0] == '/' ? "" : "/", bound) < 0) {
		joined = NULL;
		return -ENOMEM;
	}
	*pathp = bind_clean_path(joined);
	return *pathp ? 0 : -ENOMEM;
}

/* The existing part of PATH without symbolic links; the last component itself is followed only
 * where FOLLOW is set. Owned by the caller. */
static char *resolve(const char *path, bool follow)
{
	_cleanup_(freep) char *head = strdup(path);
	char *slash;

	if (!head)
		return NULL;
	for (bool last = true;; last = false) {
		_cleanup_(freep) char *real = last && !follow ? NULL : realpath(head, NULL);
		char *joined = NULL;

		if (real) {
			const char *tail = path + strlen(head);

			if (!strcmp(real, "/") && *tail)
				real[0] = '\0';
			return asprintf(&joined, "%s%s", real, tail) < 0 ? NULL : joined;
		}
		slash = strrchr(head, '/');
		if (!slash || slash == head)
			return strdup(path);
		*slash = '\0';
	}
}

static bool follows(enum op op)
{
	return op != OP_DELETE && op != OP_RENAME && op != OP_LINK && op != OP_CREATE;
}

static int set_path(struct builder *builder, const char *text)
{
	struct request *request = builder->request;
	_cleanup_(freep) char *path = NULL;
	int r = expand_path(builder, text, &path);

	if (r)
		return r;
	if (builder->resolve && path) {
		request->path = resolve(path, follows(request->op));
		if (!request->path)
			return -ENOMEM;
		if (strcmp(request->path, path) != 0)
			request->alias = TAKE_PTR(path);
		return 0;
	}
	request->path = TAKE_PTR(path);
	return 0;
}

/* A bare command name, as a shell would find it. */
static int set_program(struct builder *builder, const char *text)
{
	static const char *const folders[] = {
		"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"};

	if (strchr(text, '/') || !builder->resolve)
		return set_path(builder, text);
	for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
		_cleanup_(freep) char *candidate = NULL;

		if (asprintf(&candidate, "%s/%s", folders[i], text) < 0) {
			candidate = NULL;
			return -ENOMEM;
		}
		if (!access(candidate, X_OK))
			return set_path(builder, candidate);
	}
	return fault(builder, "no program \"%s\" in the usual folders; give its path", text);
}

/* "#!/usr/bin/node" and the like: the interpreter of the script at PATH, resolved, or NULL. */
static char *script_interpreter(const char *path)
{
	FILE *file = fopen(path, "re");
	char line[256];
	char *name;

	if (!file)
		return NULL;
	if (!fgets(line, sizeof(line), file))
		line[0] = '\0';
	(void)fclose(file);
	if (line[0] != '#' || line[1] != '!')
		return NULL;
	name = line + 2 + strspn(line + 2, " \t");
	name[strcspn(name, " \t\r\n")] = '\0';
	return *name == '/' ? resolve(name, true) : NULL;
}

ANALYZER_ARRAY_BEGIN
static int build_exec(struct builder *builder, const char *const *words, size_t n)
{
	struct request *request = builder->request;
	int r;

	if (!n)
		return fault(builder, "exec: a program is missing");
	if (n > REQUEST_ARGV_MAX)
		return fault(builder, "exec: too many arguments");
	r = set_program(builder, words[0]);
	if (r)
		return r;
	request->argv = calloc(n + 1, sizeof(*request->argv));
	if (!request->argv)
		return -ENOMEM;
	for (; request->n_argv < n; request->n_argv++) {
		request->argv[request->n_argv] = strdup(words[request->n_argv]);
		if (!request->argv[request->n_argv])
			return -ENOMEM;
	}
	if (builder->resolve)
		request->interpreter = script_interpreter(request->path);
	return 0;
}
ANALYZER_ARRAY_END

static int set_host(struct builder *builder, const char *text)
{
	struct request *request = builder->request;
	char numeric[INET6_ADDRSTRLEN];
	bool is_v4;

	if (!*text || strchr(text, '/') || strchr(text, '*'))
		return fault(builder, "\"%s\" is not the name or address of a host", text);
	if (!host_parse_address(text, request->addr, &is_v4)) {
		if (!strcasecmp(text, "localhost"))
			(void)host_parse_address("127.0.0.1", request->addr, &is_v4);
		request->host = strdup(text);
	} else {
		if (!inet_ntop(is_v4 ? AF_INET : AF_INET6, request->addr + (is_v4 ? 12 : 0),
			    numeric, sizeof(numeric)))
			return fault(builder, "\"%s\" is not an address", text);
		request->host = strdup(numeric);
	}
	return request->host ? 0 : -ENOMEM;
}

/* proto target [ "port" N ] */
static int build_net(struct builder *builder, const char *const *words, size_t n, size_t *usedp)
{
	struct request *request = builder->request;
	uint64_t port;
	int r;

	if (n < 2)
		return fault(builder, "%s: tcp, udp or unix and a target are expected",
			op_name(request->op));
	if (net_proto_from_name(words[0], &request->proto) < 0)
		return fault(builder, "\"%s\" is none of tcp, udp and unix", words[0]);
	*usedp = 2;
	if (request->proto == NET_UNIX && words[1][0] == '@') {
		request->path = strdup(words[1]);
		return request->path ? 0 : -ENOMEM;
	}
	if (request->proto == NET_UNIX)
		return set_path(builder, words[1]);
	r = set_host(builder, words[1]);
	if (r || n < 4 || strcmp(words[2], "port") != 0)
		return r;
	if (parse_u64(words[3], UINT16_MAX, &port) < 0)
		return fault(builder, "\"%s\" is not a port", words[3]);
	request->port = (uint16_t)port;
	*usedp = 4;
	return 0;
}

static int unknown_op(struct builder *builder, const char *word)
{
	static const char *const ops[] = {"read", "write", "create", "delete", "rename", "link",
		"chmod", "list", "exec", "connect", "listen", NULL};
	const char *near = suggest_word(word, ops);

	if (!strcmp(word, "env"))
		return fault(builder, "a variable is one name: env NAME");
	return near ? fault(builder, "unknown operation \"%s\"; did you mean \"%s\"?", word, near)
		    : fault(builder, "unknown operation \"%s\"", word);
}

static int build(struct builder *builder, const char *const *words, size_t n)
{
	struct request *request = builder->request;
	_cleanup_(freep) char *program = NULL;
	size_t used = 1;
	int r;

	if (request->op == OP_EXEC)
		return build_exec(builder, words, n);
	if (!n)
		return fault(builder, "%s: %s missing", op_name(request->op),
			request->op == OP_CONNECT || request->op == OP_LISTEN
				? "tcp, udp or unix and a target are"
				: "a path is");
	r = request->op == OP_CONNECT || request->op == OP_LISTEN
		    ? build_net(builder, words, n, &used)
		    : set_path(builder, words[0]);
	if (r)
		return r;
	if (n == used)
		return 0;
	if (n != used + 2 || strcmp(words[used], "by") != 0)
		return fault(builder, "\"%s\" is one word too many", words[used]);
	r = expand_path(builder, words[used + 1], &program);
	if (r)
		return r;
	request->program = builder->resolve && program ? resolve(program, true) : TAKE_PTR(program);
	return request->program ? 0 : -ENOMEM;
}

int request_build(const struct policy_vars *vars, const char *const *words, size_t n_words,
	const char *cwd, bool do_resolve, struct request **requestp, char **messagep)
{
	_cleanup_(request_freep) struct request *request = request_new(OP_READ);
	struct builder builder = {.vars = vars,
		.cwd = cwd,
		.resolve = do_resolve,
		.request = request,
		.messagep = messagep};
	int r;

	*messagep = NULL;
	if (!request)
		return err_trace(-ENOMEM);
	if (!n_words)
		return fault(&builder, "an operation is missing");
	if (op_from_name(words[0], &request->op) < 0 || request->op == OP_SIGNAL)
		return unknown_op(&builder, words[0]);
	r = build(&builder, words + 1, n_words - 1);
	if (r)
		return r < 0 ? err_trace(r) : r;
	*requestp = TAKE_PTR(request);
	return 0;
}

int policy_request_parse(const struct policy_set *set, const char *const *words, size_t n_words,
	const char *cwd, struct request **requestp, char **messagep)
{
	return request_build(set->vars, words, n_words, cwd, true, requestp, messagep);
}
