/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "supervisord/broker/spool.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "supervisord/base/buf.h"
#include "supervisord/base/error.h"
#include "supervisord/base/file.h"
#include "supervisord/base/log.h"

#define CHUNK 65536

struct spool {
	char *dir;
	char name[64];
	int dir_fd, fd; /* -1 until the first record */
	uint64_t size;  /* bytes of whole lines */
	uint64_t header_size;
	char header[256];
	bool has_records;
};

int spool_new(const char *dir, const char *session, uint64_t index, pid_t broker_pid,
	uint64_t broker_start, struct spool **spoolp)
{
	_cleanup_(spool_freep) struct spool *spool = NULL;
	int n;

	if (!*session || strchr(session, '/') || session[0] == '.')
		return err_trace(-EINVAL);
	spool = calloc(1, sizeof(*spool));
	if (!spool)
		return err_trace(-ENOMEM);
	spool->dir_fd = spool->fd = -1;
	spool->dir = strdup(dir);
	if (!spool->dir)
		return err_trace(-ENOMEM);
	n = snprintf(spool->name, sizeof(spool->name), "%s.jsonl", session);
	if (n < 0 || (size_t)n >= sizeof(spool->name))
		return err_trace(-EINVAL);
	n = snprintf(spool->header, sizeof(spool->header),
		"{\"broker_pid\":%d,\"broker_start\":%llu,\"index\":%llu,\"session\":\"%s\","
		"\"spool\":1}\n",
		(int)broker_pid, (unsigned long long)broker_start, (unsigned long long)index,
		session);
	if (n < 0 || (size_t)n >= sizeof(spool->header))
		return err_trace(-EINVAL);
	*spoolp = TAKE_PTR(spool);
	return 0;
}

void spool_free(struct spool *spool)
{
	close_fd(spool->fd);
	close_fd(spool->dir_fd);
	free(spool->dir);
	free(spool);
}

static int spool_open(struct spool *spool)
{
	_cleanup_(closep) int fd = -1;
	int r;

	if (spool->fd >= 0)
		return 0;
	if (spool->dir_fd < 0) {
		r = dir_open_private(spool->dir, &spool->dir_fd);
		if (r < 0)
			return err_trace(r);
	}
	/* Only this process writes it: a file of that name is what is left of a failed start. */
	fd = openat(spool->dir_fd, spool->name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
		0600);
	if (fd < 0)
		return err_trace(err_errno());
	r = fd_write_all(fd, spool->header, strlen(spool->header));
	/* The name itself has to survive, too. */
	if (r == 0 && fsync(spool->dir_fd) < 0)
		r = err_errno();
	if (r < 0) {
		(void)unlinkat(spool->dir_fd, spool->name, 0);
		return err_trace(r);
	}
	spool->size = spool->header_size = strlen(spool->header);
	spool->has_records = false;
	spool->fd = TAKE_FD(fd);
	return 0;
}

int spool_append(struct spool *spool, const char *line, size_t size)
{
	_cleanup_(buf_deinit) struct buf buf;
	int r;

	buf_init(&buf, SPOOL_BYTES_MAX);
	r = spool_open(spool);
	if (r < 0)
		return r;
	if (spool->size + size + 1 > SPOOL_BYTES_MAX)
		return err_trace(-ENOSPC);
	(void)buf_append(&buf, line, size);
	(void)buf_putc(&buf, '\n');
	if (buf.error)
		return err_trace(buf.error);
	r = lseek(spool->fd, (off_t)spool->size, SEEK_SET) < 0 ? err_errno() : 0;
	if (r == 0)
		r = fd_write_all(spool->fd, buf.data, buf.size);
	if (r < 0) {
		/* A part of a line must not become the beginning of the next one. */
		if (ftruncate(spool->fd, (off_t)spool->size) < 0)
			log_error("cannot cut the spool file back");
		return err_trace(r);
	}
	spool->size += buf.size;
	spool->has_records = true;
	return 0;
}

int spool_sync(struct spool *spool)
{
	if (spool->fd < 0)
		return 0;
	return fdatasync(spool->fd) < 0 ? err_trace(err_errno()) : 0;
}

bool spool_is_empty(const struct spool *spool)
{
	return !spool->has_records;
}

/* One line from OFFSET on into BUF, without its newline. 1, 0 at the end, -errno. */
static int read_line(struct spool *spool, uint64_t offset, struct buf *buf)
{
	char chunk[CHUNK / 16];

	while (offset + buf->size < spool->size) {
		ssize_t n = pread(spool->fd, chunk, sizeof(chunk), (off_t)(offset + buf->size));
		const char *end;
		int r;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_trace(err_errno());
		if (n == 0)
			break;
		end = memchr(chunk, '\n', (size_t)n);
		r = buf_append(buf, chunk, end ? (size_t)(end - chunk) : (size_t)n);
		if (r < 0)
			return err_trace(r);
		if (end)
			return 1;
	}
	return 0;
}

int spool_read(struct spool *spool, uint64_t *offsetp, spool_fn fn, void *userdata)
{
	if (spool->fd < 0)
		return 0;
	if (*offsetp == 0)
		*offsetp = spool->header_size;
	for (;;) {
		_cleanup_(buf_deinit) struct buf buf;
		int r;

		buf_init(&buf, SPOOL_BYTES_MAX);
		r = read_line(spool, *offsetp, &buf);
		if (r <= 0)
			return r;
		r = fn(userdata, buf.data ? buf.data : "", buf.size);
		if (r != 0)
			return r;
		*offsetp += buf.size + 1;
	}
}

bool spool_is_end(const struct spool *spool, uint64_t offset)
{
	return !spool->has_records || offset >= spool->size;
}

int spool_remove(struct spool *spool)
{
	if (spool->fd < 0)
		return 0;
	if (unlinkat(spool->dir_fd, spool->name, 0) < 0 && errno != ENOENT)
		return err_trace(err_errno());
	spool->fd = close_fd(spool->fd);
	spool->has_records = false;
	return 0;
}
