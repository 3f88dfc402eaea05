/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "supervisord/daemon/registry.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "supervisord/base/clock.h"
#include "supervisord/base/error.h"
#include "supervisord/base/file.h"
#include "supervisord/base/log.h"
#include "supervisord/base/parse.h"
#include "supervisord/base/proc.h"
#include "supervisord/daemon/asks.h"
#include "supervisord/daemon/records.h"
#include "supervisord/daemon/replay.h"
#include "supervisord/proto/bus.h"

#define STATE_FILE "sessions.json"
#define STATE_FILE_MAX ((size_t)16 * 1024 * 1024)
#define SPEC_SUMMARY_MAX ((size_t)64 * 1024)

/* The list of living sessions ---------- */

static json_t *session_to_state(const struct session *session)
{
	json_t *json = json_object();

	json_object_set_new(json, "id", json_string(session->id));
	json_object_set_new(json, "index", json_integer((json_int_t)session->index));
	json_object_set_new(json, "broker_pid", json_integer(session->broker_pid));
	json_object_set_new(json, "broker_start", json_integer((json_int_t)session->broker_start));
	json_object_set_new(json, "started_usec", json_integer((json_int_t)session->started_usec));
	json_object_set_new(json, "policy_digest", json_string(session->policy_digest));
	json_object_set_new(json, "plan_digest", json_string(session->plan_digest));
	json_object_set(json, "spec", session->spec);
	return json;
}

int registry_save(struct daemon *daemon)
{
	_cleanup_(json_decrefp) json_t *array = json_array();
	_cleanup_(freep) char *text = NULL;
	int r;

	for (const struct session *s = daemon->sessions.first; s; s = s->next)
		if (s->state != SESSION_ENDING)
			json_array_append_new(array, session_to_state(s));
	text = json_write(array);
	if (!text)
		return err_trace(-ENOMEM);
	r = file_replace(daemon->runtime_fd, STATE_FILE, text, strlen(text), 0600);
	if (r < 0)
		log_warn_r(r, "cannot write %s/%s", daemon->dirs.runtime, STATE_FILE);
	return r;
}

static void emit_removed(struct daemon *daemon, const struct session *session, const char *reason)
{
	_cleanup_(json_decrefp) json_t *json = json_object();

	json_object_set_new(json, "id", json_string(session->id));
	json_object_set_new(json, "reason", json_string(reason));
	control_emit(daemon->control, "SessionRemoved", json);
}

static void forget(struct daemon *daemon, struct session *session, const char *reason)
{
	asks_withdraw_session(daemon, session->id);
	denials_move(&session->denials, &daemon->past_denials);
	emit_removed(daemon, session, reason);
	if (session->connection)
		session->connection->session = NULL;
	sessions_remove(&daemon->sessions, session);
	(void)registry_save(daemon);
}

/* The broker is gone and never said End. */
static void lose(struct daemon *daemon, struct session *session)
{
	_cleanup_(json_decrefp) json_t *record = NULL;
	bool ended = false;
	int r;

	r = replay_spool(daemon, session->id, session->last_n, &ended);
	if (r < 0)
		log_warn_r(r, "the spool of session %s stays for later", session->id);
	if (!ended) {
		log_warn("session %s is lost: its broker ended without saying so", session->id);
		record = record_session("session.lost", session);
		if (record)
			(void)audit_sink_append(daemon->sink, record, true, NULL, NULL);
	}
	forget(daemon, session, ended ? "ended" : "lost");
}

static int on_broker_exit(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct daemon *daemon = userdata;

	(void)source;
	(void)events;
	for (struct session *s = daemon->sessions.first; s; s = s->next) {
		if (s->broker_pidfd != fd)
			continue;
		/* Its last words may still be in the socket: the disconnection comes after them. */
		if (s->connection) {
			sd_event_source_disable_unref(s->exit_source);
			s->exit_source = NULL;
		} else if (s->state != SESSION_ENDING) {
			lose(daemon, s);
		}
		return 0;
	}
	return 0;
}

static int watch_broker(struct daemon *daemon, struct session *session)
{
	int r;

	r = sd_event_add_io(daemon->event, &session->exit_source, session->broker_pidfd, EPOLLIN,
		on_broker_exit, daemon);
	return r < 0 ? err_trace(r) : 0;
}

void registry_disconnected(struct daemon *daemon, struct session *session)
{
	session->connection = NULL;
	asks_withdraw_session(daemon, session->id);
	if (session->state == SESSION_ENDING)
		return;
	if (!daemon->stopping && !proc_pidfd_alive(session->broker_pidfd)) {
		lose(daemon, session);
		return;
	}
	if (session->state == SESSION_RUNNING)
		session->state = SESSION_DETACHED;
}

/* Register ---------- */

struct registration {
	struct daemon *daemon;
	sd_bus_message *message;
	char session[SESSION_ID_MAX];
};

static void reply_registered(struct session *session, sd_bus_message *message)
{
	_cleanup_(json_decrefp) json_t *reply = json_object();

	json_object_set_new(reply, "session", json_string(session->id));
	json_object_set_new(reply, "index", json_integer((json_int_t)session->index));
	json_object_set_new(reply, "last_n", json_integer((json_int_t)session->last_n));
	(void)control_reply(message, reply);
}

static void on_start_durable(void *userdata, int r, uint64_t index)
{
	struct registration *registration = userdata;
	struct daemon *daemon = registration->daemon;
	struct session *session = sessions_get(&daemon->sessions, registration->session);
	_cleanup_(json_decrefp) json_t *json = NULL;

	if (session && r < 0) {
		(void)control_refuse(registration->message, BUS_ERROR_LOG, "%s",
			audit_sink_problem(daemon->sink));
		forget(daemon, session, "refused");
	} else if (session) {
		session->index = index;
		session->state = session->connection ? SESSION_RUNNING : SESSION_DETACHED;
		/* Before the broker may start anything: a later daemon must know it. */
		if (registry_save(daemon) < 0 && session->connection) {
			(void)control_refuse(registration->message, BUS_ERROR_BUSY,
				"the runtime folder cannot be written");
			forget(daemon, session, "refused");
		} else {
			reply_registered(session, registration->message);
			json = session_to_json(session, 0);
			control_emit(daemon->control, "SessionAdded", json);
		}
	}
	sd_bus_message_unref(registration->message);
	free(registration);
}

static int begin(struct connection *connection, struct session *session, sd_bus_message *message)
{
	struct daemon *daemon = connection->daemon;
	_cleanup_(json_decrefp) json_t *record = record_session_start(session);
	struct registration *registration = calloc(1, sizeof(*registration));
	int r;

	if (!registration || !record) {
		free(registration);
		return err_trace(-ENOMEM);
	}
	registration->daemon = daemon;
	registration->message = sd_bus_message_ref(message);
	(void)snprintf(registration->session, sizeof(registration->session), "%s", session->id);
	r = audit_sink_append(daemon->sink, record, true, on_start_durable, registration);
	if (r < 0) {
		sd_bus_message_unref(registration->message);
		free(registration);
	}
	return r;
}

struct hello {
	json_t *spec, *resume;
	const char *policy_digest, *plan_digest;
};

static bool is_digest(const char *text)
{
	uint8_t digest[32];

	return parse_hex(text, digest, sizeof(digest)) == 0;
}

static int read_hello(json_t *parameter, struct hello *hello)
{
	_cleanup_(freep) char *text = NULL;
	struct json_reader reader;
	int r;

	json_reader_init(&reader, parameter);
	hello->spec = json_read_object(&reader, "spec", true);
	hello->resume = json_read_object(&reader, "resume", false);
	hello->policy_digest = json_read_str(&reader, "policy_digest", true);
	hello->plan_digest = json_read_str(&reader, "plan_digest", true);
	/* For people who read messages; who it is, the socket says. */
	(void)json_read_u64(&reader, "pid", false);
	r = json_reader_finish(&reader);
	if (r < 0)
		return r;
	if (!is_digest(hello->policy_digest) || !is_digest(hello->plan_digest))
		return -EBADMSG;
	text = json_write(hello->spec);
	if (!text)
		return err_trace(-ENOMEM);
	return strlen(text) > SPEC_SUMMARY_MAX ? -EBADMSG : 0;
}

static int add_session(struct connection *connection, const char *id, const struct hello *hello,
	struct session **sessionp)
{
	struct daemon *daemon = connection->daemon;
	_cleanup_(closep) int pidfd = fcntl(connection->peer.pidfd, F_DUPFD_CLOEXEC, 3);
	struct session *session;
	int r;

	if (pidfd < 0)
		return err_trace(err_errno());
	r = sessions_add(&daemon->sessions, id, connection->peer.pid, connection->peer.start_ticks,
		pidfd, hello->spec, &session);
	if (r < 0)
		return r;
	TAKE_FD(pidfd);
	(void)snprintf(
		session->policy_digest, sizeof(session->policy_digest), "%s", hello->policy_digest);
	(void)snprintf(
		session->plan_digest, sizeof(session->plan_digest), "%s", hello->plan_digest);
	session->started_usec = clock_realtime_usec();
	r = watch_broker(daemon, session);
	if (r < 0) {
		sessions_remove(&daemon->sessions, session);
		return r;
	}
	*sessionp = session;
	return 0;
}

static void attach(struct connection *connection, struct session *session)
{
	/* Its old connection may not have been seen to break yet. */
	if (session->connection) {
		asks_withdraw_session(connection->daemon, session->id);
		session->connection->session = NULL;
	}
	session->connection = connection;
	connection->session = session;
}

static int take_grants(struct session *session, json_t *array)
{
	size_t i;
	json_t *item;

	grants_deinit(&session->grants);
	json_array_foreach(array, i, item)
	{
		struct grant *grant;
		int r = grant_from_json(item, &grant);

		if (r < 0)
			return r;
		if (grants_add(&session->grants, grant) < 0)
			break;
	}
	return 0;
}

/* A session that no daemon before us left word of: the log must know it. */
static int find_in_log(struct connection *connection, const char *id, uint64_t index,
	const struct hello *hello, struct session **sessionp)
{
	struct daemon *daemon = connection->daemon;
	const struct peer *peer = &connection->peer;
	struct replay_scan scan = {0};
	int r;

	r = audit_sink_commit(daemon->sink);
	if (r == 0)
		r = replay_scan_log(daemon->dirs.audit, id, index, &scan);
	if (r < 0)
		return r;
	if (!scan.started || scan.ended || scan.broker_pid != peer->pid ||
		scan.broker_start != peer->start_ticks)
		return -ENOENT;
	r = add_session(connection, id, hello, sessionp);
	if (r < 0 || !*sessionp)
		return r < 0 ? r : err_trace(-EIO);
	(*sessionp)->index = index;
	(*sessionp)->last_n = scan.last_n;
	(*sessionp)->state = SESSION_DETACHED;
	return 0;
}

static int resume(struct connection *connection, sd_bus_message *message, const struct hello *hello)
{
	struct daemon *daemon = connection->daemon;
	const struct peer *peer = &connection->peer;
	struct session *session;
	struct json_reader reader;
	json_t *grants;
	const char *id;
	uint64_t index;
	int r;

	json_reader_init(&reader, hello->resume);
	id = json_read_str(&reader, "session", true);
	index = json_read_u64(&reader, "index", true);
	grants = json_read_array(&reader, "grants", false);
	r = json_reader_finish(&reader);
	if (r < 0)
		return r;
	if (!session_id_is_valid(id))
		return -EBADMSG;
	session = sessions_get(&daemon->sessions, id);
	if (!session)
		r = find_in_log(connection, id, index, hello, &session);
	if (r < 0 || !session || session->broker_pid != peer->pid ||
		session->broker_start != peer->start_ticks || session->state == SESSION_STARTING ||
		session->state == SESSION_ENDING)
		return control_refuse(message, BUS_ERROR_NOT_AUTHORIZED,
			"session %s is not one of this process", id);
	attach(connection, session);
	session->state = SESSION_RUNNING;
	if (grants && take_grants(session, grants) < 0)
		return -EBADMSG;
	(void)registry_save(daemon);
	log_notice("session %s is connected again", session->id);
	reply_registered(session, message);
	return 0;
}

int registry_register(struct connection *connection, sd_bus_message *message, json_t *parameter)
{
	struct daemon *daemon = connection->daemon;
	struct session *session = NULL;
	struct hello hello = {0};
	int r;

	r = read_hello(parameter, &hello);
	if (r < 0)
		return r;
	if (audit_sink_state(daemon->sink) != SINK_OK)
		return control_refuse(
			message, BUS_ERROR_LOG, "%s", audit_sink_problem(daemon->sink));
	if (daemon->stopping)
		return control_refuse(message, BUS_ERROR_BUSY, "the daemon is stopping");
	if (hello.resume)
		return resume(connection, message, &hello);
	r = add_session(connection, NULL, &hello, &session);
	if (r == -ENOSPC)
		return control_refuse(message, BUS_ERROR_BUSY, "too many sessions");
	if (r < 0 || !session)
		return r < 0 ? r : err_trace(-EIO);
	attach(connection, session);
	r = begin(connection, session, message);
	if (r < 0) {
		forget(daemon, session, "refused");
		return control_refuse(
			message, BUS_ERROR_LOG, "%s", audit_sink_problem(daemon->sink));
	}
	return 0;
}

/* End ---------- */

static void on_end_durable(void *userdata, int r, uint64_t index)
{
	struct registration *registration = userdata;
	struct daemon *daemon = registration->daemon;
	struct session *session = sessions_get(&daemon->sessions, registration->session);
	_cleanup_(json_decrefp) json_t *reply = json_object();

	if (r < 0) {
		(void)control_refuse(registration->message, BUS_ERROR_LOG, "%s",
			audit_sink_problem(daemon->sink));
	} else {
		json_object_set_new(reply, "index", json_integer((json_int_t)index));
		(void)control_reply(registration->message, reply);
	}
	if (session)
		forget(daemon, session, "ended");
	sd_bus_message_unref(registration->message);
	free(registration);
}

int registry_end(struct connection *connection, sd_bus_message *message, json_t *parameter)
{
	struct daemon *daemon = connection->daemon;
	struct session *session = connection->session;
	_cleanup_(json_decrefp) json_t *record = record_session("session.end", session);
	struct registration *registration = NULL;
	struct json_reader reader;
	json_t *status;
	int r;

	json_reader_init(&reader, parameter);
	status = json_read_object(&reader, "status", true);
	r = json_reader_finish(&reader);
	if (r < 0)
		return r;
	registration = calloc(1, sizeof(*registration));
	if (!registration || !record) {
		free(registration);
		return err_trace(-ENOMEM);
	}
	json_object_set(record, "status", status);
	json_object_set_new(record, "asks", json_integer((json_int_t)session->n_asks));
	json_object_set_new(record, "denies", json_integer((json_int_t)session->n_denies));
	registration->daemon = daemon;
	registration->message = sd_bus_message_ref(message);
	(void)snprintf(registration->session, sizeof(registration->session), "%s", session->id);
	r = audit_sink_append(daemon->sink, record, true, on_end_durable, registration);
	if (r < 0) {
		sd_bus_message_unref(registration->message);
		free(registration);
		return control_refuse(
			message, BUS_ERROR_LOG, "%s", audit_sink_problem(daemon->sink));
	}
	session->state = SESSION_ENDING;
	asks_withdraw_session(daemon, session->id);
	return 0;
}

/* Start of the daemon ---------- */

static int take_over_one(struct daemon *daemon, json_t *json)
{
	_cleanup_(closep) int pidfd = -1;
	struct json_reader reader;
	struct replay_scan scan;
	struct session *session;
	const char *id, *policy, *plan;
	uint64_t index, start, started;
	pid_t pid;
	json_t *spec;
	int r;

	json_reader_init(&reader, json);
	id = json_read_str(&reader, "id", true);
	policy = json_read_str(&reader, "policy_digest", true);
	plan = json_read_str(&reader, "plan_digest", true);
	index = json_read_u64(&reader, "index", true);
	pid = (pid_t)json_read_u64(&reader, "broker_pid", true);
	start = json_read_u64(&reader, "broker_start", true);
	started = json_read_u64(&reader, "started_usec", true);
	spec = json_read_object(&reader, "spec", true);
	r = json_reader_finish(&reader);
	if (r < 0 || !session_id_is_valid(id))
		return -EBADMSG;
	r = replay_scan_log(daemon->dirs.audit, id, index, &scan);
	if (r < 0)
		return r;
	if (!scan.started || scan.ended)
		return 0;
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0u);
	r = sessions_add(&daemon->sessions, id, pid, start, pidfd, spec, &session);
	if (r < 0)
		return r;
	TAKE_FD(pidfd);
	session->index = index;
	session->started_usec = started;
	session->last_n = scan.last_n;
	session->state = SESSION_DETACHED;
	(void)snprintf(session->policy_digest, sizeof(session->policy_digest), "%s", policy);
	(void)snprintf(session->plan_digest, sizeof(session->plan_digest), "%s", plan);
	if (session->broker_pidfd < 0 || !replay_process_lives(pid, start)) {
		lose(daemon, session);
		return 0;
	}
	return watch_broker(daemon, session);
}

void registry_take_over(struct daemon *daemon)
{
	_cleanup_(json_decrefp) json_t *array = NULL;
	_cleanup_(freep) char *text = NULL;
	size_t size, i;
	json_t *item;
	int r;

	/* The log is tampered with or cannot be written: no session may run, none is touched. */
	if (audit_sink_state(daemon->sink) != SINK_OK)
		return;
	r = file_read(daemon->runtime_fd, STATE_FILE, STATE_FILE_MAX, &text, &size);
	if (r == 0)
		r = json_parse_strict(text, size, STATE_FILE_MAX, &array);
	if (r < 0 && r != -ENOENT)
		log_warn_r(r, "cannot read %s/%s", daemon->dirs.runtime, STATE_FILE);
	json_array_foreach(array, i, item)
	{
		r = take_over_one(daemon, item);
		if (r < 0)
			log_warn_r(r, "a session of an earlier daemon is not known any more");
	}
	replay_all(daemon);
	(void)registry_save(daemon);
}
