/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "supervisord/sandbox/namespaces.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "supervisord/sandbox/plan.h"

unsigned long namespaces_flags(const struct plan *plan)
{
	static const struct {
		const char *name;
		unsigned long flag;
	} kinds[] = {
		{"user", CLONE_NEWUSER},
		{"mount", CLONE_NEWNS},
		{"pid", CLONE_NEWPID},
		{"ipc", CLONE_NEWIPC},
		{"uts", CLONE_NEWUTS},
	};
	unsigned long flags = 0;

	for (size_t i = 0; i < plan->n_steps; i++)
		for (size_t j = 0; j < ARRAY_LEN(kinds); j++)
			if (plan->steps[i].kind == PLAN_NAMESPACE &&
				strcmp(plan->steps[i].path, kinds[j].name) == 0)
				flags |= kinds[j].flag;
	return flags;
}

pid_t namespaces_fork(unsigned long flags)
{
	long pid;

	/* The C library has no fork() with flags; with one thread and no stack given this is one.
	 */
	pid = syscall(SYS_clone, flags | (unsigned long)SIGCHLD, NULL, NULL, NULL, 0UL);
	return pid < 0 ? -errno : (pid_t)pid;
}

static int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), r = 0;
	size_t size = strlen(text);

	if (fd < 0)
		return -errno;
	if (write(fd, text, size) != (ssize_t)size)
		r = -errno;
	close(fd);
	return r;
}

int namespaces_map_self(uid_t uid, gid_t gid)
{
	char text[64];
	int r;

	r = write_file("/proc/self/setgroups", "deny");
	if (r < 0)
		return r;
	(void)snprintf(text, sizeof(text), "%u %u 1\n", uid, uid);
	r = write_file("/proc/self/uid_map", text);
	if (r < 0)
		return r;
	(void)snprintf(text, sizeof(text), "%u %u 1\n", gid, gid);
	return write_file("/proc/self/gid_map", text);
}

int namespaces_drop_caps(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {{0}};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	/* An old kernel without ambient capabilities has none to clear. */
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	for (unsigned long cap = 0; cap < 64; cap++)
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0 && errno == EINVAL)
			break;
	return syscall(SYS_capset, &header, none) < 0 ? -errno : 0;
}
