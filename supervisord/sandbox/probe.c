/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "supervisord/sandbox/probe.h"

/* What there is, what is lost without it, and what to do about it. */

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "supervisord/base/error.h"
#include "supervisord/base/file.h"
#include "supervisord/sandbox/landlock.h"
#include "supervisord/sandbox/probe_children.h"

#define KERNEL_TOO_OLD "use kernel 5.19 or later"
#define CONTAINER_PROFILE                                                                          \
	"use kernel 5.19 or later; in a container, allow seccomp, pidfd_getfd, ptrace and "        \
	"process_vm_readv in its seccomp profile"

static const struct probe_result descriptions[_PROBE_N] = {
	[PROBE_LANDLOCK] = {.required = true,
		.name = "landlock",
		.what = "nothing would hold when the supervisor does not",
		.remedy = "boot with Landlock in the lsm= list (kernel 5.13 or later)"},
	[PROBE_SECCOMP_NOTIFY] = {.required = true,
		.name = "seccomp-notify",
		.what = "no call could be decided",
		.remedy = CONTAINER_PROFILE},
	[PROBE_WAIT_KILLABLE] = {.required = true,
		.name = "wait-killable",
		.what = "a signal could make one operation happen twice",
		.remedy = KERNEL_TOO_OLD},
	[PROBE_ADDFD_SEND] = {.required = true,
		.name = "addfd-send",
		.what = "no opened file could be handed over",
		.remedy = CONTAINER_PROFILE},
	[PROBE_SYNC_WAKE_UP] = {.name = "sync-wake-up",
		.what = "each notified call takes longer",
		.remedy = "kernel 6.6 or later has it"},
	[PROBE_PIDFD_GETFD] = {.required = true,
		.name = "pidfd-getfd",
		.what = "the supervisor could not take over descriptors",
		.remedy = CONTAINER_PROFILE},
	[PROBE_VM_READ] = {.required = true,
		.name = "process-vm-readv",
		.what = "the supervisor could not read arguments",
		.remedy = CONTAINER_PROFILE},
	[PROBE_PTRACE] = {.required = true,
		.name = "ptrace",
		.what = "started programs could not be verified",
		.remedy = CONTAINER_PROFILE},
	[PROBE_OPENAT2] = {.required = true,
		.name = "openat2",
		.what = "paths could not be resolved inside the session",
		.remedy = KERNEL_TOO_OLD},
	[PROBE_USERNS] = {.name = "user-namespace",
		.what = "nothing can be hidden and processes that protect themselves cannot be "
			"supervised"},
	[PROBE_MOUNTNS] = {.name = "mount-namespace",
		.what = "files cannot be hidden and /tmp is shared"},
	[PROBE_PIDNS] = {.name = "pid-namespace",
		.what = "other processes are visible",
		.remedy = "in a container, leave /proc unmasked"},
	[PROBE_IPCNS] = {.name = "ipc-namespace", .what = "System V and POSIX queues are refused"},
	[PROBE_UTSNS] = {.name = "uts-namespace", .what = "the host name is the host's"},
};

/* The number in a file of /proc/sys, or -1. */
static long sysctl_number(const char *path)
{
	_cleanup_(freep) char *text = NULL;
	size_t size;

	if (file_read(AT_FDCWD, path, 64, &text, &size) < 0)
		return -1;
	return strtol(text, NULL, 10);
}

static void set_remedy(struct probe_result *item, const char *text)
{
	(void)snprintf(item->remedy, sizeof(item->remedy), "%s", text);
}

/* The narrowest change first: a profile for this one program, never the switch for the whole
 * system. */
static void explain_userns(struct probe_result *item)
{
	char program[256];
	ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);
	char *slash;

	program[n > 0 ? n : 0] = '\0';
	slash = strrchr(program, '/');
	if (slash)
		*slash = '\0';
	if (sysctl_number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == 1)
		(void)snprintf(item->remedy, sizeof(item->remedy),
			"put \"profile agent-broker %s/agent-broker flags=(unconfined) { userns, "
			"}\" into "
			"/etc/apparmor.d/agent-broker and load it with apparmor_parser -r",
			program);
	else if (sysctl_number("/proc/sys/kernel/unprivileged_userns_clone") == 0)
		set_remedy(item, "sysctl -w kernel.unprivileged_userns_clone=1");
	else if (sysctl_number("/proc/sys/user/max_user_namespaces") == 0)
		set_remedy(item, "sysctl -w user.max_user_namespaces=15000");
	else
		set_remedy(item, "in a container, allow clone with CLONE_NEWUSER and mount in its "
				 "seccomp profile");
}

static void set_namespace(struct probe_result *item, int error)
{
	item->ok = error == 0;
	item->error = error;
}

static void probe_all_namespaces(struct probe *probe)
{
	static const struct {
		enum probe_item item;
		unsigned long flags;
	} kinds[] = {
		{PROBE_USERNS, CLONE_NEWUSER},
		{PROBE_MOUNTNS, CLONE_NEWUSER | CLONE_NEWNS},
		{PROBE_PIDNS, CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID},
		{PROBE_IPCNS, CLONE_NEWUSER | CLONE_NEWIPC},
		{PROBE_UTSNS, CLONE_NEWUSER | CLONE_NEWUTS},
	};
	unsigned long all = 0;
	bool together;

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		all |= kinds[i].flags;
	/* One child for the usual case; one for each only to find out which is missing. */
	together = probe_namespaces(all) == 0;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		set_namespace(&probe->items[kinds[i].item],
			together ? 0 : probe_namespaces(kinds[i].flags));
	if (!probe->items[PROBE_USERNS].ok)
		explain_userns(&probe->items[PROBE_USERNS]);
	if (!probe->items[PROBE_MOUNTNS].ok)
		explain_userns(&probe->items[PROBE_MOUNTNS]);
}

static void probe_openat2(struct probe_result *item)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT};
	long fd = syscall(SYS_openat2, AT_FDCWD, "/", &how, sizeof(how));

	item->ok = fd >= 0;
	item->error = fd >= 0 ? 0 : errno;
	if (fd >= 0)
		close((int)fd);
}

static void probe_floor(struct probe_result *item)
{
	int abi = landlock_abi();

	if (abi < 0) {
		item->error = -abi;
		return;
	}
	item->value = abi;
	item->error = probe_landlock();
	item->ok = item->error == 0;
}

int probe_run(struct probe *probe)
{
	int r;

	for (size_t i = 0; i < _PROBE_N; i++)
		probe->items[i] = descriptions[i];
	probe_floor(&probe->items[PROBE_LANDLOCK]);
	probe_openat2(&probe->items[PROBE_OPENAT2]);
	r = probe_notify_child(probe);
	if (r < 0)
		return err_trace(r);
	probe_all_namespaces(probe);
	return 0;
}

const struct probe_result *probe_missing(const struct probe *probe)
{
	for (size_t i = 0; i < _PROBE_N; i++)
		if (probe->items[i].required && !probe->items[i].ok)
			return &probe->items[i];
	return NULL;
}

json_t *probe_to_json(const struct probe *probe)
{
	_cleanup_(json_decrefp) json_t *list = json_array();

	if (!list)
		return NULL;
	for (size_t i = 0; i < _PROBE_N; i++) {
		const struct probe_result *item = &probe->items[i];
		json_t *object = json_pack("{s:s, s:b, s:b, s:i, s:i, s:s, s:s}", "name",
			item->name, "ok", (int)item->ok, "required", (int)item->required, "value",
			item->value, "errno", item->error, "what", item->what, "remedy",
			item->ok ? "" : item->remedy);

		if (json_array_append_new(list, object) < 0)
			return NULL;
	}
	return TAKE_PTR(list);
}
