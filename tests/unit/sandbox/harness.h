/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef TESTS_UNIT_SANDBOX_HARNESS_H
#define TESTS_UNIT_SANDBOX_HARNESS_H

/* Runs a command in a real session and answers its notifications in the simplest way: everything
 * goes on in the kernel, but for calls that the test names. What the floor and the filter do is
 * then seen bare. */

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "policy-lang/policy.h"
#include "supervisord/sandbox/launch.h"
#include "supervisord/sandbox/plan.h"
#include "supervisord/sandbox/probe.h"

#define OUTPUT_MAX 16384
#define SESSION_TIMEOUT_MSEC 20000

/* A policy that lets nearly everything through: what is tested here lies below it. */
#define POLICY_OPEN                                                                                \
	"policy \"t\" lang 1 layer builtin\n"                                                      \
	"allow read,list \"/usr/**\" \"/lib/**\" \"/lib64/**\" \"/bin/**\" \"/sbin/**\" "          \
	"\"/proc/**\" "                                                                            \
	"\"/sys/**\" \"/dev/**\"\n"                                                                \
	"allow read,list \"/etc/**\"\n"                                                            \
	"allow read,list,write,create,delete,rename,link,chmod \"/tmp/**\" \"/dev/shm/**\"\n"      \
	"allow exec \"/**\"\n"                                                                     \
	"allow env \"*\"\n"                                                                        \
	"deny read,list \"/etc/shadow\"\n"

struct session {
	struct probe probe;
	struct policy_set *policies;
	struct session_spec spec;
	struct plan *plan;
	struct launch launch;
	char *message;
	char *argv[16];
	char *env[16];
	int output; /* read end */
	char text[OUTPUT_MAX];
	size_t n_text;
	int refuse_nr; /* a call that is answered with EACCES; -1 = none */
	unsigned n_notified;
	int exec_errno; /* of INIT_EXEC_FAILED */
	int stop_signal;
	int status;
	bool ended;
};

static inline void session_init(struct session *s, const char *policy)
{
	const struct policy_vars vars = {.home = "/home/dev",
		.project = "/usr/src",
		.tmp = "/tmp",
		.xdg_config = "/home/dev/.config",
		.xdg_state = "/home/dev/.local/state",
		.xdg_data = "/home/dev/.local/share",
		.xdg_cache = "/home/dev/.cache",
		.xdg_runtime = "/run/user/1500"};
	struct diag_list diags;

	memset(s, 0, sizeof(*s));
	s->refuse_nr = -1;
	s->output = -1;
	diag_list_init(&diags);
	assert_int_equal(probe_run(&s->probe), 0);
	assert_int_equal(policy_set_new(&vars, &s->policies), 0);
	if (policy_set_add(
		    s->policies, "t.policy", policy, strlen(policy), LAYER_BUILTIN, &diags) != 0 ||
		policy_set_seal(s->policies, &diags) != 0) {
		diag_list_print(&diags, stderr);
		fail_msg("the test's policy does not load");
	}
	diag_list_deinit(&diags);
	s->env[0] = (char *)(uintptr_t) "PATH=/usr/local/bin:/usr/bin:/bin";
	s->env[1] = (char *)(uintptr_t) "HOME=/usr/src";
	s->spec = (struct session_spec){.argv = s->argv,
		.env = s->env,
		.n_env = 2,
		.cwd = (char *)(uintptr_t) "/",
		.workspace = (char *)(uintptr_t) "/usr/src",
		.rows = 24,
		.cols = 80};
}

static inline void session_command(struct session *s, const char *const *argv)
{
	s->spec.n_argv = 0;
	for (; *argv; argv++)
		s->argv[s->spec.n_argv++] = (char *)(uintptr_t)*argv;
}

static inline void session_plan(struct session *s)
{
	if (plan_build(&s->probe, s->policies, &s->spec, &s->plan, &s->message) != 0)
		fail_msg("no plan: %s", s->message ? s->message : "?");
}

/* Starts with standard output and error in a pipe, unless there is a terminal. */
static inline int session_start(struct session *s)
{
	int pipes[2], saved_in, saved_out, saved_err, null, r;

	if (!s->plan)
		session_plan(s);
	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	saved_in = fcntl(0, F_DUPFD_CLOEXEC, 10);
	saved_out = fcntl(1, F_DUPFD_CLOEXEC, 10);
	saved_err = fcntl(2, F_DUPFD_CLOEXEC, 10);
	null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	dup2(null, 0);
	dup2(pipes[1], 1);
	dup2(pipes[1], 2);
	r = launch_start(s->plan, &s->spec, &s->launch, &s->message);
	dup2(saved_in, 0);
	dup2(saved_out, 1);
	dup2(saved_err, 2);
	close(saved_in);
	close(saved_out);
	close(saved_err);
	close(null);
	close(pipes[1]);
	s->output = pipes[0];
	return r;
}

static inline void session_answer(struct session *s)
{
	struct seccomp_notif request = {0};
	struct seccomp_notif_resp response = {0};

	if (ioctl(s->launch.listener_fd, SECCOMP_IOCTL_NOTIF_RECV, &request) < 0)
		return;
	s->n_notified++;
	response.id = request.id;
	if (request.data.nr == s->refuse_nr)
		response.error = -EACCES;
	else
		response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	ioctl(s->launch.listener_fd, SECCOMP_IOCTL_NOTIF_SEND, &response);
}

static inline void session_message(struct session *s)
{
	struct init_message message;

	if (recv(s->launch.init_sock, &message, sizeof(message), 0) != sizeof(message)) {
		s->ended = true;
		return;
	}
	if (message.kind == INIT_EXEC_FAILED)
		s->exec_errno = message.value;
	else if (message.kind == INIT_STOPPED)
		s->stop_signal = message.value;
	else if (message.kind == INIT_EXITED)
		s->status = message.value;
}

/* One round of what a broker does. False at the end, or after nothing happened for the time-out. */
static inline bool session_step(struct session *s, int timeout_msec)
{
	struct pollfd fds[] = {
		{.fd = s->launch.listener_fd, .events = POLLIN},
		{.fd = s->launch.init_sock, .events = POLLIN},
		{.fd = s->launch.pty_fd >= 0 ? s->launch.pty_fd : s->output, .events = POLLIN},
	};
	ssize_t n;

	if (poll(fds, 3, timeout_msec) <= 0)
		return false;
	if (fds[0].revents & POLLIN)
		session_answer(s);
	if (fds[2].revents && s->n_text < OUTPUT_MAX - 1) {
		n = read(fds[2].fd, s->text + s->n_text, OUTPUT_MAX - 1 - s->n_text);
		if (n > 0)
			s->n_text += (size_t)n;
		s->text[s->n_text] = '\0';
		if (n > 0)
			return true;
	}
	if (fds[1].revents)
		session_message(s);
	return !s->ended;
}

static inline void session_drain(struct session *s)
{
	int fd = s->launch.pty_fd >= 0 ? s->launch.pty_fd : s->output;
	ssize_t n;

	while ((n = read(fd, s->text + s->n_text, OUTPUT_MAX - 1 - s->n_text)) > 0)
		s->n_text += (size_t)n;
	s->text[s->n_text] = '\0';
}

static inline void session_finish(struct session *s)
{
	while (session_step(s, SESSION_TIMEOUT_MSEC))
		;
	assert_true(s->ended);
	session_drain(s);
}

/* Runs the command to its end; its output is in s->text, its wait status in s->status. */
static inline void session_run(struct session *s, const char *const *argv)
{
	session_command(s, argv);
	if (session_start(s) != 0)
		fail_msg("%s", s->message ? s->message : "no message");
	assert_int_equal(launch_go(&s->launch), 0);
	session_finish(s);
}

static inline void session_deinit(struct session *s)
{
	if (s->launch.init_pid > 0)
		launch_end(&s->launch);
	if (s->output >= 0)
		close(s->output);
	plan_free(s->plan);
	policy_set_free(s->policies);
	free(s->message);
}

static inline const char *const *shell(const char *script)
{
	static const char *argv[4] = {"/bin/sh", "-c", NULL, NULL};

	argv[2] = script;
	return argv;
}

#endif
