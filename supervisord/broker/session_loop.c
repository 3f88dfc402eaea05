/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "supervisord/broker/session_loop.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>

#include "supervisord/base/clock.h"
#include "supervisord/base/error.h"
#include "supervisord/base/fdpass.h"
#include "supervisord/base/log.h"
#include "supervisord/broker/link.h"
#include "supervisord/broker/run_channel.h"

/* Between the polite end (SIGTERM) and the hard one. */
#define STOP_GRACE_USEC (2 * USEC_PER_SEC)

enum {
	SOURCE_INIT,
	SOURCE_RUN,
	SOURCE_STOP,
	SOURCE_TIMER,
	SOURCE_SIGNAL,
	SOURCE_PIDFD,
	_SOURCE_N,
};

struct loop {
	struct broker *broker;
	int run_fd;
	int timer_fd;
	int signal_fd;
	struct session_end *end;
	bool stopping;
	bool done;
};

static void loop_tell_init(struct loop *l, enum init_message_kind kind, int value)
{
	struct init_message message = {.kind = (uint32_t)kind, .value = value};

	if (fdpass_send(l->broker->launch.init_sock, &message, sizeof(message), -1) < 0)
		log_debug("init is gone");
}

static void loop_arm(struct loop *l, uint64_t usec)
{
	struct itimerspec when = {
		.it_value = {.tv_sec = (time_t)(usec / USEC_PER_SEC),
			.tv_nsec = (long)(usec % USEC_PER_SEC) * 1000},
	};

	if (timerfd_settime(l->timer_fd, 0, &when, NULL) < 0)
		log_error_r(-errno, "no timer");
}

/* Ends the session: first politely, then hard. HARD skips the polite part. */
static void loop_stop(struct loop *l, const char *why, bool hard)
{
	if (!l->end->why)
		l->end->why = why;
	if (hard || l->stopping) {
		loop_tell_init(l, INIT_KILL, 0);
		/* init obeys at once; should it not, its death is certain. */
		(void)kill(l->broker->launch.init_pid, SIGKILL);
		l->stopping = true;
		return;
	}
	l->stopping = true;
	loop_tell_init(l, INIT_SIGNAL, SIGTERM);
	loop_tell_init(l, INIT_CONTINUE, 0); /* a stopped job must see the signal */
	loop_arm(l, STOP_GRACE_USEC);
}

static void loop_on_init(struct loop *l)
{
	struct init_message message;
	_cleanup_(closep) int fd = -1;
	size_t size = 0;
	int r;

	r = fdpass_recv(l->broker->launch.init_sock, &message, sizeof(message), &size, &fd, NULL);
	if (r < 0 || size == 0) {
		/* init died without a word: it was killed, and everything with it. */
		if (!l->done)
			l->end->wait_status = SIGKILL;
		l->done = true;
		return;
	}
	if (size != sizeof(message))
		return;
	switch (message.kind) {
	case INIT_EXEC_FAILED:
		l->end->exec_errno = message.value > 0 ? message.value : EIO;
		break;
	case INIT_STOPPED:
		run_channel_send(l->run_fd, RUN_STOPPED, message.value, -1, NULL);
		break;
	case INIT_EXITED:
		l->end->wait_status = message.value;
		l->done = true;
		break;
	default:
		log_warn("unknown message %u from init", message.kind);
	}
}

static void loop_on_run(struct loop *l)
{
	struct run_message message;
	_cleanup_(closep) int fd = -1;
	size_t size = 0;
	int r;

	r = fdpass_recv(l->run_fd, &message, sizeof(message), &size, &fd, NULL);
	if (r < 0 || size == 0) {
		/* agentctl is gone: nobody holds the terminal or waits for the status. */
		loop_stop(l, "agentctl is gone", false);
		l->run_fd = -1;
		return;
	}
	if (size != sizeof(message))
		return;
	switch (message.kind) {
	case RUN_SIGNAL:
		loop_tell_init(l, INIT_SIGNAL, message.value);
		break;
	case RUN_CONTINUE:
		loop_tell_init(l, INIT_CONTINUE, 0);
		break;
	case RUN_HANGUP:
		loop_tell_init(l, INIT_SIGNAL, SIGHUP);
		loop_tell_init(l, INIT_CONTINUE, 0);
		break;
	default:
		log_warn("unknown message %u from agentctl", message.kind);
	}
}

static void loop_on_timer(struct loop *l)
{
	uint64_t times;

	if (read(l->timer_fd, &times, sizeof(times)) != sizeof(times))
		return;
	if (l->stopping)
		loop_stop(l, "killed after the grace", true);
	else
		loop_stop(l, "time limit", false);
}

static void loop_on_signal(struct loop *l)
{
	struct signalfd_siginfo info;

	if (read(l->signal_fd, &info, sizeof(info)) == sizeof(info))
		loop_stop(l, "the broker was told to end", false);
}

static void loop_wait(struct loop *l)
{
	struct pollfd fds[_SOURCE_N] = {
		[SOURCE_INIT] = {.fd = l->broker->launch.init_sock, .events = POLLIN},
		[SOURCE_RUN] = {.fd = l->run_fd, .events = POLLIN},
		[SOURCE_STOP] = {.fd = l->stopping ? -1 : link_stop_fd(l->broker->link),
			.events = POLLIN},
		[SOURCE_TIMER] = {.fd = l->timer_fd, .events = POLLIN},
		[SOURCE_SIGNAL] = {.fd = l->signal_fd, .events = POLLIN},
		[SOURCE_PIDFD] = {.fd = l->broker->launch.init_pidfd, .events = POLLIN},
	};

	if (poll(fds, ARRAY_LEN(fds), -1) < 0)
		return;
	/* init's last words come before its death: both are readable then. */
	if (fds[SOURCE_INIT].revents) {
		loop_on_init(l);
		return;
	}
	if (fds[SOURCE_PIDFD].revents) {
		l->end->wait_status = SIGKILL;
		l->done = true;
		return;
	}
	if (fds[SOURCE_RUN].revents)
		loop_on_run(l);
	if (fds[SOURCE_STOP].revents)
		loop_stop(l, "stopped by a person", false);
	if (fds[SOURCE_TIMER].revents)
		loop_on_timer(l);
	if (fds[SOURCE_SIGNAL].revents)
		loop_on_signal(l);
}

void session_loop(struct broker *broker, int run_fd, struct session_end *end)
{
	struct loop l = {
		.broker = broker, .run_fd = run_fd, .end = end, .timer_fd = -1, .signal_fd = -1};
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, SIGTERM);
	l.signal_fd = signalfd(-1, &mask, SFD_CLOEXEC);
	/* Suspend counts: a limit of an hour is an hour of the person's clock. */
	l.timer_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC);
	if (l.signal_fd < 0 || l.timer_fd < 0) {
		log_error_r(-errno, "cannot watch the session");
		end->why = "the broker failed";
		end->wait_status = SIGKILL;
	} else {
		if (broker->spec->timeout_usec > 0)
			loop_arm(&l, broker->spec->timeout_usec);
		while (!l.done)
			loop_wait(&l);
	}
	close_fd(l.signal_fd);
	close_fd(l.timer_fd);
}
