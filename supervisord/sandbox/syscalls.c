/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "supervisord/sandbox/syscalls.h"

/* The allow list. Sorted by what a call is about. MUST:
 *  1. list every call that changes something behind a path as notified, in every spelling that the
 * kernel knows, because a program falls back from one spelling to the next
 *  2. refuse with ENOSYS what a C library can do without (clone3, io_uring, the *xattrat family),
 * with EPERM what is a privilege
 *  3. leave out, and so give ENOSYS to, everything that nobody has looked at */

#include <errno.h>
#include <sys/syscall.h>

_Static_assert(SYS_openat == 257, "the table has the numbers of x86-64 only");

/* Calls that the C library of the build may not know yet; these numbers are the same everywhere. */
#define NR_CACHESTAT 451
#define NR_FCHMODAT2 452
#define NR_MAP_SHADOW_STACK 453
#define NR_FUTEX_WAKE 454
#define NR_FUTEX_WAIT 455
#define NR_FUTEX_REQUEUE 456
#define NR_STATMOUNT 457
#define NR_LISTMOUNT 458
#define NR_LSM_LIST_MODULES 461
#define NR_MSEAL 462
#define NR_SETXATTRAT 463
#define NR_GETXATTRAT 464
#define NR_LISTXATTRAT 465
#define NR_REMOVEXATTRAT 466
#define NR_OPEN_TREE_ATTR 467
#define NR_FILE_GETATTR 468
#define NR_FILE_SETATTR 469
#define NR_URETPROBE 335

#define ALLOW(name)                                                                                \
	{                                                                                          \
#name, SYS_##name, SYSCALL_ALLOW, 0, NULL                                          \
	}
#define ALLOW_NR(name, nr)                                                                         \
	{                                                                                          \
		name, nr, SYSCALL_ALLOW, 0, NULL                                                   \
	}
#define IPC(name)                                                                                  \
	{                                                                                          \
#name, SYS_##name, SYSCALL_ALLOW, 0, "ipc"                                         \
	}
#define REFUSE(name, error)                                                                        \
	{                                                                                          \
#name, SYS_##name, SYSCALL_ERRNO, error, NULL                                      \
	}
#define REFUSE_NR(name, nr, error)                                                                 \
	{                                                                                          \
		name, nr, SYSCALL_ERRNO, error, NULL                                               \
	}
#define NOTIFY(name, class)                                                                        \
	{                                                                                          \
#name, SYS_##name, SYSCALL_NOTIFY, 0, class                                        \
	}
#define NOTIFY_NR(name, nr, class)                                                                 \
	{                                                                                          \
		name, nr, SYSCALL_NOTIFY, 0, class                                                 \
	}
#define SPECIAL(name, class)                                                                       \
	{                                                                                          \
#name, SYS_##name, SYSCALL_SPECIAL, 0, class                                       \
	}

const struct syscall_entry syscall_table[] = {
	/* Opens */
	{"open", SYS_open, SYSCALL_NOTIFY_OPEN, 0, "open"},
	{"openat", SYS_openat, SYSCALL_NOTIFY_OPEN, 0, "open"},
	NOTIFY(openat2, "open"), /* its flags are behind a pointer */
	NOTIFY(creat, "open"),

	/* Names */
	NOTIFY(rename, "names"),
	NOTIFY(renameat, "names"),
	NOTIFY(renameat2, "names"),
	NOTIFY(link, "names"),
	NOTIFY(linkat, "names"),
	NOTIFY(symlink, "names"),
	NOTIFY(symlinkat, "names"),
	NOTIFY(unlink, "names"),
	NOTIFY(unlinkat, "names"),
	NOTIFY(rmdir, "names"),
	NOTIFY(mkdir, "names"),
	NOTIFY(mkdirat, "names"),
	NOTIFY(mknod, "names"),
	NOTIFY(mknodat, "names"),

	/* Metadata by path: nothing in the kernel's floor covers these */
	NOTIFY(truncate, "metadata"),
	NOTIFY(chmod, "metadata"),
	NOTIFY(fchmodat, "metadata"),
	NOTIFY_NR("fchmodat2", NR_FCHMODAT2, "metadata"),
	NOTIFY(chown, "metadata"),
	NOTIFY(lchown, "metadata"),
	NOTIFY(fchownat, "metadata"),
	NOTIFY(utime, "metadata"),
	NOTIFY(utimes, "metadata"),
	NOTIFY(futimesat, "metadata"),
	NOTIFY(utimensat, "metadata"),
	NOTIFY(setxattr, "metadata"),
	NOTIFY(lsetxattr, "metadata"),
	NOTIFY(removexattr, "metadata"),
	NOTIFY(lremovexattr, "metadata"),
	/* The same by descriptor: for an owner one that only reads is enough */
	NOTIFY(fchmod, "metadata"),
	NOTIFY(fchown, "metadata"),
	NOTIFY(fsetxattr, "metadata"),
	NOTIFY(fremovexattr, "metadata"),
	REFUSE_NR("setxattrat", NR_SETXATTRAT, ENOSYS),
	REFUSE_NR("removexattrat", NR_REMOVEXATTRAT, ENOSYS),
	REFUSE_NR("file_setattr", NR_FILE_SETATTR, ENOSYS),

	/* Programs */
	NOTIFY(execve, "exec"),
	NOTIFY(execveat, "exec"),

	/* Network */
	SPECIAL(socket, NULL),
	SPECIAL(socketpair, NULL),
	NOTIFY(connect, "network"),
	NOTIFY(bind, "network"),
	NOTIFY(listen, "network"),
	{"sendto", SYS_sendto, SYSCALL_NOTIFY_ADDR, 0, "network"},
	SPECIAL(sendmsg, "network"),
	SPECIAL(sendmmsg, "network"),
	ALLOW(accept),
	ALLOW(accept4),
	ALLOW(recvfrom),
	ALLOW(recvmsg),
	ALLOW(recvmmsg),
	ALLOW(shutdown),
	ALLOW(getsockname),
	ALLOW(getpeername),
	SPECIAL(setsockopt, NULL),
	ALLOW(getsockopt),

	/* Register tests */
	SPECIAL(clone, NULL),
	SPECIAL(unshare, NULL),
	SPECIAL(ioctl, NULL),
	SPECIAL(prctl, NULL),
	SPECIAL(personality, NULL),
	REFUSE(clone3, ENOSYS), /* its flags are behind a pointer; libraries fall back to clone */

	/* Descriptors */
	ALLOW(read),
	ALLOW(write),
	ALLOW(readv),
	ALLOW(writev),
	ALLOW(pread64),
	ALLOW(pwrite64),
	ALLOW(preadv),
	ALLOW(pwritev),
	ALLOW(preadv2),
	ALLOW(pwritev2),
	ALLOW(close),
	ALLOW(close_range),
	ALLOW(dup),
	ALLOW(dup2),
	ALLOW(dup3),
	ALLOW(fcntl),
	ALLOW(flock),
	ALLOW(lseek),
	ALLOW(fsync),
	ALLOW(fdatasync),
	ALLOW(sync),
	ALLOW(syncfs),
	ALLOW(sync_file_range),
	ALLOW(ftruncate),
	ALLOW(fallocate),
	ALLOW(fadvise64),
	ALLOW(readahead),
	ALLOW(sendfile),
	ALLOW(splice),
	ALLOW(tee),
	ALLOW(copy_file_range),
	ALLOW(pipe),
	ALLOW(pipe2),
	ALLOW(poll),
	ALLOW(ppoll),
	ALLOW(select),
	ALLOW(pselect6),
	ALLOW(epoll_create),
	ALLOW(epoll_create1),
	ALLOW(epoll_ctl),
	ALLOW(epoll_wait),
	ALLOW(epoll_pwait),
	ALLOW(epoll_pwait2),
	ALLOW(eventfd),
	ALLOW(eventfd2),
	ALLOW(signalfd),
	ALLOW(signalfd4),
	ALLOW(timerfd_create),
	ALLOW(timerfd_settime),
	ALLOW(timerfd_gettime),
	ALLOW(inotify_init),
	ALLOW(inotify_init1),
	ALLOW(inotify_add_watch),
	ALLOW(inotify_rm_watch),
	ALLOW(memfd_create),
	ALLOW(memfd_secret),
	ALLOW(io_setup),
	ALLOW(io_destroy),
	ALLOW(io_submit),
	ALLOW(io_cancel),
	ALLOW(io_getevents),
	ALLOW(io_pgetevents),
	ALLOW_NR("cachestat", NR_CACHESTAT),
	REFUSE(vmsplice, EPERM),
	REFUSE(io_uring_setup, ENOSYS), /* a second way to every call that is notified */
	REFUSE(io_uring_enter, ENOSYS),
	REFUSE(io_uring_register, ENOSYS),

	/* Looking */
	ALLOW(stat),
	ALLOW(fstat),
	ALLOW(lstat),
	ALLOW(newfstatat),
	ALLOW(statx),
	ALLOW(statfs),
	ALLOW(fstatfs),
	ALLOW(access),
	ALLOW(faccessat),
	ALLOW(faccessat2),
	ALLOW(readlink),
	ALLOW(readlinkat),
	ALLOW(getdents),
	ALLOW(getdents64),
	ALLOW(getcwd),
	ALLOW(chdir),
	ALLOW(fchdir),
	ALLOW(getxattr),
	ALLOW(lgetxattr),
	ALLOW(fgetxattr),
	ALLOW(listxattr),
	ALLOW(llistxattr),
	ALLOW(flistxattr),
	ALLOW_NR("getxattrat", NR_GETXATTRAT),
	ALLOW_NR("listxattrat", NR_LISTXATTRAT),
	ALLOW_NR("file_getattr", NR_FILE_GETATTR),
	ALLOW_NR("statmount", NR_STATMOUNT),
	ALLOW_NR("listmount", NR_LISTMOUNT),
	ALLOW_NR("lsm_list_modules", NR_LSM_LIST_MODULES),

	/* Memory */
	ALLOW(mmap),
	ALLOW(munmap),
	ALLOW(mremap),
	ALLOW(mprotect),
	ALLOW(pkey_mprotect),
	ALLOW(pkey_alloc),
	ALLOW(pkey_free),
	ALLOW(brk),
	ALLOW(madvise),
	ALLOW(process_madvise),
	ALLOW(process_mrelease),
	ALLOW(mincore),
	ALLOW(msync),
	ALLOW(mlock),
	ALLOW(mlock2),
	ALLOW(munlock),
	ALLOW(mlockall),
	ALLOW(munlockall),
	ALLOW(remap_file_pages),
	ALLOW(mbind),
	ALLOW(set_mempolicy),
	ALLOW(get_mempolicy),
	ALLOW(set_mempolicy_home_node),
	ALLOW(migrate_pages),
	ALLOW(move_pages),
	ALLOW(membarrier),
	ALLOW_NR("map_shadow_stack", NR_MAP_SHADOW_STACK),
	ALLOW_NR("mseal", NR_MSEAL),

	/* Processes and threads */
	ALLOW(fork),
	ALLOW(vfork),
	ALLOW(exit),
	ALLOW(exit_group),
	ALLOW(wait4),
	ALLOW(waitid),
	ALLOW(getpid),
	ALLOW(getppid),
	ALLOW(gettid),
	ALLOW(getpgid),
	ALLOW(setpgid),
	ALLOW(getpgrp),
	ALLOW(getsid),
	ALLOW(setsid),
	ALLOW(set_tid_address),
	ALLOW(set_robust_list),
	ALLOW(get_robust_list),
	ALLOW(rseq),
	ALLOW(futex),
	ALLOW(futex_waitv),
	ALLOW_NR("futex_wake", NR_FUTEX_WAKE),
	ALLOW_NR("futex_wait", NR_FUTEX_WAIT),
	ALLOW_NR("futex_requeue", NR_FUTEX_REQUEUE),
	ALLOW(arch_prctl),
	ALLOW(pidfd_open),
	ALLOW(pidfd_send_signal),
	ALLOW(pidfd_getfd), /* this and the next four: Landlock keeps them inside the session */
	ALLOW(ptrace),
	ALLOW(process_vm_readv),
	ALLOW(process_vm_writev),
	ALLOW(kcmp),
	ALLOW_NR("uretprobe", NR_URETPROBE), /* issued by the kernel's own trampoline */
	ALLOW(seccomp),                      /* a further filter can only take away */
	ALLOW(landlock_create_ruleset),
	ALLOW(landlock_add_rule),
	ALLOW(landlock_restrict_self),

	/* Scheduling and limits */
	ALLOW(sched_yield),
	ALLOW(sched_setaffinity),
	ALLOW(sched_getaffinity),
	ALLOW(sched_setparam),
	ALLOW(sched_getparam),
	ALLOW(sched_setscheduler),
	ALLOW(sched_getscheduler),
	ALLOW(sched_setattr),
	ALLOW(sched_getattr),
	ALLOW(sched_get_priority_max),
	ALLOW(sched_get_priority_min),
	ALLOW(sched_rr_get_interval),
	ALLOW(getpriority),
	ALLOW(setpriority),
	ALLOW(ioprio_get),
	ALLOW(ioprio_set),
	ALLOW(getrlimit),
	ALLOW(setrlimit),
	ALLOW(prlimit64),
	ALLOW(getrusage),
	ALLOW(getcpu),
	ALLOW(times),
	ALLOW(sysinfo),
	ALLOW(uname),
	ALLOW(getrandom),

	/* Signals: Landlock's scope and the pid namespace keep them inside */
	ALLOW(kill),
	ALLOW(tkill),
	ALLOW(tgkill),
	ALLOW(rt_sigaction),
	ALLOW(rt_sigprocmask),
	ALLOW(rt_sigpending),
	ALLOW(rt_sigtimedwait),
	ALLOW(rt_sigqueueinfo),
	ALLOW(rt_tgsigqueueinfo),
	ALLOW(rt_sigsuspend),
	ALLOW(rt_sigreturn),
	ALLOW(restart_syscall),
	ALLOW(sigaltstack),
	ALLOW(pause),
	ALLOW(alarm),

	/* Time */
	ALLOW(time),
	ALLOW(gettimeofday),
	ALLOW(clock_gettime),
	ALLOW(clock_getres),
	ALLOW(clock_nanosleep),
	ALLOW(nanosleep),
	ALLOW(getitimer),
	ALLOW(setitimer),
	ALLOW(timer_create),
	ALLOW(timer_settime),
	ALLOW(timer_gettime),
	ALLOW(timer_getoverrun),
	ALLOW(timer_delete),
	ALLOW(adjtimex), /* reading; setting needs a capability */
	ALLOW(clock_adjtime),
	REFUSE(settimeofday, EPERM),
	REFUSE(clock_settime, EPERM),

	/* Identity: without capabilities these can only give up or confirm */
	ALLOW(getuid),
	ALLOW(geteuid),
	ALLOW(getgid),
	ALLOW(getegid),
	ALLOW(getresuid),
	ALLOW(getresgid),
	ALLOW(getgroups),
	ALLOW(setuid),
	ALLOW(setgid),
	ALLOW(setreuid),
	ALLOW(setregid),
	ALLOW(setresuid),
	ALLOW(setresgid),
	ALLOW(setfsuid),
	ALLOW(setfsgid),
	ALLOW(setgroups),
	ALLOW(capget),
	ALLOW(capset),
	ALLOW(umask),

	/* System V and POSIX message queues: in a namespace of the session's own, else refused */
	IPC(shmget),
	IPC(shmat),
	IPC(shmctl),
	IPC(shmdt),
	IPC(semget),
	IPC(semop),
	IPC(semtimedop),
	IPC(semctl),
	IPC(msgget),
	IPC(msgsnd),
	IPC(msgrcv),
	IPC(msgctl),
	IPC(mq_open),
	IPC(mq_unlink),
	IPC(mq_timedsend),
	IPC(mq_timedreceive),
	IPC(mq_notify),
	IPC(mq_getsetattr),

	/* Mounts and roots */
	REFUSE(mount, EPERM),
	REFUSE(umount2, EPERM),
	REFUSE(pivot_root, EPERM),
	REFUSE(chroot, EPERM),
	REFUSE(open_tree, EPERM),
	REFUSE(move_mount, EPERM),
	REFUSE(fsopen, EPERM),
	REFUSE(fsconfig, EPERM),
	REFUSE(fsmount, EPERM),
	REFUSE(fspick, EPERM),
	REFUSE(mount_setattr, EPERM),
	REFUSE_NR("open_tree_attr", NR_OPEN_TREE_ATTR, EPERM),
	REFUSE(setns, EPERM),
	REFUSE(open_by_handle_at, EPERM),
	REFUSE(name_to_handle_at, EPERM),

	/* Privileges, and large doors into the kernel */
	REFUSE(bpf, EPERM),
	REFUSE(perf_event_open, EPERM),
	REFUSE(userfaultfd, EPERM),
	REFUSE(keyctl, EPERM),
	REFUSE(add_key, EPERM),
	REFUSE(request_key, EPERM),
	REFUSE(init_module, EPERM),
	REFUSE(finit_module, EPERM),
	REFUSE(delete_module, EPERM),
	REFUSE(kexec_load, EPERM),
	REFUSE(kexec_file_load, EPERM),
	REFUSE(reboot, EPERM),
	REFUSE(swapon, EPERM),
	REFUSE(swapoff, EPERM),
	REFUSE(acct, EPERM),
	REFUSE(quotactl, EPERM),
	REFUSE(quotactl_fd, EPERM),
	REFUSE(syslog, EPERM),
	REFUSE(vhangup, EPERM),
	REFUSE(ioperm, EPERM),
	REFUSE(iopl, EPERM),
	REFUSE(modify_ldt, EPERM),
	REFUSE(sethostname, EPERM),
	REFUSE(setdomainname, EPERM),
	REFUSE(lookup_dcookie, EPERM),
	REFUSE(fanotify_init, EPERM),
	REFUSE(fanotify_mark, EPERM),
};

const size_t syscall_table_size = sizeof(syscall_table) / sizeof(syscall_table[0]);
