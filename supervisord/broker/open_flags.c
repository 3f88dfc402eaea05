/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */

/* The arguments of open, openat, openat2 and creat: copied once, checked as the kernel checks them.
 */

#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>

#include "supervisord/base/error.h"
#include "supervisord/broker/open.h"
#include "supervisord/broker/target.h"

/* As the kernel numbers them; libc hides some. */
#define TMPFILE_BIT 020000000u
#define LARGEFILE_BIT 0100000u

#define FLAGS_KNOWN                                                                                \
	(O_RDONLY | O_WRONLY | O_RDWR | O_CREAT | O_EXCL | O_NOCTTY | O_TRUNC | O_APPEND |         \
		O_NONBLOCK | O_SYNC | O_DSYNC | O_ASYNC | O_DIRECT | LARGEFILE_BIT | O_DIRECTORY | \
		O_NOFOLLOW | O_NOATIME | O_CLOEXEC | O_PATH | TMPFILE_BIT)
#define FLAGS_OF_PATH (O_DIRECTORY | O_NOFOLLOW | O_PATH | O_CLOEXEC)
#define RESOLVE_KNOWN                                                                              \
	(RESOLVE_NO_XDEV | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH |         \
		RESOLVE_IN_ROOT | RESOLVE_CACHED)
#define HOW_MAX 4096 /* PAGE_SIZE: what the kernel takes at most */
#define HOW_MIN 24   /* OPEN_HOW_SIZE_VER0 */

static bool will_create(uint64_t flags)
{
	return flags & (O_CREAT | TMPFILE_BIT);
}

/* open(2) and its kin: what is unknown is dropped. */
static void call_from_registers(struct open_call *call, uint64_t flags, uint64_t mode)
{
	call->flags = (uint32_t)flags & FLAGS_KNOWN;
	call->mode = (mode_t)mode & 07777;
	if (call->flags & O_PATH)
		call->flags &= FLAGS_OF_PATH;
	if (!will_create(call->flags))
		call->mode = 0;
	call->resolve = 0;
}

static int call_from_how(
	struct notification *n, uint64_t addr, uint64_t size, struct open_call *call)
{
	unsigned char bytes[HOW_MAX];
	struct open_how how;
	size_t i;
	int r;

	if (size < HOW_MIN)
		return -EINVAL;
	if (size > sizeof(bytes))
		return -E2BIG;
	r = target_read(n, addr, bytes, size);
	if (r < 0)
		return r;
	for (i = sizeof(how); i < size; i++)
		if (bytes[i] != 0)
			return -E2BIG;
	memcpy(&how, bytes, sizeof(how));
	if (how.flags & ~(uint64_t)FLAGS_KNOWN || how.resolve & ~(uint64_t)RESOLVE_KNOWN)
		return -EINVAL;
	if ((how.resolve & RESOLVE_BENEATH) && (how.resolve & RESOLVE_IN_ROOT))
		return -EINVAL;
	if (will_create(how.flags) ? how.mode & ~07777ull : how.mode != 0)
		return -EINVAL;
	if (how.flags & O_PATH && how.flags & ~(uint64_t)FLAGS_OF_PATH)
		return -EINVAL;
	call->flags = how.flags;
	call->mode = (mode_t)how.mode;
	call->resolve = how.resolve;
	return 0;
}

/* What every one of the four calls refuses. */
static int call_check(struct open_call *call)
{
	uint64_t flags = call->flags;

	if ((flags & (O_DIRECTORY | O_CREAT)) == (O_DIRECTORY | O_CREAT))
		return -EINVAL;
	if (flags & TMPFILE_BIT) {
		if (!(flags & O_DIRECTORY) || (flags & O_ACCMODE) == O_RDONLY)
			return -EINVAL;
	}
	if (call->resolve & RESOLVE_CACHED)
		return -EAGAIN; /* we never answer from the cache alone: the caller tries without */
	call->nofollow = flags & O_NOFOLLOW || (flags & O_CREAT && flags & O_EXCL);
	return 0;
}

int open_call_read(struct notification *n, struct open_call *call)
{
	uint64_t path = n->args[1];
	ssize_t size;
	int r = 0;

	call->dir_fd = (int)n->args[0];
	switch (n->nr) {
	case SYS_open:
		call->dir_fd = AT_FDCWD;
		path = n->args[0];
		call_from_registers(call, n->args[1], n->args[2]);
		break;
	case SYS_creat:
		call->dir_fd = AT_FDCWD;
		path = n->args[0];
		call_from_registers(call, O_CREAT | O_WRONLY | O_TRUNC, n->args[1]);
		break;
	case SYS_openat:
		call_from_registers(call, n->args[2], n->args[3]);
		break;
	default:
		r = call_from_how(n, n->args[2], n->args[3], call);
		break;
	}
	if (r == 0)
		r = call_check(call);
	if (r < 0 || call->flags & O_PATH)
		return r;
	size = target_read_string(n, path, call->path, sizeof(call->path));
	return size < 0 ? (int)size : 0;
}

bool open_reads(const struct open_call *call)
{
	return (call->flags & O_ACCMODE) != O_WRONLY;
}

bool open_writes(const struct open_call *call)
{
	return (call->flags & O_ACCMODE) != O_RDONLY || call->flags & O_TRUNC;
}
