/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
/* The guard: a child of agentctl in a process group of its own that holds the terminal and the
 * reading end of a pipe. When the pipe ends without a goodbye (kill -9, a crash, out of memory), it
 * gives the terminal its modes back and ends. It changes them only while they are still the raw
 * ones that agentctl set: a shell that was quicker is not disturbed. */

#include "agentctl/terminal.h"

#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "supervisord/base/error.h"

enum guard_state {
	GUARD_COOKED,
	GUARD_RAW,
	GUARD_GOODBYE,
};

/* Smaller than PIPE_BUF, so each write is one message. */
struct guard_message {
	uint32_t state;
	struct termios saved, raw;
};

static bool same_modes(const struct termios *a, const struct termios *b)
{
	return a->c_iflag == b->c_iflag && a->c_oflag == b->c_oflag && a->c_cflag == b->c_cflag &&
	       a->c_lflag == b->c_lflag && memcmp(a->c_cc, b->c_cc, sizeof(a->c_cc)) == 0;
}

static void guard_main(int pipe_fd, int tty_fd)
{
	struct guard_message message = {.state = GUARD_COOKED};
	struct termios now;

	for (;;) {
		struct guard_message next;
		ssize_t n = read(pipe_fd, &next, sizeof(next));

		if (n < 0 && errno == EINTR)
			continue;
		if (n != (ssize_t)sizeof(next))
			break;
		message = next;
	}
	if (message.state == GUARD_RAW && tcgetattr(tty_fd, &now) == 0 &&
		same_modes(&now, &message.raw))
		(void)tcsetattr(tty_fd, TCSANOW, &message.saved);
	_exit(0);
}

static void guard_child(int pipe_fd, int tty_fd)
{
	sigset_t all;

	/* Our own group: what the terminal sends to agentctl's group does not end us. Blocked
	 * SIGTTOU lets a background process set the modes. */
	(void)setpgid(0, 0);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	(void)prctl(PR_SET_NAME, "agentctl-tty");
	if (dup2(pipe_fd, 0) < 0 || dup3(tty_fd, 3, 0) < 0)
		_exit(1);
	close(1);
	close(2);
	(void)close_range(4, ~0U, 0);
	guard_main(0, 3);
}

int terminal_guard_start(struct terminal *terminal)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_trace(err_errno());
	terminal->guard_pid = fork();
	if (terminal->guard_pid < 0) {
		int r = err_errno();

		close_fd(fds[0]);
		close_fd(fds[1]);
		return err_trace(r);
	}
	if (terminal->guard_pid == 0) {
		/* Above 3, so that moving one descriptor does not overwrite the other. */
		int pipe_fd = fcntl(fds[0], F_DUPFD, 10),
		    tty_fd = fcntl(terminal->in_fd, F_DUPFD, 10);

		guard_child(pipe_fd, tty_fd);
	}
	(void)setpgid(terminal->guard_pid, terminal->guard_pid);
	close_fd(fds[0]);
	terminal->guard_fd = fds[1];
	return 0;
}

static void tell(struct terminal *terminal, const struct guard_message *message)
{
	ssize_t n;

	if (terminal->guard_fd < 0)
		return;
	/* A guard that was killed costs the safety net, nothing else. */
	do {
		n = write(terminal->guard_fd, message, sizeof(*message));
	} while (n < 0 && errno == EINTR);
}

void terminal_guard_raw(struct terminal *terminal, const struct termios *raw)
{
	struct guard_message message = {.state = GUARD_RAW, .saved = terminal->saved, .raw = *raw};

	tell(terminal, &message);
}

void terminal_guard_cooked(struct terminal *terminal)
{
	struct guard_message message = {.state = GUARD_COOKED};

	tell(terminal, &message);
}

void terminal_guard_stop(struct terminal *terminal)
{
	struct guard_message message = {.state = GUARD_GOODBYE};

	if (terminal->guard_fd < 0)
		return;
	tell(terminal, &message);
	terminal->guard_fd = close_fd(terminal->guard_fd);
	while (waitpid(terminal->guard_pid, NULL, 0) < 0 && errno == EINTR)
		;
}
