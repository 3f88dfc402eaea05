/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "supervisord/daemon/sessions.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "supervisord/base/error.h"

static const char id_alphabet[] = "23456789bcdfghjkmnpqrstvwxz";
#define ID_LENGTH 8

bool session_id_is_valid(const char *id)
{
	return strlen(id) == ID_LENGTH && strspn(id, id_alphabet) == ID_LENGTH;
}

static int make_id(const struct sessions *sessions, char id[SESSION_ID_MAX])
{
	for (unsigned tries = 0; tries < 16; tries++) {
		uint8_t random[ID_LENGTH];

		if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
			return err_trace(err_errno());
		for (size_t i = 0; i < ID_LENGTH; i++)
			id[i] = id_alphabet[random[i] % (sizeof(id_alphabet) - 1)];
		id[ID_LENGTH] = '\0';
		if (!sessions_get(sessions, id))
			return 0;
	}
	return err_trace(-EAGAIN);
}

int sessions_add(struct sessions *sessions, const char *id, pid_t broker_pid, uint64_t broker_start,
	int broker_pidfd, json_t *spec, struct session **sessionp)
{
	struct session *session;
	int r;

	if (sessions->n_sessions >= SESSIONS_MAX)
		return err_trace(-ENOSPC);
	if (id && sessions_get(sessions, id))
		return err_trace(-EEXIST);
	session = calloc(1, sizeof(*session));
	if (!session)
		return err_trace(-ENOMEM);
	if (id) {
		(void)snprintf(session->id, sizeof(session->id), "%s", id);
	} else {
		r = make_id(sessions, session->id);
		if (r < 0) {
			free(session);
			return r;
		}
	}
	grants_init(&session->grants);
	denials_init(&session->denials);
	session->broker_pid = broker_pid;
	session->broker_start = broker_start;
	session->broker_pidfd = broker_pidfd;
	session->spec = json_incref(spec);
	session->next = sessions->first;
	sessions->first = session;
	sessions->n_sessions++;
	*sessionp = session;
	return 0;
}

static void session_free(struct session *session)
{
	sd_event_source_disable_unref(session->exit_source);
	close_fd(session->broker_pidfd);
	grants_deinit(&session->grants);
	denials_deinit(&session->denials);
	json_decref(session->spec);
	free(session);
}

void sessions_remove(struct sessions *sessions, struct session *session)
{
	for (struct session **s = &sessions->first; *s; s = &(*s)->next) {
		if (*s == session) {
			*s = session->next;
			sessions->n_sessions--;
			break;
		}
	}
	session_free(session);
}

void sessions_deinit(struct sessions *sessions)
{
	while (sessions->first)
		sessions_remove(sessions, sessions->first);
}

int sessions_find(const struct sessions *sessions, const char *prefix, struct session **sessionp)
{
	struct session *found = NULL;

	if (!*prefix)
		return SESSIONS_E_UNKNOWN;
	for (struct session *s = sessions->first; s; s = s->next) {
		if (strncmp(s->id, prefix, strlen(prefix)) != 0)
			continue;
		if (found)
			return SESSIONS_E_AMBIGUOUS;
		found = s;
	}
	if (!found)
		return SESSIONS_E_UNKNOWN;
	*sessionp = found;
	return 0;
}

struct session *sessions_get(const struct sessions *sessions, const char *id)
{
	for (struct session *s = sessions->first; s; s = s->next)
		if (!strcmp(s->id, id))
			return s;
	return NULL;
}

const char *session_agent(const struct session *session)
{
	const char *agent = json_string_value(json_object_get(session->spec, "agent"));

	return agent ? agent : "";
}

json_t *session_to_json(const struct session *session, size_t n_pending)
{
	static const char *const copied[] = {"agent", "argv", "cwd", "workspace", "profile"};
	const char *state = "running";
	json_t *json = json_object();

	if (session->stop_requested)
		state = "stopping";
	else if (session->state == SESSION_STARTING)
		state = "starting";
	else if (session->state == SESSION_DETACHED)
		state = "detached";
	else if (n_pending)
		state = "waiting";
	json_object_set_new(json, "id", json_string(session->id));
	json_object_set_new(json, "state", json_string(state));
	json_object_set_new(json, "pid", json_integer(session->broker_pid));
	json_object_set_new(json, "started_usec", json_integer((json_int_t)session->started_usec));
	json_object_set_new(json, "pending", json_integer((json_int_t)n_pending));
	json_object_set_new(json, "asks", json_integer((json_int_t)session->n_asks));
	json_object_set_new(json, "allows", json_integer((json_int_t)session->n_allows));
	json_object_set_new(json, "denies", json_integer((json_int_t)session->n_denies));
	json_object_set_new(json, "policy_digest", json_string(session->policy_digest));
	json_object_set_new(json, "plan_digest", json_string(session->plan_digest));
	for (size_t i = 0; i < ARRAY_LEN(copied); i++) {
		json_t *value = json_object_get(session->spec, copied[i]);

		if (value)
			json_object_set(json, copied[i], value);
	}
	json_object_set(json, "spec", session->spec);
	return json;
}
