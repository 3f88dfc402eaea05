/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
/* Methods for the broker of one session. */

#include <string.h>

#include "supervisord/base/clock.h"
#include "supervisord/base/error.h"
#include "supervisord/daemon/asks.h"
#include "supervisord/daemon/control.h"
#include "supervisord/daemon/registry.h"
#include "supervisord/daemon/replay.h"
#include "supervisord/proto/bus.h"

#define RECORDS_MAX 4096 /* of one message */

struct recording {
	struct daemon *daemon;
	sd_bus_message *message;
};

static void on_records_durable(void *userdata, int r, uint64_t index)
{
	struct recording *recording = userdata;
	_cleanup_(json_decrefp) json_t *reply = json_object();

	if (r < 0) {
		(void)control_refuse(recording->message, BUS_ERROR_LOG, "%s",
			audit_sink_problem(recording->daemon->sink));
	} else {
		json_object_set_new(reply, "index", json_integer((json_int_t)index));
		(void)control_reply(recording->message, reply);
	}
	sd_bus_message_unref(recording->message);
	free(recording);
}

/* Counters and the list of `agentctl why`. */
static void note_decision(struct session *session, json_t *record)
{
	const char *decision = json_string_value(json_object_get(record, "decision"));
	const char *type = json_string_value(json_object_get(record, "type"));
	json_int_t count = json_integer_value(json_object_get(record, "count"));
	uint64_t n = count > 0 ? (uint64_t)count : 1;

	/* What no rule refused but the way things are: people ask why all the same. */
	if (!decision && type && (!strncmp(type, "refused.", 8) || !strncmp(type, "attack.", 7)))
		decision = "deny";
	if (!decision)
		return;
	if (!strcmp(decision, "allow")) {
		session->n_allows += n;
	} else if (!strcmp(decision, "deny")) {
		session->n_denies += n;
		denials_add(&session->denials,
			denial_from_record(record, session->id, clock_realtime_usec()));
	}
}

/* A record that the log finds too long still leaves its trace, and does not stop those behind it.
 */
static json_t *stub_of(json_t *record)
{
	static const char *const kept[] = {"type", "session", "n", "op", "decision", "rule",
		"layer", "pid", "count", "replayed"};
	json_t *stub = json_object();

	for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
		json_t *value = json_object_get(record, kept[i]);

		if (value)
			json_object_set(stub, kept[i], value);
	}
	json_object_set_new(stub, "truncated", json_true());
	return stub;
}

static int append(
	struct daemon *daemon, json_t *record, bool gated, audit_sink_fn fn, void *userdata)
{
	_cleanup_(json_decrefp) json_t *stub = NULL;
	int r = audit_sink_append(daemon->sink, record, gated, fn, userdata);

	if (r != -E2BIG)
		return r;
	stub = stub_of(record);
	return audit_sink_append(daemon->sink, stub, gated, fn, userdata);
}

/* 1: it is in the log already; 0: it is the next one; -EBADMSG: neither. A serial may skip what the
 * broker itself declares lost ("gap"). */
static int check_serial(uint64_t last_n, json_t *record)
{
	const char *type = json_string_value(json_object_get(record, "type"));
	json_int_t n = json_integer_value(json_object_get(record, "n"));
	json_int_t gap = json_integer_value(json_object_get(record, "gap"));

	if (!json_is_object(record) || !type || !replay_type_is_brokers(type) || n <= 0 || gap < 0)
		return -EBADMSG;
	if ((uint64_t)n <= last_n)
		return 1;
	return (uint64_t)n - (uint64_t)gap <= last_n + 1 ? 0 : -EBADMSG;
}

/* Everything of a message is durable when its last record is: they are committed in order. */
static int take_records(struct connection *connection, json_t *records, bool gated,
	struct recording *recording, bool *waitsp)
{
	struct session *session = connection->session;
	size_t i, n = json_array_size(records);
	json_t *record, *last = NULL;
	uint64_t last_n = session->last_n;

	json_array_foreach(records, i, record)
	{
		int r = check_serial(last_n, record);

		if (r < 0)
			return r;
		if (r > 0)
			continue;
		last = record;
		last_n = (uint64_t)json_integer_value(json_object_get(record, "n"));
	}
	for (i = 0; i < n; i++) {
		int r;

		record = json_array_get(records, i);
		if (check_serial(session->last_n, record) != 0)
			continue;
		json_object_set_new(record, "session", json_string(session->id));
		r = append(connection->daemon, record, gated,
			record == last ? on_records_durable : NULL, recording);
		if (r < 0)
			return r;
		*waitsp |= record == last;
		/* Kept in memory only: the broker has to keep it. */
		if (audit_sink_state(connection->daemon->sink) != SINK_OK)
			return -EROFS;
		session->last_n = (uint64_t)json_integer_value(json_object_get(record, "n"));
		note_decision(session, record);
	}
	return 0;
}

static int method_record(struct connection *connection, sd_bus_message *message, json_t *parameter)
{
	struct daemon *daemon = connection->daemon;
	_cleanup_(json_decrefp) json_t *reply = NULL;
	struct recording *recording;
	struct json_reader reader;
	json_t *records;
	bool gated, waits = false;
	int r;

	json_reader_init(&reader, parameter);
	records = json_read_array(&reader, "records", true);
	gated = json_read_bool(&reader, "gated", true);
	r = json_reader_finish(&reader);
	if (r < 0 || json_array_size(records) == 0 || json_array_size(records) > RECORDS_MAX)
		return -EBADMSG;
	if (audit_sink_state(daemon->sink) != SINK_OK)
		return control_refuse(
			message, BUS_ERROR_LOG, "%s", audit_sink_problem(daemon->sink));
	recording = calloc(1, sizeof(*recording));
	if (!recording)
		return err_trace(-ENOMEM);
	recording->daemon = daemon;
	recording->message = sd_bus_message_ref(message);
	r = take_records(connection, records, gated, recording, &waits);
	if (waits)
		return 0;
	sd_bus_message_unref(message);
	free(recording);
	if (r < 0)
		return r == -EBADMSG ? r
				     : control_refuse(message, BUS_ERROR_LOG,
					       "the log does not take this: %s", strerror(-r));
	/* All were there already: durable since their first answer, or made so now. */
	r = audit_sink_commit(daemon->sink);
	if (r < 0)
		return control_refuse(
			message, BUS_ERROR_LOG, "%s", audit_sink_problem(daemon->sink));
	reply = json_object();
	json_object_set_new(reply, "index", json_integer(-1));
	return control_reply(message, reply);
}

const struct method methods_broker[] = {
	{BUS_BROKER, "Register", METHOD_REGISTER, registry_register},
	{BUS_BROKER, "Ask", METHOD_BROKER, asks_submit},
	{BUS_BROKER, "Withdraw", METHOD_BROKER, asks_withdraw},
	{BUS_BROKER, "Record", METHOD_BROKER, method_record},
	{BUS_BROKER, "End", METHOD_BROKER, registry_end},
	{NULL, NULL, 0, NULL},
};
