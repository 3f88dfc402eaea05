/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "supervisord/sandbox/mounts.h"

/* A /dev that holds what every program expects and nothing that reaches hardware or another
 * terminal. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

static const char *const nodes[] = {"null", "zero", "full", "random", "urandom", "tty"};

static const struct {
	const char *name;
	const char *target;
} links[] = {
	{"/dev/ptmx", "pts/ptmx"},
	{"/dev/fd", "/proc/self/fd"},
	{"/dev/stdin", "/proc/self/fd/0"},
	{"/dev/stdout", "/proc/self/fd/1"},
	{"/dev/stderr", "/proc/self/fd/2"},
};

/* A user namespace may not make device nodes; the host's are cloned before they are covered. */
static int hold_nodes(int fds[ARRAY_LEN(nodes)], const char **whatp)
{
	char path[64];

	for (size_t i = 0; i < ARRAY_LEN(nodes); i++) {
		(void)snprintf(path, sizeof(path), "/dev/%s", nodes[i]);
		*whatp = nodes[i];
		fds[i] = open_tree(AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
		if (fds[i] < 0)
			return -errno;
	}
	return 0;
}

static int attach_nodes(int fds[ARRAY_LEN(nodes)], const char **whatp)
{
	char path[64];
	int fd;

	for (size_t i = 0; i < ARRAY_LEN(nodes); i++) {
		(void)snprintf(path, sizeof(path), "/dev/%s", nodes[i]);
		*whatp = nodes[i];
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
		if (fd < 0)
			return -errno;
		close(fd);
		if (move_mount(fds[i], "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH) < 0)
			return -errno;
	}
	return 0;
}

static int make_terminals(void)
{
	if (mkdir("/dev/pts", 0755) < 0 || mkdir("/dev/shm", 0755) < 0)
		return -errno;
	/* No gid=5: that group is not mapped here. */
	if (mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
		    "newinstance,ptmxmode=0666,mode=620") < 0)
		return -errno;
	for (size_t i = 0; i < ARRAY_LEN(links); i++)
		if (symlink(links[i].target, links[i].name) < 0)
			return -errno;
	return 0;
}

int mounts_make_dev(const char **whatp)
{
	int fds[ARRAY_LEN(nodes)] = {-1, -1, -1, -1, -1, -1};
	int r = hold_nodes(fds, whatp);

	if (r == 0) {
		*whatp = "/dev";
		if (mount("none", "/dev", "tmpfs", MS_NOSUID | MS_NOEXEC, "mode=0755,size=64k") < 0)
			r = -errno;
	}
	if (r == 0)
		r = attach_nodes(fds, whatp);
	for (size_t i = 0; i < ARRAY_LEN(fds); i++)
		close_fd(fds[i]);
	if (r == 0) {
		*whatp = "/dev/pts";
		r = make_terminals();
	}
	if (r == 0 && mount("none", "/dev", NULL,
			      MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NOEXEC, NULL) < 0)
		r = -errno;
	return r;
}
