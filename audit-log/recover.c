/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "audit-log/writer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "audit-log/reader.h"
#include "audit-log/record.h"
#include "supervisord/base/error.h"
#include "supervisord/base/file.h"
#include "supervisord/base/log.h"
#include "supervisord/base/parse.h"

/* The start of a log that exists. What the last checkpoint covers must be there bit by bit, else
 * the log was tampered with. What lies behind it was written and not acknowledged: complete records
 * are taken up, a torn rest is moved aside; both are recorded. */

#define RECOVERED_DIR "recovered"
#define HISTORY_TAIL (4 * AUDIT_NOTE_MAX)
/* A segment is one full tile of level 1: its root is one hash of level 2. */
#define SEGMENT_HEIGHT (2 * AUDIT_TILE_HEIGHT)

struct epoch {
	uint64_t number, index, boottime;
	char boot[37];
	char pk[2 * AUDIT_PK_SIZE + 1];
};

struct recovery {
	struct audit_log *log;
	struct audit_checkpoint checkpoint;
	char *text; /* of the file "checkpoint" */
	size_t text_size;
	struct audit_reader reader;
	bool reading;
	bool tiles_bad;
	struct epoch epoch; /* the last log.key among the records read */
	struct audit_record last;
	/* what was found behind the checkpoint */
	uint64_t bytes_aside;
	char sha256[2 * AUDIT_HASH_SIZE + 1];
	char aside[64];
};

static void recovery_deinit(struct recovery *recovery)
{
	if (recovery->reading)
		audit_reader_deinit(&recovery->reader);
	recovery->reading = false;
	free(recovery->text);
	recovery->text = NULL;
}

static int tampered(char **reasonp, const char *format, ...) _printf_(2, 3);

static int tampered(char **reasonp, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (vasprintf(reasonp, format, args) < 0)
		*reasonp = NULL;
	va_end(args);
	return AUDIT_E_TAMPERED;
}

/* Reads "checkpoint" and checks the identity key's signature. */
static int read_checkpoint(struct recovery *recovery, char **reasonp)
{
	struct audit_log *log = recovery->log;
	const char *name = log->origin.identity.name;
	struct audit_note note;
	int r;

	r = audit_key_load(log->keys_fd, AUDIT_KEY_IDENTITY, name, &log->identity);
	if (r == -ENOENT || r == AUDIT_KEY_E_BAD ||
		(r == 0 && log->origin.identity.id != audit_key_public(log->identity)->id))
		return tampered(
			reasonp, "the identity key is missing or not the one in \"origin\"");
	if (r < 0)
		return err_trace(r);
	r = file_read(log->dir_fd, AUDIT_CHECKPOINT_FILE, AUDIT_NOTE_MAX, &recovery->text,
		&recovery->text_size);
	if (r == -ENOENT)
		return tampered(reasonp, "the file \"checkpoint\" is missing");
	if (r < 0)
		return err_trace(r);
	if (audit_note_parse(recovery->text, recovery->text_size, &note) != 0 ||
		audit_note_verify(&note, audit_key_public(log->identity), 1) != 0 ||
		audit_checkpoint_parse(note.text, note.text_size, &recovery->checkpoint) != 0 ||
		recovery->checkpoint.origin_size != strlen(name) ||
		memcmp(recovery->checkpoint.origin, name, strlen(name)) != 0)
		return tampered(
			reasonp, "the checkpoint is damaged or not signed by the identity key");
	return 0;
}

/* Notes an epoch's beginning; the newest stays. False when LINE is a log.key that does not follow.
 */
static bool note_key(struct recovery *recovery, uint64_t index, const char *line, size_t size)
{
	static const char mark[] = "\"type\":\"log.key\"";
	_cleanup_(json_decrefp) json_t *json = NULL;
	const char *role = NULL, *pk = NULL;
	struct audit_record record;
	json_int_t epoch = 0;

	if (!memmem(line, size, mark, sizeof(mark) - 1))
		return true;
	if (audit_record_parse(line, size, &record, &json) < 0)
		return false;
	if (strcmp(record.type, "log.key") != 0)
		return true;
	if (json_unpack(json, "{s:s, s:s, s:I}", "role", &role, "pk", &pk, "epoch", &epoch) < 0 ||
		strcmp(role, "epoch") != 0 || strlen(pk) != 2 * AUDIT_PK_SIZE || epoch < 1)
		return false;
	recovery->epoch.number = (uint64_t)epoch;
	recovery->epoch.index = index;
	recovery->epoch.boottime = record.boottime_usec;
	memcpy(recovery->epoch.boot, record.boot, sizeof(recovery->epoch.boot));
	memcpy(recovery->epoch.pk, pk, sizeof(recovery->epoch.pk));
	return true;
}

/* While re-hashing: a full tile must be on disk as it is computed. */
static int compare_tile(
	void *userdata, unsigned level, uint64_t number, const uint8_t hash[AUDIT_TILE_BYTES])
{
	struct recovery *recovery = userdata;
	uint8_t stored[AUDIT_TILE_BYTES];

	if (audit_tile_read(recovery->log->dir_fd, level, number, stored) < 0 ||
		memcmp(stored, hash, sizeof(stored)) != 0)
		recovery->tiles_bad = true;
	return 0;
}

static int add_line(
	struct recovery *recovery, const char *line, size_t size, audit_tile_fn fn, void *userdata)
{
	struct audit_log *log = recovery->log;
	uint8_t leaf[AUDIT_HASH_SIZE];
	struct audit_tree_step step;

	audit_hash_leaf(line, size, leaf);
	audit_tree_append(&log->tree, leaf, &step);
	return audit_tiles_add(log->tiles, 0, &step, fn, userdata);
}

/* Takes the closed segments [0, N) from their tiles. 0, -ENOENT (a tile or segment is missing),
 * -errno. */
static int load_segments(struct recovery *recovery, uint64_t n)
{
	struct audit_log *log = recovery->log;
	uint8_t hash[AUDIT_TILE_BYTES], root[AUDIT_HASH_SIZE];

	for (uint64_t i = 0; i < n; i++) {
		struct audit_tree_step step;
		struct audit_tree part;
		char name[AUDIT_SEGMENT_NAME_MAX];
		int r;

		audit_segment_name(i * AUDIT_SEGMENT_RECORDS, name);
		if (faccessat(log->seg_dir_fd, name, R_OK, 0) < 0)
			return -ENOENT;
		r = audit_tile_read(log->dir_fd, 1, i, hash);
		if (r < 0)
			return r;
		audit_tree_init(&part);
		for (unsigned k = 0; k < AUDIT_TILE_WIDTH; k++)
			audit_tree_append(&part, hash + k * AUDIT_HASH_SIZE, NULL);
		audit_tree_root(&part, root);
		audit_tree_append_subtree(&log->tree, SEGMENT_HEIGHT, root, &step);
		r = audit_tiles_add(log->tiles, 2, &step, compare_tile, recovery);
		if (r < 0)
			return r;
	}
	log->tiles->level[0].number = n * AUDIT_TILE_WIDTH;
	log->tiles->level[1].number = n;
	return 0;
}

/* Rebuilds the tree of the checkpoint: closed segments from tiles up to SEGMENT, the rest from the
 * records. *GOODP: the root is that of the checkpoint. */
static int rebuild(struct recovery *recovery, uint64_t n_segments, audit_tile_fn fn, void *userdata,
	bool *goodp)
{
	struct audit_log *log = recovery->log;
	uint64_t size = recovery->checkpoint.size;
	uint8_t root[AUDIT_HASH_SIZE];
	const char *line = NULL;
	size_t line_size = 0;
	int r;

	*goodp = false;
	if (recovery->reading)
		audit_reader_deinit(&recovery->reader);
	recovery->reading = false;
	recovery->tiles_bad = false;
	audit_tree_init(&log->tree);
	audit_tiles_init(log->tiles);
	r = load_segments(recovery, n_segments);
	if (r < 0)
		return r == -ENOENT || r == -EBADMSG ? 0 : err_trace(r);
	r = audit_reader_init(&recovery->reader, log->seg_dir_fd, log->tree.size);
	if (r != 0)
		return r < 0 ? err_trace(r) : 0;
	recovery->reading = true;
	while (log->tree.size < size) {
		r = audit_reader_next(&recovery->reader, &line, &line_size);
		if (r != 0)
			return r < 0 ? err_trace(r) : 0;
		if (!note_key(recovery, log->tree.size, line, line_size))
			return 0;
		r = add_line(recovery, line, line_size, fn, userdata);
		if (r < 0)
			return err_trace(r);
	}
	audit_tree_root(&log->tree, root);
	*goodp = memcmp(root, recovery->checkpoint.root, sizeof(root)) == 0;
	if (line && audit_record_parse(line, line_size, &recovery->last, NULL) < 0)
		*goodp = false;
	return 0;
}

static int rebuild_tree(struct recovery *recovery, char **reasonp)
{
	uint64_t size = recovery->checkpoint.size;
	/* Far enough back to meet the last log.key. */
	uint64_t back = AUDIT_EPOCH_RECORDS_MAX + 64;
	uint64_t n_segments = size > back ? (size - back) / AUDIT_SEGMENT_RECORDS : 0;
	bool good = false;
	int r;

	r = rebuild(recovery, n_segments, compare_tile, recovery, &good);
	if (r < 0)
		return r;
	if (!good && n_segments > 0) {
		r = rebuild(recovery, 0, compare_tile, recovery, &good);
		if (r < 0)
			return r;
	}
	if (!good && recovery->log->tree.size < size)
		return tampered(reasonp,
			"the checkpoint covers %" PRIu64 " records, only %" PRIu64 " can be read",
			size, recovery->log->tree.size);
	if (!good)
		return tampered(reasonp,
			"the %" PRIu64 " records do not have the root of the last checkpoint",
			size);
	if (recovery->tiles_bad) {
		log_warn("audit log: hash tiles were missing or damaged and are made again");
		r = rebuild(recovery, 0, audit_log_write_tile, recovery->log, &good);
		if (r < 0)
			return r;
		recovery->tiles_bad = true;
	}
	return 0;
}

/* Loads the key of EPOCH when it is the announced one. 0; AUDIT_KEY_E_BAD; -errno. */
static int load_epoch_key(
	struct recovery *recovery, uint64_t epoch, const char *pk, struct audit_key **keyp)
{
	struct audit_log *log = recovery->log;
	char file[AUDIT_KEY_FILE_MAX], hex[2 * AUDIT_PK_SIZE + 1];
	_cleanup_(audit_key_freep) struct audit_key *key = NULL;
	int r;

	audit_key_epoch_file(epoch, file);
	r = audit_key_load(log->keys_fd, file, log->origin.identity.name, &key);
	if (r == -ENOENT)
		return AUDIT_KEY_E_BAD;
	if (r != 0)
		return r;
	format_hex(audit_key_public(key)->pk, AUDIT_PK_SIZE, hex);
	if (strcmp(hex, pk) != 0)
		return AUDIT_KEY_E_BAD;
	*keyp = TAKE_PTR(key);
	return 0;
}

/* Announced and not yet signed for: only a key of ours, only the next, only one. */
static int take_key(struct recovery *recovery, uint64_t before)
{
	struct audit_log *log = recovery->log;

	if (log->next_key || recovery->epoch.number != before + 1)
		return AUDIT_KEY_E_BAD;
	return load_epoch_key(recovery, recovery->epoch.number, recovery->epoch.pk, &log->next_key);
}

/* Could RECORD have been written in the epoch? Else taking it up would spoil the epoch for a
 * verifier. */
static bool is_of_epoch(const struct epoch *epoch, const struct audit_record *record)
{
	if (strcmp(record->type, "log.key") == 0 || strcmp(record->type, "log.tick") == 0)
		return true;
	return strcmp(record->boot, epoch->boot) == 0 && record->boottime_usec >= epoch->boottime &&
	       record->boottime_usec - epoch->boottime <= AUDIT_EPOCH_USEC_MAX + AUDIT_EPOCH_SLACK;
}

/* One line behind the checkpoint: 1 = taken up, 0 = not a record that follows, -errno. */
static int take_line(struct recovery *recovery, const char *line, size_t size)
{
	struct audit_log *log = recovery->log;
	const struct epoch before = recovery->epoch;
	struct audit_record record;
	int r;

	if (audit_record_parse(line, size, &record, NULL) < 0 || record.seq != log->tree.size ||
		!is_of_epoch(&before, &record))
		return 0;
	r = note_key(recovery, log->tree.size, line, size) ? 0 : AUDIT_KEY_E_BAD;
	if (r == 0 && recovery->epoch.index != before.index)
		r = take_key(recovery, before.number);
	if (r != 0) {
		recovery->epoch = before;
		return r < 0 ? r : 0;
	}
	recovery->last = record;
	r = add_line(recovery, line, size, audit_log_write_tile, log);
	return r < 0 ? r : 1;
}

/* Copies [OFFSET, end) of FD into a file of its own and hashes it. */
static int copy_aside(struct recovery *recovery, int fd, uint64_t offset)
{
	_cleanup_(closep) int dir_fd = -1, out_fd = -1;
	crypto_hash_sha256_state state;
	uint8_t hash[AUDIT_HASH_SIZE];
	char data[16384];
	ssize_t n;
	int r;

	if (mkdirat(recovery->log->dir_fd, RECOVERED_DIR, 0700) < 0 && errno != EEXIST)
		return -errno;
	dir_fd = openat(recovery->log->dir_fd, RECOVERED_DIR,
		O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (dir_fd < 0)
		return -errno;
	(void)snprintf(recovery->aside, sizeof(recovery->aside), "%012" PRIu64 "-%" PRIu64 ".bin",
		recovery->log->tree.size, recovery->log->realtime());
	out_fd = openat(dir_fd, recovery->aside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (out_fd < 0)
		return -errno;
	crypto_hash_sha256_init(&state);
	while ((n = pread(fd, data, sizeof(data), (off_t)offset)) > 0) {
		crypto_hash_sha256_update(&state, (const uint8_t *)data, (size_t)n);
		r = fd_write_all(out_fd, data, (size_t)n);
		if (r < 0)
			return r;
		offset += (uint64_t)n;
		recovery->bytes_aside += (uint64_t)n;
	}
	if (n < 0 || fdatasync(out_fd) < 0 || fsync(dir_fd) < 0)
		return -errno;
	crypto_hash_sha256_final(&state, hash);
	format_hex(hash, sizeof(hash), recovery->sha256);
	return 0;
}

/* Segments that begin behind the end of the log were never covered by anything: aside with them. */
static int move_later_segments(struct audit_log *log)
{
	struct dirent *entry;
	DIR *dir;
	int fd = openat(log->seg_dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;

	if (fd < 0)
		return -errno;
	dir = fdopendir(fd);
	if (!dir) {
		close_fd(fd);
		return err_errno();
	}
	while (r == 0 && (entry = readdir(dir)) != NULL) {
		char target[300];
		uint64_t first;

		if (audit_segment_parse(entry->d_name, &first) < 0 || first < log->tree.size ||
			first == 0)
			continue;
		if (mkdirat(log->dir_fd, RECOVERED_DIR, 0700) < 0 && errno != EEXIST)
			r = -errno;
		(void)snprintf(target, sizeof(target), RECOVERED_DIR "/segment-%" PRIu64 "-%s",
			log->realtime(), entry->d_name);
		if (r == 0 && renameat(log->seg_dir_fd, entry->d_name, log->dir_fd, target) < 0)
			r = -errno;
	}
	closedir(dir);
	return r;
}

/* Takes up complete records behind the checkpoint and cuts off the rest. */
static int take_tail(struct recovery *recovery)
{
	struct audit_log *log = recovery->log;
	char name[AUDIT_SEGMENT_NAME_MAX];
	struct stat st;
	int r;

	log->segment = log->tree.size > 0 ? (log->tree.size - 1) / AUDIT_SEGMENT_RECORDS *
						    AUDIT_SEGMENT_RECORDS
					  : 0;
	for (;;) {
		const char *line;
		size_t size;

		r = audit_reader_next(&recovery->reader, &line, &size);
		if (r < 0)
			return r;
		if (r == AUDIT_READER_END)
			break;
		if (r == 0) {
			r = take_line(recovery, line, size);
			if (r < 0)
				return r;
			if (r > 0)
				continue;
		}
		/* Torn, too long or no record of ours: from here on aside. */
		r = copy_aside(recovery, recovery->reader.fd, recovery->reader.line_start);
		if (r < 0)
			return r;
		audit_segment_name(recovery->reader.segment, name);
		log->segment_fd = openat(log->seg_dir_fd, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
		if (log->segment_fd < 0 ||
			ftruncate(log->segment_fd, (off_t)recovery->reader.line_start) < 0 ||
			fdatasync(log->segment_fd) < 0)
			return -errno;
		log->segment_fd = close_fd(log->segment_fd);
		break;
	}
	log->segment = recovery->reader.segment;
	log->unsigned_records = log->tree.size > recovery->checkpoint.size;
	r = move_later_segments(log);
	if (r < 0)
		return r;
	audit_segment_name(log->segment, name);
	log->segment_fd = openat(log->seg_dir_fd, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (log->segment_fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (fstat(log->segment_fd, &st) < 0 || fdatasync(log->segment_fd) < 0)
		return -errno;
	log->segment_bytes = (uint64_t)st.st_size;
	return 0;
}

/* The last bytes of "checkpoints", from an offset on. */
struct history_tail {
	char *data;
	size_t size;
	uint64_t from;
};

static void history_tail_deinit(struct history_tail *tail)
{
	free(tail->data);
}

/* Reads the tail and drops what stands before its first complete note. 0; -EBADMSG; -errno. */
static int read_history_tail(const struct audit_log *log, struct history_tail *tail)
{
	char begin[AUDIT_KEY_NAME_MAX + 4];
	const char *hit;
	struct stat st;
	size_t have = 0, cut;

	if (fstat(log->history_fd, &st) < 0)
		return -errno;
	tail->from = st.st_size > HISTORY_TAIL ? (uint64_t)st.st_size - HISTORY_TAIL : 0;
	tail->size = (size_t)((uint64_t)st.st_size - tail->from);
	tail->data = malloc(HISTORY_TAIL + 1);
	if (!tail->data)
		return -ENOMEM;
	while (have < tail->size) {
		ssize_t got = pread(log->history_fd, tail->data + have, tail->size - have,
			(off_t)(tail->from + have));

		if (got <= 0)
			return got < 0 ? -errno : -EIO;
		have += (size_t)got;
	}
	if (tail->from == 0)
		return 0;
	(void)snprintf(begin, sizeof(begin), "\n%s\n", log->origin.identity.name);
	hit = memmem(tail->data, tail->size, begin, strlen(begin));
	if (!hit)
		return -EBADMSG;
	cut = (size_t)(hit + 1 - tail->data);
	memmove(tail->data, hit + 1, tail->size - cut);
	tail->size -= cut;
	tail->from += cut;
	return 0;
}

/* The last complete note of the tail, which ends at *ENDP. 0, or AUDIT_NOTE_E_MALFORMED when it is
 * not one of this log; CHECKPOINT stays empty where there is none. */
static int last_note(const struct recovery *recovery, const struct history_tail *tail, size_t *endp,
	struct audit_checkpoint *checkpoint)
{
	size_t at = 0, last = 0, n;
	struct audit_note note;

	if (!tail->data || !recovery->text)
		return AUDIT_NOTE_E_MALFORMED;
	while ((n = audit_note_measure(tail->data + at, tail->size - at)) > 0) {
		last = at;
		at += n;
	}
	*endp = at;
	if (at == last)
		return 0;
	/* Cut between two signature lines: not complete after all. */
	if (at - last < recovery->text_size && at == tail->size &&
		memcmp(tail->data + last, recovery->text, at - last) == 0) {
		*endp = last;
		return 0;
	}
	if (audit_note_parse(tail->data + last, at - last, &note) != 0 ||
		audit_note_verify(&note, audit_key_public(recovery->log->identity), 1) != 0 ||
		audit_checkpoint_parse(note.text, note.text_size, checkpoint) != 0)
		return AUDIT_NOTE_E_MALFORMED;
	return 0;
}

/* Puts the end of "checkpoints" right: a last note that was cut short is written again. */
static int take_history(struct recovery *recovery, char **reasonp)
{
	_cleanup_(history_tail_deinit) struct history_tail tail = {0};
	struct audit_checkpoint checkpoint = {0};
	struct audit_log *log = recovery->log;
	size_t end = 0;
	int r;

	r = audit_log_open_history(log);
	if (r == 0)
		r = read_history_tail(log, &tail);
	if (r < 0 && r != -EBADMSG)
		return r;
	if (r < 0 || last_note(recovery, &tail, &end, &checkpoint) != 0)
		return tampered(reasonp, "the end of \"%s\" is damaged", AUDIT_HISTORY_FILE);
	if (checkpoint.size > recovery->checkpoint.size)
		return tampered(reasonp,
			"\"%s\" knows %" PRIu64 " records, \"%s\" only %" PRIu64 ": set back",
			AUDIT_HISTORY_FILE, checkpoint.size, AUDIT_CHECKPOINT_FILE,
			recovery->checkpoint.size);
	/* The first checkpoint of a log is in there from its creation on. */
	if (tail.from + end == 0 && recovery->checkpoint.size > AUDIT_NEW_RECORDS)
		return tampered(reasonp, "the file \"%s\" is empty or missing", AUDIT_HISTORY_FILE);
	if (end < tail.size && ftruncate(log->history_fd, (off_t)(tail.from + end)) < 0)
		return -errno;
	log->history_bytes = tail.from + end;
	log->note = TAKE_PTR(recovery->text);
	log->note_size = recovery->text_size;
	log->history_due = checkpoint.size < recovery->checkpoint.size;
	return 0;
}

/* The epoch at the checkpoint must be one whose key we hold. */
static int take_keys(struct recovery *recovery, char **reasonp)
{
	struct audit_log *log = recovery->log;
	struct audit_note note;
	char file[AUDIT_KEY_FILE_MAX];
	uint64_t highest = 0;
	bool previous;
	int r;

	if (recovery->epoch.number == 0)
		return tampered(reasonp, "the log announces no epoch key");
	r = load_epoch_key(recovery, recovery->epoch.number, recovery->epoch.pk, &log->epoch_key);
	if (r == AUDIT_KEY_E_BAD)
		return tampered(reasonp,
			"the key of epoch %" PRIu64
			", the log's last, is gone: the log was set back, or "
			"its keys were removed",
			recovery->epoch.number);
	if (r < 0)
		return r;
	if (audit_note_parse(recovery->text, recovery->text_size, &note) != 0 ||
		audit_note_verify(&note, audit_key_public(log->epoch_key), 1) != 0)
		return tampered(reasonp, "the checkpoint is not signed by the key of its epoch");
	r = audit_key_highest_epoch(log->keys_fd, &highest, &previous);
	if (r < 0)
		return r;
	if (highest > recovery->epoch.number + 1)
		return tampered(reasonp, "there are keys of later epochs: the log was set back");
	/* The epoch before ended with this checkpoint. */
	if (recovery->epoch.number > 1) {
		audit_key_epoch_file(recovery->epoch.number - 1, file);
		return audit_key_erase(log->keys_fd, file);
	}
	return 0;
}

static int record_recovery(struct recovery *recovery)
{
	struct audit_log *log = recovery->log;
	_cleanup_(json_decrefp) json_t *record = NULL;

	if (log->tree.size == recovery->checkpoint.size && recovery->bytes_aside == 0 &&
		!recovery->tiles_bad)
		return 0;
	record = json_pack("{s:s, s:I, s:I, s:b}", "type", "log.recovered", "from",
		(json_int_t)recovery->checkpoint.size, "to", (json_int_t)log->tree.size,
		"tiles_rebuilt", recovery->tiles_bad);
	if (record && recovery->bytes_aside > 0 &&
		(json_object_set_new(
			 record, "bytes", json_integer((json_int_t)recovery->bytes_aside)) < 0 ||
			json_object_set_new(record, "sha256", json_string(recovery->sha256)) < 0 ||
			json_object_set_new(record, "file", json_string(recovery->aside)) < 0))
		return -ENOMEM;
	return record ? audit_log_append_own(log, record) : -ENOMEM;
}

/* Seals what was taken up, then begins an epoch of this start. */
static int resume(struct recovery *recovery)
{
	struct audit_log *log = recovery->log;
	int r;

	log->epoch = recovery->epoch.number;
	log->epoch_index = recovery->epoch.index;
	log->epoch_boottime = recovery->epoch.boottime;
	/* The wall clock may have been set while the log was closed. */
	if (strcmp(recovery->last.boot, log->boot) == 0)
		log->clock_offset = (int64_t)recovery->last.realtime_usec -
				    (int64_t)recovery->last.boottime_usec;
	r = audit_log_commit_once(log, true);
	if (r < 0)
		return r;
	r = audit_log_rotate(log, "start");
	if (r == 0)
		r = record_recovery(recovery);
	return r < 0 ? r : audit_log_commit_once(log, true);
}

int audit_log_recover(struct audit_log *log, char **reasonp)
{
	_cleanup_(recovery_deinit) struct recovery recovery = {.log = log};
	int r;

	r = read_checkpoint(&recovery, reasonp);
	if (r == 0)
		r = rebuild_tree(&recovery, reasonp);
	if (r == 0)
		r = take_keys(&recovery, reasonp);
	if (r == 0)
		r = take_history(&recovery, reasonp);
	if (r == 0)
		r = take_tail(&recovery);
	if (r == 0)
		r = resume(&recovery);
	return r < 0 ? err_trace(r) : r;
}
