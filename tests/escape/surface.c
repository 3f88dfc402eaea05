/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */

/* Tries what a session must not have, each in a child of its own, and prints "NAME RESULT": the
 * name of the errno, "done" when it worked, or the signal that ended it. */

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static long try_call(long nr, long a, long b, long c, long d, long e)
{
	return syscall(nr, a, b, c, d, e, 0L) < 0 ? -errno : 0;
}

static long try_socket(int family, int type, int protocol)
{
	int fd = socket(family, type, protocol);

	return fd < 0 ? -errno : 0;
}

static long fast_open(void)
{
	struct sockaddr_in in = {.sin_family = AF_INET,
		.sin_port = htons(9),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	return sendto(fd, "x", 1, MSG_FASTOPEN, (struct sockaddr *)&in, sizeof(in)) < 0 ? -errno
											: 0;
}

static long fast_open_message(void)
{
	struct sockaddr_in in = {.sin_family = AF_INET,
		.sin_port = htons(9),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct iovec iov = {.iov_base = "x", .iov_len = 1};
	struct msghdr header = {
		.msg_name = &in, .msg_namelen = sizeof(in), .msg_iov = &iov, .msg_iovlen = 1};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	return sendmsg(fd, &header, MSG_FASTOPEN) < 0 ? -errno : 0;
}

/* Sets an option that was never there to nothing: the kernel itself says yes. */
static long option(int family, int level, int name)
{
	int fd = socket(family, SOCK_STREAM, 0);

	return setsockopt(fd, level, name, NULL, 0) < 0 ? -errno : 0;
}

/* "No family" is IPv4 to a UDP send. */
static long unspecified_family(void)
{
	struct sockaddr_in in = {.sin_family = AF_UNSPEC,
		.sin_port = htons(9),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	return sendto(fd, "x", 1, 0, (struct sockaddr *)&in, sizeof(in)) < 0 ? -errno : 0;
}

static long listener(void)
{
	struct sock_filter code[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct sock_fprog program = {.len = 1, .filter = code};

	return try_call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
		(long)&program, 0, 0);
}

/* A filter of one's own that allows everything takes nothing away from the others. */
static long allow_all(void)
{
	struct sock_filter code[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct sock_fprog program = {.len = 1, .filter = code};

	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
		return -errno;
	return try_call(SYS_io_uring_setup, 1, 0, 0, 0, 0);
}

static long not_dumpable(void)
{
	prctl(PR_SET_DUMPABLE, 0);
	return try_call(SYS_openat, -100, (long)"/etc/agent-supervisor-test", 0101, 0600, 0);
}

static long read_memory(pid_t pid)
{
	char data[8];
	struct iovec local = {.iov_base = data, .iov_len = 8};
	struct iovec remote = {.iov_base = (void *)(uintptr_t)0x400000, .iov_len = 8};

	return try_call(SYS_process_vm_readv, pid, (long)&local, 1, (long)&remote, 1);
}

static long int80(void)
{
#if defined(__x86_64__)
	long r = 20; /* getpid of i386 */

	__asm__ volatile("int $0x80" : "+a"(r)::"memory", "r8", "r9", "r10", "r11");
	return r < 0 ? r : 0;
#else
	return -ENOSYS;
#endif
}

static long run_case(int n)
{
	static int dummy[64];
	long p = (long)dummy;

	switch (n) {
	case 0:
		return try_call(SYS_io_uring_setup, 8, p, 0, 0, 0);
	case 1:
		return try_call(SYS_io_uring_enter, 3, 1, 0, 0, 0);
	case 2:
		return try_call(0x40000000 | SYS_getpid, 0, 0, 0, 0, 0);
	case 3:
		return int80();
	case 4:
		return try_call(SYS_clone3, p, 64, 0, 0, 0);
	case 5:
		return try_call(SYS_unshare, CLONE_NEWUSER, 0, 0, 0, 0);
	case 6:
		return try_call(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
	case 7:
		return try_call(SYS_setns, 0, 0, 0, 0, 0);
	case 8:
		return listener();
	case 9:
		return allow_all();
	case 10:
		return try_call(SYS_ioctl, 0, 0x5412, p, 0, 0);
	case 11:
		return try_call(SYS_ioctl, 0, 0x100005412, p, 0, 0);
	case 12:
		return try_call(SYS_ioctl, 0, 0x541c, p, 0, 0);
	case 13:
		return try_call(SYS_ioctl, 0, 0x5423, p, 0, 0);
	case 14:
		return try_socket(40, SOCK_STREAM, 0);
	case 15:
		return try_socket(38, SOCK_SEQPACKET, 0);
	case 16:
		return try_socket(17, SOCK_RAW, 0);
	case 17:
		return try_socket(44, SOCK_RAW, 0);
	case 18:
		return try_socket(16, SOCK_RAW, 9);
	case 19:
		return try_socket(16, SOCK_RAW, 0);
	case 20:
		return try_socket(AF_INET, SOCK_STREAM, 262);
	case 21:
		return try_socket(AF_INET, SOCK_STREAM, 132);
	case 22:
		return try_socket(AF_INET, SOCK_RAW, 255);
	case 23:
		return fast_open();
	case 24:
		return fast_open_message();
	case 25:
		return unspecified_family();
	case 26:
		return try_call(SYS_name_to_handle_at, -100, (long)"/", p, p, 0);
	case 27:
		return try_call(SYS_open_by_handle_at, -100, p, 0, 0, 0);
	case 28:
		return try_call(SYS_bpf, 0, p, 16, 0, 0);
	case 29:
		return try_call(SYS_perf_event_open, p, 0, -1, -1, 0);
	case 30:
		return try_call(SYS_userfaultfd, 1, 0, 0, 0, 0);
	case 31:
		return try_call(SYS_keyctl, 0, 0, 0, 0, 0);
	case 32:
		return try_call(SYS_mount, p, p, p, 0, 0);
	case 33:
		return try_call(SYS_chroot, (long)"/", 0, 0, 0, 0);
	case 34:
		return try_call(SYS_ptrace, PTRACE_SEIZE, 1, 0, 0, 0);
	case 35:
		return read_memory(1);
	case 36:
		return not_dumpable();
	case 37:
		return option(AF_INET, IPPROTO_IP, IP_OPTIONS);
	case 38:
		return option(AF_INET6, IPPROTO_IPV6, IPV6_RTHDR);
	default:
		return 1;
	}
}

static const char *const names[] = {"io_uring_setup", "io_uring_enter", "x32", "int80", "clone3",
	"unshare", "clone-newuser", "setns", "listener", "allow-all-filter", "TIOCSTI",
	"TIOCSTI-high-bits", "TIOCLINUX", "TIOCSETD", "AF_VSOCK", "AF_ALG", "AF_PACKET", "AF_XDP",
	"NETLINK_AUDIT", "NETLINK_ROUTE", "MPTCP", "SCTP", "RAW", "fastopen-sendto",
	"fastopen-sendmsg", "udp-unspec", "name_to_handle_at", "open_by_handle_at", "bpf",
	"perf_event_open", "userfaultfd", "keyctl", "mount", "chroot", "ptrace-1",
	"process_vm_readv-1", "not-dumpable-write", "source-route", "routing-header"};

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int i = 0; i < (int)(sizeof(names) / sizeof(names[0])); i++) {
		int status, pipe_fd[2];
		long r = 0;
		pid_t pid;

		if (pipe(pipe_fd) < 0)
			return 2;
		pid = fork();
		if (pid == 0) {
			alarm(10);
			r = run_case(i);
			_exit(write(pipe_fd[1], &r, sizeof(r)) == sizeof(r) ? 0 : 1);
		}
		close(pipe_fd[1]);
		if (waitpid(pid, &status, 0) != pid)
			return 2;
		if (WIFSIGNALED(status))
			printf("%s SIG%s\n", names[i], sigabbrev_np(WTERMSIG(status)));
		else if (read(pipe_fd[0], &r, sizeof(r)) != sizeof(r))
			printf("%s lost\n", names[i]);
		else
			printf("%s %s\n", names[i], r < 0 ? strerrorname_np((int)-r) : "done");
		close(pipe_fd[0]);
	}
	/* What was inherited beyond the standard three. */
	for (int fd = 3; fd < 4096; fd++) {
		if (syscall(SYS_fcntl, fd, 1) >= 0)
			printf("descriptor %d\n", fd);
	}
	return 0;
}
