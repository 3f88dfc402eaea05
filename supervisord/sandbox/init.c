/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "supervisord/sandbox/start.h"

/* Process 1 of the session: builds the view, starts the agent, reaps, passes signals on, and ends
 * everything when the agent or the broker is gone. MUST:
 *  1. hold nothing that is of use to the session: no capability, no descriptor but its two
 *  2. signal "everybody" only where everybody is this session
 *  3. let the terminal's last output be read: nobody may hold its slave when this process, its
 * session's leader, ends, because that hangs it up */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <termios.h>

#include "supervisord/base/clock.h"
#include "supervisord/base/fdpass.h"
#include "supervisord/sandbox/children.h"
#include "supervisord/sandbox/mounts.h"
#include "supervisord/sandbox/namespaces.h"
#include "supervisord/sandbox/session_tmp.h"

#define END_USEC (2 * USEC_PER_SEC)

struct init {
	const struct plan *plan;
	pid_t agent;
	int terminal; /* slave, or -1 */
	int signals;
	bool agent_ended;
	int status;
};

_Noreturn void start_fail(int gate, int error, const char *step, const char *what)
{
	struct gate_message message = {.error = error != 0 ? error : EIO};

	(void)snprintf(message.what, sizeof(message.what), "%s%s%s", step, what ? " " : "",
		what ? what : "");
	(void)!write(gate, &message, sizeof(message));
	_exit(START_FAILED);
}

/* Leaves 0-2, the socket and the gate open, these two at their fixed numbers. */
static void arrange_descriptors(struct start *start)
{
	int sock = fcntl(start->sock, F_DUPFD_CLOEXEC, 16);
	int gate = fcntl(start->gate, F_DUPFD_CLOEXEC, 16);

	if (sock < 0 || gate < 0 || dup3(sock, START_SOCK_FD, O_CLOEXEC) < 0 ||
		dup3(gate, START_GATE_FD, O_CLOEXEC) < 0)
		start_fail(start->gate, errno, "arranging descriptors", NULL);
	start->sock = START_SOCK_FD;
	start->gate = START_GATE_FD;
	if (close_range(START_GATE_FD + 1, ~0u, 0) < 0)
		start_fail(start->gate, errno, "closing descriptors", NULL);
}

static void enter(struct start *start)
{
	const char *what = NULL;
	sigset_t all;
	int r;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	arrange_descriptors(start);
	prctl(PR_SET_NAME, "agent-init", 0, 0, 0);
	/* The broker may be unreadable; the agent must not be, and /proc/self has to be ours. */
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	if (start->plan->user_ns) {
		r = namespaces_map_self(start->uid, start->gid);
		if (r < 0)
			start_fail(start->gate, -r, "mapping our own user id", NULL);
	}
	if (start->plan->mount_ns) {
		r = mounts_apply(start->plan, &what);
		if (r < 0)
			start_fail(start->gate, -r, "mounting", what);
	}
	if (!start->plan->pid_ns && prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		start_fail(start->gate, errno, "becoming the reaper", NULL);
}

/* The person's own erase key, UTF-8 and so on: their terminal is not raw yet. While we are in the
 * background it may have the modes of the shell's line editor: then only the keys count. */
static void set_modes(int slave, bool background)
{
	struct termios modes, fresh;

	if (tcgetattr(STDIN_FILENO, &modes) < 0 || tcgetattr(slave, &fresh) < 0)
		return;
	if (background) {
		for (size_t i = 0; i < NCCS; i++)
			if (modes.c_cc[i] != _POSIX_VDISABLE)
				fresh.c_cc[i] = modes.c_cc[i];
		fresh.c_iflag |= modes.c_iflag & IUTF8;
		modes = fresh;
	}
	(void)tcsetattr(slave, TCSANOW, &modes);
}

/* Makes the agent's terminal and hands the master out. The caller becomes a session leader with it.
 */
static int make_terminal(const struct start *start)
{
	const struct session_spec *spec = start->spec;
	struct winsize size = {.ws_row = spec->rows, .ws_col = spec->cols};
	struct init_message message = {.kind = INIT_TERMINAL};
	int master, slave, unlocked = 0, r;

	master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (master < 0 || ioctl(master, TIOCSPTLCK, &unlocked) < 0)
		start_fail(start->gate, errno, "opening a terminal", NULL);
	slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave < 0)
		start_fail(start->gate, errno, "opening a terminal's other end", NULL);
	if (size.ws_row > 0 && size.ws_col > 0)
		ioctl(slave, TIOCSWINSZ, &size);
	set_modes(slave, start->background);
	if (setsid() < 0 || ioctl(slave, TIOCSCTTY, 0) < 0)
		start_fail(start->gate, errno, "taking a terminal", NULL);
	r = fdpass_send(start->sock, &message, sizeof(message), master);
	if (r < 0)
		start_fail(start->gate, -r, "handing out a terminal", NULL);
	close(master);
	return slave;
}

static void tell(enum init_message_kind kind, int value)
{
	struct init_message message = {.kind = kind, .value = value};

	/* A broker that is gone or does not read is seen on the socket, not here. */
	(void)!send(START_SOCK_FD, &message, sizeof(message), MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void reap(struct init *init)
{
	pid_t pid;
	int status;

	while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED | WCONTINUED)) > 0) {
		if (pid != init->agent)
			continue;
		if (WIFSTOPPED(status)) {
			tell(INIT_STOPPED, WSTOPSIG(status));
		} else if (WIFEXITED(status) || WIFSIGNALED(status)) {
			init->agent_ended = true;
			init->status = status;
		}
	}
}

static void kill_all(const struct init *init)
{
	if (init->plan->pid_ns && getpid() == 1)
		kill(-1, SIGKILL);
	else
		children_kill(getpid());
}

/* Ends every process of the session and waits until they are gone, so that nothing holds the
 * terminal. */
static void end_all(struct init *init)
{
	uint64_t until = clock_monotonic_usec() + END_USEC;
	struct signalfd_siginfo info;

	while (clock_monotonic_usec() < until) {
		struct pollfd fd = {.fd = init->signals, .events = POLLIN};

		kill_all(init);
		reap(init);
		if (waitid(P_ALL, 0, &(siginfo_t){0}, WEXITED | WNOHANG | WNOWAIT) < 0 &&
			errno == ECHILD)
			break;
		if (poll(&fd, 1, 10) > 0)
			(void)!read(init->signals, &info, sizeof(info));
	}
}

/* The process or group that a signal from outside is for. */
static pid_t signal_target(const struct init *init)
{
	pid_t group;

	/* Without a terminal of its own the agent shares its group with the caller: only itself
	 * then. */
	if (init->terminal < 0)
		return init->agent;
	group = tcgetpgrp(init->terminal);
	return group > 1 ? -group : -init->agent;
}

/* One message of the broker. False when the session is to end. */
static bool on_message(struct init *init)
{
	struct init_message message;
	ssize_t n = recv(START_SOCK_FD, &message, sizeof(message), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (n != sizeof(message))
		return false;
	switch (message.kind) {
	case INIT_SIGNAL:
		if (message.value > 0 && message.value <= SIGRTMAX && !init->agent_ended)
			kill(signal_target(init), message.value);
		return true;
	case INIT_CONTINUE:
		if (init->terminal >= 0)
			tcsetpgrp(init->terminal, init->agent);
		kill(init->terminal >= 0 ? -init->agent : init->agent, SIGCONT);
		return true;
	default:
		return false;
	}
}

static void serve(struct init *init)
{
	struct pollfd fds[] = {
		{.fd = START_SOCK_FD, .events = POLLIN},
		{.fd = init->signals, .events = POLLIN},
	};
	struct signalfd_siginfo info;

	for (;;) {
		reap(init);
		if (init->agent_ended)
			return;
		if (poll(fds, ARRAY_LEN(fds), -1) < 0)
			continue;
		if (fds[1].revents)
			(void)!read(init->signals, &info, sizeof(info));
		if (fds[0].revents && !on_message(init))
			return;
	}
}

/* Number FIELD of /proc/self/stat, counted from 1 as proc(5) does; TEXT starts at field 3. */
static unsigned long stat_field(const char *text, unsigned field)
{
	for (unsigned i = 3; i < field && text; i++) {
		text = strchr(text, ' ');
		if (text)
			text++;
	}
	return text ? strtoul(text, NULL, 10) : 0;
}

static void wipe(unsigned long from, unsigned long to)
{
	if (from != 0 && to > from && to - from < 16UL * 1024 * 1024)
		memset((void *)from, 0, to - from); /* NOLINT(performance-no-int-to-ptr) */
}

static void rename_arguments(unsigned long from, unsigned long to)
{
	static const char name[] = "agent-init";

	if (from != 0 && to >= from + sizeof(name))
		memcpy((void *)from, name, sizeof(name)); /* NOLINT(performance-no-int-to-ptr) */
}

/* The broker's arguments and environment are not for the session's `ps`. */
static void wipe_origin(void)
{
	char text[2048];
	const char *rest;
	int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return;
	text[n] = '\0';
	rest = strrchr(text, ')');
	if (!rest || rest[1] == '\0')
		return;
	rest += 2;
	wipe(stat_field(rest, 50), stat_field(rest, 51));
	wipe(stat_field(rest, 48), stat_field(rest, 49));
	rename_arguments(stat_field(rest, 48), stat_field(rest, 49));
}

static void start_agent(struct init *init, struct start *start)
{
	pid_t self = getpid();
	int r = namespaces_drop_caps();

	if (r < 0)
		start_fail(start->gate, -r, "dropping capabilities", NULL);
	init->agent = fork();
	if (init->agent < 0)
		start_fail(start->gate, errno, "starting the agent", NULL);
	if (init->agent == 0)
		agent_run(start, init->terminal, self);
	if (init->terminal >= 0) {
		/* Both sides do it, so that it is done whoever runs first. SIGTTOU is blocked. */
		setpgid(init->agent, init->agent);
		tcsetpgrp(init->terminal, init->agent);
	}
}

_Noreturn void init_run(struct start *start)
{
	struct init init = {.plan = start->plan, .terminal = -1};
	sigset_t all;

	enter(start);
	if (start->spec->pty)
		init.terminal = make_terminal(start);
	sigfillset(&all);
	init.signals = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
	if (init.signals < 0)
		start_fail(start->gate, errno, "waiting for signals", NULL);
	start_agent(&init, start);
	close(START_GATE_FD);
	wipe_origin();
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	/* A broker that ends closes its socket; in a pid namespace the kernel need not wait for us
	 * to see. */
	if (start->plan->pid_ns)
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	serve(&init);
	end_all(&init);
	/* The broker may be gone without having done it. */
	if (start->tmp_dir)
		session_tmp_remove(start->tmp_dir);
	if (init.terminal >= 0)
		close(init.terminal);
	if (init.agent_ended)
		tell(INIT_EXITED, init.status);
	_exit(0);
}
