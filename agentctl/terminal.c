/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
/* Modes, size and foreground of the person's terminal. */

#include "agentctl/terminal.h"

#include <fcntl.h>
#include <stdio.h>

#include "supervisord/base/error.h"

/* The terminal of FD as an open file of our own, so that O_NONBLOCK does not leak to the shell and
 * every other program that shares FD. FD itself where that is not possible. */
static int open_again(int fd, int flags, bool *ownedp)
{
	char path[32];
	unsigned device = 0, controlling = 0;
	int own;

	*ownedp = true;
	/* /dev/tty can be opened also after su, when the terminal's file belongs to someone else.
	 */
	own = open("/dev/tty", flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (own >= 0 && ioctl(fd, TIOCGDEV, &device) == 0 &&
		ioctl(own, TIOCGDEV, &controlling) == 0 && device == controlling)
		return own;
	close_fd(own);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	own = open(path, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (own >= 0)
		return own;
	*ownedp = false;
	return fd;
}

int terminal_open(struct terminal *terminal)
{
	int r;

	*terminal = (struct terminal){.in_fd = -1, .out_fd = -1, .guard_fd = -1};
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return err_trace(-ENOTTY);
	terminal->in_fd = open_again(STDIN_FILENO, O_RDONLY, &terminal->in_owned);
	terminal->out_fd = open_again(STDOUT_FILENO, O_WRONLY, &terminal->out_owned);
	r = terminal_guard_start(terminal);
	if (r < 0) {
		terminal_close(terminal);
		return err_trace(r);
	}
	return 0;
}

void terminal_close(struct terminal *terminal)
{
	terminal_leave_raw(terminal);
	terminal_guard_stop(terminal);
	if (terminal->in_owned)
		close_fd(terminal->in_fd);
	if (terminal->out_owned)
		close_fd(terminal->out_fd);
	terminal->in_fd = terminal->out_fd = -1;
	terminal->in_owned = terminal->out_owned = false;
}

bool terminal_is_foreground(const struct terminal *terminal)
{
	pid_t group = tcgetpgrp(terminal->in_fd);

	/* Not our controlling terminal: there is no job control to respect. */
	if (group < 0 && errno == ENOTTY)
		return true;
	return group == getpgrp();
}

int terminal_enter_raw(struct terminal *terminal)
{
	struct termios raw;

	if (terminal->raw)
		return 0;
	if (tcgetattr(terminal->in_fd, &terminal->saved) < 0)
		return err_trace(err_errno());
	raw = terminal->saved;
	cfmakeraw(&raw);
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	/* The guard first: from the first moment on somebody can undo it. */
	terminal_guard_raw(terminal, &raw);
	while (tcsetattr(terminal->in_fd, TCSADRAIN, &raw) < 0)
		if (errno != EINTR)
			return err_trace(err_errno());
	terminal->raw = true;
	return 0;
}

bool terminal_lost_raw(const struct terminal *terminal)
{
	struct termios now;

	return terminal->raw && tcgetattr(terminal->in_fd, &now) == 0 && (now.c_lflag & ICANON);
}

void terminal_leave_raw(struct terminal *terminal)
{
	if (!terminal->raw)
		return;
	if (terminal_is_foreground(terminal))
		while (tcsetattr(terminal->in_fd, TCSADRAIN, &terminal->saved) < 0 &&
			errno == EINTR)
			;
	terminal_forget_raw(terminal);
}

void terminal_forget_raw(struct terminal *terminal)
{
	terminal->raw = false;
	terminal_guard_cooked(terminal);
}

void terminal_copy_size(const struct terminal *terminal, int master_fd)
{
	struct winsize size;

	if (master_fd >= 0 && ioctl(terminal->out_fd, TIOCGWINSZ, &size) == 0)
		(void)ioctl(master_fd, TIOCSWINSZ, &size);
}
