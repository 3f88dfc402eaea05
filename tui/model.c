/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
/* The daemon's lists. Knows nothing of screens. */

#include "tui/model.h"

#include <stdio.h>
#include <string.h>

#include "supervisord/base/clock.h"
#include "supervisord/base/display.h"
#include "supervisord/base/error.h"
#include "supervisord/proto/bus.h"

int model_init(struct model *model)
{
	int r;

	memset(model, 0, sizeof(*model));
	r = dirs_init(&model->dirs);
	if (r < 0)
		return err_trace(r);
	model->requests = json_array();
	model->sessions = json_array();
	return model->requests && model->sessions ? 0 : err_trace(-ENOMEM);
}

static void disconnect(struct model *model)
{
	if (!model->client)
		return;
	client_watch_stop(&model->watch);
	client_close(TAKE_PTR(model->client));
	json_array_clear(model->requests);
	json_array_clear(model->sessions);
}

void model_deinit(struct model *model)
{
	disconnect(model);
	json_decref(model->requests);
	json_decref(model->sessions);
	dirs_deinit(&model->dirs);
}

static const char *member(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "-";
}

static void on_signal(void *userdata, const char *signal, json_t *payload)
{
	struct model *model = userdata;

	model->stale = true;
	if (strcmp(signal, "RequestClosed") == 0) {
		_cleanup_(freep) char *text = client_closed_text(payload), *safe = NULL;

		if (!text)
			return;
		safe = display_reescape(text);
		(void)snprintf(model->closed, sizeof(model->closed), "%s", safe ? safe : "");
	}
}

static bool fetch(struct model *model, const char *method, json_t **listp)
{
	json_t *list = NULL;
	struct client_error error;

	if (client_call(model->client, BUS_CONTROL, method, NULL, &list, &error) < 0 ||
		!json_is_array(list)) {
		json_decref(list);
		return false;
	}
	json_decref(*listp);
	*listp = list;
	return true;
}

bool model_refresh(struct model *model)
{
	bool fresh = false;

	if (!model->client) {
		if (client_connect(model->dirs.control, &model->client) < 0) {
			model->client = NULL;
			return false;
		}
		if (client_watch_start(&model->watch, model->client, on_signal, model) < 0) {
			client_close(TAKE_PTR(model->client));
			return false;
		}
		model->stale = true;
	}
	if (model->stale) {
		model->stale = false;
		fresh = true;
		if (!fetch(model, "Requests", &model->requests) ||
			!fetch(model, "Sessions", &model->sessions))
			disconnect(model);
		model->fetched_usec = clock_boottime_usec();
	}
	return fresh;
}

void model_prepare(struct model *model, struct pollfd *pollfd, int *timeout_msp)
{
	*pollfd = (struct pollfd){.fd = -1};
	*timeout_msp = 1000;
	if (model->client && client_watch_prepare(&model->watch, pollfd, timeout_msp) < 0)
		disconnect(model);
	if (*timeout_msp < 0 || *timeout_msp > 1000)
		*timeout_msp = 1000;
}

void model_process(struct model *model)
{
	if (model->client && client_watch_process(&model->watch) < 0)
		disconnect(model);
}

json_t *model_find(const struct model *model, const char *id)
{
	for (size_t i = 0; id && i < json_array_size(model->requests); i++) {
		json_t *request = json_array_get(model->requests, i);

		if (strcmp(member(request, "id"), id) == 0)
			return request;
	}
	return NULL;
}

uint64_t model_seconds_left(const struct model *model, const json_t *request)
{
	uint64_t left = (uint64_t)json_integer_value(json_object_get(request, "remaining_ms")) *
			USEC_PER_MSEC;
	uint64_t passed = clock_boottime_usec() - model->fetched_usec;

	return left > passed ? (left - passed) / USEC_PER_SEC : 0;
}

int model_decide(struct model *model, const json_t *request, bool allow, const char *duration,
	const char *scope, struct client_error *error)
{
	_cleanup_(json_decrefp) json_t *parameter = NULL, *result = NULL;
	const char *narrowest =
		json_string_value(json_array_get(json_object_get(request, "scopes"), 0));
	int r;

	memset(error, 0, sizeof(*error));
	if (!model->client)
		return -ENOTCONN;
	if (!scope)
		scope = narrowest ? narrowest : "exact";
	parameter = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "id", member(request, "id"),
		"fingerprint", member(request, "fingerprint"), "decision", allow ? "allow" : "deny",
		"duration", duration, "scope", scope, "client", "agent-tui");
	if (!parameter)
		return -ENOMEM;
	r = client_call(model->client, BUS_CONTROL, "Decide", parameter, &result, error);
	model->stale = true;
	return r;
}
