/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "supervisord/sandbox/filter.h"
#include "supervisord/sandbox/plan.h"
#include "supervisord/sandbox/syscalls.h"

#define NOTIFY 0x7fc00000u
#define ERR(e) (SECCOMP_RET_ERRNO | (uint32_t)(e))
#define ALLOW SECCOMP_RET_ALLOW
#define HIGH 0xabcd000000000000ULL

/* The kernel's classic BPF machine, as far as seccomp allows it. */
static uint32_t simulate(const struct filter *filter, const struct seccomp_data *data)
{
	uint32_t a = 0, word;

	for (size_t pc = 0; pc < filter->n_code; pc++) {
		const struct sock_filter *f = &filter->code[pc];

		switch (f->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			assert_true(f->k <= sizeof(*data) - 4);
			memcpy(&word, (const char *)data + f->k, 4);
			a = word;
			break;
		case BPF_JMP | BPF_JA:
			pc += f->k;
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
			pc += a == f->k ? f->jt : f->jf;
			break;
		case BPF_JMP | BPF_JGT | BPF_K:
			pc += a > f->k ? f->jt : f->jf;
			break;
		case BPF_JMP | BPF_JGE | BPF_K:
			pc += a >= f->k ? f->jt : f->jf;
			break;
		case BPF_JMP | BPF_JSET | BPF_K:
			pc += (a & f->k) ? f->jt : f->jf;
			break;
		case BPF_ALU | BPF_AND | BPF_K:
			a &= f->k;
			break;
		case BPF_RET | BPF_K:
			return f->k;
		default:
			fail_msg("an instruction that the simulator does not know: %x", f->code);
		}
	}
	fail_msg("ran off the end");
	return 0;
}

struct fixture {
	struct plan plan;
	struct filter filter;
};

static void build(struct fixture *f, bool reads, bool cookie, bool userns)
{
	f->plan = (struct plan){.landlock_abi = 7,
		.notify_reads = reads,
		.cookie = cookie,
		.user_ns = userns,
		.pid_ns = userns,
		.ipc_ns = userns};
	assert_int_equal(filter_build(&f->plan, &f->filter), 0);
	assert_true(f->filter.n_code < 2000);
}

static uint32_t ask(const struct fixture *f, int nr, const uint64_t args[6])
{
	struct seccomp_data data = {.nr = nr, .arch = AUDIT_ARCH_X86_64};

	memcpy(data.args, args, sizeof(data.args));
	return simulate(&f->filter, &data);
}

#define ASK(f, nr, ...) ask((f), (nr), (const uint64_t[6]){__VA_ARGS__})

static void every_number_gets_what_the_table_says(void **state)
{
	struct fixture f;

	(void)state;
	build(&f, true, true, true);
	for (int nr = 0; nr < 1024; nr++) {
		uint32_t want = ERR(ENOSYS), got = ASK(&f, nr, 1, 1, 1, 1, 1, 1);
		bool special = false;

		for (size_t i = 0; i < syscall_table_size; i++) {
			const struct syscall_entry *e = &syscall_table[i];

			if (e->nr != nr)
				continue;
			special = e->disposition != SYSCALL_ALLOW &&
				  e->disposition != SYSCALL_ERRNO &&
				  e->disposition != SYSCALL_NOTIFY;
			want = e->disposition == SYSCALL_ALLOW   ? ALLOW
			       : e->disposition == SYSCALL_ERRNO ? ERR(e->error)
								 : NOTIFY;
		}
		if (special)
			assert_int_not_equal(got, ERR(ENOSYS));
		else
			assert_int_equal(got, want);
	}
	filter_deinit(&f.filter);
}

static void no_call_is_in_the_table_twice(void **state)
{
	(void)state;
	for (size_t i = 0; i < syscall_table_size; i++)
		for (size_t j = i + 1; j < syscall_table_size; j++)
			assert_int_not_equal(syscall_table[i].nr, syscall_table[j].nr);
}

static void foreign_architectures_die_and_x32_does_not_exist(void **state)
{
	struct seccomp_data data = {.nr = SYS_read, .arch = AUDIT_ARCH_I386};
	struct fixture f;

	(void)state;
	build(&f, false, false, true);
	assert_int_equal(simulate(&f.filter, &data), SECCOMP_RET_KILL_PROCESS);
	for (int nr = 0; nr < 1024; nr++) {
		assert_int_equal(ASK(&f, nr | 0x40000000, 0), ERR(ENOSYS));
		assert_int_equal(ASK(&f, nr | (int)0x80000000u, 0), ERR(ENOSYS));
	}
	assert_int_equal(ASK(&f, -1, 0), ERR(ENOSYS));
	filter_deinit(&f.filter);
}

static void an_old_landlock_gets_no_flags_behind_a_pointer(void **state)
{
	struct fixture f;

	(void)state;
	build(&f, true, true, true);
	filter_deinit(&f.filter);
	f.plan.landlock_abi = 2;
	assert_int_equal(filter_build(&f.plan, &f.filter), 0);
	assert_int_equal(ASK(&f, SYS_openat2, 1, 1, 1, 1), ERR(ENOSYS));
	assert_int_equal(ASK(&f, SYS_openat, 1, 1, O_TRUNC), NOTIFY);
	filter_deinit(&f.filter);
}

static void opens_that_can_change_something_notify(void **state)
{
	static const uint64_t changing[] = {
		O_WRONLY, O_RDWR, O_WRONLY | O_RDWR, O_CREAT, O_TRUNC, O_TMPFILE, 020000000};
	struct fixture f;

	(void)state;
	build(&f, false, false, true);
	for (size_t i = 0; i < ARRAY_LEN(changing); i++) {
		assert_int_equal(ASK(&f, SYS_open, 1, changing[i]), NOTIFY);
		assert_int_equal(ASK(&f, SYS_open, 1, changing[i] | HIGH | O_CLOEXEC), NOTIFY);
		assert_int_equal(ASK(&f, SYS_openat, 1, 1, changing[i]), NOTIFY);
		assert_int_equal(ASK(&f, SYS_openat, 1, 1, changing[i] | HIGH), NOTIFY);
		assert_int_equal(ASK(&f, SYS_openat, 1, 1, changing[i], 0, 0, PLAN_COOKIE), NOTIFY);
	}
	assert_int_equal(ASK(&f, SYS_open, 1, O_RDONLY | O_CLOEXEC | O_NONBLOCK), ALLOW);
	assert_int_equal(ASK(&f, SYS_openat, 1, 1, O_DIRECTORY), ALLOW);
	assert_int_equal(ASK(&f, SYS_openat, 1, 1, O_PATH | O_RDWR), ALLOW);
	assert_int_equal(ASK(&f, SYS_creat, 1, 0), NOTIFY);
	assert_int_equal(ASK(&f, SYS_openat2, 1, 1, 1, 1), NOTIFY);
	filter_deinit(&f.filter);
}

static void reads_notify_but_for_the_whole_cookie(void **state)
{
	struct fixture f;

	(void)state;
	build(&f, true, true, true);
	assert_int_equal(ASK(&f, SYS_openat, 1, 1, O_RDONLY), NOTIFY);
	assert_int_equal(ASK(&f, SYS_openat, 1, 1, O_RDONLY, 0, 0, PLAN_COOKIE), ALLOW);
	for (unsigned bit = 0; bit < 64; bit++)
		assert_int_equal(
			ASK(&f, SYS_openat, 1, 1, O_RDONLY, 0, 0, PLAN_COOKIE ^ (1ULL << bit)),
			NOTIFY);
	assert_int_equal(ASK(&f, SYS_open, 1, O_RDONLY, 0, 0, 0, PLAN_COOKIE), NOTIFY);
	assert_int_equal(ASK(&f, SYS_openat, 1, 1, O_PATH), ALLOW);
	filter_deinit(&f.filter);
	build(&f, true, false, true);
	assert_int_equal(ASK(&f, SYS_openat, 1, 1, O_RDONLY, 0, 0, PLAN_COOKIE), NOTIFY);
	filter_deinit(&f.filter);
}

static void only_plain_sockets_can_be_made(void **state)
{
	static const struct {
		uint64_t domain, type, protocol;
		uint32_t want;
	} rows[] = {
		{AF_UNIX, SOCK_STREAM, 0, ALLOW},
		{AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ALLOW},
		{AF_UNIX, SOCK_SEQPACKET, 0, ALLOW},
		{AF_INET, SOCK_STREAM, 0, ALLOW},
		{AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 6, ALLOW},
		{AF_INET6, SOCK_STREAM, 6, ALLOW},
		{AF_INET, SOCK_STREAM, 262, ERR(EPROTONOSUPPORT)},
		{AF_INET6, SOCK_STREAM, 262, ERR(EPROTONOSUPPORT)},
		{AF_INET, SOCK_STREAM, 132, ERR(EPROTONOSUPPORT)},
		{AF_INET, SOCK_SEQPACKET, 132, ERR(EPROTONOSUPPORT)},
		{AF_INET, SOCK_DGRAM, 0, ALLOW},
		{AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 17, ALLOW},
		{AF_INET, SOCK_DGRAM, 1, ERR(EPERM)},
		{AF_INET6, SOCK_DGRAM, 58, ERR(EPERM)},
		{AF_INET, SOCK_RAW, 1, ERR(EPERM)},
		{AF_INET, SOCK_RAW | SOCK_CLOEXEC, 255, ERR(EPERM)},
		{AF_NETLINK, SOCK_RAW, 0, ALLOW},
		{AF_NETLINK, SOCK_DGRAM, 9, ERR(EPROTONOSUPPORT)},
		{AF_NETLINK, SOCK_RAW, 6, ERR(EPROTONOSUPPORT)},
		{AF_NETLINK, SOCK_RAW, 15, ERR(EPROTONOSUPPORT)},
		{40, SOCK_STREAM, 0, ERR(EAFNOSUPPORT)},    /* AF_VSOCK */
		{38, SOCK_SEQPACKET, 0, ERR(EAFNOSUPPORT)}, /* AF_ALG */
		{AF_PACKET, SOCK_RAW, 0, ERR(EAFNOSUPPORT)},
		{44, SOCK_RAW, 0, ERR(EAFNOSUPPORT)}, /* AF_XDP */
		{0, SOCK_STREAM, 0, ERR(EAFNOSUPPORT)},
		{AF_UNIX | HIGH, SOCK_STREAM, 0, ALLOW},
		{40 | HIGH, SOCK_STREAM, 0, ERR(EAFNOSUPPORT)},
		{AF_INET | HIGH, SOCK_STREAM | HIGH, 262 | HIGH, ERR(EPROTONOSUPPORT)},
	};
	struct fixture f;

	(void)state;
	build(&f, true, true, true);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(
			ASK(&f, SYS_socket, rows[i].domain, rows[i].type, rows[i].protocol),
			rows[i].want);
	assert_int_equal(ASK(&f, SYS_socketpair, AF_UNIX, SOCK_STREAM), ALLOW);
	assert_int_equal(ASK(&f, SYS_socketpair, 30, SOCK_STREAM), ERR(EAFNOSUPPORT));
	filter_deinit(&f.filter);
}

static void sends_notify_with_an_address_and_never_open_fast(void **state)
{
	struct fixture f;

	(void)state;
	build(&f, true, true, true);
	assert_int_equal(ASK(&f, SYS_sendto, 3, 1, 1, 0, 0, 0), ALLOW);
	assert_int_equal(ASK(&f, SYS_sendto, 3, 1, 1, MSG_NOSIGNAL, 0, 16), ALLOW);
	assert_int_equal(ASK(&f, SYS_sendto, 3, 1, 1, 0, 0x7000, 16), NOTIFY);
	assert_int_equal(ASK(&f, SYS_sendto, 3, 1, 1, 0, 0x700000000000, 16), NOTIFY);
	assert_int_equal(ASK(&f, SYS_sendto, 3, 1, 1, MSG_FASTOPEN, 0x7000, 16), ERR(EOPNOTSUPP));
	assert_int_equal(ASK(&f, SYS_sendto, 3, 1, 1, MSG_FASTOPEN | HIGH, 0, 0), ERR(EOPNOTSUPP));
	assert_int_equal(ASK(&f, SYS_sendmsg, 3, 1, 0), NOTIFY);
	assert_int_equal(ASK(&f, SYS_sendmsg, 3, 1, MSG_FASTOPEN), ERR(EOPNOTSUPP));
	assert_int_equal(ASK(&f, SYS_sendmmsg, 3, 1, 1, 0), NOTIFY);
	assert_int_equal(
		ASK(&f, SYS_sendmmsg, 3, 1, 1, MSG_FASTOPEN | MSG_NOSIGNAL), ERR(EOPNOTSUPP));
	filter_deinit(&f.filter);
}

static void without_a_pid_namespace_limits_are_for_oneself(void **state)
{
	static const int first[] = {SYS_prlimit64, SYS_sched_setaffinity, SYS_sched_setparam,
		SYS_sched_setscheduler, SYS_sched_setattr};
	struct fixture f;

	(void)state;
	build(&f, true, true, false);
	for (size_t i = 0; i < ARRAY_LEN(first); i++) {
		assert_int_equal(ASK(&f, first[i], 0, 7), ALLOW);
		assert_int_equal(ASK(&f, first[i], HIGH, 7), ALLOW);
		assert_int_equal(ASK(&f, first[i], 1234, 7), ERR(EPERM));
	}
	for (uint64_t which = 0; which < 3; which++) {
		assert_int_equal(
			ASK(&f, SYS_setpriority, which, 0), which == 0 ? ALLOW : ERR(EPERM));
		assert_int_equal(ASK(&f, SYS_setpriority, which, 1234), ERR(EPERM));
		assert_int_equal(
			ASK(&f, SYS_ioprio_set, which, 0), which == 1 ? ALLOW : ERR(EPERM));
		assert_int_equal(ASK(&f, SYS_ioprio_set, which, 1234), ERR(EPERM));
	}
	filter_deinit(&f.filter);
	build(&f, true, true, true);
	assert_int_equal(ASK(&f, SYS_prlimit64, 1234, 7), ALLOW);
	filter_deinit(&f.filter);
}

static void namespaces_and_terminal_tricks_are_refused(void **state)
{
	static const uint64_t kinds[] = {CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC,
		CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET};
	static const uint64_t commands[] = {0x5412, 0x541c, 0x5423};
	struct fixture f;

	(void)state;
	build(&f, true, true, true);
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		assert_int_equal(ASK(&f, SYS_clone, kinds[i] | 17), ERR(EPERM));
		assert_int_equal(ASK(&f, SYS_unshare, kinds[i] | HIGH), ERR(EPERM));
	}
	assert_int_equal(ASK(&f, SYS_clone, CLONE_VM | CLONE_VFORK | 17), ALLOW);
	assert_int_equal(ASK(&f, SYS_unshare, 0x80), ERR(EPERM));
	assert_int_equal(ASK(&f, SYS_unshare, CLONE_FS), ALLOW);
	assert_int_equal(ASK(&f, SYS_clone3, 1, 88), ERR(ENOSYS));
	for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
		assert_int_equal(ASK(&f, SYS_ioctl, 0, commands[i]), ERR(EPERM));
		assert_int_equal(ASK(&f, SYS_ioctl, 0, commands[i] | 0x100000000ULL), ERR(EPERM));
		assert_int_equal(ASK(&f, SYS_ioctl, 0, commands[i] | HIGH), ERR(EPERM));
	}
	assert_int_equal(ASK(&f, SYS_ioctl, 0, 0x5413), ALLOW);
	assert_int_equal(ASK(&f, SYS_personality, 0xffffffff), ALLOW);
	assert_int_equal(ASK(&f, SYS_personality, 0x40000), ALLOW);
	assert_int_equal(ASK(&f, SYS_personality, 8), ERR(EPERM));
	assert_int_equal(ASK(&f, SYS_utimensat, 3, 0, 0, 0), NOTIFY);
	assert_int_equal(ASK(&f, SYS_fchmod, 3, 0600), NOTIFY);
	assert_int_equal(ASK(&f, SYS_setsockopt, 3, 1, 4), ALLOW);
	assert_int_equal(ASK(&f, SYS_setsockopt, 3, 0, 1), ALLOW);
	assert_int_equal(ASK(&f, SYS_setsockopt, 3, 0, 4), ERR(EPERM));
	assert_int_equal(ASK(&f, SYS_setsockopt, 3, HIGH, 4 | HIGH), ERR(EPERM));
	assert_int_equal(ASK(&f, SYS_setsockopt, 3, 41, 26), ALLOW);
	assert_int_equal(ASK(&f, SYS_setsockopt, 3, 41, 57), ERR(EPERM));
	assert_int_equal(ASK(&f, SYS_setsockopt, 3, 41, 5), ERR(EPERM));
	assert_int_equal(ASK(&f, SYS_setsockopt, 3, 41, 6), ERR(EPERM));
	assert_int_equal(ASK(&f, SYS_prctl, 4, 0), ALLOW);
	assert_int_equal(ASK(&f, SYS_prctl, 35, 14), ERR(EPERM));
	filter_deinit(&f.filter);
}

static void names_and_attributes_cannot_be_changed_by_ioctl(void **state)
{
	static const uint64_t refused[] = {0x40086602, 0x401c5820, 0x5000940e, 0x50009401,
		0x50009417, 0x5000940f, 0x4010bc10, 0x5000940eULL | HIGH};
	static const uint64_t harmless[] = {0x40049409, 0x4020940d, 0xc0189436, 0x80086601,
		0x801c581f, 0x5401, 0x5413, 0x541b, 0x5421, 0x5451, 0xc020660b};
	struct fixture f;

	(void)state;
	build(&f, true, true, true);
	for (size_t i = 0; i < ARRAY_LEN(refused); i++)
		assert_int_equal(ASK(&f, SYS_ioctl, 3, refused[i]), ERR(ENOTTY));
	for (size_t i = 0; i < ARRAY_LEN(harmless); i++)
		assert_int_equal(ASK(&f, SYS_ioctl, 3, harmless[i]), ALLOW);
	filter_deinit(&f.filter);
}

static void without_a_user_namespace_nobody_hides_and_queues_are_closed(void **state)
{
	struct fixture f;

	(void)state;
	build(&f, true, false, false);
	assert_int_equal(ASK(&f, SYS_prctl, 4, 0), ERR(0));
	assert_int_equal(ASK(&f, SYS_prctl, 0x59616d61, 1), ERR(0));
	assert_int_equal(ASK(&f, SYS_prctl, 15, 1), ALLOW);
	assert_int_equal(ASK(&f, SYS_shmget, 1, 1, 1), ERR(EPERM));
	assert_int_equal(ASK(&f, SYS_mq_open, 1, 1, 1), ERR(EPERM));
	filter_deinit(&f.filter);
	build(&f, true, false, true);
	assert_int_equal(ASK(&f, SYS_shmget, 1, 1, 1), ALLOW);
	filter_deinit(&f.filter);
}

static void the_calls_that_programs_need_exist(void **state)
{
	static const int needed[] = {SYS_read, SYS_write, SYS_close, SYS_dup3, SYS_fcntl, SYS_mmap,
		SYS_fork, SYS_vfork, SYS_wait4, SYS_futex, SYS_rseq, SYS_close_range,
		SYS_epoll_pwait2, SYS_statx, SYS_getrandom, SYS_memfd_create, SYS_copy_file_range,
		SYS_accept4, SYS_pidfd_open, SYS_ptrace, SYS_process_vm_readv, SYS_seccomp,
		SYS_mlock2, SYS_inotify_add_watch, SYS_sched_setaffinity, SYS_io_setup,
		SYS_rt_sigtimedwait, 451, 454, 455, 456, 462};
	struct fixture f;

	(void)state;
	build(&f, true, true, true);
	for (size_t i = 0; i < ARRAY_LEN(needed); i++)
		assert_int_equal(ASK(&f, needed[i], 0), ALLOW);
	filter_deinit(&f.filter);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_number_gets_what_the_table_says),
		cmocka_unit_test(no_call_is_in_the_table_twice),
		cmocka_unit_test(foreign_architectures_die_and_x32_does_not_exist),
		cmocka_unit_test(an_old_landlock_gets_no_flags_behind_a_pointer),
		cmocka_unit_test(opens_that_can_change_something_notify),
		cmocka_unit_test(reads_notify_but_for_the_whole_cookie),
		cmocka_unit_test(only_plain_sockets_can_be_made),
		cmocka_unit_test(sends_notify_with_an_address_and_never_open_fast),
		cmocka_unit_test(without_a_pid_namespace_limits_are_for_oneself),
		cmocka_unit_test(namespaces_and_terminal_tricks_are_refused),
		cmocka_unit_test(names_and_attributes_cannot_be_changed_by_ioctl),
		cmocka_unit_test(without_a_user_namespace_nobody_hides_and_queues_are_closed),
		cmocka_unit_test(the_calls_that_programs_need_exist),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
