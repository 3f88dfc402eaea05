/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "tests/unit/sandbox/harness.h"

#include <netinet/in.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/un.h>

/* The program starts itself in a session and makes the calls there, in earnest: the answers let
 * everything go on, so what is refused is refused by the kernel. */

static struct session s;
static char program[4096];

/* --- Inside
 * ----------------------------------------------------------------------------------------- */

static void report(const char *what, long result)
{
	printf("%s %d\n", what, result < 0 ? errno : 0);
	fflush(stdout);
}

static void inside_calls(void)
{
	char path[] = "/dev/null";
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	report("io_uring", syscall(SYS_io_uring_setup, 4, path));
	report("clone3", syscall(SYS_clone3, NULL, 0));
	report("clone-user",
		syscall(SYS_clone, (unsigned long)CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, 0));
	report("unshare-user", unshare(CLONE_NEWUSER));
	report("unshare-fs", unshare(CLONE_FS));
	report("setns", setns(fd, 0));
	report("mount", syscall(SYS_mount, "none", "/mnt", "tmpfs", 0, NULL));
	report("open_tree", syscall(SYS_open_tree, AT_FDCWD, "/", 0));
	report("chroot", chroot("/"));
	report("bpf", syscall(SYS_bpf, 0, NULL, 0));
	report("perf", syscall(SYS_perf_event_open, NULL, 0, 0, 0, 0));
	report("userfaultfd", syscall(SYS_userfaultfd, 1));
	report("keyctl", syscall(SYS_keyctl, 0, 0, 0, 0, 0));
	report("handle", syscall(SYS_open_by_handle_at, -1, NULL, 0));
	report("tiocsti", syscall(SYS_ioctl, 0, 0x5412UL, path));
	report("tiocsti-high", syscall(SYS_ioctl, 0, 0x100005412UL, path));
	report("tioclinux", syscall(SYS_ioctl, 0, 0x541cUL, path));
	report("personality", syscall(SYS_personality, 8UL));
	report("setxattrat", syscall(463, AT_FDCWD, path, 0, "user.x", NULL, 0));
	report("file_setattr", syscall(469, AT_FDCWD, path, NULL, 0, 0));
	report("beyond", syscall(700));
	report("x32", syscall(SYS_getpid | 0x40000000));
	report("memfd", syscall(SYS_memfd_create, "x", MFD_CLOEXEC));
	report("seccomp-nested", syscall(SYS_seccomp, 1, 1UL << 3, NULL));
}

static void inside_sockets(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(9)};
	struct sockaddr_un abstract = {.sun_family = AF_UNIX, .sun_path = "\0sbx-host"};
	struct msghdr message = {.msg_name = &address, .msg_namelen = sizeof(address)};
	int tcp = socket(AF_INET, SOCK_STREAM, 0), local = socket(AF_UNIX, SOCK_STREAM, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	report("tcp", tcp);
	report("vsock", socket(40, SOCK_STREAM, 0));
	report("alg", socket(38, SOCK_SEQPACKET, 0));
	report("packet", socket(AF_PACKET, SOCK_RAW, 0));
	report("mptcp", socket(AF_INET, SOCK_STREAM, 262));
	report("sctp", socket(AF_INET, SOCK_STREAM, 132));
	report("ping", socket(AF_INET, SOCK_DGRAM, IPPROTO_ICMP));
	report("raw", socket(AF_INET, SOCK_RAW, IPPROTO_ICMP));
	report("route", socket(AF_NETLINK, SOCK_RAW, 0));
	report("audit", socket(AF_NETLINK, SOCK_RAW, 9));
	report("fastopen-to",
		sendto(tcp, "x", 1, MSG_FASTOPEN, (struct sockaddr *)&address, sizeof(address)));
	report("fastopen-msg", sendmsg(tcp, &message, MSG_FASTOPEN));
	report("connect", connect(tcp, (struct sockaddr *)&address, sizeof(address)));
	report("bind", bind(tcp, (struct sockaddr *)&address, sizeof(address)));
	report("abstract", connect(local, (struct sockaddr *)&abstract,
				   (socklen_t)offsetof(struct sockaddr_un, sun_path) + 9));
}

static void inside_privileges(void)
{
	struct iovec local, remote;
	char byte = 0;

	local = (struct iovec){&byte, 1};
	remote = (struct iovec){&byte, 1};
	report("kill-init", kill(1, SIGTERM));
	report("ptrace-init", ptrace(PTRACE_ATTACH, 1, NULL, NULL));
	report("read-init", process_vm_readv(1, &local, 1, &remote, 1, 0));
	report("init-environ", open("/proc/1/environ", O_RDONLY | O_CLOEXEC));
	report("init-root", open("/proc/1/root/etc", O_PATH | O_CLOEXEC));
	report("setuid", setuid(getuid() == 1 ? 2 : 1));
	report("dumpable", prctl(PR_SET_DUMPABLE, 0, 0, 0, 0));
	report("after-dumpable", open("/dev/null", O_RDONLY | O_CLOEXEC));
	report("mm", prctl(35, 14, 0, 0, 0));
	report("hostname", sethostname("x", 1));
	report("shm", syscall(SYS_shmget, 0, 4096, 0600 | 01000));
	report("mlock", mlock(&byte, 1));
}

static int inside(const char *which)
{
	if (strcmp(which, "calls") == 0)
		inside_calls();
	else if (strcmp(which, "sockets") == 0)
		inside_sockets();
	else
		inside_privileges();
	return 0;
}

/* --- Outside
 * ---------------------------------------------------------------------------------------- */

static void run(const char *which, bool reduced)
{
	const char *const argv[] = {program, "--inside", which, NULL};

	session_init(&s, POLICY_OPEN);
	s.spec.reduced_userns = s.spec.force_no_userns = reduced;
	session_run(&s, argv);
	assert_true(WIFEXITED(s.status));
	assert_int_equal(WEXITSTATUS(s.status), 0);
}

static void assert_result(const char *what, int error)
{
	char line[64], wrong[128] = "nothing";
	const char *found;

	snprintf(line, sizeof(line), "%s %d\n", what, error);
	found = strstr(s.text, line);
	/* At the beginning of a line, so that "x" is not found in "-x". */
	while (found && found != s.text && found[-1] != '\n')
		found = strstr(found + 1, line);
	if (found)
		return;
	snprintf(line, sizeof(line), "%s ", what);
	found = strstr(s.text, line);
	if (found)
		snprintf(wrong, sizeof(wrong), "%.60s", found);
	fail_msg("%s should give %d, not %s", what, error, wrong);
}

static void calls_that_lead_out_are_refused(void **state)
{
	(void)state;
	run("calls", false);
	assert_result("io_uring", ENOSYS);
	assert_result("clone3", ENOSYS);
	assert_result("clone-user", EPERM);
	assert_result("unshare-user", EPERM);
	assert_result("unshare-fs", 0);
	assert_result("setns", EPERM);
	assert_result("mount", EPERM);
	assert_result("open_tree", EPERM);
	assert_result("chroot", EPERM);
	assert_result("bpf", EPERM);
	assert_result("perf", EPERM);
	assert_result("userfaultfd", EPERM);
	assert_result("keyctl", EPERM);
	assert_result("handle", EPERM);
	assert_result("tiocsti", EPERM);
	assert_result("tiocsti-high", EPERM);
	assert_result("tioclinux", EPERM);
	assert_result("personality", EPERM);
	assert_result("setxattrat", ENOSYS);
	assert_result("file_setattr", ENOSYS);
	assert_result("beyond", ENOSYS);
	assert_result("x32", ENOSYS);
	assert_result("memfd", 0);
	session_deinit(&s);
}

static void sockets_that_pass_by_the_broker_are_refused(void **state)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "\0sbx-host"};
	int host = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)state;
	assert_int_equal(bind(host, (struct sockaddr *)&address,
				 (socklen_t)offsetof(struct sockaddr_un, sun_path) + 9),
		0);
	assert_int_equal(listen(host, 1), 0);
	run("sockets", false);
	assert_result("tcp", 0);
	assert_result("vsock", EAFNOSUPPORT);
	assert_result("alg", EAFNOSUPPORT);
	assert_result("packet", EAFNOSUPPORT);
	assert_result("mptcp", EPROTONOSUPPORT);
	assert_result("sctp", EPROTONOSUPPORT);
	assert_result("ping", EPERM);
	assert_result("raw", EPERM);
	assert_result("route", 0);
	assert_result("audit", EPROTONOSUPPORT);
	assert_result("fastopen-to", EOPNOTSUPP);
	assert_result("fastopen-msg", EOPNOTSUPP);
	/* Let through by the answers, refused by Landlock where the kernel has these rights. */
	if (s.plan->landlock_abi >= 4) {
		assert_result("connect", EACCES);
		assert_result("bind", EACCES);
	}
	if (s.plan->landlock_abi >= 6)
		assert_result("abstract", EPERM);
	close(host);
	session_deinit(&s);
}

static void nothing_reaches_process_1_or_gains_rights(void **state)
{
	(void)state;
	run("privileges", false);
	assert_result("kill-init", EPERM);
	assert_result("ptrace-init", EPERM);
	assert_result("read-init", EPERM);
	assert_result("init-environ", EACCES);
	assert_result("init-root", EACCES);
	/* No other user id exists in the session. */
	assert_result("setuid", EINVAL);
	assert_result("dumpable", 0);
	assert_result("after-dumpable", 0);
	assert_result("mm", EPERM);
	assert_result("hostname", EPERM);
	assert_result("shm", 0);
	assert_result("mlock", 0);
	session_deinit(&s);
}

static void without_namespaces_the_same_calls_are_refused(void **state)
{
	(void)state;
	run("calls", true);
	assert_result("io_uring", ENOSYS);
	assert_result("clone-user", EPERM);
	assert_result("mount", EPERM);
	assert_result("tiocsti-high", EPERM);
	session_deinit(&s);
	run("privileges", true);
	assert_result("kill-init", EPERM);
	assert_result("shm", EPERM);
	/* Said yes to, and not done: the broker must go on reading it. */
	assert_result("dumpable", 0);
	session_deinit(&s);
}

static void a_refused_notification_is_what_the_program_sees(void **state)
{
	(void)state;
	session_init(&s, POLICY_OPEN);
	s.refuse_nr = SYS_execve;
	session_run(&s, shell("true"));
	assert_int_equal(s.exec_errno, EACCES);
	session_deinit(&s);
}

static void what_a_failing_start_touches_is_gone(void **state)
{
	(void)state;
	session_init(&s, POLICY_OPEN);
	s.spec.reduced_userns = s.spec.force_no_userns = true;
	s.spec.cwd = (char *)(uintptr_t) "/no/such/folder";
	session_command(&s, shell("true"));
	assert_int_equal(session_start(&s), -ENOENT);
	assert_null(s.launch.tmp_dir);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	session_deinit(&s);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_that_lead_out_are_refused),
		cmocka_unit_test(sockets_that_pass_by_the_broker_are_refused),
		cmocka_unit_test(nothing_reaches_process_1_or_gains_rights),
		cmocka_unit_test(without_namespaces_the_same_calls_are_refused),
		cmocka_unit_test(a_refused_notification_is_what_the_program_sees),
		cmocka_unit_test(what_a_failing_start_touches_is_gone),
	};
	ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);

	if (argc == 3 && strcmp(argv[1], "--inside") == 0)
		return inside(argv[2]);
	if (n <= 0)
		return 1;
	program[n] = '\0';
	return cmocka_run_group_tests(tests, NULL, NULL);
}
