/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
/* Signals of the control socket. sd_bus stays in here: its users only see poll(2) and JSON. */

#include "supervisord/client/watch.h"

#include <string.h>

#include "supervisord/base/clock.h"
#include "supervisord/base/error.h"
#include "supervisord/proto/bus.h"

static int on_message(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
	struct client_watch *watch = userdata;
	_cleanup_(json_decrefp) json_t *payload = NULL;
	const char *member = sd_bus_message_get_member(message), *text = NULL;

	(void)error;
	if (!member || !sd_bus_message_is_signal(message, BUS_CONTROL, NULL))
		return 0;
	/* A malformed signal is ignored: the lists can always be fetched again. */
	if (sd_bus_message_read(message, "s", &text) < 0 || !text)
		return 0;
	if (json_parse_strict(text, strlen(text), BUS_MESSAGE_MAX, &payload) < 0)
		payload = json_string(text);
	watch->fn(watch->userdata, member, payload);
	return 0;
}

int client_watch_start(
	struct client_watch *watch, struct client *client, client_signal_fn fn, void *userdata)
{
	int r;

	*watch = (struct client_watch){.client = client, .fn = fn, .userdata = userdata};
	r = sd_bus_add_filter(client_bus(client), &watch->slot, on_message, watch);
	return r < 0 ? err_trace(r) : 0;
}

void client_watch_stop(struct client_watch *watch)
{
	watch->slot = sd_bus_slot_unref(watch->slot);
	watch->client = NULL;
}

int client_watch_prepare(struct client_watch *watch, struct pollfd *pollfd, int *timeout_msp)
{
	sd_bus *bus = client_bus(watch->client);
	uint64_t until = UINT64_MAX, now;
	int events, r;

	pollfd->fd = sd_bus_get_fd(bus);
	if (pollfd->fd < 0)
		return err_trace(pollfd->fd);
	events = sd_bus_get_events(bus);
	if (events < 0)
		return err_trace(events);
	pollfd->events = (short)events;
	pollfd->revents = 0;
	r = sd_bus_get_timeout(bus, &until);
	if (r < 0)
		return err_trace(r);
	now = clock_monotonic_usec();
	if (until == UINT64_MAX)
		*timeout_msp = -1;
	else
		*timeout_msp = until > now ? (int)((until - now) / USEC_PER_MSEC + 1) : 0;
	return 0;
}

int client_watch_process(struct client_watch *watch)
{
	int r;

	do {
		r = sd_bus_process(client_bus(watch->client), NULL);
	} while (r > 0);
	return r < 0 ? -ECONNRESET : 0;
}

char *client_closed_text(const json_t *closed)
{
	const char *id = json_string_value(json_object_get(closed, "id"));
	const char *outcome = json_string_value(json_object_get(closed, "outcome"));
	const char *by = json_string_value(json_object_get(closed, "by"));
	char *text = NULL;
	int r;

	if (outcome && strcmp(outcome, "timeout") == 0)
		r = asprintf(&text, "request %s is over: refused, nobody answered in time",
			id ? id : "?");
	else
		r = asprintf(&text, "request %s is over: %s%s%s", id ? id : "?",
			outcome ? outcome : "?", by && *by ? " by " : "", by ? by : "");
	return r < 0 ? NULL : text;
}
