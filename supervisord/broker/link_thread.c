/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
/* The link's thread: the only one that touches the connection. */

#include <poll.h>
#include <string.h>

#include "supervisord/base/display.h"
#include "supervisord/base/error.h"
#include "supervisord/base/log.h"
#include "supervisord/broker/link_state.h"
#include "supervisord/proto/bus.h"

#define PROCESS_MAX 64 /* messages before the queues are looked at again */

int link_thread_call(struct link *link, sd_bus_slot **slotp, const char *method, const char *text,
	sd_bus_message_handler_t fn, void *userdata, uint64_t timeout_usec)
{
	_cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
	int r;

	r = sd_bus_message_new_method_call(link->bus, &message, NULL, BUS_PATH, BUS_BROKER, method);
	if (r >= 0)
		r = sd_bus_message_append(message, "s", text);
	if (r >= 0 && fn)
		r = sd_bus_call_async(link->bus, slotp, message, fn, userdata, timeout_usec);
	else if (r >= 0)
		r = sd_bus_send(link->bus, message, NULL);
	return r < 0 ? err_trace(r) : 0;
}

/* Connecting ---------- */

static int on_signal(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
	struct link *link = userdata;
	uint64_t one = 1;
	const char *text;

	(void)error;
	if (sd_bus_message_is_signal(message, "org.freedesktop.DBus.Local", "Disconnected") > 0) {
		link->lost = true;
		return 1;
	}
	if (sd_bus_message_is_signal(message, BUS_BROKER, "SessionStop") > 0) {
		if (write(link->stop_fd, &one, sizeof(one)) < 0 && errno != EAGAIN)
			log_error("cannot pass on that the session is to stop");
		return 1;
	}
	if (sd_bus_message_is_signal(message, BUS_BROKER, "GrantRevoked") > 0) {
		if (sd_bus_message_read(message, "s", &text) < 0)
			return 1;
		pthread_mutex_lock(&link->lock);
		link_grant_remove(link, text);
		pthread_mutex_unlock(&link->lock);
		return 1;
	}
	return 0;
}

static json_t *resume_to_json(struct link *link)
{
	json_t *resume = json_object(), *grants = json_array();

	json_object_set_new(resume, "session", json_string(link->session));
	json_object_set_new(resume, "index", json_integer((json_int_t)link->index));
	pthread_mutex_lock(&link->lock);
	for (size_t i = 0; i < link->n_grants; i++)
		json_array_append_new(grants, grant_to_json(link->grants[i]));
	pthread_mutex_unlock(&link->lock);
	json_object_set_new(resume, "grants", grants);
	return resume;
}

static int read_registered(struct link *link, json_t *result)
{
	struct json_reader reader;
	const char *session;
	uint64_t index;
	int r;

	json_reader_init(&reader, result);
	session = json_read_str(&reader, "session", true);
	index = json_read_u64(&reader, "index", true);
	(void)json_read_u64(&reader, "last_n", false);
	r = json_reader_finish(&reader);
	if (r < 0 || strlen(session) >= sizeof(link->session))
		return err_trace(-EBADMSG);
	memcpy(link->session, session, strlen(session) + 1);
	link->index = index;
	return 0;
}

int link_thread_connect(struct link *link, bool resume, char **messagep)
{
	_cleanup_(client_closep) struct client *client = NULL;
	_cleanup_(json_decrefp) json_t *parameter = json_object();
	_cleanup_(json_decrefp) json_t *result = NULL;
	struct client_error error;
	int r;

	r = client_connect(link->control, &client);
	if (r < 0)
		return r;
	r = sd_bus_add_filter(client_bus(client), NULL, on_signal, link);
	if (r < 0)
		return err_trace(r);
	json_object_set(parameter, "spec", link->spec);
	json_object_set_new(parameter, "policy_digest", json_string(link->policy_digest));
	json_object_set_new(parameter, "plan_digest", json_string(link->plan_digest));
	json_object_set_new(parameter, "pid", json_integer(getpid()));
	if (resume)
		json_object_set_new(parameter, "resume", resume_to_json(link));
	r = client_call(client, BUS_BROKER, "Register", parameter, &result, &error);
	if (r == -EREMOTEIO && messagep)
		*messagep = strdup(error.message);
	if (r == -EREMOTEIO && resume && !link->warned)
		log_warn("the daemon does not take the session back: %s", error.message);
	link->warned |= r == -EREMOTEIO;
	if (r == 0)
		r = read_registered(link, result);
	if (r < 0)
		return r;
	link->warned = false;
	link->client = TAKE_PTR(client);
	link->bus = client_bus(link->client);
	return 0;
}

void link_thread_disconnect(struct link *link)
{
	if (!link->client)
		return;
	/* Slots first: nobody is to be called back any more. */
	link_records_reset(link);
	for (struct link_ask *ask = link->asks; ask; ask = ask->next) {
		ask->slot = sd_bus_slot_unref(ask->slot);
		if (ask->state == LINK_ASK_SENT)
			ask->state = LINK_ASK_NEW;
	}
	link->end_slot = sd_bus_slot_unref(link->end_slot);
	if (link->end_state == LINK_END_SENT)
		link->end_state = LINK_END_SPOOL;
	client_close(link->client);
	link->client = NULL;
	link->bus = NULL;
	link->lost = false;
	link->lost_usec = clock_monotonic_usec();
	link->next_try_usec = link->lost_usec;
	link->mode = LINK_SPOOLING;
}

/* Without the lock: a registration waits for its answer. */
static void step_connection(struct link *link)
{
	uint64_t now = clock_monotonic_usec();

	if (link->lost) {
		log_warn("the daemon is gone: requests are denied, records are kept in the spool");
		pthread_mutex_lock(&link->lock);
		link_thread_disconnect(link);
		pthread_mutex_unlock(&link->lock);
	}
	if (link->bus || now < link->next_try_usec || link->end_state != LINK_END_NONE)
		return;
	if (link_thread_connect(link, true, NULL) == 0) {
		log_info("connected to the daemon again");
		link->mode = spool_is_empty(link->spool) ? LINK_DIRECT : LINK_REPLAYING;
		link->spool_offset = 0;
		link->next_try_usec = 0;
	} else {
		link->next_try_usec = clock_monotonic_usec() + LINK_RETRY_USEC;
	}
}

/* Asks ---------- */

/* With the lock held. */
static void ask_done(struct link_ask *ask, enum link_answer answer, const char *note)
{
	ask->slot = sd_bus_slot_unref(ask->slot);
	ask->result.answer = answer;
	if (note && *note)
		ask->result.note = display_escape_short(note, 512, NULL);
	ask->state = LINK_ASK_DONE;
	pthread_cond_broadcast(&ask->link->changed);
}

static void read_answer(struct link_ask *ask, json_t *json)
{
	const char *decision, *outcome, *note;
	struct grant *own = NULL;
	struct json_reader reader;
	json_t *grant;

	json_reader_init(&reader, json);
	decision = json_read_str(&reader, "decision", true);
	outcome = json_read_str(&reader, "outcome", true);
	note = json_read_str(&reader, "note", false);
	grant = json_read_object(&reader, "grant", false);
	if (json_reader_finish(&reader) < 0) {
		ask_done(ask, LINK_REFUSED, "the daemon's answer cannot be read");
		return;
	}
	if (!strcmp(decision, "allow") && !strcmp(outcome, "allowed")) {
		if (grant && grant_from_json(grant, &ask->result.grant) == 0 &&
			grant_from_json(grant, &own) == 0) {
			link_grant_remove(ask->link, own->id);
			link_grant_add(ask->link, own);
		}
		ask_done(ask, LINK_ALLOWED, note);
	} else if (!strcmp(outcome, "timeout")) {
		ask_done(ask, LINK_TIMEOUT, note);
	} else if (!strcmp(outcome, "withdrawn")) {
		ask_done(ask, LINK_WITHDRAWN, note);
	} else {
		ask_done(ask, LINK_DENIED, note);
	}
}

static int on_answer(sd_bus_message *message, void *userdata, sd_bus_error *unused)
{
	struct link_ask *ask = userdata;
	struct link *link = ask->link;
	const sd_bus_error *error = sd_bus_message_get_error(message);
	_cleanup_(json_decrefp) json_t *json = NULL;
	const char *text;

	(void)unused;
	pthread_mutex_lock(&link->lock);
	if (sd_bus_message_is_method_error(message, SD_BUS_ERROR_NO_REPLY) > 0) {
		/* The connection broke, or the daemon hangs, much later than its own timer: asked
		 * again after a reconnect within the grace, denied otherwise. */
		ask->slot = sd_bus_slot_unref(ask->slot);
		ask->state = LINK_ASK_NEW;
		link->lost = true;
	} else if (error) {
		ask_done(ask, LINK_REFUSED, error->message);
	} else if (sd_bus_message_read(message, "s", &text) < 0 ||
		   json_parse_strict(text, strlen(text), BUS_MESSAGE_MAX, &json) < 0) {
		ask_done(ask, LINK_REFUSED, "the daemon's answer cannot be read");
	} else {
		read_answer(ask, json);
	}
	pthread_mutex_unlock(&link->lock);
	return 1;
}

static void send_withdraw(struct link *link, const struct link_ask *ask)
{
	_cleanup_(json_decrefp) json_t *json = json_object();
	_cleanup_(freep) char *text = NULL;

	json_object_set_new(json, "ask", json_integer((json_int_t)ask->serial));
	text = json_write(json);
	if (!text || link_thread_call(link, NULL, "Withdraw", text, NULL, NULL, 0) < 0)
		link->lost = true;
}

static void send_ask(struct link *link, struct link_ask *ask)
{
	uint64_t timeout = ask->timeout_usec + 60 * USEC_PER_SEC;
	int r;

	r = link_thread_call(link, &ask->slot, "Ask", ask->text, on_answer, ask, timeout);
	if (r < 0)
		link->lost = true;
	else
		ask->state = LINK_ASK_SENT;
}

/* With the lock held. */
static void step_asks(struct link *link)
{
	uint64_t now = clock_monotonic_usec();
	struct link_ask **at = &link->asks;

	while (*at) {
		struct link_ask *ask = *at;

		if (ask->released) {
			if (ask->state == LINK_ASK_SENT && link->bus && !link->lost)
				send_withdraw(link, ask);
			*at = ask->next;
			link_ask_free(ask);
			continue;
		}
		if (ask->state == LINK_ASK_NEW && link->bus && !link->lost)
			send_ask(link, ask);
		else if (ask->state == LINK_ASK_NEW && !link->bus &&
			 (now >= link->lost_usec + LINK_GRACE_USEC || link->closed))
			ask_done(ask, LINK_NO_DAEMON, NULL);
		at = &ask->next;
	}
}

/* End ---------- */

/* With the lock held. */
static void end_done(struct link *link, int r)
{
	link->end_result = r;
	link->end_state = LINK_END_DONE;
	pthread_cond_broadcast(&link->changed);
}

static int on_end(sd_bus_message *message, void *userdata, sd_bus_error *unused)
{
	struct link *link = userdata;

	(void)unused;
	pthread_mutex_lock(&link->lock);
	link->end_slot = sd_bus_slot_unref(link->end_slot);
	if (sd_bus_message_get_error(message))
		link->end_state = LINK_END_SPOOL;
	else
		end_done(link, 0);
	pthread_mutex_unlock(&link->lock);
	return 1;
}

static json_t *end_parameter(const struct link *link)
{
	json_t *json = json_object(), *status = NULL;

	if (json_parse_strict(
		    link->end_status, strlen(link->end_status), BUS_MESSAGE_MAX, &status) < 0)
		status = json_object();
	json_object_set_new(json, "status", status);
	return json;
}

static void send_end(struct link *link)
{
	_cleanup_(json_decrefp) json_t *json = end_parameter(link);
	_cleanup_(freep) char *text = json_write(json);

	if (!text || link_thread_call(
			     link, &link->end_slot, "End", text, on_end, link, LINK_CALL_USEC) < 0)
		link->end_state = LINK_END_SPOOL;
	else
		link->end_state = LINK_END_SENT;
}

static void spool_end(struct link *link)
{
	_cleanup_(json_decrefp) json_t *json = end_parameter(link);
	_cleanup_(freep) char *text = NULL;
	int r;

	link_records_spool(link);
	json_object_set_new(json, "type", json_string("session.end"));
	json_object_set_new(json, "session", json_string(link->session));
	json_object_set_new(json, "at_usec", json_integer((json_int_t)clock_realtime_usec()));
	json_object_set_new(json, "n", json_integer((json_int_t)++link->next_n));
	text = json_write(json);
	r = text ? spool_append(link->spool, text, strlen(text)) : -ENOMEM;
	if (r == 0)
		r = spool_sync(link->spool);
	end_done(link, r);
}

/* With the lock held. The records before it first: those that are sent are in the log when the end
 * is, because the daemon keeps the order. */
static void step_end(struct link *link)
{
	bool spooling = link->mode == LINK_SPOOLING || !link->bus;

	if (link->end_state == LINK_END_WANTED && link->mode == LINK_DIRECT && link->bus &&
		!link->lost && !link_records_unsent(link))
		send_end(link);
	else if (link->end_state == LINK_END_SPOOL ||
		 (link->end_state == LINK_END_WANTED && spooling && !link->n_batches))
		spool_end(link);
}

/* Loop ---------- */

/* Calls back; without the lock. Returns whether anything happened. */
static bool process(struct link *link)
{
	bool any = false;

	for (unsigned i = 0; link->bus && !link->lost && i < PROCESS_MAX; i++) {
		int r = sd_bus_process(link->bus, NULL);

		if (r < 0)
			link->lost = true;
		if (r <= 0)
			return any || r < 0;
		any = true;
	}
	return any;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* With the lock held. */
static uint64_t next_due(const struct link *link)
{
	uint64_t due = link_records_due(link), bus_due = UINT64_MAX;

	if (link->bus) {
		if (sd_bus_get_timeout(link->bus, &bus_due) >= 0)
			due = earlier(due, bus_due);
		return due;
	}
	if (link->end_state == LINK_END_NONE)
		due = earlier(due, link->next_try_usec);
	for (const struct link_ask *ask = link->asks; ask; ask = ask->next)
		if (ask->state == LINK_ASK_NEW)
			return earlier(due, link->lost_usec + LINK_GRACE_USEC);
	return due;
}

static void wait_events(struct link *link, uint64_t due_usec)
{
	struct pollfd fds[2] = {{.fd = link->wake_fd, .events = POLLIN}, {.fd = -1}};
	uint64_t now = clock_monotonic_usec(), count;
	struct timespec timeout = {0};
	int events;

	if (link->bus) {
		fds[1].fd = sd_bus_get_fd(link->bus);
		events = sd_bus_get_events(link->bus);
		if (events < 0) {
			link->lost = true;
			return;
		}
		fds[1].events = (short)events;
	}
	if (due_usec > now) {
		timeout.tv_sec = (time_t)((due_usec - now) / USEC_PER_SEC);
		timeout.tv_nsec = (long)((due_usec - now) % USEC_PER_SEC) * 1000;
	}
	(void)ppoll(fds, ARRAY_LEN(fds), due_usec == UINT64_MAX ? NULL : &timeout, NULL);
	if (read(link->wake_fd, &count, sizeof(count)) < 0 && errno != EAGAIN && errno != EINTR)
		abort();
}

void *link_thread_main(void *userdata)
{
	struct link *link = userdata;
	uint64_t due;
	bool quit;

	for (;;) {
		step_connection(link);
		pthread_mutex_lock(&link->lock);
		quit = link->quit;
		step_asks(link);
		link_records_step(link);
		step_end(link);
		due = link->lost ? 0 : next_due(link);
		pthread_mutex_unlock(&link->lock);
		if (quit)
			return NULL;
		if (!process(link) && !link->lost)
			wait_events(link, due);
	}
}
