/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef TUI_MODEL_H
#define TUI_MODEL_H

/* What the screens show: the daemon's lists, kept fresh by its signals, through its restarts. */

#include <stdbool.h>

#include "supervisord/base/dirs.h"
#include "supervisord/client/watch.h"

struct model {
	struct dirs dirs;
	struct client *client; /* NULL = no daemon */
	struct client_watch watch;
	json_t *requests, *sessions; /* arrays, never NULL */
	uint64_t fetched_usec;       /* boottime of requests: "remaining_ms" counts from here */
	bool stale;                  /* a signal came since */
	char closed[256];            /* the last request that somebody else closed, safe text */
};

/* 0 or -errno. */
int model_init(struct model *model) _must_use_;
void model_deinit(struct model *model);
/* Connects where there is no connection; fetches where something changed. Never fails: no daemon is
 * a state. True when what is shown may have changed. */
bool model_refresh(struct model *model);
/* For poll(2): fd -1 without a connection. */
void model_prepare(struct model *model, struct pollfd *pollfd, int *timeout_msp);
/* Handles signals. */
void model_process(struct model *model);
/* The request with this id; borrowed, or NULL. */
json_t *model_find(const struct model *model, const char *id);
/* Seconds until the request's time is over. */
uint64_t model_seconds_left(const struct model *model, const json_t *request);
/* Sends an answer. DURATION "once" or "session"; SCOPE NULL = the narrowest. 0, or -errno with
 * ERROR filled in. */
int model_decide(struct model *model, const json_t *request, bool allow, const char *duration,
	const char *scope, struct client_error *error) _must_use_;

#endif
