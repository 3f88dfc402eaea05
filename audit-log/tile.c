/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "audit-log/tile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "supervisord/base/error.h"
#include "supervisord/base/file.h"

/* Tiles are made from the records and can always be made again; they let a start and a proof do
 * without reading every record. */

void audit_tile_path(unsigned level, uint64_t number, char out[AUDIT_TILE_PATH_MAX])
{
	unsigned group[8], n = 0;
	size_t at;

	do {
		group[n++] = (unsigned)(number % 1000);
		number /= 1000;
	} while (number && n < ARRAY_LEN(group));
	at = (size_t)snprintf(out, AUDIT_TILE_PATH_MAX, "tile/%u/", level);
	while (n-- > 0)
		at += (size_t)snprintf(
			out + at, AUDIT_TILE_PATH_MAX - at, n ? "x%03u/" : "%03u", group[n]);
}

void audit_tiles_init(struct audit_tiles *tiles)
{
	memset(tiles, 0, sizeof(*tiles));
}

int audit_tiles_add(struct audit_tiles *tiles, unsigned level, const struct audit_tree_step *step,
	audit_tile_fn fn, void *userdata)
{
	for (unsigned i = 0; i < step->n && level + i < AUDIT_TILE_LEVELS; i++) {
		struct audit_tile *tile = &tiles->level[level + i];
		int r;

		memcpy(tile->hash[tile->n_hashes++], step->hash[i], AUDIT_HASH_SIZE);
		if (tile->n_hashes < AUDIT_TILE_WIDTH)
			continue;
		tile->n_hashes = 0;
		tile->number++;
		if (!fn)
			continue;
		r = fn(userdata, level + i, tile->number - 1, tile->hash[0]);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Makes the folders of PATH (0700) below DIR_FD and syncs the parent of each that is new. */
static int make_parents(int dir_fd, const char *path)
{
	char part[AUDIT_TILE_PATH_MAX];
	_cleanup_(closep) int parent_fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (parent_fd < 0)
		return -errno;
	for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		size_t size = (size_t)(slash - path);
		int fd;

		memcpy(part, path, size);
		part[size] = '\0';
		if (mkdirat(dir_fd, part, 0700) == 0) {
			if (fsync(parent_fd) < 0)
				return -errno;
		} else if (errno != EEXIST) {
			return -errno;
		}
		fd = openat(dir_fd, part, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		if (fd < 0)
			return -errno;
		close_fd(parent_fd);
		parent_fd = fd;
	}
	return 0;
}

int audit_tile_write(
	int dir_fd, unsigned level, uint64_t number, const uint8_t hash[AUDIT_TILE_BYTES])
{
	char path[AUDIT_TILE_PATH_MAX], *name;
	_cleanup_(closep) int fd = -1;
	int r;

	audit_tile_path(level, number, path);
	r = make_parents(dir_fd, path);
	if (r < 0)
		return err_trace(r);
	name = strrchr(path, '/');
	*name++ = '\0';
	fd = openat(dir_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return err_trace(-errno);
	return err_trace(file_replace(fd, name, hash, AUDIT_TILE_BYTES, 0600));
}

int audit_tile_read(int dir_fd, unsigned level, uint64_t number, uint8_t hash[AUDIT_TILE_BYTES])
{
	char path[AUDIT_TILE_PATH_MAX];
	_cleanup_(closep) int fd = -1;
	struct stat st;
	size_t at = 0;

	audit_tile_path(level, number, path);
	fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size != AUDIT_TILE_BYTES)
		return -EBADMSG;
	while (at < AUDIT_TILE_BYTES) {
		ssize_t n = read(fd, hash + at, AUDIT_TILE_BYTES - at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EBADMSG;
		at += (size_t)n;
	}
	return 0;
}
