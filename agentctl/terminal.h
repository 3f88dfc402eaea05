/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef AGENTCTL_TERMINAL_H
#define AGENTCTL_TERMINAL_H

/* The person's terminal while a session has one of its own: raw while we are in the foreground, as
 * it was at every other moment, also when this program is killed (terminal_guard). */

#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/types.h>
#include <termios.h>

#include "supervisord/base/cleanup.h"

struct terminal {
	int in_fd, out_fd; /* our own open files where the terminal can be opened again */
	bool in_owned, out_owned;
	bool raw;
	struct termios saved; /* as it was before raw */
	int guard_fd;         /* towards the guard; -1 = none */
	pid_t guard_pid;
};

/* Takes standard input and output as the terminal and starts the guard. 0 or -errno. */
int terminal_open(struct terminal *terminal) _must_use_;
/* Restores the modes and ends the guard. Idempotent. */
void terminal_close(struct terminal *terminal);

/* Are we the terminal's foreground process group? False where that cannot be told. */
bool terminal_is_foreground(const struct terminal *terminal);
/* Saves the modes as they are now and goes raw. Only in the foreground. 0 or -errno. */
int terminal_enter_raw(struct terminal *terminal) _must_use_;
/* Did somebody else make it cooked again since terminal_enter_raw()? A shell that brings a job to
 * the foreground may set the modes after it gave the terminal away. */
bool terminal_lost_raw(const struct terminal *terminal);
/* Back to the saved modes, when raw. */
void terminal_leave_raw(struct terminal *terminal);
/* Another program has the terminal now and has set its modes: forget that it was raw. */
void terminal_forget_raw(struct terminal *terminal);

/* Copies the size to the pty master MASTER_FD. */
void terminal_copy_size(const struct terminal *terminal, int master_fd);

/* terminal_guard.c: a child that restores the modes when this process ends without a goodbye. 0 or
 * -errno. */
int terminal_guard_start(struct terminal *terminal) _must_use_;
/* Tells it what to do if this process ended now. */
void terminal_guard_raw(struct terminal *terminal, const struct termios *raw);
void terminal_guard_cooked(struct terminal *terminal);
void terminal_guard_stop(struct terminal *terminal);

#endif
