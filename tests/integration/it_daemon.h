/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef TESTS_INTEGRATION_IT_DAEMON_H
#define TESTS_INTEGRATION_IT_DAEMON_H

/* A real daemon in folders of its own, a broker's link, a person's client. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "audit-log/audit.h"
#include "supervisord/base/clock.h"
#include "supervisord/base/dirs.h"
#include "supervisord/broker/link.h"
#include "supervisord/client/client.h"
#include "supervisord/proto/bus.h"

/* Enough for ten thousand requests under a sanitizer on a busy machine. */
#define FX_BOUND_USEC (120 * USEC_PER_SEC)

struct fx {
	char root[64];
	struct dirs dirs;
	pid_t daemon;
};

static inline void fx_tick(void)
{
	(void)poll(NULL, 0, 5);
}

/* Runs COND again and again until it holds, at most FX_BOUND_USEC. */
#define FX_WAIT(cond)                                                                              \
	do {                                                                                       \
		uint64_t _end = clock_monotonic_usec() + FX_BOUND_USEC;                            \
		while (!(cond)) {                                                                  \
			if (clock_monotonic_usec() > _end)                                         \
				fail_msg("never: %s", #cond);                                      \
			fx_tick();                                                                 \
		}                                                                                  \
	} while (0)

static inline void fx_set(const struct fx *fx, const char *name, const char *sub)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", fx->root, sub);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(setenv(name, path, 1), 0);
}

static inline void fx_init(struct fx *fx)
{
	memset(fx, 0, sizeof(*fx));
	snprintf(fx->root, sizeof(fx->root), "/tmp/it-daemon-XXXXXX");
	assert_non_null(mkdtemp(fx->root));
	fx_set(fx, "XDG_RUNTIME_DIR", "run");
	fx_set(fx, "XDG_STATE_HOME", "state");
	fx_set(fx, "XDG_CONFIG_HOME", "config");
	fx_set(fx, "HOME", "home");
	assert_int_equal(dirs_init(&fx->dirs), 0);
}

static inline int fx_remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

/* Starts the daemon and waits until it is ready. */
static inline void fx_start(struct fx *fx)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const char *build = getenv("BUILD");
	char program[512], text[512];
	struct pollfd pfd = {.events = POLLIN};
	uint64_t end = clock_monotonic_usec() + FX_BOUND_USEC;
	bool ready = false;

	snprintf(program, sizeof(program), "%s/bin/agent-supervisord",
		build ? build : "build/release");
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/notify", fx->root);
	(void)unlink(address.sun_path);
	pfd.fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_true(pfd.fd >= 0);
	assert_int_equal(bind(pfd.fd, (struct sockaddr *)&address, sizeof(address)), 0);
	fx->daemon = fork();
	if (fx->daemon == 0) {
		setenv("NOTIFY_SOCKET", address.sun_path, 1);
		execl(program, program, "--foreground", (char *)NULL);
		_exit(127);
	}
	while (!ready) {
		ssize_t n;

		assert_int_equal(waitpid(fx->daemon, NULL, WNOHANG), 0);
		assert_true(clock_monotonic_usec() < end);
		if (poll(&pfd, 1, 100) <= 0)
			continue;
		n = recv(pfd.fd, text, sizeof(text) - 1, 0);
		assert_true(n >= 0);
		text[n] = '\0';
		ready = strstr(text, "READY=1") != NULL;
	}
	close(pfd.fd);
}

/* Ends the daemon by SIGNAL and returns its wait status. */
static inline int fx_end(struct fx *fx, int signal)
{
	int status = -1;

	assert_int_equal(kill(fx->daemon, signal), 0);
	assert_int_equal(waitpid(fx->daemon, &status, 0), fx->daemon);
	fx->daemon = 0;
	return status;
}

static inline void fx_deinit(struct fx *fx)
{
	if (fx->daemon > 0)
		(void)fx_end(fx, SIGKILL);
	(void)nftw(fx->root, fx_remove_one, 16, FTW_DEPTH | FTW_PHYS);
	dirs_deinit(&fx->dirs);
}

static inline struct client *fx_client(const struct fx *fx)
{
	struct client *client = NULL;

	assert_int_equal(client_connect(fx->dirs.control, &client), 0);
	return client;
}

/* Calls and expects success. New reference. */
static inline json_t *fx_call(struct client *client, const char *method, json_t *parameter)
{
	struct client_error error;
	json_t *result = NULL;
	int r = client_call(client, BUS_CONTROL, method, parameter, &result, &error);

	if (r < 0)
		fail_msg("%s: %d %s: %s", method, r, error.name, error.message);
	json_decref(parameter);
	return result;
}

static inline size_t fx_count(struct client *client)
{
	json_t *array = fx_call(client, "Requests", NULL);
	size_t n = json_array_size(array);

	json_decref(array);
	return n;
}

/* The only request that waits. New reference. */
static inline json_t *fx_wait_one(struct client *client)
{
	json_t *array, *one;

	FX_WAIT(fx_count(client) == 1);
	array = fx_call(client, "Requests", NULL);
	assert_int_equal(json_array_size(array), 1);
	one = json_incref(json_array_get(array, 0));
	json_decref(array);
	return one;
}

static inline json_t *fx_decision(json_t *request, const char *decision, const char *duration)
{
	return json_pack("{s:s,s:s,s:s,s:s,s:s}", "id",
		json_string_value(json_object_get(request, "id")), "decision", decision, "duration",
		duration, "fingerprint", json_string_value(json_object_get(request, "fingerprint")),
		"client", "test");
}

/* Decides; "" or the name of the error. */
static inline int fx_decide(struct client *client, json_t *parameter, struct client_error *error)
{
	json_t *result = NULL;
	int r = client_call(client, BUS_CONTROL, "Decide", parameter, &result, error);

	json_decref(result);
	json_decref(parameter);
	return r;
}

static inline struct link *fx_link(const struct fx *fx, const char **sessionp)
{
	struct link_hello hello = {.policy_digest = {1}, .plan_digest = {2}};
	struct link *link = NULL;
	char *message = NULL;
	int r;

	hello.spec_summary = json_pack("{s:s,s:s}", "agent", "tester", "workspace", "/tmp");
	r = link_start(fx->dirs.control, fx->dirs.spool, &hello, &link, sessionp, &message);
	if (r < 0)
		fail_msg("link_start: %d %s", r, message ? message : "");
	free(message);
	json_decref(hello.spec_summary);
	return link;
}

static const uint64_t fx_spans[] = {600 * USEC_PER_SEC};

static inline struct policy_rule_info fx_rule(uint64_t timeout_usec)
{
	return (struct policy_rule_info){
		.verdict = VERDICT_ASK,
		.layer = LAYER_USER,
		.file = "test.policy",
		.line = 3,
		.id = "test.policy:3",
		.text = "ask read \"~/**\"",
		.durations = 1u << GRANT_ONCE | 1u << GRANT_SESSION | 1u << GRANT_SPAN,
		.spans_usec = fx_spans,
		.n_spans = 1,
		.scopes = 1u << GRANT_EXACT | 1u << GRANT_DIR,
		.timeout_usec = timeout_usec,
	};
}

static inline struct request *fx_request(const char *path)
{
	struct request *request = request_new(OP_READ);

	assert_non_null(request);
	request->path = strdup(path);
	request->program = strdup("/bin/cat");
	request->cwd = strdup("/home/u");
	request->pid = getpid();
	request->uid = geteuid();
	return request;
}

/* An ask in a thread of its own. */
struct fx_ask {
	pthread_t thread;
	struct link *link;
	struct request *request;
	uint64_t timeout_usec;
	bool wanted; /* atomic */
	struct link_result result;
	int r;
};

static inline bool fx_still_wanted(void *userdata)
{
	struct fx_ask *ask = userdata;

	return __atomic_load_n(&ask->wanted, __ATOMIC_SEQ_CST);
}

static inline void *fx_ask_main(void *userdata)
{
	struct fx_ask *ask = userdata;
	struct policy_rule_info rule = fx_rule(ask->timeout_usec);
	const uint8_t digest[32] = {1};

	ask->r = link_ask(
		ask->link, ask->request, &rule, digest, fx_still_wanted, ask, &ask->result);
	return NULL;
}

static inline void fx_ask_start(
	struct fx_ask *ask, struct link *link, const char *path, uint64_t timeout_usec)
{
	memset(ask, 0, sizeof(*ask));
	ask->link = link;
	ask->request = fx_request(path);
	ask->timeout_usec = timeout_usec;
	ask->wanted = true;
	assert_int_equal(pthread_create(&ask->thread, NULL, fx_ask_main, ask), 0);
}

/* Waits for the answer. */
static inline enum link_answer fx_ask_join(struct fx_ask *ask)
{
	enum link_answer answer;

	assert_int_equal(pthread_join(ask->thread, NULL), 0);
	assert_int_equal(ask->r, 0);
	answer = ask->result.answer;
	link_result_deinit(&ask->result);
	request_free(ask->request);
	return answer;
}

/* Records of TYPE (and, where not NULL, with this member set to this text) in the log. */
struct fx_search {
	const char *type, *key, *value;
	size_t n;
};

static inline int fx_on_line(void *userdata, uint64_t index, const char *line, size_t size)
{
	struct fx_search *search = userdata;
	json_t *json = NULL;
	const char *type, *value;

	(void)index;
	assert_int_equal(json_parse_strict(line, size, 1 << 20, &json), 0);
	type = json_string_value(json_object_get(json, "type"));
	value = search->key ? json_string_value(json_object_get(json, search->key)) : NULL;
	if (type && !strcmp(type, search->type) &&
		(!search->key || (value && !strcmp(value, search->value))))
		search->n++;
	json_decref(json);
	return 0;
}

static inline size_t fx_records(
	const struct fx *fx, const char *type, const char *key, const char *value)
{
	struct fx_search search = {.type = type, .key = key, .value = value};

	assert_int_equal(audit_read(fx->dirs.audit, 0, fx_on_line, &search), 0);
	return search.n;
}

static inline void fx_verify(const struct fx *fx)
{
	const struct audit_verify_options options = {0};
	struct audit_report report;
	int r = audit_verify(fx->dirs.audit, &options, &report);

	if (r != AUDIT_OK && r != AUDIT_UNANCHORED)
		fail_msg("audit_verify: %d %s", r, report.message);
}

#endif
