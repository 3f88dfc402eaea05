/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "supervisord/broker/target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "supervisord/base/error.h"
#include "supervisord/base/proc.h"

/* Since Linux 6.9: a pidfd of one thread, which stays right when the group's leader has ended. */
#ifndef PIDFD_THREAD
#define PIDFD_THREAD O_EXCL
#endif

#define PAGE_BYTES 4096ULL

/* What failed reading of another process means for the requester. */
static int target_error(const struct notification *n, int error)
{
	if (!notification_valid(n))
		return -ESRCH;
	/* Not readable although it waits for us: never guess what it asked for. */
	return error == EPERM ? -EACCES : -EFAULT;
}

int target_read(struct notification *n, uint64_t addr, void *data, size_t size)
{
	struct iovec local = {.iov_base = data, .iov_len = size};
	struct iovec remote = {.iov_base = (void *)(uintptr_t)addr, .iov_len = size};
	ssize_t got;

	if (size == 0)
		return 0;
	got = process_vm_readv(n->tid, &local, 1, &remote, 1, 0);
	if (got < 0 || (size_t)got != size)
		return target_error(n, got < 0 ? errno : EFAULT);
	return notification_valid(n) ? 0 : -ESRCH;
}

ssize_t target_read_string(struct notification *n, uint64_t addr, char *data, size_t size)
{
	size_t done = 0;

	while (done < size) {
		/* One page at a time: the next one need not be there. */
		size_t chunk = PAGE_BYTES - ((addr + done) & (PAGE_BYTES - 1));
		struct iovec local, remote;
		const char *end;
		ssize_t got;

		if (chunk > size - done)
			chunk = size - done;
		local = (struct iovec){.iov_base = data + done, .iov_len = chunk};
		remote = (struct iovec){
			.iov_base = (void *)(uintptr_t)(addr + done), .iov_len = chunk};
		got = process_vm_readv(n->tid, &local, 1, &remote, 1, 0);
		if (got <= 0)
			return target_error(n, got < 0 ? errno : EFAULT);
		end = memchr(data + done, '\0', (size_t)got);
		if (end)
			return notification_valid(n) ? end - data : -ESRCH;
		done += (size_t)got;
	}
	return -ENAMETOOLONG;
}

int target_write(struct notification *n, uint64_t addr, const void *data, size_t size)
{
	union {
		const void *in;
		void *out;
	} u = {.in = data}; /* process_vm_writev does not write to its local side */
	struct iovec local = {.iov_base = u.out, .iov_len = size};
	struct iovec remote = {.iov_base = (void *)(uintptr_t)addr, .iov_len = size};
	ssize_t put;

	if (size == 0)
		return 0;
	if (!notification_valid(n))
		return -ESRCH;
	put = process_vm_writev(n->tid, &local, 1, &remote, 1, 0);
	if (put < 0 || (size_t)put != size)
		return target_error(n, put < 0 ? errno : EFAULT);
	return 0;
}

int target_ids(struct notification *n)
{
	int r;

	if (n->have_ids)
		return 0;
	r = proc_ids(n->tid, &n->tgid, &n->umask, &n->inner_tgid);
	if (r < 0 || !notification_valid(n))
		return -ESRCH;
	n->have_ids = true;
	return 0;
}

int target_pidfd(struct notification *n, int *fdp)
{
	if (n->pidfd < 0) {
		n->pidfd = (int)syscall(SYS_pidfd_open, n->tid, PIDFD_THREAD);
		if (n->pidfd < 0 && errno == EINVAL) {
			int r = target_ids(n);

			if (r < 0)
				return r;
			n->pidfd = (int)syscall(SYS_pidfd_open, n->tgid, 0);
		}
		if (n->pidfd < 0)
			return errno == ESRCH ? -ESRCH : err_errno();
		if (!notification_valid(n)) {
			n->pidfd = close_fd(n->pidfd);
			return -ESRCH;
		}
	}
	*fdp = n->pidfd;
	return 0;
}

int target_dup_fd(struct notification *n, int fd, int *fdp)
{
	int pidfd = -1, r;

	if (fd < 0)
		return -EBADF;
	r = target_pidfd(n, &pidfd);
	if (r < 0)
		return r;
	r = (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0);
	if (r < 0)
		return errno == EBADF || errno == ESRCH ? -errno : err_errno();
	*fdp = r;
	return 0;
}

int target_open_base(struct notification *n, int dir_fd, int *fdp)
{
	_cleanup_(closep) int fd = -1;
	char path[40];

	/* By /proc: the kernel does not duplicate descriptors that are O_PATH themselves. */
	if (dir_fd == AT_FDCWD)
		(void)snprintf(path, sizeof(path), "/proc/%d/cwd", n->tid);
	else if (dir_fd >= 0)
		(void)snprintf(path, sizeof(path), "/proc/%d/fd/%d", n->tid, dir_fd);
	else
		return -EBADF;
	fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT && dir_fd != AT_FDCWD)
		return notification_valid(n) ? -EBADF : -ESRCH;
	if (fd < 0)
		return notification_valid(n) ? err_errno() : -ESRCH;
	if (!notification_valid(n))
		return -ESRCH;
	*fdp = TAKE_FD(fd);
	return 0;
}

int target_describe(struct notification *n, struct request *request)
{
	int r;

	r = target_ids(n);
	if (r < 0)
		return r;
	request->pid = n->tgid;
	request->uid = n->broker->uid;
	if (!request->program) {
		r = proc_link(n->tgid, "exe", &request->program);
		if (r < 0)
			return r == -ENOMEM ? r : -ESRCH;
	}
	if (!request->cwd) {
		r = proc_link(n->tid, "cwd", &request->cwd);
		if (r < 0)
			return r == -ENOMEM ? r : -ESRCH;
	}
	if (n->inner_tgid == 0)
		r = proc_inner_ids(n->tid, &n->inner_tgid, NULL);
	if (r < 0)
		return -ESRCH;
	request->inner_pid = n->inner_tgid;
	r = proc_start_ticks(n->tgid, &request->start_ticks);
	if (r < 0)
		return -ESRCH;
	return notification_valid(n) ? 0 : -ESRCH;
}

ANALYZER_ARRAY_BEGIN
void target_describe_command(struct notification *n, struct request *request)
{
	char path[40], text[TARGET_COMMAND_MAX + 1];
	_cleanup_(closep) int fd = -1;
	size_t count = 0, i = 0;
	ssize_t got;

	if (request->command || target_ids(n) < 0)
		return;
	(void)snprintf(path, sizeof(path), "/proc/%d/cmdline", n->tgid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	got = read(fd, text, TARGET_COMMAND_MAX);
	if (got <= 0 || !notification_valid(n))
		return;
	text[got] = '\0';
	for (const char *at = text; at < text + got; at += strlen(at) + 1)
		count++;
	request->command = calloc(count, sizeof(*request->command));
	if (!request->command)
		return;
	for (const char *at = text; at < text + got && i < count; at += strlen(at) + 1) {
		request->command[i] = strdup(at);
		if (!request->command[i])
			break;
		request->n_command = ++i;
	}
}
ANALYZER_ARRAY_END
