/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */

/* Opens of what is no ordinary file: settings of the kernel, devices, terminals, FIFOs; and opens
 * that wait. The broker opens with its own credentials here, so what they would give beyond the
 * requester's is refused whatever the policy says. */

#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "supervisord/base/error.h"
#include "supervisord/base/file.h"
#include "supervisord/broker/open.h"
#include "supervisord/broker/path_walk.h"
#include "supervisord/broker/target.h"

#define MEM_MAJOR 1
#define TTY_MAJOR 5
#define PTS_MAJOR 136
#define PTS_MAJORS 8
#define PTS_MINORS 256
#define WAIT_TICK_NSEC 200000000
#define CONFIGFS_MAGIC 0x62656570
#define MFD_NOEXEC_SEAL_BIT 0x0008u

static bool in_list(const char *const *list, const char *word)
{
	for (; *list; list++)
		if (strcmp(*list, word) == 0)
			return true;
	return false;
}

/* Skips "task/TID/". */
static const char *behind_task(const char *rest)
{
	const char *p;

	if (strncmp(rest, "task/", 5) != 0)
		return rest;
	p = strchr(rest + 5, '/');
	return p ? p + 1 : "";
}

static bool proc_refused(struct notification *n, const struct path *path, bool writes)
{
	static const char *const writable[] = {
		"comm", "oom_score_adj", "coredump_filter", "timerslack_ns", NULL};
	static const char *const of_others[] = {"", "stat", "status", "statm", "cmdline", "comm",
		"cgroup", "oom_score", "oom_score_adj", "loginuid", "sessionid", "task", NULL};
	struct path_proc_place place;
	const char *file;

	if (path_proc_place(n, path, &place) < 0)
		return true;
	file = behind_task(place.rest);
	if (writes)
		return !place.process || !place.own ||
		       !(file == place.rest ? in_list(writable, file) : strcmp(file, "comm") == 0);
	if (!place.process || place.own)
		return false;
	return !n->broker->plan->pid_ns || !in_list(of_others, file);
}

/* File systems through which the kernel is set up. */
static bool is_kernel_settings(long fs_type)
{
	switch (fs_type) {
	case SYSFS_MAGIC:
	case DEBUGFS_MAGIC:
	case TRACEFS_MAGIC:
	case SECURITYFS_MAGIC:
	case SELINUX_MAGIC:
	case SMACK_MAGIC:
	case CGROUP_SUPER_MAGIC:
	case CGROUP2_SUPER_MAGIC:
	case EFIVARFS_MAGIC:
	case BPF_FS_MAGIC:
	case CONFIGFS_MAGIC:
		return true;
	default:
		return false;
	}
}

static bool device_refused(struct notification *n, const struct path *path)
{
	unsigned major_nr = major(path->st.st_rdev), minor_nr = minor(path->st.st_rdev);

	/* The session's own /dev holds only what the plan put there. */
	if (n->broker->plan->mount_ns)
		return strncmp(path->real, "/dev/", 5) != 0;
	if (S_ISBLK(path->st.st_mode))
		return true;
	/* Memory and I/O ports */
	return major_nr == MEM_MAJOR && (minor_nr == 1 || minor_nr == 2 || minor_nr == 4);
}

bool open_is_refused(struct notification *n, const struct path *path, const struct open_call *call,
	const char **whyp)
{
	bool writes = open_writes(call);

	if (path->fs_type == PROC_SUPER_MAGIC && proc_refused(n, path, writes)) {
		*whyp = writes ? "a setting of the kernel or of another process"
			       : "the inside of another process";
		return true;
	}
	if (writes && is_kernel_settings(path->fs_type)) {
		*whyp = "a setting of the kernel";
		return true;
	}
	if ((S_ISCHR(path->st.st_mode) || S_ISBLK(path->st.st_mode)) && device_refused(n, path)) {
		*whyp = "a device outside the session's own";
		return true;
	}
	return false;
}

/* Waiting -------------------------------------------------------------------------------------- */

static void on_wake(int sig)
{
	(void)sig;
}

static int wake_signal(void)
{
	return SIGRTMIN + 5;
}

static void wake_install(void)
{
	struct sigaction action = {.sa_handler = on_wake}; /* no SA_RESTART: the open must return */

	(void)sigaction(wake_signal(), &action, NULL);
}

/* Looks after one open that waits. It may be interrupted only once nobody wants it: an open that is
 * broken off and repeated would be missing at the FIFO for a moment, and its partner would come and
 * go meanwhile. */
struct watch {
	struct notification *n;
	pid_t tid; /* of the thread that waits */
	pthread_mutex_t lock;
	pthread_cond_t over;
	bool done;
};

static void *watch_main(void *userdata)
{
	struct watch *watch = userdata;

	pthread_mutex_lock(&watch->lock);
	while (!watch->done) {
		struct timespec until;

		(void)clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += WAIT_TICK_NSEC;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		(void)pthread_cond_timedwait(&watch->over, &watch->lock, &until);
		/* Again and again: it may not have been inside the call yet. */
		if (!watch->done && !notification_valid(watch->n))
			(void)tgkill(getpid(), watch->tid, wake_signal());
	}
	pthread_mutex_unlock(&watch->lock);
	return NULL;
}

/* An open that may wait, by this thread alone, for as long as the requester waits. */
static int open_waiting(struct notification *n, const char *link, int flags, int *fdp)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct watch watch = {
		.n = n,
		.tid = gettid(),
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.over = PTHREAD_COND_INITIALIZER,
	};
	pthread_t thread;
	sigset_t mask, old;
	int fd, r;

	if (!worker_may_block(n))
		return -EAGAIN;
	(void)pthread_once(&once, wake_install);
	r = pthread_create(&thread, NULL, watch_main, &watch);
	if (r != 0)
		return -EAGAIN;
	sigemptyset(&mask);
	sigaddset(&mask, wake_signal());
	(void)pthread_sigmask(SIG_UNBLOCK, &mask, &old);
	do
		fd = open(link, flags);
	while (fd < 0 && errno == EINTR && notification_valid(n));
	r = fd < 0 ? err_errno() : 0;
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_mutex_lock(&watch.lock);
	watch.done = true;
	pthread_cond_signal(&watch.over);
	pthread_mutex_unlock(&watch.lock);
	(void)pthread_join(thread, NULL);
	if (r == 0)
		*fdp = fd;
	return r;
}

/* Terminals ------------------------------------------------------------------------------------ */

/* Device number of the requester's controlling terminal; 0 = none. */
static int controlling_tty(struct notification *n, dev_t *devp)
{
	_cleanup_(freep) char *text = NULL;
	char path[40];
	const char *p;
	unsigned tty, field;
	int r;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", n->tid);
	r = file_read(AT_FDCWD, path, 4096, &text, NULL);
	if (r < 0)
		return r;
	if (!notification_valid(n))
		return -ESRCH;
	p = strrchr(text, ')');
	/* ") state ppid pgrp session tty_nr" */
	for (field = 0; p && field < 5; field++)
		p = strchr(p + 1, ' ');
	if (!p)
		return -EIO;
	tty = (unsigned)strtol(p, NULL, 10);
	/* As the kernel packs it for old readers: 12 bits major, 8 + 12 bits minor. */
	*devp = makedev(tty >> 8 & 0xfff, (tty & 0xff) | (tty >> 12 & 0xfff00));
	return 0;
}

/* "/dev/tty" means the requester's terminal; opened by us it would be ours. */
static int open_own_tty(struct notification *n, int flags, int *fdp)
{
	_cleanup_(closep) int fd = -1;
	char link[PATH_FD_LINK_MAX], name[32];
	struct stat st;
	dev_t dev = 0;
	int r, i;

	r = controlling_tty(n, &dev);
	if (r < 0)
		return r;
	if (dev == 0)
		return -ENXIO;
	if (major(dev) >= PTS_MAJOR && major(dev) < PTS_MAJOR + PTS_MAJORS) {
		(void)snprintf(name, sizeof(name), "dev/pts/%u",
			(major(dev) - PTS_MAJOR) * PTS_MINORS + minor(dev));
		fd = openat(n->broker->launch.root_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	}
	/* A terminal from outside: one of its own descriptors leads to it. */
	for (i = -1; i < 3; i++) {
		if (i >= 0) {
			fd = close_fd(fd);
			if (target_dup_fd(n, i, &fd) < 0)
				continue;
		}
		if (fd < 0 || fstat(fd, &st) < 0 || !S_ISCHR(st.st_mode) || st.st_rdev != dev)
			continue;
		path_fd_link(fd, link);
		*fdp = open(link, flags);
		return *fdp < 0 ? err_errno() : 0;
	}
	return -ENXIO;
}

/* Objects -------------------------------------------------------------------------------------- */

static bool device_may_wait(const struct stat *st)
{
	unsigned nr = major(st->st_rdev);

	return S_ISBLK(st->st_mode) ||
	       (S_ISCHR(st->st_mode) && nr != MEM_MAJOR && nr != TTY_MAJOR &&
		       !(nr >= PTS_MAJOR && nr < PTS_MAJOR + PTS_MAJORS));
}

int open_object(
	struct notification *n, const struct path *path, const struct open_call *call, int *fdp)
{
	int flags = (int)(call->flags & ~(uint64_t)(O_CREAT | O_EXCL | O_NOFOLLOW)) | O_NOCTTY |
		    O_CLOEXEC;
	char link[PATH_FD_LINK_MAX];
	int fd, r;

	path_fd_link(path->object_fd, link);
	if (S_ISCHR(path->st.st_mode) && path->st.st_rdev == makedev(TTY_MAJOR, 0))
		return open_own_tty(n, flags, fdp);
	if (flags & O_NONBLOCK) {
		fd = open(link, flags);
		if (fd < 0)
			return err_errno();
		*fdp = fd;
		return 0;
	}
	if (S_ISFIFO(path->st.st_mode))
		return open_waiting(n, link, flags, fdp);
	if (device_may_wait(&path->st))
		return open_waiting(n, link, flags, fdp);
	/* A lease on a file would make us wait; then, and only then, wait on a thread of our own.
	 */
	fd = open(link, flags | O_NONBLOCK);
	if (fd < 0 && errno == EWOULDBLOCK)
		return open_waiting(n, link, flags, fdp);
	if (fd < 0)
		return err_errno();
	r = fcntl(fd, F_GETFL);
	if (r < 0 || fcntl(fd, F_SETFL, r & ~O_NONBLOCK) < 0) {
		r = err_errno();
		close(fd);
		return r;
	}
	*fdp = fd;
	return 0;
}

int open_hidden(struct notification *n, bool folder, int *fdp)
{
	_cleanup_(closep) int fd = -1;
	char link[PATH_FD_LINK_MAX];

	/* Every procfs has this folder, and nothing is ever in it. */
	if (folder) {
		fd = openat(n->broker->launch.root_fd, "proc/tty/ldisc",
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0 || walk_fs_type(fd) != PROC_SUPER_MAGIC)
			return -EACCES;
		*fdp = TAKE_FD(fd);
		return 0;
	}
	fd = (int)syscall(
		SYS_memfd_create, "hidden", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL_BIT);
	if (fd < 0)
		fd = memfd_create("hidden", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0 || fcntl(fd, F_ADD_SEALS,
			      F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
		return err_errno();
	path_fd_link(fd, link);
	*fdp = open(link, O_RDONLY | O_CLOEXEC);
	return *fdp < 0 ? err_errno() : 0;
}
