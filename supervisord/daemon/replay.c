/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "supervisord/daemon/replay.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "audit-log/audit.h"
#include "supervisord/base/error.h"
#include "supervisord/base/file.h"
#include "supervisord/base/log.h"
#include "supervisord/base/proc.h"

#define SPOOL_FILE_MAX ((size_t)300 * 1024 * 1024)
#define LINE_MAX_ ((size_t)1024 * 1024)

bool replay_type_is_brokers(const char *type)
{
	static const char *const reserved[] = {
		"daemon.", "peer.", "log.", "ask", "approval", "session."};

	for (size_t i = 0; i < ARRAY_LEN(reserved); i++)
		if (!strncmp(type, reserved[i], strlen(reserved[i])))
			return false;
	return *type != '\0';
}

bool replay_process_lives(pid_t pid, uint64_t start)
{
	uint64_t ticks;

	return pid > 0 && proc_start_ticks(pid, &ticks) == 0 && ticks == start;
}

struct scan_state {
	const char *session;
	struct replay_scan *scan;
};

static int on_line(void *userdata, uint64_t index, const char *line, size_t size)
{
	struct scan_state *state = userdata;
	struct replay_scan *scan = state->scan;
	_cleanup_(json_decrefp) json_t *json = NULL;
	const char *type, *session;
	json_int_t n;

	(void)index;
	/* Most lines are of other sessions: no need to read them. */
	if (!memmem(line, size, state->session, strlen(state->session)))
		return 0;
	if (json_parse_strict(line, size, LINE_MAX_, &json) < 0)
		return 0;
	type = json_string_value(json_object_get(json, "type"));
	session = json_string_value(json_object_get(json, "session"));
	if (!type || !session || strcmp(session, state->session) != 0)
		return 0;
	n = json_integer_value(json_object_get(json, "n"));
	if (n > 0 && (uint64_t)n > scan->last_n)
		scan->last_n = (uint64_t)n;
	if (!strcmp(type, "session.start")) {
		scan->started = true;
		scan->broker_pid = (pid_t)json_integer_value(json_object_get(json, "broker_pid"));
		scan->broker_start =
			(uint64_t)json_integer_value(json_object_get(json, "broker_start"));
	} else if (!strcmp(type, "session.end") || !strcmp(type, "session.lost")) {
		scan->ended = true;
	}
	return 0;
}

int replay_scan_log(const char *dir, const char *session, uint64_t index, struct replay_scan *scan)
{
	struct scan_state state = {.session = session, .scan = scan};
	int r;

	*scan = (struct replay_scan){0};
	r = audit_read(dir, index, on_line, &state);
	return r < 0 ? err_trace(r) : 0;
}

struct spool_header {
	char session[SESSION_ID_MAX];
	uint64_t index;
	pid_t broker_pid;
	uint64_t broker_start;
};

static int parse_header(const char *line, size_t size, struct spool_header *header)
{
	_cleanup_(json_decrefp) json_t *json = NULL;
	struct json_reader reader;
	const char *session;
	uint64_t pid;
	int r;

	r = json_parse_strict(line, size, 4096, &json);
	if (r < 0)
		return r;
	json_reader_init(&reader, json);
	session = json_read_str(&reader, "session", true);
	header->index = json_read_u64(&reader, "index", true);
	pid = json_read_u64(&reader, "broker_pid", true);
	header->broker_start = json_read_u64(&reader, "broker_start", true);
	(void)json_read_u64(&reader, "spool", true);
	r = json_reader_finish(&reader);
	if (r < 0)
		return r;
	if (!session_id_is_valid(session) || pid > INT_MAX)
		return -EBADMSG;
	header->broker_pid = (pid_t)pid;
	(void)snprintf(header->session, sizeof(header->session), "%s", session);
	return 0;
}

static int append_line(struct daemon *daemon, const char *session, const char *line, size_t size,
	uint64_t *last_np, bool *endedp)
{
	_cleanup_(json_decrefp) json_t *record = NULL;
	const char *type;
	json_int_t n;
	bool end;

	if (json_parse_strict(line, size, LINE_MAX_, &record) < 0 || !json_is_object(record)) {
		log_warn("a line of the spool of session %s is damaged: left out", session);
		return 0;
	}
	type = json_string_value(json_object_get(record, "type"));
	n = json_integer_value(json_object_get(record, "n"));
	end = type && !strcmp(type, "session.end");
	if (!type || n <= 0 || (!end && !replay_type_is_brokers(type)))
		return 0;
	*endedp |= end;
	if ((uint64_t)n <= *last_np)
		return 0;
	*last_np = (uint64_t)n;
	json_object_set_new(record, "session", json_string(session));
	json_object_set_new(record, "replayed", json_true());
	return audit_sink_append(daemon->sink, record, false, NULL, NULL);
}

/* Splits the text at newlines; a last line without one was never acknowledged. */
static int append_all(struct daemon *daemon, const struct spool_header *header, const char *data,
	size_t size, uint64_t last_n, bool *endedp)
{
	size_t at = 0;
	int r;

	while (at < size) {
		const char *end = memchr(data + at, '\n', size - at);
		size_t length;

		if (!end)
			break;
		length = (size_t)(end - (data + at));
		r = append_line(daemon, header->session, data + at, length, &last_n, endedp);
		if (r < 0)
			return err_trace(r);
		/* The sink would keep them in memory: better to leave them in the file. */
		if (audit_sink_state(daemon->sink) != SINK_OK)
			return err_trace(-EROFS);
		at += length + 1;
	}
	return 0;
}

static int replay_file(struct daemon *daemon, int dir_fd, const char *name, const uint64_t *last_np,
	bool only_dead, bool *endedp)
{
	_cleanup_(freep) char *data = NULL;
	struct spool_header header = {0};
	struct replay_scan scan = {0};
	const char *end;
	size_t size = 0;
	int r;

	r = file_read(dir_fd, name, SPOOL_FILE_MAX, &data, &size);
	if (r < 0)
		return r == -ENOENT ? 0 : err_trace(r);
	end = size ? memchr(data, '\n', size) : NULL;
	if (end) {
		r = parse_header(data, (size_t)(end - data), &header);
		if (r < 0)
			return err_trace(r);
		if (only_dead && replay_process_lives(header.broker_pid, header.broker_start))
			return 0;
		if (last_np)
			scan.last_n = *last_np;
		else if ((r = replay_scan_log(
				  daemon->dirs.audit, header.session, header.index, &scan)) < 0)
			return r;
		r = append_all(daemon, &header, end + 1, size - (size_t)(end + 1 - data),
			scan.last_n, endedp);
		if (r == 0)
			r = audit_sink_commit(daemon->sink);
		if (r < 0)
			return err_trace(r);
		log_notice("replayed the spool of session %s", header.session);
	}
	if (unlinkat(dir_fd, name, 0) < 0)
		return err_trace(err_errno());
	return 0;
}

int replay_spool(struct daemon *daemon, const char *session, uint64_t last_n, bool *endedp)
{
	_cleanup_(closep) int dir_fd = -1;
	char name[SESSION_ID_MAX + 8];
	int r;

	*endedp = false;
	r = dir_open_private(daemon->dirs.spool, &dir_fd);
	if (r < 0)
		return err_trace(r);
	(void)snprintf(name, sizeof(name), "%s.jsonl", session);
	return replay_file(daemon, dir_fd, name, &last_n, false, endedp);
}

void replay_all(struct daemon *daemon)
{
	_cleanup_(closep) int dir_fd = -1;
	struct dirent *entry;
	DIR *dir;
	int r, copy;

	if (audit_sink_state(daemon->sink) != SINK_OK)
		return;
	r = dir_open_private(daemon->dirs.spool, &dir_fd);
	if (r < 0) {
		log_warn_r(r, "cannot open the spool folder %s", daemon->dirs.spool);
		return;
	}
	copy = fcntl(dir_fd, F_DUPFD_CLOEXEC, 3);
	dir = copy >= 0 ? fdopendir(copy) : NULL;
	if (!dir) {
		close_fd(copy);
		return;
	}
	while ((entry = readdir(dir))) {
		const char *dot = strrchr(entry->d_name, '.');
		bool ended = false;

		if (!dot || strcmp(dot, ".jsonl") != 0)
			continue;
		r = replay_file(daemon, dir_fd, entry->d_name, NULL, true, &ended);
		if (r < 0)
			log_warn_r(r, "cannot replay the spool file %s", entry->d_name);
	}
	closedir(dir);
}
