/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
/* Messages and signals of a running session, and how it ended. */

#include "agentctl/run.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "agentctl/output.h"
#include "supervisord/base/fdpass.h"

static int status_of(int wait_status)
{
	if (WIFEXITED(wait_status))
		return WEXITSTATUS(wait_status);
	if (WIFSIGNALED(wait_status))
		return EXIT_SIGNAL_BASE + WTERMSIG(wait_status);
	return EXIT_SUPERVISOR;
}

static void decide(struct run *run, int status)
{
	if (run->decided)
		return;
	run->decided = true;
	run->status = status;
}

/* Before the agent runs the terminal is the person's; afterwards a line would land in the middle of
 * a full-screen program. Lines stay lines; each is made safe by itself. */
static void notice(struct run *run, const char *text)
{
	while (*text) {
		size_t n = strcspn(text, "\n");
		_cleanup_(freep) char *line = strndup(text, n), *safe = NULL;

		if (!line)
			out_of_memory();
		safe = out_safe(line);
		if (!run->started)
			(void)fprintf(stderr, "agentctl: %s\n", safe);
		else
			buf_printf(&run->notices, "agentctl: %s\n", safe);
		text += n + (text[n] ? 1 : 0);
	}
}

static enum run_event take(
	struct run *run, const struct run_message *message, int *fdp, int *valuep)
{
	*valuep = message->value;
	switch ((enum run_message_kind)message->kind) {
	case RUN_STARTED:
		run->started = true;
		(void)snprintf(run->session, sizeof(run->session), "%.*s",
			(int)sizeof(run->session) - 1, message->text);
		if (*fdp >= 0 && run->master_fd < 0)
			run->master_fd = TAKE_FD(*fdp);
		return RUN_EVENT_STARTED;
	case RUN_STOPPED:
		return RUN_EVENT_STOPPED;
	case RUN_EXITED:
		if (message->text[0])
			buf_printf(&run->notices, "agentctl: the session was ended: %s\n",
				message->text);
		decide(run, status_of(message->value));
		return RUN_EVENT_ENDED;
	case RUN_FAILED:
		if (message->text[0])
			notice(run, message->text);
		decide(run, message->value);
		return RUN_EVENT_ENDED;
	case RUN_NOTICE:
		notice(run, message->text);
		return RUN_EVENT_OTHER;
	case RUN_SIGNAL:
	case RUN_CONTINUE:
	case RUN_HANGUP:
		break; /* ours, not theirs */
	}
	return RUN_EVENT_OTHER;
}

enum run_event run_receive(struct run *run, int *valuep)
{
	_cleanup_(closep) int fd = -1;
	struct run_message message;
	size_t size = 0;
	int r = fdpass_recv(run->sock, &message, sizeof(message), &size, &fd, NULL);

	if (r == -EAGAIN || r == -EINTR)
		return RUN_EVENT_NONE;
	if (r < 0 || size == 0)
		return RUN_EVENT_CLOSED;
	if (size != sizeof(message))
		return RUN_EVENT_OTHER;
	message.text[RUN_TEXT_MAX - 1] = '\0';
	return take(run, &message, &fd, valuep);
}

void run_send(struct run *run, enum run_message_kind kind, int value)
{
	struct run_message message;
	int r;

	memset(&message, 0, sizeof(message));
	message.kind = (uint32_t)kind;
	message.value = value;
	r = fdpass_send(run->sock, &message, sizeof(message), -1);
	(void)r;
}

bool run_read_signal(struct run *run, struct signalfd_siginfo *info)
{
	return read(run->signal_fd, info, sizeof(*info)) == (ssize_t)sizeof(*info);
}

void run_finish(struct run *run)
{
	enum run_event event;
	int value, wait_status = 0;

	do {
		event = run_receive(run, &value);
	} while (event != RUN_EVENT_NONE && event != RUN_EVENT_CLOSED);
	while (waitpid(run->broker, &wait_status, 0) < 0 && errno == EINTR)
		;
	run->gone = true;
	if (run->decided)
		return;
	decide(run, EXIT_SUPERVISOR);
	if (!run->started)
		notice(run, "the session could not be started: the broker ended before the command "
			    "ran");
	else if (WIFSIGNALED(wait_status))
		buf_printf(&run->notices,
			"agentctl: the session ended because its broker was killed (signal %d); "
			"the command was ended with it\n",
			WTERMSIG(wait_status));
	else
		buf_puts(&run->notices, "agentctl: the session ended because its broker died; the "
					"command was ended "
					"with it\n");
}

void run_stop_self(struct run *run, int sig)
{
	struct sigaction standard = {.sa_handler = SIG_DFL}, old;
	struct signalfd_siginfo info;
	sigset_t set;

	/* SIGTSTP shows as "Stopped" everywhere and is harmless in an orphaned group, where nobody
	 * could continue us; a stop by SIGSTOP is passed on as what it was. */
	if (sig != SIGSTOP)
		sig = SIGTSTP;
	sigemptyset(&set);
	sigaddset(&set, sig);
	sigaction(sig, &standard, &old);
	/* The whole group, as the terminal would have done: a make or script around us stops too.
	 */
	(void)kill(0, sig);
	if (sig != SIGSTOP) {
		sigprocmask(SIG_UNBLOCK, &set, NULL); /* stops here */
		sigprocmask(SIG_BLOCK, &set, NULL);
	}
	sigaction(sig, &old, NULL);
	/* The SIGCONT that woke us is dealt with by the caller. */
	while (run_read_signal(run, &info))
		if (info.ssi_signo != SIGCONT && info.ssi_signo != SIGWINCH &&
			info.ssi_signo != (unsigned)sig)
			run_send(run, RUN_SIGNAL, (int)info.ssi_signo);
}
