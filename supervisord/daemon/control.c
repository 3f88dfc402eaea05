/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "supervisord/daemon/control.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "supervisord/base/clock.h"
#include "supervisord/base/error.h"
#include "supervisord/base/log.h"
#include "supervisord/daemon/records.h"
#include "supervisord/daemon/registry.h"
#include "supervisord/proto/bus.h"

/* What may wait for a peer that does not read. */
#define WRITE_QUEUE_MAX 32768
#define WRITE_QUEUE_BYTES_MAX ((size_t)32 * 1024 * 1024)
#define REFUSED_RECORDS_PER_MINUTE 60
#define BACKLOG 128

struct control {
	struct daemon *daemon;
	sd_event_source *listen_source;
	sd_event_source *reaper;
	struct connection *first;
	struct connection *dead;
	size_t n_connections;
};

/* A flood of refused callers must not fill the log. */
static void record_refusal(struct connection *connection, const char *method)
{
	struct daemon *daemon = connection->daemon;
	uint64_t minute = clock_boottime_usec() / (60 * USEC_PER_SEC);
	const struct session *session = NULL;
	_cleanup_(json_decrefp) json_t *record = NULL;

	if (minute != daemon->refused_minute) {
		daemon->refused_minute = minute;
		daemon->n_refused_records = 0;
	}
	if (++daemon->n_refused_records > REFUSED_RECORDS_PER_MINUTE) {
		daemon->n_refused_suppressed++;
		return;
	}
	(void)peer_judge(&connection->peer, &daemon->sessions, &session);
	record = record_peer_refused(&connection->peer, connection->verdict, session, method);
	if (!record)
		return;
	if (daemon->n_refused_suppressed)
		json_object_set_new(record, "suppressed",
			json_integer((json_int_t)daemon->n_refused_suppressed));
	daemon->n_refused_suppressed = 0;
	log_warn("refused pid %d: %s", (int)connection->peer.pid,
		peer_verdict_text(connection->verdict));
	(void)audit_sink_append(daemon->sink, record, true, NULL, NULL);
}

static int refuse_peer(
	struct connection *connection, sd_bus_message *message, enum peer_verdict verdict)
{
	bool inside = verdict == PEER_INSIDE;

	connection->verdict = verdict;
	if (!connection->refusal_recorded && verdict != PEER_GONE)
		record_refusal(connection, sd_bus_message_get_member(message));
	connection->refusal_recorded = true;
	return control_refuse(message, inside ? BUS_ERROR_SELF_APPROVAL : BUS_ERROR_NOT_AUTHORIZED,
		"%s", peer_verdict_text(verdict));
}

static const struct method *find_method(const char *interface, const char *name)
{
	const struct method *const tables[] = {methods_control, methods_broker};

	for (size_t i = 0; i < ARRAY_LEN(tables); i++)
		for (const struct method *m = tables[i]; m->name; m++)
			if (!strcmp(m->interface, interface) && !strcmp(m->name, name))
				return m;
	return NULL;
}

static int read_parameter(sd_bus_message *message, const struct method *method, json_t **parameterp)
{
	const char *text;
	int r;

	if ((method->flags & METHOD_BARE) && sd_bus_message_has_signature(message, "")) {
		*parameterp = json_object();
		return *parameterp ? 0 : err_trace(-ENOMEM);
	}
	if (!sd_bus_message_has_signature(message, "s"))
		return -EBADMSG;
	r = sd_bus_message_read(message, "s", &text);
	if (r < 0)
		return -EBADMSG;
	r = json_parse_strict(text, strlen(text), BUS_MESSAGE_MAX, parameterp);
	if (r < 0)
		return r;
	return json_is_object(*parameterp) ? 0 : -EBADMSG;
}

static int call_method(
	struct connection *connection, sd_bus_message *message, const struct method *method)
{
	_cleanup_(json_decrefp) json_t *parameter = NULL;
	const struct session *session;
	enum peer_verdict verdict = connection->verdict;
	int r;

	/* A session may have begun around the caller since it connected. */
	if (verdict == PEER_OK && (method->flags & (METHOD_CHANGES | METHOD_REGISTER)))
		verdict = peer_judge(&connection->peer, &connection->daemon->sessions, &session);
	if (verdict != PEER_OK)
		return refuse_peer(connection, message, verdict);
	if ((method->flags & METHOD_BROKER) && !connection->session)
		return control_refuse(message, BUS_ERROR_NOT_AUTHORIZED,
			"%s is for the broker of a session", method->name);
	if ((method->flags & METHOD_REGISTER) && connection->session)
		return control_refuse(
			message, BUS_ERROR_NOT_AUTHORIZED, "this connection has a session already");
	r = read_parameter(message, method, &parameter);
	if (r == -EMSGSIZE)
		return control_refuse(message, BUS_ERROR_INVALID, "%s: more than %d bytes",
			method->name, BUS_MESSAGE_MAX);
	if (r < 0)
		return control_refuse(message, BUS_ERROR_INVALID,
			"%s takes one string, a strict JSON object", method->name);
	r = method->fn(connection, message, parameter);
	if (r == -EBADMSG)
		return control_refuse(message, BUS_ERROR_INVALID,
			"%s: a member is missing, unknown or of the wrong type", method->name);
	if (r < 0)
		return control_refuse(
			message, SD_BUS_ERROR_FAILED, "%s: %s", method->name, strerror(-r));
	return 0;
}

static void connection_kill(struct connection *connection);

static int on_message(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
	struct connection *connection = userdata;
	const struct method *method;
	const char *interface = sd_bus_message_get_interface(message);
	const char *member = sd_bus_message_get_member(message);
	uint8_t type = 0;

	(void)error;
	if (sd_bus_message_is_signal(message, "org.freedesktop.DBus.Local", "Disconnected") > 0) {
		connection_kill(connection);
		return 1;
	}
	if (sd_bus_message_get_type(message, &type) < 0 || type != SD_BUS_MESSAGE_METHOD_CALL)
		return 0;
	if (!interface || !member)
		return 0;
	/* Ping and the like: sd-bus answers them itself. */
	if (!strcmp(interface, "org.freedesktop.DBus.Peer"))
		return 0;
	if (connection->verdict != PEER_OK) {
		(void)refuse_peer(connection, message, connection->verdict);
		return 1;
	}
	method = find_method(interface, member);
	if (!method)
		return 0;
	(void)call_method(connection, message, method);
	return 1;
}

/* The bus may be in the middle of calling us: it is released from the loop. */
static void connection_kill(struct connection *connection)
{
	struct control *control = connection->daemon->control;

	if (connection->dead)
		return;
	connection->dead = true;
	if (connection->prev)
		connection->prev->next = connection->next;
	else
		control->first = connection->next;
	if (connection->next)
		connection->next->prev = connection->prev;
	connection->prev = NULL;
	connection->next = control->dead;
	control->dead = connection;
	(void)sd_event_source_set_enabled(control->reaper, SD_EVENT_ONESHOT);
	if (connection->session)
		registry_disconnected(connection->daemon, connection->session);
	connection->session = NULL;
}

static void connection_free(struct connection *connection)
{
	sd_bus_slot_unref(connection->filter);
	if (connection->bus) {
		sd_bus_detach_event(connection->bus);
		sd_bus_close_unref(connection->bus);
	}
	peer_deinit(&connection->peer);
	free(connection);
}

static int on_reap(sd_event_source *source, void *userdata)
{
	struct control *control = userdata;

	(void)source;
	while (control->dead) {
		struct connection *connection = control->dead;

		control->dead = connection->next;
		control->n_connections--;
		connection_free(connection);
	}
	return 0;
}

static int connection_start(struct connection *connection, int *fdp)
{
	sd_id128_t id;
	int r, fd;

	r = peer_init(&connection->peer, *fdp);
	if (r < 0)
		return r;
	r = sd_id128_randomize(&id);
	if (r < 0)
		return err_trace(r);
	r = sd_bus_new(&connection->bus);
	if (r < 0)
		return err_trace(r);
	fd = TAKE_FD(*fdp);
	r = sd_bus_set_fd(connection->bus, fd, fd);
	if (r < 0) {
		close(fd);
		return err_trace(r);
	}
	r = sd_bus_set_server(connection->bus, 1, id);
	if (r >= 0)
		r = sd_bus_add_filter(connection->bus, &connection->filter, on_message, connection);
	if (r >= 0)
		r = sd_bus_start(connection->bus);
	if (r >= 0)
		r = sd_bus_attach_event(
			connection->bus, connection->daemon->event, SD_EVENT_PRIORITY_NORMAL);
	return r < 0 ? err_trace(r) : 0;
}

static void accept_one(struct control *control, int accepted)
{
	_cleanup_(closep) int fd = accepted;
	struct connection *connection;
	const struct session *session;
	int r;

	if (control->n_connections >= CONNECTIONS_MAX) {
		log_warn("too many connections: one more is refused");
		return;
	}
	connection = calloc(1, sizeof(*connection));
	if (!connection)
		return;
	connection->daemon = control->daemon;
	connection->peer.pidfd = -1;
	r = connection_start(connection, &fd);
	if (r < 0) {
		log_debug_r(r, "a connection ended before it began");
		connection_free(connection);
		return;
	}
	connection->verdict = peer_judge(&connection->peer, &control->daemon->sessions, &session);
	connection->next = control->first;
	if (control->first)
		control->first->prev = connection;
	control->first = connection;
	control->n_connections++;
}

static int on_listen(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct control *control = userdata;

	(void)source;
	(void)events;
	for (;;) {
		int accepted = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (accepted < 0) {
			if (errno == EINTR || errno == ECONNABORTED)
				continue;
			if (errno != EAGAIN)
				log_error_r(-errno, "cannot accept a connection");
			return 0;
		}
		accept_one(control, accepted);
	}
}

int control_listen(const char *path, int runtime_fd, int *fdp)
{
	_cleanup_(closep) int fd = -1;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const char *name = strrchr(path, '/') + 1;
	mode_t mask;
	int n, r = 0;

	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_trace(err_errno());
	n = snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", runtime_fd,
		name);
	if (n < 0 || (size_t)n >= sizeof(address.sun_path))
		return err_trace(-ENAMETOOLONG);
	/* The lock is ours: what is there belongs to a daemon that is gone. */
	if (unlinkat(runtime_fd, name, 0) < 0 && errno != ENOENT)
		return err_trace(err_errno());
	mask = umask(0177);
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		r = err_errno();
	umask(mask);
	if (r == 0 && listen(fd, BACKLOG) < 0)
		r = err_errno();
	if (r < 0)
		return err_trace(r);
	*fdp = TAKE_FD(fd);
	return 0;
}

int control_set_socket(struct control *control, int listen_fd)
{
	_cleanup_(closep) int fd = listen_fd;
	sd_event_source *source = NULL;
	int r;

	r = sd_event_add_io(control->daemon->event, &source, fd, EPOLLIN, on_listen, control);
	if (r < 0)
		return err_trace(r);
	r = sd_event_source_set_io_fd_own(source, 1);
	if (r >= 0) {
		TAKE_FD(fd);
		r = sd_event_source_set_exit_on_failure(source, 1);
	}
	if (r < 0) {
		sd_event_source_disable_unref(source);
		return err_trace(r);
	}
	sd_event_source_disable_unref(control->listen_source);
	control->listen_source = source;
	return 0;
}

int control_new(struct daemon *daemon, int listen_fd, struct control **controlp)
{
	_cleanup_(control_freep) struct control *control = calloc(1, sizeof(*control));
	_cleanup_(closep) int fd = listen_fd;
	int r;

	if (!control)
		return err_trace(-ENOMEM);
	control->daemon = daemon;
	r = sd_event_add_defer(daemon->event, &control->reaper, on_reap, control);
	if (r >= 0)
		r = sd_event_source_set_enabled(control->reaper, SD_EVENT_OFF);
	if (r < 0)
		return err_trace(r);
	r = control_set_socket(control, TAKE_FD(fd));
	if (r < 0)
		return r;
	*controlp = TAKE_PTR(control);
	return 0;
}

void control_free(struct control *control)
{
	while (control->first)
		connection_kill(control->first);
	(void)on_reap(NULL, control);
	sd_event_source_disable_unref(control->listen_source);
	sd_event_source_disable_unref(control->reaper);
	free(control);
}

void control_emit(struct control *control, const char *member, json_t *payload)
{
	_cleanup_(freep) char *text = NULL;
	struct connection *next;
	size_t size;

	/* Nobody listens: no work. */
	if (!control || !control->first || !payload)
		return;
	text = json_write(payload);
	if (!text)
		return;
	size = strlen(text);
	for (struct connection *c = control->first; c; c = next) {
		uint64_t queued = 0;
		int r;

		next = c->next;
		if (c->session || c->verdict != PEER_OK || sd_bus_is_ready(c->bus) <= 0)
			continue;
		r = sd_bus_emit_signal(c->bus, BUS_PATH, BUS_CONTROL, member, "s", text);
		if (r >= 0)
			r = sd_bus_get_n_queued_write(c->bus, &queued);
		c->unread_bytes = queued ? c->unread_bytes + size : 0;
		if (r < 0 || queued > WRITE_QUEUE_MAX || c->unread_bytes > WRITE_QUEUE_BYTES_MAX) {
			if (r >= 0)
				log_warn("pid %d does not read its messages: dropped",
					(int)c->peer.pid);
			connection_kill(c);
		}
	}
}

int control_emit_broker(struct connection *connection, const char *member, const char *text)
{
	int r = sd_bus_emit_signal(connection->bus, BUS_PATH, BUS_BROKER, member, "s", text);

	return r < 0 ? err_trace(r) : 0;
}

void control_flush(struct control *control)
{
	for (struct connection *c = control->first; c; c = c->next) {
		/* One step writes what the socket takes; never wait for a peer. */
		for (unsigned i = 0; i < 64; i++) {
			uint64_t queued = 0;

			if (sd_bus_get_n_queued_write(c->bus, &queued) < 0 || queued == 0)
				break;
			if (sd_bus_process(c->bus, NULL) <= 0)
				break;
		}
	}
}

int control_reply(sd_bus_message *message, json_t *json)
{
	_cleanup_(freep) char *text = json ? json_write(json) : NULL;
	int r;

	if (!text)
		return err_trace(-ENOMEM);
	r = sd_bus_reply_method_return(message, "s", text);
	return r < 0 ? err_trace(r) : 0;
}

int control_refuse(sd_bus_message *message, const char *error, const char *format, ...)
{
	char text[1024];
	va_list args;
	int r;

	va_start(args, format);
	/* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): va_start is right above */
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	r = sd_bus_reply_method_errorf(message, error, "%s", text);
	/* The caller may be gone, which is its own affair. */
	if (r < 0)
		log_debug_r(r, "cannot answer a call");
	return 0;
}
