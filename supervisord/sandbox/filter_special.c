/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "supervisord/sandbox/filter.h"

/* Calls whose registers decide. Each is a block "is it this number? then load, compare, return"; a
 * call that has no block reaches the allow list behind. MUST:
 *  1. refuse other architectures and the x32 numbers before anything else
 *  2. look only at the bits that the kernel looks at: the low 32 of an int, all 64 of a pointer
 *  3. end every block in a return on every way through it */

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <netinet/in.h>

#include "supervisord/sandbox/plan.h"

#define X32_BIT 0x40000000u
#define TMPFILE_BIT 020000000u /* O_TMPFILE without O_DIRECTORY */
/* The kernel's value; <fcntl.h> defines O_LARGEFILE and friends differently, these are plain. */
#define OPEN_MODIFIES ((uint32_t)(O_WRONLY | O_RDWR | O_CREAT | O_TRUNC) | TMPFILE_BIT)
#define FASTOPEN 0x20000000u
#define CLONE_NEW_ANY                                                                              \
	((uint32_t)(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |  \
		    CLONE_NEWPID | CLONE_NEWNET))
#define UNSHARE_NEWTIME 0x80u
#define IOCTL_TIOCSTI 0x5412u
#define IOCTL_TIOCLINUX 0x541cu
#define IOCTL_TIOCSETD 0x5423u
#define IOCTL_TYPE_MASK 0xff00u
#define IOCTL_TYPE_BTRFS 0x9400u
#define IOCTL_TYPE_BCACHEFS 0xbc00u
#define PERSONALITY_QUERY 0xffffffffu
#define PERSONALITY_NO_RANDOMIZE 0x0040000u
#define NETLINK_OF_ROUTES 0u
#define SOCKET_TYPE_MASK 0xfu
#define PRCTL_SET_MM 35u
#define IOPRIO_OF_PROCESS 1u
#define OPTION_2292RTHDR 5u /* IPV6_2292..., which not every C library names */
#define OPTION_2292PKTOPTIONS 6u

#define RET_ALLOW SECCOMP_RET_ALLOW
#define RET_NOTIFY 0x7fc00000u /* SECCOMP_RET_USER_NOTIF */
#define RET_ERROR(e) (SECCOMP_RET_ERRNO | ((uint32_t)(e)&SECCOMP_RET_DATA))

/* FS_IOC_SETFLAGS, FS_IOC_SETVERSION, EXT4_IOC_SETVERSION (and their 32-bit forms),
 * FS_IOC_FSSETXATTR, FS_IOC_ENABLE_VERITY (no more writes, for ever), FS_IOC_SET_ENCRYPTION_POLICY
 */
static const uint32_t file_attributes[] = {0x40086602u, 0x40046602u, 0x40087602u, 0x40047602u,
	0x40086604u, 0x40046604u, 0x401c5820u, 0x40806685u, 0x800c6613u};
/* FICLONE, FICLONERANGE, FIDEDUPERANGE */
static const uint32_t clone_ranges[] = {0x40049409u, 0x4020940du, 0xc0189436u};

struct code {
	struct sock_filter *out;
	size_t n;
	size_t max;
};

static void emit(struct code *code, unsigned op, uint32_t k, unsigned jt, unsigned jf)
{
	if (code->n < code->max)
		code->out[code->n] = (struct sock_filter){
			.code = (uint16_t)op, .k = k, .jt = (uint8_t)jt, .jf = (uint8_t)jf};
	code->n++;
}

static void load(struct code *code, size_t offset)
{
	emit(code, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void load_low(struct code *code, unsigned arg)
{
	load(code, offsetof(struct seccomp_data, args) + arg * sizeof(uint64_t));
}

static void load_high(struct code *code, unsigned arg)
{
	load(code, offsetof(struct seccomp_data, args) + arg * sizeof(uint64_t) + 4);
}

static void keep_bits(struct code *code, uint32_t mask)
{
	emit(code, BPF_ALU | BPF_AND | BPF_K, mask, 0, 0);
}

static void ret(struct code *code, uint32_t action)
{
	emit(code, BPF_RET | BPF_K, action, 0, 0);
}

/* A == VALUE returns ACTION, else on. */
static void ret_if_equal(struct code *code, uint32_t value, uint32_t action)
{
	emit(code, BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
	ret(code, action);
}

/* A & MASK returns ACTION, else on. */
static void ret_if_bits(struct code *code, uint32_t mask, uint32_t action)
{
	emit(code, BPF_JMP | BPF_JSET | BPF_K, mask, 0, 1);
	ret(code, action);
}

/* What stands up to the matching end() runs only when A == VALUE. */
static size_t begin(struct code *code, uint32_t value)
{
	emit(code, BPF_JMP | BPF_JEQ | BPF_K, value, 0, 0);
	return code->n - 1;
}

static void end(struct code *code, size_t at)
{
	size_t length = code->n - at - 1;

	if (length > UINT8_MAX)
		code->max = 0;
	else if (at < code->max)
		code->out[at].jf = (uint8_t)length;
}

static void prologue(struct code *code)
{
	load(code, offsetof(struct seccomp_data, arch));
	emit(code, BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0);
	ret(code, SECCOMP_RET_KILL_PROCESS);
	load(code, offsetof(struct seccomp_data, nr));
	emit(code, BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1);
	ret(code, RET_ERROR(ENOSYS));
}

/* FLAGS_ARG holds open flags; COOKIE: a read that carries it in its sixth argument goes to the
 * floor. */
static void open_block(
	struct code *code, const struct plan *plan, uint32_t nr, unsigned flags_arg, bool cookie)
{
	size_t at = begin(code, nr);

	load_low(code, flags_arg);
	/* O_PATH gives no access, and the kernel ignores what else is set. */
	ret_if_bits(code, O_PATH, RET_ALLOW);
	ret_if_bits(code, OPEN_MODIFIES, RET_NOTIFY);
	if (!plan->notify_reads) {
		ret(code, RET_ALLOW);
		end(code, at);
		return;
	}
	if (cookie && plan->cookie) {
		size_t low;

		load_low(code, 5);
		low = begin(code, (uint32_t)PLAN_COOKIE);
		load_high(code, 5);
		ret_if_equal(code, (uint32_t)(PLAN_COOKIE >> 32), RET_ALLOW);
		end(code, low);
	}
	ret(code, RET_NOTIFY);
	end(code, at);
}

static void socket_block(struct code *code)
{
	size_t at = begin(code, SYS_socket), inner;

	load_low(code, 0);
	ret_if_equal(code, AF_UNIX, RET_ALLOW);
	inner = begin(code, AF_NETLINK);
	load_low(code, 2);
	ret_if_equal(code, NETLINK_OF_ROUTES, RET_ALLOW);
	ret(code, RET_ERROR(EPROTONOSUPPORT));
	end(code, inner);
	/* A is still the family: IPv4 and IPv6 go on, the rest ends here. */
	emit(code, BPF_JMP | BPF_JEQ | BPF_K, AF_INET, 2, 0);
	emit(code, BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 1, 0);
	ret(code, RET_ERROR(EAFNOSUPPORT));
	load_low(code, 1);
	keep_bits(code, SOCKET_TYPE_MASK);
	/* Landlock and the broker know TCP and UDP; MPTCP (262), SCTP and the like would pass by
	 * them. */
	inner = begin(code, SOCK_STREAM);
	load_low(code, 2);
	ret_if_equal(code, 0, RET_ALLOW);
	ret_if_equal(code, IPPROTO_TCP, RET_ALLOW);
	ret(code, RET_ERROR(EPROTONOSUPPORT));
	end(code, inner);
	inner = begin(code, SOCK_DGRAM);
	load_low(code, 2);
	ret_if_equal(code, 0, RET_ALLOW);
	ret_if_equal(code, IPPROTO_UDP, RET_ALLOW);
	ret_if_equal(code, IPPROTO_ICMP, RET_ERROR(EPERM));
	ret_if_equal(code, IPPROTO_ICMPV6, RET_ERROR(EPERM));
	ret(code, RET_ERROR(EPROTONOSUPPORT));
	end(code, inner);
	ret_if_equal(code, SOCK_RAW, RET_ERROR(EPERM));
	ret(code, RET_ERROR(EPROTONOSUPPORT));
	end(code, at);

	at = begin(code, SYS_socketpair);
	load_low(code, 0);
	ret_if_equal(code, AF_UNIX, RET_ALLOW);
	ret(code, RET_ERROR(EAFNOSUPPORT));
	end(code, at);
}

/* A source route or routing header sends what is meant for the judged address to another one first.
 * As control data of one message the broker refuses them. */
static void sockopt_block(struct code *code)
{
	size_t at = begin(code, SYS_setsockopt), inner;

	load_low(code, 1);
	inner = begin(code, IPPROTO_IP);
	load_low(code, 2);
	ret_if_equal(code, IP_OPTIONS, RET_ERROR(EPERM));
	ret(code, RET_ALLOW);
	end(code, inner);
	inner = begin(code, IPPROTO_IPV6);
	load_low(code, 2);
	ret_if_equal(code, IPV6_RTHDR, RET_ERROR(EPERM));
	ret_if_equal(code, OPTION_2292RTHDR, RET_ERROR(EPERM));
	ret_if_equal(code, OPTION_2292PKTOPTIONS, RET_ERROR(EPERM));
	end(code, inner);
	ret(code, RET_ALLOW);
	end(code, at);
}

/* Fast open sends the connection request itself, past every check of connect. */
static void send_blocks(struct code *code)
{
	size_t at = begin(code, SYS_sendto), inner;

	load_low(code, 3);
	ret_if_bits(code, FASTOPEN, RET_ERROR(EOPNOTSUPP));
	load_low(code, 4);
	inner = begin(code, 0);
	load_high(code, 4);
	ret_if_equal(code, 0, RET_ALLOW);
	end(code, inner);
	ret(code, RET_NOTIFY);
	end(code, at);

	at = begin(code, SYS_sendmsg);
	load_low(code, 2);
	ret_if_bits(code, FASTOPEN, RET_ERROR(EOPNOTSUPP));
	ret(code, RET_NOTIFY);
	end(code, at);

	at = begin(code, SYS_sendmmsg);
	load_low(code, 3);
	ret_if_bits(code, FASTOPEN, RET_ERROR(EOPNOTSUPP));
	ret(code, RET_NOTIFY);
	end(code, at);
}

static void process_blocks(struct code *code, const struct plan *plan)
{
	size_t at = begin(code, SYS_clone);

	load_low(code, 0);
	ret_if_bits(code, CLONE_NEW_ANY, RET_ERROR(EPERM));
	ret(code, RET_ALLOW);
	end(code, at);

	at = begin(code, SYS_unshare);
	load_low(code, 0);
	ret_if_bits(code, CLONE_NEW_ANY | UNSHARE_NEWTIME, RET_ERROR(EPERM));
	ret(code, RET_ALLOW);
	end(code, at);

	at = begin(code, SYS_prctl);
	load_low(code, 0);
	ret_if_equal(code, PRCTL_SET_MM, RET_ERROR(EPERM));
	if (!plan->user_ns) {
		/* Without a user namespace the broker could no longer read a process that hides
		 * itself: say yes and do nothing. */
		ret_if_equal(code, PR_SET_DUMPABLE, RET_ERROR(0));
		ret_if_equal(code, PR_SET_PTRACER, RET_ERROR(0));
	}
	ret(code, RET_ALLOW);
	end(code, at);

	at = begin(code, SYS_personality);
	load_low(code, 0);
	ret_if_equal(code, 0, RET_ALLOW);
	ret_if_equal(code, PERSONALITY_QUERY, RET_ALLOW);
	ret_if_equal(code, PERSONALITY_NO_RANDOMIZE, RET_ALLOW);
	ret(code, RET_ERROR(EPERM));
	end(code, at);
}

/* Limits, scheduling and input/output priority of other processes of the same user: no scope of
 * Landlock keeps these inside, so without a namespace of the session's own they are for the calling
 * thread only. A limit on processor time ends a process, one on file sizes ends whoever keeps the
 * log. */
static void others_blocks(struct code *code)
{
	static const uint32_t first_is_process[] = {SYS_prlimit64, SYS_sched_setaffinity,
		SYS_sched_setparam, SYS_sched_setscheduler, SYS_sched_setattr};
	size_t at;

	for (size_t i = 0; i < ARRAY_LEN(first_is_process); i++) {
		at = begin(code, first_is_process[i]);
		load_low(code, 0);
		ret_if_equal(code, 0, RET_ALLOW);
		ret(code, RET_ERROR(EPERM));
		end(code, at);
	}
	at = begin(code, SYS_setpriority);
	load_low(code, 0);
	emit(code, BPF_JMP | BPF_JEQ | BPF_K, PRIO_PROCESS, 1, 0);
	ret(code, RET_ERROR(EPERM));
	load_low(code, 1);
	ret_if_equal(code, 0, RET_ALLOW);
	ret(code, RET_ERROR(EPERM));
	end(code, at);
	at = begin(code, SYS_ioprio_set);
	load_low(code, 0);
	emit(code, BPF_JMP | BPF_JEQ | BPF_K, IOPRIO_OF_PROCESS, 1, 0);
	ret(code, RET_ERROR(EPERM));
	load_low(code, 1);
	ret_if_equal(code, 0, RET_ALLOW);
	ret(code, RET_ERROR(EPERM));
	end(code, at);
}

static void device_blocks(struct code *code)
{
	size_t at = begin(code, SYS_ioctl);

	/* Typing into a terminal, the console's clipboard, a line discipline with kernel code
	 * behind. */
	load_low(code, 1);
	ret_if_equal(code, IOCTL_TIOCSTI, RET_ERROR(EPERM));
	ret_if_equal(code, IOCTL_TIOCLINUX, RET_ERROR(EPERM));
	ret_if_equal(code, IOCTL_TIOCSETD, RET_ERROR(EPERM));
	/* Attributes that an owner may set through a descriptor that he only reads by. */
	for (size_t i = 0; i < ARRAY_LEN(file_attributes); i++)
		ret_if_equal(code, file_attributes[i], RET_ERROR(ENOTTY));
	/* Sub-volumes and snapshots: names made, removed and copied past every call on paths, and
	 * past Landlock. Sharing blocks between two open files has the same number space and is
	 * harmless. */
	for (size_t i = 0; i < ARRAY_LEN(clone_ranges); i++)
		ret_if_equal(code, clone_ranges[i], RET_ALLOW);
	keep_bits(code, IOCTL_TYPE_MASK);
	ret_if_equal(code, IOCTL_TYPE_BTRFS, RET_ERROR(ENOTTY));
	ret_if_equal(code, IOCTL_TYPE_BCACHEFS, RET_ERROR(ENOTTY));
	ret(code, RET_ALLOW);
	end(code, at);
}

size_t filter_special(const struct plan *plan, struct sock_filter *out, size_t max)
{
	struct code code = {.out = out, .max = max};

	prologue(&code);
	open_block(&code, plan, SYS_openat, 2, true);
	open_block(&code, plan, SYS_open, 1, false);
	device_blocks(&code);
	process_blocks(&code, plan);
	if (!plan->pid_ns)
		others_blocks(&code);
	send_blocks(&code);
	socket_block(&code);
	sockopt_block(&code);
	/* The program behind loads what it needs itself. */
	return code.n <= code.max ? code.n : 0;
}
