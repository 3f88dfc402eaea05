/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "supervisord/daemon/daemon.h"

#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <systemd/sd-daemon.h>

#include "supervisord/base/clock.h"
#include "supervisord/base/error.h"
#include "supervisord/base/file.h"
#include "supervisord/base/log.h"
#include "supervisord/daemon/asks.h"
#include "supervisord/daemon/control.h"
#include "supervisord/daemon/records.h"
#include "supervisord/daemon/registry.h"
#include "supervisord/daemon/runtime.h"

static int on_stop_signal(
	sd_event_source *source, const struct signalfd_siginfo *info, void *userdata)
{
	struct daemon *daemon = userdata;

	(void)source;
	log_notice("signal %u: stopping", info->ssi_signo);
	daemon_stop(daemon);
	return 0;
}

static int on_reserved_signal(
	sd_event_source *source, const struct signalfd_siginfo *info, void *userdata)
{
	(void)source;
	(void)userdata;
	(void)info;
	log_notice("SIGHUP has no meaning here: policies belong to their sessions");
	return 0;
}

static int add_signals(struct daemon *daemon)
{
	static const int stops[] = {SIGTERM, SIGINT};
	sigset_t set;
	int r = 0;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return err_trace(err_errno());
	(void)signal(SIGPIPE, SIG_IGN);
	/* A limit on file sizes is an error of the write, not the end. */
	(void)signal(SIGXFSZ, SIG_IGN);
	for (size_t i = 0; i < ARRAY_LEN(stops) && r >= 0; i++)
		r = sd_event_add_signal(daemon->event, NULL, stops[i], on_stop_signal, daemon);
	if (r >= 0)
		r = sd_event_add_signal(daemon->event, NULL, SIGHUP, on_reserved_signal, daemon);
	return r < 0 ? err_trace(r) : 0;
}

/* Each waiting broker and each person is a connection and a pidfd. */
static void raise_fd_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
		log_warn("cannot raise the limit of open files");
}

static int add_event(struct daemon *daemon)
{
	int r;

	r = sd_event_new(&daemon->event);
	if (r < 0)
		return err_trace(r);
	r = add_signals(daemon);
	if (r < 0)
		return r;
	r = sd_event_add_time(daemon->event, &daemon->deadline_source, CLOCK_BOOTTIME, UINT64_MAX,
		1, asks_on_deadline, daemon);
	if (r >= 0)
		r = sd_event_source_set_enabled(daemon->deadline_source, SD_EVENT_OFF);
	/* A timer that goes off unnoticed would leave people and agents waiting for ever. */
	if (r >= 0)
		r = sd_event_source_set_exit_on_failure(daemon->deadline_source, 1);
	if (r >= 0)
		r = sd_event_set_watchdog(daemon->event, 1);
	return r < 0 ? err_trace(r) : 0;
}

static int make_folder(const char *path)
{
	_cleanup_(closep) int fd = -1;
	int r = dir_open_private(path, &fd);

	if (r < 0)
		log_error_r(r, "%s", path);
	return r;
}

static int open_sink(struct daemon *daemon)
{
	_cleanup_(freep) char *parent = strdup(daemon->dirs.audit);
	char *slash = parent ? strrchr(parent, '/') : NULL;
	int r;

	if (!slash || slash == parent)
		return err_trace(parent ? -EINVAL : -ENOMEM);
	*slash = '\0';
	r = make_folder(daemon->dirs.state);
	if (r == 0)
		r = make_folder(parent);
	if (r < 0)
		return r;
	r = audit_sink_new(daemon->dirs.audit, daemon->event, &daemon->sink);
	if (r == -EBUSY)
		log_error("another program writes the audit log in %s", daemon->dirs.audit);
	else if (r < 0)
		log_error_r(r, "cannot open the audit log in %s", daemon->dirs.audit);
	return r;
}

static int open_control(struct daemon *daemon)
{
	int r, fd = -1;

	r = runtime_listen(daemon, &fd);
	if (r == 0)
		r = control_new(daemon, fd, &daemon->control);
	return r == 0 ? runtime_watch(daemon) : r;
}

static int start(struct daemon *daemon)
{
	_cleanup_(json_decrefp) json_t *record = NULL;
	int r;

	r = dirs_init(&daemon->dirs);
	if (r < 0)
		return err_trace(r);
	r = runtime_enter(daemon);
	if (r != 0)
		return r;
	raise_fd_limit();
	r = add_event(daemon);
	if (r == 0)
		r = open_sink(daemon);
	if (r < 0)
		return r;
	record = record_daemon("daemon.start");
	if (record)
		(void)audit_sink_append(daemon->sink, record, true, NULL, NULL);
	if (audit_sink_state(daemon->sink) == SINK_OK)
		(void)audit_sink_commit(daemon->sink);
	registry_take_over(daemon);
	return open_control(daemon);
}

int daemon_new(struct daemon **daemonp)
{
	_cleanup_(daemon_freep) struct daemon *daemon = calloc(1, sizeof(*daemon));
	int r;

	if (!daemon)
		return err_trace(-ENOMEM);
	daemon->runtime_fd = daemon->starting_fd = daemon->running_fd = -1;
	daemon->deadline_usec = UINT64_MAX;
	daemon->started_usec = clock_realtime_usec();
	queue_init(&daemon->queue, asks_free_reply);
	denials_init(&daemon->past_denials);
	r = start(daemon);
	if (r != 0)
		return r;
	/* From here on the socket answers. */
	r = runtime_started(daemon);
	if (r < 0)
		return r;
	*daemonp = TAKE_PTR(daemon);
	return 0;
}

int daemon_run(struct daemon *daemon)
{
	int r;

	(void)sd_notify(0, "READY=1\nSTATUS=ready");
	r = sd_event_loop(daemon->event);
	return r < 0 ? err_trace(r) : 0;
}

void daemon_stop(struct daemon *daemon)
{
	_cleanup_(json_decrefp) json_t *record = NULL;

	if (daemon->stopping)
		return;
	(void)sd_notify(0, "STOPPING=1");
	daemon->stopping = true;
	runtime_leave(daemon);
	asks_deny_all(daemon, "the daemon's end");
	record = record_daemon("daemon.stop");
	if (record)
		(void)audit_sink_append(daemon->sink, record, true, NULL, NULL);
	if (audit_sink_state(daemon->sink) != SINK_TAMPERED)
		(void)audit_sink_commit(daemon->sink);
	control_flush(daemon->control);
	(void)sd_event_exit(daemon->event, 0);
}

void daemon_free(struct daemon *daemon)
{
	daemon->stopping = true;
	if (daemon->control)
		control_free(daemon->control);
	daemon->control = NULL;
	if (daemon->sink)
		audit_sink_free(daemon->sink);
	queue_deinit(&daemon->queue);
	sessions_deinit(&daemon->sessions);
	denials_deinit(&daemon->past_denials);
	sd_event_source_disable_unref(daemon->deadline_source);
	sd_event_unref(daemon->event);
	daemon->running_fd = close_fd(daemon->running_fd);
	daemon->starting_fd = close_fd(daemon->starting_fd);
	daemon->runtime_fd = close_fd(daemon->runtime_fd);
	dirs_deinit(&daemon->dirs);
	free(daemon);
}
