/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "supervisord/sandbox/probe_children.h"

/* Real children that do what a session will do. MUST leave no process behind, whatever fails. */

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "supervisord/base/error.h"
#include "supervisord/sandbox/filter.h"
#include "supervisord/sandbox/landlock.h"
#include "supervisord/sandbox/namespaces.h"
#include "supervisord/sandbox/plan.h"

#define CHILD_TIMEOUT_MSEC 5000
#define LISTENER_FD 7
/* Newer than the build's <linux/seccomp.h> may be. */
#define FLAG_NEW_LISTENER (1UL << 3)
#define FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#define ADDFD_SEND (1UL << 1)
#define FD_SYNC_WAKE_UP 1UL
#define IOCTL_SET_FLAGS _IOW('!', 4, uint64_t)

static const uint64_t magic = 0x70726f6265206d65ULL;

struct child {
	pid_t pid;
	int pidfd;
	int sock;
	int listener;
};

static void child_end(struct child *child)
{
	if (child->pid > 0) {
		kill(child->pid, SIGKILL);
		while (waitpid(child->pid, NULL, __WALL) < 0 && errno == EINTR)
			;
	}
	close_fd(child->pidfd);
	close_fd(child->sock);
	close_fd(child->listener);
}

/* One int over the socket: what the child has reached, or a negative errno. */
static void say(int sock, int value)
{
	(void)!write(sock, &value, sizeof(value));
}

static int hear(int sock)
{
	struct pollfd fd = {.fd = sock, .events = POLLIN};
	int value;

	if (poll(&fd, 1, CHILD_TIMEOUT_MSEC) != 1)
		return -ETIMEDOUT;
	return read(sock, &value, sizeof(value)) == sizeof(value) ? value : -ECHILD;
}

/* Only getppid is notified. */
static int load_filter(unsigned long flags)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, 0x7fc00000u /* SECCOMP_RET_USER_NOTIF */),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = ARRAY_LEN(code), .filter = code};
	long fd;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
	return fd < 0 ? -errno : (int)fd;
}

static _Noreturn void notify_child(int sock)
{
	int killable = 1, fd = load_filter(FLAG_NEW_LISTENER | FLAG_WAIT_KILLABLE_RECV);
	long got;

	if (fd == -EINVAL) {
		killable = 0;
		fd = load_filter(FLAG_NEW_LISTENER);
	}
	if (fd < 0 || (fd != LISTENER_FD && dup2(fd, LISTENER_FD) < 0)) {
		say(sock, fd < 0 ? fd : -errno);
		_exit(1);
	}
	say(sock, killable);
	if (hear(sock) != 0)
		_exit(1);
	/* Answered with a descriptor: /dev/null. */
	got = syscall(SYS_getppid);
	say(sock, got >= 0 && fcntl((int)got, F_GETFD) >= 0 ? 0 : -EBADF);
	(void)hear(sock);
	_exit(0);
}

static int child_start(struct child *child)
{
	int socks[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socks) < 0)
		return err_trace(err_errno());
	child->sock = socks[0];
	child->pid = fork();
	if (child->pid == 0) {
		close(socks[0]);
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		notify_child(socks[1]);
	}
	close(socks[1]);
	return child->pid < 0 ? err_trace(err_errno()) : 0;
}

static void set_item(struct probe *probe, enum probe_item item, int error)
{
	probe->items[item].ok = error == 0;
	probe->items[item].error = error;
}

static int try_listener(struct child *child)
{
	uint64_t id = 0;

	child->pidfd = (int)syscall(SYS_pidfd_open, child->pid, 0);
	if (child->pidfd < 0)
		return errno;
	child->listener = (int)syscall(SYS_pidfd_getfd, child->pidfd, LISTENER_FD, 0);
	if (child->listener < 0)
		return errno;
	/* Some containers let the filter be loaded and then refuse its ioctls. */
	if (ioctl(child->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0 || errno != ENOENT)
		return errno != 0 ? errno : EINVAL;
	return 0;
}

static int try_read(const struct child *child)
{
	uint64_t value = 0;
	struct iovec local = {.iov_base = &value, .iov_len = sizeof(value)};
	/* The child is a fork: the constant lies at the same place. */
	struct iovec remote = {.iov_base = (void *)(uintptr_t)&magic, .iov_len = sizeof(magic)};

	if (process_vm_readv(child->pid, &local, 1, &remote, 1, 0) != sizeof(value))
		return errno != 0 ? errno : EIO;
	return value == magic ? 0 : EIO;
}

static int try_addfd(const struct child *child)
{
	struct pollfd poll_fd = {.fd = child->listener, .events = POLLIN};
	struct seccomp_notif request = {0};
	struct seccomp_notif_addfd add = {.flags = ADDFD_SEND, .newfd_flags = O_CLOEXEC};
	_cleanup_(closep) int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int heard;

	if (null < 0)
		return errno;
	say(child->sock, 0);
	if (poll(&poll_fd, 1, CHILD_TIMEOUT_MSEC) != 1)
		return ETIMEDOUT;
	if (ioctl(child->listener, SECCOMP_IOCTL_NOTIF_RECV, &request) < 0)
		return errno;
	add.id = request.id;
	add.srcfd = (uint32_t)null;
	if (ioctl(child->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add) < 0)
		return errno;
	heard = hear(child->sock);
	return heard < 0 ? -heard : 0;
}

static int try_trace(const struct child *child)
{
	return ptrace(PTRACE_SEIZE, child->pid, NULL, (void *)(uintptr_t)PTRACE_O_TRACEEXEC) < 0
		       ? errno
		       : 0;
}

int probe_notify_child(struct probe *probe)
{
	_cleanup_(child_end) struct child child = {.pidfd = -1, .sock = -1, .listener = -1};
	int reached, r, error;

	r = child_start(&child);
	if (r < 0)
		return err_trace(r);
	reached = hear(child.sock);
	if (reached < 0) {
		for (int item = PROBE_SECCOMP_NOTIFY; item <= PROBE_PTRACE; item++)
			set_item(probe, (enum probe_item)item, -reached);
		return 0;
	}
	set_item(probe, PROBE_WAIT_KILLABLE, reached == 1 ? 0 : EINVAL);
	error = try_listener(&child);
	set_item(probe, PROBE_PIDFD_GETFD, child.listener < 0 ? error : 0);
	set_item(probe, PROBE_SECCOMP_NOTIFY, error);
	set_item(probe, PROBE_SYNC_WAKE_UP,
		ioctl(child.listener, IOCTL_SET_FLAGS, FD_SYNC_WAKE_UP) < 0 ? errno : 0);
	set_item(probe, PROBE_VM_READ, try_read(&child));
	set_item(probe, PROBE_ADDFD_SEND, error != 0 ? error : try_addfd(&child));
	set_item(probe, PROBE_PTRACE, try_trace(&child));
	return 0;
}

/* Waits for a child that ends with an errno as its exit status. */
static int exit_errno(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, __WALL) < 0)
		if (errno != EINTR)
			return errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
}

static int in_namespaces(unsigned long flags, uid_t uid, gid_t gid)
{
	int r = namespaces_map_self(uid, gid);

	if (r < 0)
		return -r;
	if (getuid() != uid)
		return EOVERFLOW;
	if (!(flags & CLONE_NEWNS))
		return 0;
	if (mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return errno;
	if (mount("none", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "size=4k") < 0)
		return errno;
	if ((flags & CLONE_NEWPID) &&
		mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
		return errno;
	return 0;
}

int probe_namespaces(unsigned long flags)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	pid_t pid = namespaces_fork(flags);

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
		_exit(in_namespaces(flags, uid, gid));
	}
	return pid < 0 ? -pid : exit_errno(pid);
}

static int under_landlock(void)
{
	const struct plan nothing = {.landlock_abi = 1};
	int r;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return errno;
	r = landlock_apply(&nothing, NULL);
	if (r < 0)
		return -r;
	/* Nothing is granted: an open that works means a domain that does nothing. */
	return open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC) >= 0 ? ENOTSUP : 0;
}

int probe_landlock(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(under_landlock());
	return pid < 0 ? errno : exit_errno(pid);
}
