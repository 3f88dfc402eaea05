/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */

#include "supervisord/base/file.h"

#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "supervisord/base/error.h"

#define FILE_READ_CHUNK 16384

int file_read_fd(int fd, size_t max, char **datap, size_t *sizep)
{
	_cleanup_(freep) char *data = NULL;
	size_t size = 0, alloc = 0, want;
	bool by_offset = true;
	char *grown;
	ssize_t n;

	for (;;) {
		if (alloc - size < 2) {
			if (__builtin_add_overflow(alloc,
				    alloc < FILE_READ_CHUNK ? FILE_READ_CHUNK : alloc, &alloc))
				return err_trace(-EFBIG);
			grown = realloc(data, alloc);
			if (!grown)
				return err_trace(-ENOMEM);
			data = grown;
		}
		want = alloc - size - 1;
		n = by_offset ? pread(fd, data + size, want, (off_t)size)
			      : read(fd, data + size, want);
		if (n < 0 && errno == ESPIPE && by_offset) {
			by_offset = false;
			continue;
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_errno();
		if (n == 0)
			break;
		size += (size_t)n;
		if (size > max)
			return -EFBIG;
	}
	data[size] = '\0';
	if (sizep)
		*sizep = size;
	*datap = TAKE_PTR(data);
	return 0;
}

int file_read(int dir_fd, const char *path, size_t max, char **datap, size_t *sizep)
{
	_cleanup_(closep) int fd = -1;
	struct stat st;

	/* Non-blocking: a FIFO in the place of the file must not hold us. */
	fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return err_errno();
	if (fstat(fd, &st) < 0)
		return err_errno();
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	return file_read_fd(fd, max, datap, sizep);
}

int fd_write_all(int fd, const void *data, size_t size)
{
	const char *next = data;
	ssize_t n;

	while (size) {
		n = write(fd, next, size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_errno();
		if (n == 0)
			return err_trace(-EIO);
		next += n;
		size -= (size_t)n;
	}
	return 0;
}

/* Creates a temporary file beside NAME that did not exist before. */
static int file_open_temporary(int dir_fd, const char *name, char *temporary, size_t size, int *fdp)
{
	unsigned attempt;
	uint64_t random;
	int fd, n;

	for (attempt = 0; attempt < 16; attempt++) {
		if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
			return err_errno();
		n = snprintf(temporary, size, ".%s.%016llx.tmp", name, (unsigned long long)random);
		if (n < 0 || (size_t)n >= size)
			return -ENAMETOOLONG;
		fd = openat(dir_fd, temporary,
			O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, 0600);
		if (fd >= 0) {
			*fdp = fd;
			return 0;
		}
		if (errno != EEXIST)
			return err_errno();
	}
	return err_trace(-EEXIST);
}

int file_replace(int dir_fd, const char *name, const void *data, size_t size, mode_t mode)
{
	_cleanup_(closep) int fd = -1;
	char temporary[NAME_MAX + 1];
	int r;

	if (!*name || strchr(name, '/'))
		return err_trace(-EINVAL);
	r = file_open_temporary(dir_fd, name, temporary, sizeof(temporary), &fd);
	if (r < 0)
		return err_trace(r);
	r = fd_write_all(fd, data, size);
	/* The umask has no say in a mode that the caller states. */
	if (r == 0 && fchmod(fd, mode) < 0)
		r = err_errno();
	if (r == 0 && fdatasync(fd) < 0)
		r = err_errno();
	if (r == 0 && renameat(dir_fd, temporary, dir_fd, name) < 0)
		r = err_errno();
	if (r < 0) {
		(void)unlinkat(dir_fd, temporary, 0);
		return err_trace(r);
	}
	if (fsync(dir_fd) < 0)
		return err_trace(err_errno());
	return 0;
}

/* Opens the folder NAME in DIR_FD, made when it is absent. */
static int dir_step(int dir_fd, const char *name, int flags, int *fdp)
{
	int fd;

	fd = openat(dir_fd, name, O_DIRECTORY | O_CLOEXEC | flags);
	if (fd < 0 && errno == ENOENT) {
		if (mkdirat(dir_fd, name, 0700) < 0 && errno != EEXIST)
			return err_errno();
		fd = openat(dir_fd, name, O_DIRECTORY | O_CLOEXEC | flags);
	}
	if (fd < 0)
		return err_errno();
	*fdp = fd;
	return 0;
}

int dir_open_private(const char *path, int *fdp)
{
	_cleanup_(closep) int fd = -1;
	_cleanup_(freep) char *copy = NULL;
	char *part, *rest, *next;
	struct stat st;
	int step = -1, r;

	copy = strdup(path);
	if (!copy)
		return err_trace(-ENOMEM);
	fd = open(path[0] == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return err_trace(err_errno());
	part = strtok_r(copy, "/", &rest);
	if (!part)
		return err_trace(-EINVAL);
	for (; part; part = next) {
		next = strtok_r(NULL, "/", &rest);
		/* Parents may be links that the person made; the folder itself may not. */
		r = dir_step(fd, part, next ? O_PATH : O_RDONLY | O_NOFOLLOW, &step);
		if (r < 0)
			return r;
		close(fd);
		fd = step;
	}
	if (fstat(fd, &st) < 0)
		return err_trace(err_errno());
	if (st.st_uid != geteuid() || (st.st_mode & 077))
		return err_trace(-EPERM);
	*fdp = TAKE_FD(fd);
	return 0;
}

int fd_set_cloexec(int fd, bool on)
{
	int flags;

	flags = fcntl(fd, F_GETFD);
	if (flags < 0)
		return err_errno();
	flags = on ? flags | FD_CLOEXEC : flags & ~FD_CLOEXEC;
	if (fcntl(fd, F_SETFD, flags) < 0)
		return err_errno();
	return 0;
}
