/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */

#include "supervisord/base/proc.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "supervisord/base/error.h"
#include "supervisord/base/file.h"

#define PROC_PATH_MAX 64
#define PROC_TEXT_MAX 1024
#define PROC_DEPTH_MAX 65536 /* no process tree is deeper: a pid was reused under our walk */
#define PROC_STATUS_MAX (4 * 1024 * 1024)

/* Writes "/proc/PID/NAME" by hand: this is on the path of every notification. */
static int proc_path(pid_t pid, const char *name, char out[PROC_PATH_MAX])
{
	char digits[16];
	size_t n = sizeof(digits), size = strlen(name);
	char *p = out;
	unsigned rest = (unsigned)pid;

	if (pid <= 0 || size > 32)
		return -ESRCH;
	do {
		digits[--n] = (char)('0' + rest % 10);
		rest /= 10;
	} while (rest);
	memcpy(p, "/proc/", 6);
	p += 6;
	memcpy(p, digits + n, sizeof(digits) - n);
	p += sizeof(digits) - n;
	*p++ = '/';
	memcpy(p, name, size + 1);
	return 0;
}

/* What a process that went away looks like, in one code. */
static int proc_error(void)
{
	return errno == ENOENT ? -ESRCH : err_errno();
}

/* Reads the first bytes of /proc/PID/NAME into TEXT, with a NUL. */
static int proc_read(pid_t pid, const char *name, char text[PROC_TEXT_MAX])
{
	_cleanup_(closep) int fd = -1;
	char path[PROC_PATH_MAX];
	ssize_t n;
	int r;

	r = proc_path(pid, name, path);
	if (r < 0)
		return r;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return proc_error();
	n = read(fd, text, PROC_TEXT_MAX - 1);
	if (n < 0)
		return proc_error();
	text[n] = '\0';
	return 0;
}

/* The number at *TEXTP in BASE, which is moved behind it. */
static int proc_number(const char **textp, unsigned base, uint64_t *valuep)
{
	const char *p = *textp;
	uint64_t value = 0;

	while (*p == ' ' || *p == '\t')
		p++;
	if (*p < '0' || *p > '9')
		return -EBADMSG;
	for (; *p >= '0' && *p <= '9'; p++)
		if (__builtin_mul_overflow(value, (uint64_t)base, &value) ||
			__builtin_add_overflow(value, (uint64_t)(*p - '0'), &value))
			return -EBADMSG;
	*textp = p;
	*valuep = value;
	return 0;
}

/* Field INDEX (from 3, proc(5)) of /proc/PID/stat, a number. The name in field 2 may hold anything,
 * but no later field holds a parenthesis. */
static int proc_stat_field(pid_t pid, unsigned field, uint64_t *valuep)
{
	char text[PROC_TEXT_MAX];
	const char *p;
	unsigned i;
	int r;

	r = proc_read(pid, "stat", text);
	if (r < 0)
		return r;
	p = strrchr(text, ')');
	for (i = 2; p && i < field; i++)
		p = strchr(p + 1, ' ');
	if (!p)
		return -ESRCH;
	return proc_number(&p, 10, valuep);
}

int proc_parent(pid_t pid, pid_t *parentp)
{
	uint64_t value;
	int r;

	r = proc_stat_field(pid, 4, &value);
	if (r < 0)
		return r;
	if (value > INT_MAX)
		return err_trace(-EBADMSG);
	*parentp = (pid_t)value;
	return 0;
}

int proc_start_ticks(pid_t pid, uint64_t *ticksp)
{
	return proc_stat_field(pid, 22, ticksp);
}

/* The number behind "\nKEY:" in the text of a status file, which escapes newlines in the name. */
static int proc_status_number(const char *text, const char *key, unsigned base, uint64_t *valuep)
{
	const char *p;

	p = strstr(text, key);
	if (!p)
		return -ESRCH;
	p += strlen(key);
	return proc_number(&p, base, valuep);
}

static int proc_parse_ids(const char *text, pid_t *tgidp, mode_t *umaskp)
{
	uint64_t value;
	int r;

	if (tgidp) {
		r = proc_status_number(text, "\nTgid:", 10, &value);
		if (r < 0)
			return r;
		*tgidp = (pid_t)value;
	}
	if (umaskp) {
		/* The line is missing in a process that has already let go of its file system
		 * state. */
		r = proc_status_number(text, "\nUmask:", 8, &value);
		if (r < 0)
			return r;
		*umaskp = (mode_t)value;
	}
	return 0;
}

int proc_tgid_umask(pid_t tid, pid_t *tgidp, mode_t *umaskp)
{
	char text[PROC_TEXT_MAX];
	int r;

	r = proc_read(tid, "status", text);
	return r < 0 ? r : proc_parse_ids(text, tgidp, umaskp);
}

/* The last number of the line behind KEY: the innermost namespace. */
static int proc_status_last(const char *text, const char *key, pid_t *valuep)
{
	uint64_t value = 0;
	const char *p;

	p = strstr(text, key);
	if (!p)
		return -ESRCH;
	p += strlen(key);
	while (proc_number(&p, 10, &value) == 0)
		continue;
	if (value == 0 || value > INT_MAX)
		return -ESRCH;
	*valuep = (pid_t)value;
	return 0;
}

int proc_ids(pid_t tid, pid_t *tgidp, mode_t *umaskp, pid_t *innerp)
{
	char text[PROC_TEXT_MAX];
	int r;

	*innerp = 0;
	r = proc_read(tid, "status", text);
	if (r == 0)
		r = proc_parse_ids(text, tgidp, umaskp);
	/* Only a line that is followed by another one is whole. */
	if (r == 0 && strstr(text, "\nNSpid:"))
		r = proc_status_last(text, "\nNStgid:", innerp);
	return r;
}

int proc_inner_ids(pid_t tid, pid_t *tgidp, pid_t *tidp)
{
	_cleanup_(freep) char *text = NULL;
	char path[PROC_PATH_MAX];
	pid_t inner_tgid, inner_tid;
	int r;

	r = proc_path(tid, "status", path);
	if (r < 0)
		return r;
	/* Whole, because the list of groups in front of these lines may be long. */
	r = file_read(AT_FDCWD, path, PROC_STATUS_MAX, &text, NULL);
	if (r < 0)
		return r == -ENOENT ? -ESRCH : r;
	r = proc_status_last(text, "\nNStgid:", &inner_tgid);
	if (r < 0)
		return r;
	r = proc_status_last(text, "\nNSpid:", &inner_tid);
	if (r < 0)
		return r;
	if (tgidp)
		*tgidp = inner_tgid;
	if (tidp)
		*tidp = inner_tid;
	return 0;
}

int proc_namespace(pid_t pid, const char *name, uint64_t *devp, uint64_t *inop)
{
	char path[PROC_PATH_MAX];
	char inner[32];
	struct stat st;
	int n, r;

	n = snprintf(inner, sizeof(inner), "ns/%s", name);
	if (n < 0 || (size_t)n >= sizeof(inner))
		return err_trace(-EINVAL);
	r = proc_path(pid, inner, path);
	if (r < 0)
		return r;
	if (stat(path, &st) < 0)
		return proc_error();
	*devp = st.st_dev;
	*inop = st.st_ino;
	return 0;
}

int proc_link(pid_t pid, const char *name, char **targetp)
{
	char path[PROC_PATH_MAX];
	char target[PATH_MAX + 1];
	ssize_t n;
	int r;

	r = proc_path(pid, name, path);
	if (r < 0)
		return r;
	n = readlink(path, target, sizeof(target));
	if (n < 0)
		return proc_error();
	if ((size_t)n == sizeof(target))
		return -ENAMETOOLONG;
	target[n] = '\0';
	*targetp = strdup(target);
	return *targetp ? 0 : err_trace(-ENOMEM);
}

int proc_is_descendant(pid_t pid, pid_t ancestor)
{
	unsigned depth;
	int r;

	for (depth = 0; depth < PROC_DEPTH_MAX && pid > 0; depth++) {
		if (pid == ancestor)
			return 1;
		r = proc_parent(pid, &pid);
		if (r < 0)
			return r;
	}
	return pid > 0 ? err_trace(-ELOOP) : 0;
}

bool proc_pidfd_alive(int pidfd)
{
	struct pollfd poll_fd = {.fd = pidfd, .events = POLLIN};
	int n;

	/* poll() passes over a negative descriptor as if nothing had happened to it. */
	if (pidfd < 0)
		return false;
	do {
		n = poll(&poll_fd, 1, 0);
	} while (n < 0 && errno == EINTR);
	return n == 0;
}
