/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_BASE_FILE_H
#define SUPERVISORD_BASE_FILE_H

/* Files and folders of the supervisor itself: read with a cap, replaced atomically, private. */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "supervisord/base/cleanup.h"

/* Reads PATH (relative to DIR_FD, or AT_FDCWD) whole. *DATAP is owned by the caller and followed by
 * a NUL that is not counted. Only regular files. 0; -EFBIG (more than MAX bytes); -EISDIR, -EINVAL
 * (not a regular file); -errno. */
int file_read(int dir_fd, const char *path, size_t max, char **datap, size_t *sizep) _must_use_;
/* The same from an open descriptor (borrowed), from its start where it can be read by offset. */
int file_read_fd(int fd, size_t max, char **datap, size_t *sizep) _must_use_;

/* Writes all bytes, through short writes and EINTR. 0 or -errno (-ENOSPC, -EIO ...). */
int fd_write_all(int fd, const void *data, size_t size) _must_use_;

/* Replaces NAME in the folder DIR_FD: temporary file, fdatasync, rename, fsync of the folder. After
 * 0 the new content is durable; after an error the old file is as it was. */
int file_replace(
	int dir_fd, const char *name, const void *data, size_t size, mode_t mode) _must_use_;

/* Makes PATH with its parents (0700) and opens it O_PATH-free for *at calls. The last folder must
 * be ours and closed to others: -EPERM when it belongs to someone else or its mode has bits in 077.
 * *FDP is owned by the caller. */
int dir_open_private(const char *path, int *fdp) _must_use_;

/* Sets or clears close-on-exec. 0 or -errno. */
int fd_set_cloexec(int fd, bool on) _must_use_;

#endif
