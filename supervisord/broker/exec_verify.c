/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "supervisord/broker/exec.h"

/* The proof of an exec: the task is seized while its notification waits, the call goes on, and at
 * the exec event, before the first instruction of the new image, what runs is compared with what
 * was judged.
 *
 * PTRACE_INTERRUPT is sent before the call goes on. A notification that was received ends early
 * only by a fatal signal, so the stop stays pending through the exec. Therefore exactly one of
 * three things comes, and the wait always ends: the exec event; the interrupt's stop, when the exec
 * failed; the death of the task.
 *
 * MUST
 *  1. make all ptrace calls for a task in one thread, and wait only for this thread's tracees
 *     (__WNOTHREAD): no worker and no main loop takes another's event
 *  2. let a task go only after the comparison, or when the exec failed and the old image goes on
 *  3. after SIGKILL, or when letting go fails because the task is dying, wait until its death was
 * taken: a thread that nobody reaps would stop the exec of its whole group
 *  4. take the pid from the event: a thread's exec is reported under its leader's id */

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "supervisord/base/buf.h"
#include "supervisord/base/error.h"
#include "supervisord/base/log.h"
#include "supervisord/base/proc.h"
#include "supervisord/broker/decide.h"
#include "supervisord/broker/open.h"
#include "supervisord/broker/reply.h"
#include "supervisord/broker/sock.h"

#define EXEC_PATIENCE_MSEC 200
#define MAPS_BYTES_MAX (256u * 1024)

/* Reads /proc/PID/NAME whole. Where EXPECT bytes are foreseen, a short read after that many is the
 * end. 0, -E2BIG (over MAX), -errno. */
static int read_proc(pid_t pid, const char *name, size_t max, size_t expect, struct buf *buf)
{
	_cleanup_(closep) int fd = -1;
	char path[64], data[4096];

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_trace(err_errno());
	buf_init(buf, max);
	for (;;) {
		ssize_t size = read(fd, data, sizeof(data));
		int r;

		if (size < 0 && errno == EINTR)
			continue;
		if (size < 0)
			return err_trace(err_errno());
		if (size == 0)
			return 0;
		r = buf_append(buf, data, (size_t)size);
		if (r < 0)
			return err_trace(r);
		if (expect > 0 && (size_t)size < sizeof(data) && buf->size >= expect)
			return 0;
	}
}

struct mapping {
	dev_t dev;
	ino_t ino;
	char *name; /* in the line, unescaped */
};

/* The maps file escapes only a newline. */
static void unescape_newlines(char *name)
{
	char *to = name;

	for (const char *from = name; *from; to++) {
		if (strncmp(from, "\\012", 4) == 0) {
			*to = '\n';
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = 0;
}

/* "START-END PERMS OFFSET MAJOR:MINOR INODE   NAME", the numbers but the inode in hexadecimal. */
static bool parse_mapping(char *line, struct mapping *mapping)
{
	unsigned long dev_major, dev_minor;
	char *at = line;

	for (int skipped = 0; skipped < 3; skipped++) {
		at = strchr(at, ' ');
		if (!at)
			return false;
		at++;
	}
	dev_major = strtoul(at, &at, 16);
	if (*at != ':')
		return false;
	dev_minor = strtoul(at + 1, &at, 16);
	mapping->dev = makedev((unsigned)dev_major, (unsigned)dev_minor);
	mapping->ino = strtoul(at, &at, 10);
	mapping->name = at + strspn(at, " ");
	return true;
}

/* The next line of /proc/PID/maps that maps a file. */
static bool next_mapping(char **textp, struct mapping *mapping)
{
	char *line;

	while ((line = strsep(textp, "\n"))) {
		if (!parse_mapping(line, mapping) || mapping->ino == 0)
			continue;
		unescape_newlines(mapping->name);
		return true;
	}
	return false;
}

/* File systems with subvolumes show another, anonymous device in stat than in maps. */
static bool same_device(dev_t mapped, dev_t seen)
{
	return mapped == seen || (major(mapped) == 0 && major(seen) == 0);
}

/* Does policy allow running the file NAME outright? Nobody can be asked any more. */
static bool allowed_outright(const struct notification *n, const struct exec_plan *plan,
	const char *name, const struct exec_args *args)
{
	_cleanup_(request_freep) struct request *request = request_new(OP_EXEC);
	const struct policy_rule_info *rule;

	if (!request)
		return false;
	request->path = strdup(name);
	if (!request->path || exec_args_dup(args, &request->argv, &request->n_argv) < 0 ||
		exec_copy_subject(request, plan->requests[0]) < 0)
		return false;
	return policy_set_eval(n->broker->policies, request, &rule) == VERDICT_ALLOW;
}

/* Every file mapped into the new image is the image itself or its judged loader. */
static int check_mappings(const struct notification *n, const struct exec_plan *plan, pid_t pid,
	ino_t image_ino, const char **whyp, char **seenp)
{
	_cleanup_(buf_deinit) struct buf buf = {0};
	bool loader_seen = false;
	struct mapping mapping;
	char *text;
	int r;

	*whyp = "its mappings cannot be read";
	r = read_proc(pid, "maps", MAPS_BYTES_MAX, 0, &buf);
	if (r < 0)
		return err_trace(r);
	text = buf.data;
	while (text && next_mapping(&text, &mapping)) {
		struct exec_args args = {.items = (char *[]){mapping.name, NULL}, .n = 1};
		bool is_loader = plan->loader && mapping.ino == plan->loader_ino &&
				 same_device(mapping.dev, plan->loader_dev) &&
				 strcmp(mapping.name, plan->loader) == 0;

		loader_seen = loader_seen || is_loader;
		if (is_loader || (mapping.ino == image_ino &&
					 (!plan->foreseen || same_device(mapping.dev, plan->dev))))
			continue;
		if (!plan->foreseen && allowed_outright(n, plan, mapping.name, &args))
			continue;
		*whyp = "another loader than the judged one was mapped";
		*seenp = strdup(mapping.name);
		return -EPERM;
	}
	*whyp = "the judged loader was not mapped";
	return plan->loader && !loader_seen ? -EPERM : 0;
}

/* An image that was not foreseen (binfmt_misc): its own exec, with the arguments it really got. */
static int check_unforeseen(const struct notification *n, const struct exec_plan *plan, pid_t pid,
	const struct buf *cmdline, char **seenp)
{
	_cleanup_(freep) char *program = NULL;
	struct exec_args args = {0};
	bool allowed;
	int r;

	r = proc_link(pid, "exe", &program);
	if (r < 0)
		return err_trace(r);
	args.items = calloc(REQUEST_ARGV_MAX + 1, sizeof(char *));
	if (!args.items)
		return err_trace(-ENOMEM);
	for (size_t at = 0; at < cmdline->size && args.n < REQUEST_ARGV_MAX;) {
		args.items[args.n++] = cmdline->data + at;
		at += strlen(cmdline->data + at) + 1;
	}
	allowed = allowed_outright(n, plan, program, &args);
	free(args.items);
	if (!allowed)
		*seenp = TAKE_PTR(program);
	return allowed ? 0 : -EPERM;
}

/* Compares the stopped image with the plan. 0, or negative with *WHYP (static) and, where another
 * file is at fault, *SEENP (owned by the caller). */
static int check_image(const struct notification *n, const struct exec_plan *plan, pid_t pid,
	const char **whyp, char **seenp)
{
	_cleanup_(buf_deinit) struct buf cmdline = {0};
	struct stat st;
	char path[64];
	bool same;
	int r;

	*whyp = "the image cannot be looked at";
	(void)snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	if (stat(path, &st) < 0)
		return err_trace(err_errno());
	same = st.st_dev == plan->dev && st.st_ino == plan->ino;
	if (!same && plan->foreseen) {
		*whyp = "another file than the judged one was run";
		if (proc_link(pid, "exe", seenp) < 0)
			*seenp = NULL;
		return -EPERM;
	}
	*whyp = "its arguments cannot be read";
	r = read_proc(pid, "cmdline", EXEC_ARGS_BYTES_MAX + REQUEST_ARGV_MAX + PATH_MAX,
		same ? exec_args_size(&plan->args) : 0, &cmdline);
	if (r < 0)
		return err_trace(r);
	if (!same) {
		*whyp = "an interpreter that no rule allows outright was run";
		r = check_unforeseen(n, plan, pid, &cmdline, seenp);
		if (r < 0)
			return err_trace(r);
	} else if (!exec_args_equal(&plan->args, cmdline.data ? cmdline.data : "", cmdline.size)) {
		*whyp = "its arguments differ from the judged ones";
		return -EPERM;
	}
	return check_mappings(n, plan, pid, st.st_ino, whyp, seenp);
}

/* Waits until the death of the last tracee of this thread was taken. */
static void reap_all(void)
{
	int status;

	for (;;) {
		pid_t pid = waitpid(-1, &status, __WALL | __WNOTHREAD);

		if (pid < 0 && errno != EINTR)
			return;
		/* A stop that had been on its way; the kill is pending. */
		if (pid > 0 && WIFSTOPPED(status))
			ptrace(PTRACE_CONT, pid, 0, 0);
	}
}

static void on_exec_event(struct notification *n, struct exec_plan *plan, pid_t pid)
{
	_cleanup_(freep) char *seen = NULL, *detail = NULL;
	const char *why = "";
	int r;

	r = check_image(n, plan, pid, &why, &seen);
	if (r >= 0) {
		if (ptrace(PTRACE_DETACH, pid, 0, 0) < 0)
			reap_all();
		return;
	}
	kill(pid, SIGKILL);
	reap_all();
	if (asprintf(&detail, "judged %s; %s%s%s", plan->requests[0]->path, why, seen ? ": " : "",
		    seen ? seen : "") < 0)
		detail = NULL;
	log_info("process %d killed at its exec: %s", pid, detail ? detail : why);
	decide_record_event(n, "attack.exec", plan->requests[0], detail ? detail : why);
}

/* The next event of this thread's tracee. An exec takes long where a disk does, or where a thread
 * of the group is held by a debugger: then another worker takes this one's place. */
static pid_t next_event(struct notification *n, int *statusp)
{
	struct sock_interrupt interrupt = {0};
	bool patient = sock_interrupt_begin(&interrupt, EXEC_PATIENCE_MSEC) < 0;
	pid_t pid;

	for (;;) {
		pid = waitpid(-1, statusp, __WALL | __WNOTHREAD);
		if (pid >= 0 || errno != EINTR)
			break;
		if (patient)
			continue;
		patient = true;
		sock_interrupt_end(&interrupt);
		if (!worker_may_block(n))
			log_warn("an exec takes long, and too many requests wait");
	}
	if (!patient)
		sock_interrupt_end(&interrupt);
	return pid;
}

static void wait_event(struct notification *n, struct exec_plan *plan)
{
	for (;;) {
		int status, event;
		pid_t pid = next_event(n, &status);

		/* A leader that died under another thread's exec is taken by the kernel itself. */
		if (pid < 0 || !WIFSTOPPED(status))
			return;
		event = status >> 16;
		if (event == PTRACE_EVENT_EXEC) {
			on_exec_event(n, plan, pid);
			return;
		}
		if (event == PTRACE_EVENT_STOP) {
			if (ptrace(PTRACE_DETACH, pid, 0, 0) == 0)
				return;
			continue;
		}
		ptrace(PTRACE_CONT, pid, 0, WSTOPSIG(status));
	}
}

static bool is_traced(pid_t tid)
{
	_cleanup_(buf_deinit) struct buf buf = {0};

	return read_proc(tid, "status", MAPS_BYTES_MAX, 0, &buf) >= 0 && buf.data &&
	       !strstr(buf.data, "\nTracerPid:\t0\n");
}

/* Why the task cannot be seized. */
static void refuse_seize(struct notification *n, struct exec_plan *plan, int error)
{
	if (!notification_valid(n)) {
		reply_errno(n, EPERM);
		return;
	}
	if (error == EPERM && is_traced(n->tid))
		decide_record_event(n, "refused.traced-exec", plan->requests[0],
			"the process is traced by a debugger of the session (strace, gdb): "
			"an exec cannot be verified then");
	else
		decide_record_event(n, "refused.exec-unverified", plan->requests[0],
			"the kernel lets nobody attach to the process (Yama, container)");
	reply_errno(n, EPERM);
}

void exec_verify(struct notification *n, struct exec_plan *plan)
{
	/* A program that was just written may still be open for writing here. */
	open_settle();
	if (ptrace(PTRACE_SEIZE, n->tid, 0, PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL) < 0) {
		refuse_seize(n, plan, errno);
		return;
	}
	/* Fails only for a task that is dying: its death is the event then. */
	if (ptrace(PTRACE_INTERRUPT, n->tid, 0, 0) < 0 && errno != ESRCH)
		log_error_r(-errno, "cannot interrupt thread %d", n->tid);
	if (reply_continue(n, CONTINUE_EXEC_VERIFIED) < 0)
		log_debug("thread %d went away before its exec", n->tid);
	wait_event(n, plan);
}
