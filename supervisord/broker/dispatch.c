/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */

/* Which handler answers which system call. tests/unit/broker/test_dispatch.c checks that every call
 * that the filter notifies has one. */

#include <sys/syscall.h>

#include "supervisord/broker/notification.h"

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452 /* Linux 6.6, all architectures */
#endif

static const struct {
	int nr;
	notification_fn handler;
} dispatch_table[] = {
	{SYS_open, handle_open},
	{SYS_openat, handle_open},
	{SYS_openat2, handle_open},
	{SYS_creat, handle_open},
	{SYS_rename, handle_rename},
	{SYS_renameat, handle_rename},
	{SYS_renameat2, handle_rename},
	{SYS_link, handle_link},
	{SYS_linkat, handle_link},
	{SYS_symlink, handle_symlink},
	{SYS_symlinkat, handle_symlink},
	{SYS_unlink, handle_unlink},
	{SYS_unlinkat, handle_unlink},
	{SYS_rmdir, handle_unlink},
	{SYS_mkdir, handle_mkdir},
	{SYS_mkdirat, handle_mkdir},
	{SYS_mknod, handle_mknod},
	{SYS_mknodat, handle_mknod},
	{SYS_truncate, handle_truncate},
	{SYS_chmod, handle_chmod},
	{SYS_fchmod, handle_chmod},
	{SYS_fchmodat, handle_chmod},
	{SYS_fchmodat2, handle_chmod},
	{SYS_chown, handle_chown},
	{SYS_lchown, handle_chown},
	{SYS_fchown, handle_chown},
	{SYS_fchownat, handle_chown},
	{SYS_utime, handle_utimes},
	{SYS_utimes, handle_utimes},
	{SYS_futimesat, handle_utimes},
	{SYS_utimensat, handle_utimes},
	{SYS_setxattr, handle_xattr},
	{SYS_lsetxattr, handle_xattr},
	{SYS_fsetxattr, handle_xattr},
	{SYS_removexattr, handle_xattr},
	{SYS_lremovexattr, handle_xattr},
	{SYS_fremovexattr, handle_xattr},
	{SYS_execve, handle_exec},
	{SYS_execveat, handle_exec},
	{SYS_connect, handle_connect},
	{SYS_bind, handle_bind},
	{SYS_listen, handle_listen},
	{SYS_sendto, handle_send},
	{SYS_sendmsg, handle_send},
	{SYS_sendmmsg, handle_send},
};

notification_fn dispatch_handler(int nr)
{
	for (size_t i = 0; i < ARRAY_LEN(dispatch_table); i++) {
		if (dispatch_table[i].nr == nr)
			return dispatch_table[i].handler;
	}
	return NULL;
}
