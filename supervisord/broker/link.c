/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "supervisord/broker/link.h"

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>

#include "supervisord/base/display.h"
#include "supervisord/base/error.h"
#include "supervisord/base/parse.h"
#include "supervisord/base/proc.h"
#include "supervisord/broker/link_state.h"

#define WANTED_USEC (250 * USEC_PER_MSEC)

void link_result_deinit(struct link_result *result)
{
	if (result->grant)
		grant_free(result->grant);
	free(result->note);
	*result = (struct link_result){0};
}

void link_wake(struct link *link)
{
	uint64_t one = 1;

	/* It cannot fail but by being full, and then the thread is awake. */
	if (write(link->wake_fd, &one, sizeof(one)) < 0 && errno != EAGAIN)
		abort();
}

/* Grants ---------- */

void link_grant_add(struct link *link, struct grant *grant)
{
	if (link->n_grants == LINK_GRANTS_MAX) {
		grant_free(grant);
		return;
	}
	link->grants[link->n_grants++] = grant;
}

void link_grant_remove(struct link *link, const char *id)
{
	for (size_t i = 0; i < link->n_grants; i++) {
		if (strcmp(link->grants[i]->id, id) != 0)
			continue;
		grant_free(link->grants[i]);
		link->grants[i--] = link->grants[--link->n_grants];
	}
}

static struct grant *copy_grant(const struct grant *grant)
{
	_cleanup_(json_decrefp) json_t *json = grant_to_json(grant);
	struct grant *copy = NULL;

	return json && grant_from_json(json, &copy) == 0 ? copy : NULL;
}

static bool find_grant(struct link *link, const struct request *request, const char *rule,
	struct link_result *result)
{
	uint64_t now = clock_boottime_usec();

	for (size_t i = 0; i < link->n_grants; i++) {
		if (!grant_covers(link->grants[i], request, rule, now))
			continue;
		result->grant = copy_grant(link->grants[i]);
		result->answer = LINK_ALLOWED;
		return true;
	}
	return false;
}

/* Asks ---------- */

void link_ask_free(struct link_ask *ask)
{
	sd_bus_slot_unref(ask->slot);
	link_result_deinit(&ask->result);
	free(ask->text);
	free(ask);
}

static json_t *rule_to_json(const struct policy_rule_info *rule)
{
	json_t *json = json_object(), *durations = json_array();
	json_t *spans = json_array(), *scopes = json_array();
	/* A statement or a reason may have letters that are no UTF-8. */
	_cleanup_(freep) char *id = display_escape(rule->id, strlen(rule->id), NULL);
	_cleanup_(freep) char *text = display_escape_short(rule->text, 1024, NULL);
	_cleanup_(freep) char *reason = NULL;

	for (unsigned d = 0; d < _GRANT_DURATION_N; d++)
		if (rule->durations & (1u << d))
			json_array_append_new(durations,
				json_string(grant_duration_name((enum grant_duration)d)));
	for (size_t i = 0; i < rule->n_spans; i++)
		json_array_append_new(spans, json_integer((json_int_t)rule->spans_usec[i]));
	for (unsigned s = 0; s < _GRANT_SCOPE_N; s++)
		if (rule->scopes & (1u << s))
			json_array_append_new(
				scopes, json_string(grant_scope_name((enum grant_scope)s)));
	json_object_set_new(json, "id", json_string(id ? id : ""));
	json_object_set_new(json, "text", json_string(text ? text : ""));
	if (rule->reason) {
		reason = display_escape_short(rule->reason, 1024, NULL);
		json_object_set_new(json, "reason", json_string(reason ? reason : ""));
	}
	json_object_set_new(json, "layer", json_string(policy_layer_name(rule->layer)));
	json_object_set_new(json, "durations", durations);
	json_object_set_new(json, "spans_usec", spans);
	json_object_set_new(json, "scopes", scopes);
	return json;
}

static int make_ask(struct link *link, const struct request *request,
	const struct policy_rule_info *rule, const uint8_t policy_digest[32],
	struct link_ask **askp)
{
	_cleanup_(json_decrefp) json_t *json = json_object();
	struct link_ask *ask = calloc(1, sizeof(*ask));
	json_t *body = request_to_json(request);
	char digest[65];

	if (!json || !ask || !body) {
		free(ask);
		json_decref(body);
		return err_trace(-ENOMEM);
	}
	format_hex(policy_digest, 32, digest);
	json_object_set_new(json, "request", body);
	json_object_set_new(json, "rule", rule_to_json(rule));
	json_object_set_new(json, "policy_digest", json_string(digest));
	json_object_set_new(json, "timeout_usec", json_integer((json_int_t)rule->timeout_usec));
	pthread_mutex_lock(&link->lock);
	ask->serial = ++link->next_ask;
	pthread_mutex_unlock(&link->lock);
	json_object_set_new(json, "ask", json_integer((json_int_t)ask->serial));
	ask->link = link;
	ask->timeout_usec = rule->timeout_usec;
	ask->text = json_write(json);
	if (!ask->text || strlen(ask->text) > REQUEST_JSON_MAX) {
		int r = ask->text ? -E2BIG : -ENOMEM;

		link_ask_free(ask);
		return err_trace(r);
	}
	*askp = ask;
	return 0;
}

static struct timespec monotonic_after(uint64_t usec)
{
	uint64_t at = clock_monotonic_usec() + usec;

	return (struct timespec){
		.tv_sec = (time_t)(at / USEC_PER_SEC), .tv_nsec = (long)(at % USEC_PER_SEC) * 1000};
}

/* With the lock held; it is released while STILL_WANTED runs. False: nobody wants the answer. */
static bool wait_answer(
	struct link *link, struct link_ask *ask, bool (*still_wanted)(void *), void *userdata)
{
	while (ask->state != LINK_ASK_DONE) {
		struct timespec until = monotonic_after(WANTED_USEC);
		bool wanted = true;

		if (pthread_cond_timedwait(&link->changed, &link->lock, &until) != ETIMEDOUT)
			continue;
		if (still_wanted && ask->state != LINK_ASK_DONE) {
			pthread_mutex_unlock(&link->lock);
			wanted = still_wanted(userdata);
			pthread_mutex_lock(&link->lock);
		}
		if (!wanted && ask->state != LINK_ASK_DONE)
			return false;
	}
	return true;
}

int link_ask(struct link *link, const struct request *request, const struct policy_rule_info *rule,
	const uint8_t policy_digest[32], bool (*still_wanted)(void *userdata), void *userdata,
	struct link_result *result)
{
	struct link_ask *ask = NULL;
	int r;

	*result = (struct link_result){.answer = LINK_REFUSED};
	pthread_mutex_lock(&link->lock);
	if (find_grant(link, request, rule->id, result)) {
		pthread_mutex_unlock(&link->lock);
		return 0;
	}
	pthread_mutex_unlock(&link->lock);
	r = make_ask(link, request, rule, policy_digest, &ask);
	if (r < 0 || !ask)
		return r < 0 ? r : err_trace(-ENOMEM);
	pthread_mutex_lock(&link->lock);
	if (link->closed) {
		pthread_mutex_unlock(&link->lock);
		link_ask_free(ask);
		result->answer = LINK_NO_DAEMON;
		return 0;
	}
	ask->next = link->asks;
	link->asks = ask;
	link_wake(link);
	if (wait_answer(link, ask, still_wanted, userdata)) {
		*result = ask->result;
		ask->result = (struct link_result){0};
	} else {
		result->answer = LINK_WITHDRAWN;
	}
	ask->released = true;
	link_wake(link);
	pthread_mutex_unlock(&link->lock);
	return 0;
}

/* Records ---------- */

/* TEXT, a JSON object, with one or two more members. */
static char *add_serial(const char *text, uint64_t n, uint64_t lost)
{
	size_t size = strlen(text) + 1;
	char *whole = malloc(size + 80);
	char *at;

	if (!whole)
		return NULL;
	memcpy(whole, text, size);
	at = whole + size - 2; /* over the brace */
	at += snprintf(at, 32, ",\"n\":%" PRIu64, n);
	if (lost)
		at += snprintf(at, 32, ",\"lost\":%" PRIu64, lost);
	memcpy(at, "}", 2);
	return whole;
}

int link_item_add(struct link *link, const char *text, struct link_gate *gate)
{
	struct link_item *item;

	if (link->n_items >= LINK_RECORDS_MAX) {
		link->n_lost++;
		return err_trace(-ENOBUFS);
	}
	item = calloc(1, sizeof(*item));
	if (!item)
		return err_trace(-ENOMEM);
	item->n = link->next_n + 1;
	item->text = add_serial(text, item->n, link->n_lost);
	if (!item->text) {
		free(item);
		return err_trace(-ENOMEM);
	}
	item->size = strlen(item->text);
	item->queued_usec = clock_monotonic_usec();
	item->gate = gate;
	link->next_n++;
	link->n_lost = 0;
	link->n_items++;
	if (link->items_last)
		link->items_last->next = item;
	else
		link->items = item;
	link->items_last = item;
	if (!link->unsent)
		link->unsent = item;
	link->n_unsent++;
	link->n_gated += gate != NULL;
	return 0;
}

/* With the lock held, which it lets go. An agent that is faster than the log is slowed down rather
 * than refused; a daemon that hangs is found out meanwhile, and the spool takes its place. */
static void wait_for_room(struct link *link)
{
	struct timespec until = monotonic_after(LINK_RECORDS_WAIT_USEC);

	while (!link->closed && link->n_items >= LINK_RECORDS_MANY)
		if (pthread_cond_timedwait(&link->changed, &link->lock, &until) == ETIMEDOUT)
			return;
}

int link_record(struct link *link, json_t *record, bool gated)
{
	_cleanup_(json_decrefp) json_t *owned = record;
	_cleanup_(freep) char *text = NULL;
	struct link_gate gate = {0};
	int r;

	if (!json_is_object(record) || !json_is_string(json_object_get(record, "type")))
		return err_trace(-EINVAL);
	json_object_set_new(owned, "session", json_string(link->session));
	/* When it happened; the log adds when it was written. */
	json_object_set_new(owned, "at_usec", json_integer((json_int_t)clock_realtime_usec()));
	/* Before the lock: others wait for it. The serial is not for the caller to give. */
	(void)json_object_del(owned, "n");
	(void)json_object_del(owned, "lost");
	text = json_write(owned);
	if (!text)
		return err_trace(-ENOMEM);
	pthread_mutex_lock(&link->lock);
	wait_for_room(link);
	if (link->closed)
		r = -ESHUTDOWN;
	else
		r = link_item_add(link, text, gated ? &gate : NULL);
	if (r == 0) {
		/* The thread looks every 50 ms by itself once there is a first one. */
		if (gated || link->n_unsent == 1 || link->n_unsent == LINK_GROUP_RECORDS)
			link_wake(link);
		while (gated && !gate.done)
			pthread_cond_wait(&link->changed, &link->lock);
		r = gate.r;
	}
	pthread_mutex_unlock(&link->lock);
	return r < 0 ? err_trace(r) : 0;
}

/* Start and end ---------- */

static int init_sync(struct link *link)
{
	pthread_condattr_t attr;
	int r;

	r = pthread_mutex_init(&link->lock, NULL);
	if (r != 0)
		return err_trace(-r);
	r = pthread_condattr_init(&attr);
	if (r == 0)
		r = pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	if (r == 0)
		r = pthread_cond_init(&link->changed, &attr);
	(void)pthread_condattr_destroy(&attr);
	link->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	link->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (r != 0)
		return err_trace(-r);
	return link->wake_fd < 0 || link->stop_fd < 0 ? err_trace(-EMFILE) : 0;
}

static struct link *new_link(const char *control, const struct link_hello *hello)
{
	struct link *link = calloc(1, sizeof(*link));

	if (!link)
		return NULL;
	link->wake_fd = link->stop_fd = -1;
	link->control = strdup(control);
	link->spec = json_deep_copy(hello->spec_summary);
	format_hex(hello->policy_digest, sizeof(hello->policy_digest), link->policy_digest);
	format_hex(hello->plan_digest, sizeof(hello->plan_digest), link->plan_digest);
	if (link->control && link->spec && init_sync(link) == 0)
		return link;
	json_decref(link->spec);
	free(link->control);
	close_fd(link->wake_fd);
	close_fd(link->stop_fd);
	free(link);
	return NULL;
}

static int start_thread(struct link *link)
{
	sigset_t all, old;
	int r;

	/* Signals are for the broker's own loop. */
	sigfillset(&all);
	r = pthread_sigmask(SIG_SETMASK, &all, &old);
	if (r != 0)
		return err_trace(-r);
	r = pthread_create(&link->thread, NULL, link_thread_main, link);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (r != 0)
		return err_trace(-r);
	link->has_thread = true;
	return 0;
}

int link_start(const char *control, const char *spool_dir, const struct link_hello *hello,
	struct link **linkp, const char **sessionp, char **messagep)
{
	_cleanup_(link_freep) struct link *link = NULL;
	uint64_t start;
	int r;

	*messagep = NULL;
	link = new_link(control, hello);
	if (!link)
		return err_trace(-ENOMEM);
	r = link_thread_connect(link, false, messagep);
	if (r < 0)
		return r;
	r = proc_start_ticks(getpid(), &start);
	if (r == 0)
		r = spool_new(spool_dir, link->session, link->index, getpid(), start, &link->spool);
	if (r == 0)
		r = start_thread(link);
	if (r < 0)
		return err_trace(r);
	*sessionp = link->session;
	*linkp = TAKE_PTR(link);
	return 0;
}

static void stop_thread(struct link *link)
{
	if (!link->has_thread)
		return;
	pthread_mutex_lock(&link->lock);
	link->quit = true;
	link->closed = true;
	pthread_mutex_unlock(&link->lock);
	link_wake(link);
	(void)pthread_join(link->thread, NULL);
	link->has_thread = false;
}

int link_end(struct link *link, json_t *status)
{
	_cleanup_(json_decrefp) json_t *owned = status;
	_cleanup_(freep) char *text = json_is_object(status) ? json_write(status) : NULL;
	int r;

	if (!text)
		return err_trace(-EINVAL);
	pthread_mutex_lock(&link->lock);
	if (link->closed) {
		pthread_mutex_unlock(&link->lock);
		return err_trace(-ESHUTDOWN);
	}
	link->closed = true;
	link->end_status = TAKE_PTR(text);
	link->end_state = LINK_END_WANTED;
	link_wake(link);
	while (link->end_state != LINK_END_DONE)
		pthread_cond_wait(&link->changed, &link->lock);
	r = link->end_result;
	pthread_mutex_unlock(&link->lock);
	stop_thread(link);
	return r < 0 ? err_trace(r) : 0;
}

void link_free(struct link *link)
{
	stop_thread(link);
	link_thread_disconnect(link);
	/* Without an end: what the log may not have; it takes nothing twice. */
	if (link->spool)
		link_records_spool(link);
	link_records_deinit(link);
	while (link->asks) {
		struct link_ask *ask = link->asks;

		link->asks = ask->next;
		link_ask_free(ask);
	}
	for (size_t i = 0; i < link->n_grants; i++)
		grant_free(link->grants[i]);
	if (link->spool)
		spool_free(link->spool);
	json_decref(link->spec);
	(void)pthread_cond_destroy(&link->changed);
	(void)pthread_mutex_destroy(&link->lock);
	close_fd(link->wake_fd);
	close_fd(link->stop_fd);
	free(link->end_status);
	free(link->control);
	free(link);
}

int link_stop_fd(const struct link *link)
{
	return link->stop_fd;
}
