/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "audit-log/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "audit-log/anchor.h"
#include "audit-log/reader.h"
#include "supervisord/base/error.h"
#include "supervisord/base/file.h"
#include "supervisord/base/log.h"

/* Group commit. The order on disk is: records (synced), full tiles, "checkpoint" (replaced as a
 * whole), then "checkpoints". Every step can be done again with the same bytes at the same place,
 * so a commit that failed half-way is simply repeated. */

static int pwrite_all(int fd, const char *data, size_t size, uint64_t offset)
{
	while (size > 0) {
		ssize_t n = pwrite(fd, data, size, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return -EIO;
		data += n;
		size -= (size_t)n;
		offset += (uint64_t)n;
	}
	return 0;
}

/* A new segment; what an earlier attempt left in it is dropped. */
static int open_segment(struct audit_log *log, uint64_t first, int *fdp)
{
	char name[AUDIT_SEGMENT_NAME_MAX];
	_cleanup_(closep) int fd = -1;

	audit_segment_name(first, name);
	fd = openat(log->seg_dir_fd, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 || fchmod(fd, 0600) < 0 || ftruncate(fd, 0) < 0 || fsync(log->seg_dir_fd) < 0)
		return -errno;
	*fdp = TAKE_FD(fd);
	return 0;
}

/* Where the writing of a batch stands. */
struct position {
	int fd; /* owned when it is not log->segment_fd */
	uint64_t segment, bytes;
};

static void position_drop(const struct audit_log *log, struct position *at)
{
	if (at->fd != log->segment_fd)
		close_fd(at->fd);
	at->fd = log->segment_fd;
}

/* Writes and syncs all pending lines. */
static int write_lines(struct audit_log *log, struct position *at)
{
	uint64_t index = log->tree.size;
	size_t i = 0, from = 0;
	int r;

	while (i < log->n_pending) {
		uint64_t room = at->segment + AUDIT_SEGMENT_RECORDS - index;
		size_t n = log->n_pending - i, size;

		if (at->fd < 0 || room == 0) {
			int fd = -1;

			r = open_segment(log, index, &fd);
			if (r < 0)
				return r;
			position_drop(log, at);
			*at = (struct position){.fd = fd, .segment = index, .bytes = 0};
			room = AUDIT_SEGMENT_RECORDS;
		}
		if (n > room)
			n = (size_t)room;
		size = log->pending[i + n - 1].end - from;
		r = pwrite_all(at->fd, log->lines.data + from, size, at->bytes);
		if (r == 0 && fdatasync(at->fd) < 0)
			r = -errno;
		if (r < 0)
			return r;
		at->bytes += size;
		from += size;
		i += n;
		index += n;
	}
	return 0;
}

int audit_log_write_tile(
	void *userdata, unsigned level, uint64_t number, const uint8_t hash[AUDIT_TILE_BYTES])
{
	const struct audit_log *log = userdata;

	return audit_tile_write(log->dir_fd, level, number, hash);
}

static void sign(struct buf *buf, const struct audit_key *key, size_t text_size)
{
	uint8_t signature[AUDIT_SIG_SIZE];

	if (!key || buf->error)
		return;
	audit_key_sign(key, buf->data, text_size, signature);
	audit_note_add_signature(buf, audit_key_public(key), signature, sizeof(signature));
}

/* The signed checkpoint of TREE becomes log->note and the file "checkpoint". */
static int write_checkpoint(struct audit_log *log, const struct audit_tree *tree)
{
	uint8_t root[AUDIT_HASH_SIZE];
	size_t text_size, size;
	struct buf buf;
	char *note;
	int r;

	audit_tree_root(tree, root);
	buf_init(&buf, AUDIT_NOTE_MAX);
	audit_checkpoint_format(&buf, log->origin.identity.name, tree->size, root);
	text_size = buf.size;
	buf_putc(&buf, '\n');
	sign(&buf, log->identity, text_size);
	sign(&buf, log->epoch_key, text_size);
	sign(&buf, log->next_key, text_size);
	size = buf.size;
	note = buf_take(&buf);
	if (!note)
		return -ENOMEM;
	r = file_replace(log->dir_fd, AUDIT_CHECKPOINT_FILE, note, size, 0600);
	if (r < 0) {
		free(note);
		return r;
	}
	free(log->note);
	log->note = note;
	log->note_size = size;
	log->history_due = true;
	return 0;
}

/* The hashes of the tile being filled: a hint, so neither synced nor of consequence when it fails.
 */
static void write_tail(const struct audit_log *log)
{
	const struct audit_tile *tile = &log->tiles->level[0];
	_cleanup_(closep) int fd = openat(
		log->dir_fd, AUDIT_TAIL_FILE, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	size_t size = tile->n_hashes * (size_t)AUDIT_HASH_SIZE;

	if (fd < 0 || pwrite_all(fd, (const char *)tile->hash[0], size, 0) < 0 ||
		ftruncate(fd, (off_t)size) < 0)
		log_debug("cannot write the hint file \"%s\"", AUDIT_TAIL_FILE);
}

/* Everything is durable: the state follows. */
static void advance(struct audit_log *log, const struct audit_tree *tree, const struct position *at)
{
	struct audit_tiles *tiles = log->tiles;

	if (at->fd != log->segment_fd)
		close_fd(log->segment_fd);
	log->segment_fd = at->fd;
	log->segment = at->segment;
	log->segment_bytes = at->bytes;
	log->tree = *tree;
	log->tiles = log->scratch;
	log->scratch = tiles;
	log->unsigned_records = false;
	log->n_pending = 0;
	log->lines.size = 0;
}

static int write_records(struct audit_log *log)
{
	struct position at = {
		.fd = log->segment_fd, .segment = log->segment, .bytes = log->segment_bytes};
	struct audit_tree tree = log->tree;
	int r;

	*log->scratch = *log->tiles;
	r = write_lines(log, &at);
	for (size_t i = 0; r == 0 && i < log->n_pending; i++) {
		struct audit_tree_step step;

		audit_tree_append(&tree, log->pending[i].leaf, &step);
		r = audit_tiles_add(log->scratch, 0, &step, audit_log_write_tile, log);
	}
	if (r == 0)
		r = write_checkpoint(log, &tree);
	if (r < 0) {
		position_drop(log, &at);
		/* Room for others, and no half a line for a reader; the next attempt writes here.
		 */
		if (log->segment_fd >= 0 &&
			ftruncate(log->segment_fd, (off_t)log->segment_bytes) < 0)
			log_debug("cannot cut the segment back");
		return r;
	}
	advance(log, &tree, &at);
	write_tail(log);
	return 0;
}

int audit_log_open_history(struct audit_log *log)
{
	log->history_fd = openat(log->dir_fd, AUDIT_HISTORY_FILE,
		O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	if (log->history_fd < 0)
		return err_trace(-errno);
	if (fsync(log->dir_fd) < 0)
		return err_trace(-errno);
	return 0;
}

/* Appends log->note to "checkpoints". */
static int write_history(struct audit_log *log)
{
	const uint8_t *root;
	struct audit_checkpoint checkpoint;
	struct audit_note note;
	int r;

	r = pwrite_all(log->history_fd, log->note, log->note_size, log->history_bytes);
	if (r == 0 && fdatasync(log->history_fd) < 0)
		r = -errno;
	if (r < 0) {
		if (ftruncate(log->history_fd, (off_t)log->history_bytes) < 0)
			log_debug("cannot cut \"%s\" back", AUDIT_HISTORY_FILE);
		return r;
	}
	log->history_bytes += log->note_size;
	log->history_due = false;
	log->history_boottime = log->boottime();
	if (audit_note_parse(log->note, log->note_size, &note) == 0 &&
		audit_checkpoint_parse(note.text, note.text_size, &checkpoint) == 0) {
		root = checkpoint.root;
		audit_anchor_journal(log->origin.identity.name, checkpoint.size, root);
	}
	return 0;
}

/* The new epoch's key is announced and signed for by the old one: the old one ends here. */
static int finish_epoch(struct audit_log *log)
{
	char file[AUDIT_KEY_FILE_MAX];
	int r;

	if (log->epoch_key) {
		audit_key_epoch_file(log->epoch - 1, file);
		r = audit_key_erase(log->keys_fd, file);
		if (r < 0)
			return r;
		audit_key_free(log->epoch_key);
	}
	log->epoch_key = TAKE_PTR(log->next_key);
	return 0;
}

int audit_log_commit_once(struct audit_log *log, bool force)
{
	int r;

	if (log->n_pending > 0 || log->unsigned_records) {
		r = write_records(log);
		if (r < 0)
			return err_trace(r);
	}
	if (log->history_due &&
		(force || log->next_key ||
			log->boottime() - log->history_boottime >= AUDIT_HISTORY_USEC)) {
		r = write_history(log);
		if (r < 0)
			return err_trace(r);
	}
	if (log->next_key && !log->history_due) {
		r = finish_epoch(log);
		if (r < 0)
			return err_trace(r);
	}
	return 0;
}
