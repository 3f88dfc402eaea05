/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
/* Methods for people's programs. */

#include <string.h>

#include "supervisord/base/clock.h"
#include "supervisord/base/display.h"
#include "supervisord/base/error.h"
#include "supervisord/base/log.h"
#include "supervisord/daemon/asks.h"
#include "supervisord/daemon/control.h"
#include "supervisord/daemon/records.h"
#include "supervisord/proto/bus.h"

static int method_status(struct connection *connection, sd_bus_message *message, json_t *parameter)
{
	struct daemon *daemon = connection->daemon;
	_cleanup_(json_decrefp) json_t *json = json_object();

	(void)parameter;
	json_object_set_new(json, "version", json_string(AGENT_SUPERVISOR_VERSION));
	json_object_set_new(json, "pid", json_integer(getpid()));
	json_object_set_new(json, "started_usec", json_integer((json_int_t)daemon->started_usec));
	json_object_set_new(
		json, "sessions", json_integer((json_int_t)daemon->sessions.n_sessions));
	json_object_set_new(json, "pending", json_integer((json_int_t)asks_count(daemon, NULL)));
	json_object_set_new(json, "log", audit_sink_to_json(daemon->sink));
	return control_reply(message, json);
}

static int method_sessions(
	struct connection *connection, sd_bus_message *message, json_t *parameter)
{
	struct daemon *daemon = connection->daemon;
	_cleanup_(json_decrefp) json_t *array = json_array();

	(void)parameter;
	for (const struct session *s = daemon->sessions.first; s; s = s->next)
		json_array_append_new(array, session_to_json(s, asks_count(daemon, s->id)));
	return control_reply(message, array);
}

static int method_requests(
	struct connection *connection, sd_bus_message *message, json_t *parameter)
{
	_cleanup_(json_decrefp) json_t *array = asks_to_json(connection->daemon);

	(void)parameter;
	return control_reply(message, array);
}

static int find_session(struct daemon *daemon, sd_bus_message *message, const char *prefix,
	struct session **sessionp)
{
	_cleanup_(freep) char *shown = NULL;
	int r = sessions_find(&daemon->sessions, prefix, sessionp);

	if (r == 0)
		return 0;
	shown = display_escape_short(prefix, 80, NULL);
	if (r == SESSIONS_E_AMBIGUOUS)
		(void)control_refuse(message, BUS_ERROR_AMBIGUOUS,
			"more than one session begins with \"%s\"", shown ? shown : "?");
	else
		(void)control_refuse(
			message, BUS_ERROR_CLOSED, "no session \"%s\" runs", shown ? shown : "?");
	return r;
}

static json_int_t denial_time(json_t *denial)
{
	return json_integer_value(json_object_get(denial, "time_usec"));
}

/* Newest first, over sessions. */
static int compare_denials(const void *a, const void *b)
{
	json_t *const *x = a, *const *y = b;
	json_int_t s = denial_time(*x), t = denial_time(*y);

	return s < t ? 1 : s > t ? -1 : 0;
}

static json_t *sorted(json_t *array, size_t max)
{
	size_t n = json_array_size(array);
	_cleanup_(freep) json_t **items =
		calloc(n + 1, sizeof(json_t *)) /* NOLINT(bugprone-sizeof-expression) */;
	json_t *out = json_array();

	if (!items)
		return out;
	for (size_t i = 0; i < n; i++)
		items[i] = json_array_get(array, i);
	qsort(items, n, sizeof(json_t *), compare_denials); /* NOLINT(bugprone-sizeof-expression) */
	for (size_t i = 0; i < n && i < max; i++)
		json_array_append(out, items[i]);
	return out;
}

/* Is it the session ID (or one that begins with it); NULL is every session. */
static bool of_session(const char *session, const char *id)
{
	return !id || (session && !strncmp(session, id, strlen(id)));
}

static int method_why(struct connection *connection, sd_bus_message *message, json_t *parameter)
{
	struct daemon *daemon = connection->daemon;
	_cleanup_(json_decrefp) json_t *array = json_array();
	_cleanup_(json_decrefp) json_t *out = NULL;
	struct json_reader reader;
	const char *id;
	uint64_t pid, last;
	int r;

	json_reader_init(&reader, parameter);
	id = json_read_str(&reader, "session", false);
	pid = json_read_u64(&reader, "pid", false);
	last = json_read_u64(&reader, "last", false);
	r = json_reader_finish(&reader);
	if (r < 0 || pid > INT32_MAX)
		return -EBADMSG;
	if (last == 0 || last > DENIALS_MAX)
		last = DENIALS_MAX;
	for (const struct session *s = daemon->sessions.first; s; s = s->next) {
		if (of_session(s->id, id))
			denials_list(
				&s->denials, json_array_size(array) + last, (int64_t)pid, array);
	}
	/* Sessions that ended: of all of them, and then of the one that is meant. */
	denials_list(
		&daemon->past_denials, json_array_size(array) + DENIALS_MAX, (int64_t)pid, array);
	for (size_t i = json_array_size(array); i-- > 0;) {
		const json_t *session = json_object_get(json_array_get(array, i), "session");

		if (!of_session(json_string_value(session), id))
			json_array_remove(array, i);
	}
	out = sorted(array, last);
	return control_reply(message, out);
}

static int method_grants(struct connection *connection, sd_bus_message *message, json_t *parameter)
{
	struct daemon *daemon = connection->daemon;
	_cleanup_(json_decrefp) json_t *array = json_array();

	(void)parameter;
	for (struct session *s = daemon->sessions.first; s; s = s->next) {
		int r = grants_to_json(&s->grants, s->id, clock_boottime_usec(), array);

		if (r < 0)
			return r;
	}
	return control_reply(message, array);
}

static int reply_stopping(sd_bus_message *message)
{
	_cleanup_(json_decrefp) json_t *json = json_object();

	json_object_set_new(json, "outcome", json_string("stopping"));
	return control_reply(message, json);
}

static int method_stop(struct connection *connection, sd_bus_message *message, json_t *parameter)
{
	struct daemon *daemon = connection->daemon;
	_cleanup_(json_decrefp) json_t *record = NULL;
	_cleanup_(freep) char *text = NULL;
	struct json_reader reader;
	struct session *session;
	const char *id, *reason;
	int r;

	json_reader_init(&reader, parameter);
	id = json_read_str(&reader, "session", true);
	reason = json_read_str(&reader, "reason", false);
	r = json_reader_finish(&reader);
	if (r < 0)
		return r;
	if (find_session(daemon, message, id, &session) != 0)
		return 0;
	if (!session->connection)
		return control_refuse(message, BUS_ERROR_BUSY,
			"the broker of session %s is not connected; end process %d to stop it",
			session->id, (int)session->broker_pid);
	text = display_escape_short(reason ? reason : "", 400, NULL);
	record = record_session("session.stop", session);
	if (record && text) {
		json_object_set_new(record, "reason", json_string(text));
		json_object_set_new(
			record, "approver_pid", json_integer((json_int_t)connection->peer.pid));
		(void)audit_sink_append(daemon->sink, record, true, NULL, NULL);
	}
	/* Stopping is never refused for the log's sake. */
	r = control_emit_broker(session->connection, "SessionStop", text ? text : "");
	if (r < 0)
		return r;
	session->stop_requested = true;
	return reply_stopping(message);
}

static int method_shutdown(
	struct connection *connection, sd_bus_message *message, json_t *parameter)
{
	struct daemon *daemon = connection->daemon;
	struct json_reader reader;
	bool force;
	int r;

	json_reader_init(&reader, parameter);
	force = json_read_bool(&reader, "force", false);
	r = json_reader_finish(&reader);
	if (r < 0)
		return r;
	if (daemon->sessions.first && !force)
		return control_refuse(message, BUS_ERROR_BUSY,
			"%zu %s, and nobody could be asked any more; end them first (agentctl ps, "
			"agentctl stop), or use --force",
			daemon->sessions.n_sessions,
			daemon->sessions.n_sessions == 1 ? "session runs" : "sessions run");
	r = reply_stopping(message);
	daemon_stop(daemon);
	return r;
}

static int method_revoke(struct connection *connection, sd_bus_message *message, json_t *parameter)
{
	struct daemon *daemon = connection->daemon;
	_cleanup_(json_decrefp) json_t *json = json_object();
	struct json_reader reader;
	const char *id;
	int r;

	json_reader_init(&reader, parameter);
	id = json_read_str(&reader, "id", true);
	r = json_reader_finish(&reader);
	if (r < 0)
		return r;
	for (struct session *s = daemon->sessions.first; s; s = s->next) {
		_cleanup_(json_decrefp) json_t *record = NULL;

		if (!grants_remove(&s->grants, id))
			continue;
		record = record_session("grant.revoked", s);
		if (record) {
			json_object_set_new(record, "id", json_string(id));
			(void)audit_sink_append(daemon->sink, record, true, NULL, NULL);
		}
		if (s->connection)
			(void)control_emit_broker(s->connection, "GrantRevoked", id);
		json_object_set_new(json, "outcome", json_string("revoked"));
		return control_reply(message, json);
	}
	return control_refuse(message, BUS_ERROR_CLOSED, "no such grant is in force");
}

const struct method methods_control[] = {
	{BUS_CONTROL, "Status", METHOD_BARE, method_status},
	{BUS_CONTROL, "Sessions", METHOD_BARE, method_sessions},
	{BUS_CONTROL, "Requests", METHOD_BARE, method_requests},
	{BUS_CONTROL, "Decide", METHOD_CHANGES, asks_decide},
	{BUS_CONTROL, "Why", METHOD_BARE, method_why},
	{BUS_CONTROL, "Grants", METHOD_BARE, method_grants},
	{BUS_CONTROL, "Revoke", METHOD_CHANGES, method_revoke},
	{BUS_CONTROL, "Stop", METHOD_CHANGES, method_stop},
	{BUS_CONTROL, "Shutdown", METHOD_CHANGES | METHOD_BARE, method_shutdown},
	{NULL, NULL, 0, NULL},
};
