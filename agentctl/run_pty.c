/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
/* A session with a terminal of its own: everything typed goes to it, everything it prints comes
 * back.
 *
 * MUST:
 *  1. The outer terminal is raw only while this program is in its foreground and the agent runs.
 *  2. Every way out, and every stop, leaves it as it was; terminal_guard.c covers the violent ones.
 *  3. Bytes are never interpreted: Ctrl-C and Ctrl-Z are the inner terminal's to understand.
 *  4. What the agent printed before it ended or stopped is shown before we end or stop. */

#include "agentctl/run.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>

#include "agentctl/output.h"
#include "agentctl/relay.h"
#include "agentctl/terminal.h"
#include "supervisord/base/clock.h"

/* A job that a shell moves to the foreground gets no signal for it: look, while in the background.
 */
#define BACKGROUND_LOOK_MS 50
#define SETTLE_LOOKS 20 /* so often the modes are looked at after the terminal was taken */
/* How long the agent's last words may take through the kernel's terminal layer. */
#define DRAIN_QUIET_MS 20
#define DRAIN_MAX_USEC (2 * USEC_PER_SEC)
/* Towards a terminal that could not be opened again and is therefore blocking. */
#define BLOCKING_WRITE_MAX 256

struct pty_run {
	struct run *run;
	struct terminal terminal;
	struct relay in;  /* terminal -> master */
	struct relay out; /* master -> terminal */
	bool hungup;
	bool sock_closed;
	unsigned settling; /* looks left until the modes are taken to be ours */
};

static void start_relay(struct pty_run *pty)
{
	struct run *run = pty->run;
	int flags = fcntl(run->master_fd, F_GETFL);

	if (run->master_fd < 0)
		return;
	(void)fcntl(run->master_fd, F_SETFL, flags | O_NONBLOCK);
	relay_init(&pty->in, pty->terminal.in_fd, run->master_fd);
	relay_init(&pty->out, run->master_fd, pty->terminal.out_fd);
	if (!pty->terminal.out_owned)
		pty->out.write_max = BLOCKING_WRITE_MAX;
}

/* Takes the terminal when it is ours to take. */
static void foreground(struct pty_run *pty)
{
	if (pty->hungup || pty->out.from_fd < 0 || !terminal_is_foreground(&pty->terminal))
		return;
	if (!pty->terminal.raw)
		pty->settling = SETTLE_LOOKS;
	if (terminal_enter_raw(&pty->terminal) < 0)
		return;
	terminal_copy_size(&pty->terminal, pty->run->master_fd);
}

static void hangup(struct pty_run *pty)
{
	if (pty->hungup)
		return;
	pty->hungup = true;
	pty->in.from_fd = -1;
	pty->out.to_fd = -1;
	run_send(pty->run, RUN_HANGUP, 0);
}

/* Shows what the master still has: until it is quiet, at its end, or for long enough. */
static void drain(struct pty_run *pty)
{
	uint64_t until = clock_monotonic_usec() + DRAIN_MAX_USEC;

	while (pty->out.from_fd >= 0 || relay_wants_write(&pty->out)) {
		struct pollfd fds[] = {
			{.fd = relay_wants_read(&pty->out) ? pty->out.from_fd : -1,
				.events = POLLIN},
			{.fd = relay_wants_write(&pty->out) ? pty->out.to_fd : -1,
				.events = POLLOUT},
		};
		int n = poll(fds, 2, relay_wants_write(&pty->out) ? 1000 : DRAIN_QUIET_MS);

		if (n < 0 && errno == EINTR)
			continue;
		if (fds[0].revents)
			(void)relay_read(&pty->out);
		if (relay_wants_write(&pty->out) && (fds[1].revents || pty->out.to_fd < 0))
			(void)relay_write(&pty->out);
		/* A slow terminal may take its time, a chatty background process may not. */
		if (n == 0 && !relay_wants_write(&pty->out))
			break;
		if (clock_monotonic_usec() > until && (n == 0 || !relay_wants_write(&pty->out)))
			break;
	}
}

static void resumed(struct pty_run *pty)
{
	/* Whoever had the terminal meanwhile has set its modes. */
	terminal_forget_raw(&pty->terminal);
	foreground(pty);
	run_send(pty->run, RUN_CONTINUE, 0);
}

static void stopped(struct pty_run *pty, int sig)
{
	drain(pty);
	terminal_leave_raw(&pty->terminal);
	run_stop_self(pty->run, sig);
	resumed(pty);
}

static void handle_signals(struct pty_run *pty)
{
	struct signalfd_siginfo info;

	while (run_read_signal(pty->run, &info)) {
		int sig = (int)info.ssi_signo;

		switch (sig) {
		case SIGWINCH:
			terminal_copy_size(&pty->terminal, pty->run->master_fd);
			break;
		case SIGCONT:
			/* After a SIGSTOP that nobody could tell us about. */
			terminal_forget_raw(&pty->terminal);
			foreground(pty);
			break;
		case SIGHUP:
			hangup(pty);
			break;
		case SIGTTIN:
		case SIGTTOU:
			break; /* we are in the background now; the loop sees it */
		default:
			run_send(pty->run, RUN_SIGNAL, sig);
		}
	}
}

/* False when the session is over. */
static bool handle_message(struct pty_run *pty)
{
	int value = 0;

	switch (run_receive(pty->run, &value)) {
	case RUN_EVENT_STARTED:
		start_relay(pty);
		foreground(pty);
		break;
	case RUN_EVENT_STOPPED:
		if (!pty->hungup)
			stopped(pty, value);
		break;
	case RUN_EVENT_CLOSED:
		pty->sock_closed = true;
		break;
	case RUN_EVENT_ENDED:
	case RUN_EVENT_NONE:
	case RUN_EVENT_OTHER:
		break;
	}
	return true;
}

static void handle_input(struct pty_run *pty)
{
	if (relay_read(&pty->in) != RELAY_END)
		return;
	/* EIO may also mean: we are in the background since just now. */
	if (errno == EIO && !terminal_is_foreground(&pty->terminal)) {
		pty->in.from_fd = pty->terminal.in_fd;
		terminal_forget_raw(&pty->terminal);
		return;
	}
	hangup(pty);
}

static void move_bytes(struct pty_run *pty, const struct pollfd *tty_in,
	const struct pollfd *master, const struct pollfd *tty_out)
{
	if (tty_in->revents)
		handle_input(pty);
	if (relay_wants_write(&pty->in))
		(void)relay_write(&pty->in);
	if (master->revents & (POLLIN | POLLHUP | POLLERR))
		(void)relay_read(&pty->out);
	if (relay_wants_write(&pty->out) &&
		(tty_out->revents || pty->out.to_fd < 0 || master->revents))
		if (relay_write(&pty->out) == RELAY_END)
			hangup(pty);
}

static short master_events(const struct pty_run *pty)
{
	short events = 0;

	if (relay_wants_read(&pty->out))
		events |= POLLIN;
	if (relay_wants_write(&pty->in))
		events |= POLLOUT;
	return events;
}

/* One round of the loop. False when the broker has ended. */
static bool round_once(struct pty_run *pty)
{
	struct run *run = pty->run;
	bool typing = pty->terminal.raw && relay_wants_read(&pty->in);
	short events = master_events(pty);
	struct pollfd fds[] = {
		{.fd = run->signal_fd, .events = POLLIN},
		{.fd = run->broker_pidfd, .events = POLLIN},
		{.fd = pty->sock_closed ? -1 : run->sock, .events = POLLIN},
		{.fd = typing ? pty->in.from_fd : -1, .events = POLLIN},
		/* POLLHUP comes even when nothing is asked for: leave the master out then. */
		{.fd = events && pty->out.from_fd >= 0 ? run->master_fd : -1, .events = events},
		{.fd = relay_wants_write(&pty->out) ? pty->out.to_fd : -1, .events = POLLOUT},
	};
	int n = poll(fds, ARRAY_LEN(fds),
		run->started && (!pty->terminal.raw || pty->settling > 0) && !pty->hungup
			? BACKGROUND_LOOK_MS
			: -1);

	if (n < 0)
		return errno == EINTR;
	if (n == 0) {
		if (pty->settling > 0)
			pty->settling--;
		if (terminal_lost_raw(&pty->terminal))
			terminal_forget_raw(&pty->terminal);
		foreground(pty);
		return true;
	}
	if (fds[0].revents)
		handle_signals(pty);
	move_bytes(pty, &fds[3], &fds[4], &fds[5]);
	if (fds[2].revents)
		return handle_message(pty);
	return !fds[1].revents;
}

void run_pty(struct run *run)
{
	static struct pty_run pty; /* two buffers: too large for the stack's limit */
	int r;

	pty = (struct pty_run){.run = run};
	relay_init(&pty.in, -1, -1);
	relay_init(&pty.out, -1, -1);
	r = terminal_open(&pty.terminal);
	if (r < 0) {
		out_error("the terminal cannot be used: %s", strerror(-r));
		run_send(run, RUN_HANGUP, 0);
		run->sock = close_fd(run->sock);
	}
	while (round_once(&pty))
		;
	drain(&pty);
	terminal_close(&pty.terminal);
	run_finish(run);
}
