/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "supervisord/sandbox/mounts.h"

/* The session's own /proc. As root the files below /proc/sys belong to the agent's own uid, so
 * without the read-only mounts here it could set the host's sysctls without any capability. */

#include <errno.h>
#include <sys/mount.h>
#include <sys/stat.h>

static const char *const read_only[] = {
	"/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs"};

static const char *const empty_folders[] = {
	"/proc/acpi", "/proc/scsi", "/proc/asound", "/proc/dynamic_debug"};

static const char *const empty_files[] = {"/proc/kcore", "/proc/kallsyms", "/proc/keys",
	"/proc/key-users", "/proc/timer_list", "/proc/timer_stats", "/proc/sched_debug",
	"/proc/latency_stats", "/proc/kmsg", "/proc/config.gz", "/proc/slabinfo",
	"/proc/vmallocinfo", "/proc/iomem", "/proc/ioports", "/proc/mtrr", "/proc/kpagecount",
	"/proc/kpageflags", "/proc/kpagecgroup"};

static int make_read_only(const char *path)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return 0;
	if (mount(path, path, NULL, MS_BIND | MS_REC, NULL) < 0 ||
		mount("none", path, NULL,
			MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC,
			NULL) < 0)
		return -errno;
	return 0;
}

static int make_empty(const char *path)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return 0;
	return mount("/dev/null", path, NULL, MS_BIND, NULL) < 0 ? -errno : 0;
}

int mounts_make_proc(const char **whatp)
{
	*whatp = "/proc";
	return mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0 ? -errno
											  : 0;
}

int mounts_close_proc(const char **whatp)
{
	int r = 0;

	for (size_t i = 0; i < ARRAY_LEN(read_only) && r == 0; i++) {
		*whatp = read_only[i];
		r = make_read_only(*whatp);
	}
	for (size_t i = 0; i < ARRAY_LEN(empty_files) && r == 0; i++) {
		*whatp = empty_files[i];
		r = make_empty(*whatp);
	}
	for (size_t i = 0; i < ARRAY_LEN(empty_folders) && r == 0; i++) {
		*whatp = empty_folders[i];
		r = mounts_mask_folder(*whatp);
	}
	return r;
}
