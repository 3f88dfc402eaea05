/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "audit-log/verify.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "supervisord/base/display.h"
#include "supervisord/base/error.h"
#include "supervisord/base/file.h"
#include "supervisord/base/parse.h"

/* One pass over the records, with a fixed amount of memory. The notes of "checkpoints", the tiles
 * and the checkpoints from outside are compared where the pass reaches their size.
 *
 * MUST:
 * 1. the key comes from the caller or from "origin", never from the note that is checked;
 * 2. "checkpoints" is opened before "checkpoint" is read, and records are read after both, so that
 * a log that is being written is judged by one consistent state;
 * 3. nothing that was not compared is called good; the unanchored tail is always named. */

int audit_verify_fail(
	struct verify *v, enum audit_status status, uint64_t first_bad, const char *format, ...)
{
	struct audit_report *report = v->report;
	va_list args;
	int n;

	report->status = status;
	report->first_bad = first_bad;
	va_start(args, format);
	n = vsnprintf(report->message, sizeof(report->message), format, args);
	va_end(args);
	if (n < 0)
		report->message[0] = '\0';
	return VERIFY_E_FAILED;
}

/* The hashes of the level 0 tile NUMBER as they are on disk, or those of the hint file for the
 * last, unfinished tile. Returns how many there are. */
static size_t stored_hashes(const struct verify *v, uint64_t number, uint8_t hash[AUDIT_TILE_BYTES])
{
	_cleanup_(closep) int fd = -1;
	ssize_t n;

	if (audit_tile_read(v->dir_fd, 0, number, hash) == 0)
		return AUDIT_TILE_WIDTH;
	if (number != v->checkpoint.size / AUDIT_TILE_WIDTH)
		return 0;
	fd = audit_open_regular(v->dir_fd, AUDIT_TAIL_FILE);
	n = fd < 0 ? -1 : pread(fd, hash, AUDIT_TILE_BYTES, 0);
	return n < 0 ? 0 : (size_t)n / AUDIT_HASH_SIZE;
}

/* The first index in [v->good, end) that is wrong by itself or by its tile; V->GOOD when none
 * shows. */
static int locate(struct verify *v, uint64_t end, uint64_t *indexp, const char **whatp)
{
	_cleanup_(freep) uint8_t *hash = malloc(AUDIT_TILE_BYTES);
	struct audit_reader reader;
	uint64_t tile = UINT64_MAX;
	size_t have = 0, size;
	const char *line;
	int r;

	*indexp = v->good;
	*whatp = NULL;
	if (!hash)
		return -ENOMEM;
	r = audit_reader_init(&reader, v->seg_fd, v->good);
	if (r < 0)
		return r;
	if (r > 0) {
		*whatp = "is missing";
		return 0;
	}
	while (!*whatp && reader.index < end) {
		uint64_t index = reader.index;
		uint8_t leaf[AUDIT_HASH_SIZE];
		struct audit_record record;

		*indexp = index;
		if (index / AUDIT_TILE_WIDTH != tile) {
			tile = index / AUDIT_TILE_WIDTH;
			have = stored_hashes(v, tile, hash);
		}
		r = audit_reader_next(&reader, &line, &size);
		if (r < 0)
			break;
		audit_hash_leaf(line, r == 0 ? size : 0, leaf);
		if (r == AUDIT_READER_END)
			*whatp = "is missing";
		else if (r != 0 || audit_record_parse(line, size, &record, NULL) < 0)
			*whatp = "is damaged";
		else if (record.seq != index)
			*whatp = "is not the one that belongs here (removed, added or moved)";
		else if (index % AUDIT_TILE_WIDTH < have &&
			 memcmp(hash + index % AUDIT_TILE_WIDTH * AUDIT_HASH_SIZE, leaf,
				 sizeof(leaf)) != 0)
			*whatp = "was changed";
	}
	audit_reader_deinit(&reader);
	if (!*whatp)
		*indexp = v->good;
	return r < 0 ? r : 0;
}

/* The records up to END do not have the root that WHAT says. */
static int fail_range(struct verify *v, uint64_t end, const char *what)
{
	const char *how = NULL;
	uint64_t index = 0;
	int r = locate(v, end, &index, &how);

	if (r < 0)
		return r;
	if (how)
		return audit_verify_fail(v, AUDIT_TAMPERED, index,
			"record %" PRIu64 " %s: the log does not match %s of %" PRIu64 " records",
			index, how, what, end);
	return audit_verify_fail(v, AUDIT_TAMPERED, index,
		"a record between %" PRIu64 " and %" PRIu64 " was changed, or %s of %" PRIu64
		" records is not of this log",
		index, end - 1, what, end);
}

/* Compares a tile that is full now. */
static int check_tile(
	void *userdata, unsigned level, uint64_t number, const uint8_t hash[AUDIT_TILE_BYTES])
{
	struct verify *v = userdata;
	uint8_t stored[AUDIT_TILE_BYTES];
	uint64_t index = number << (AUDIT_TILE_HEIGHT * (level + 1));
	int r;

	/* A tile is written with the commit that its last record belongs to; the checkpoint covers
	 * it. */
	r = audit_tile_read(v->dir_fd, level, number, stored);
	if (r == 0 && memcmp(stored, hash, sizeof(stored)) == 0)
		return 0;
	if (v->bad_tile)
		return 0;
	for (unsigned i = 0; r == 0 && i < AUDIT_TILE_WIDTH; i++)
		if (memcmp(stored + i * AUDIT_HASH_SIZE, hash + i * AUDIT_HASH_SIZE,
			    AUDIT_HASH_SIZE) != 0) {
			index += (uint64_t)i << (AUDIT_TILE_HEIGHT * level);
			break;
		}
	v->bad_tile = true;
	v->bad_tile_missing = r == -ENOENT;
	v->bad_tile_index = index;
	audit_tile_path(level, number, v->bad_tile_path);
	return 0;
}

/* Record 0 says which log this is. */
static int check_first(struct verify *v, const char *line, size_t size)
{
	_cleanup_(json_decrefp) json_t *json = NULL;
	_cleanup_(freep) char *vkey = audit_vkey_format(&v->key);
	const char *origin = NULL, *stated = NULL;
	struct audit_record record;

	if (!vkey)
		return -ENOMEM;
	if (audit_record_parse(line, size, &record, &json) == 0 &&
		strcmp(record.type, "log.open") == 0 &&
		json_unpack(json, "{s:s, s:s}", "origin", &origin, "vkey", &stated) == 0 &&
		strcmp(origin, v->key.name) == 0 && strcmp(stated, vkey) == 0 &&
		strcmp(record.time, v->origin.created) == 0)
		return 0;
	return audit_verify_fail(v, AUDIT_TAMPERED, 0,
		"record 0 and the file \"origin\" do not speak of the same log");
}

/* Is the record before a new epoch within the time and boot of the epoch that ends? */
static bool epoch_ended_in_time(const struct verify *v)
{
	struct audit_record record;

	if (v->epoch == 0)
		return true;
	if (audit_record_parse(v->previous, v->previous_size, &record, NULL) < 0)
		return false;
	/* The seal of an empty epoch is as late as the next start. */
	if (strcmp(record.type, "log.tick") == 0)
		return true;
	return strcmp(record.boot, v->epoch_boot) == 0 &&
	       record.boottime_usec >= v->epoch_boottime &&
	       record.boottime_usec - v->epoch_boottime <= AUDIT_EPOCH_USEC_MAX + AUDIT_EPOCH_SLACK;
}

/* A log.key record begins an epoch: the next one, and in time. */
static int check_key_record(struct verify *v, uint64_t index, const char *line, size_t size)
{
	_cleanup_(json_decrefp) json_t *json = NULL;
	const char *role = NULL, *pk = NULL;
	uint8_t raw[AUDIT_PK_SIZE];
	struct audit_record record;
	json_int_t epoch = 0;

	if (audit_record_parse(line, size, &record, &json) < 0)
		return audit_verify_fail(
			v, AUDIT_TAMPERED, index, "record %" PRIu64 " is damaged", index);
	if (strcmp(record.type, "log.key") != 0)
		return 0;
	if (json_unpack(json, "{s:s, s:s, s:I}", "role", &role, "pk", &pk, "epoch", &epoch) < 0 ||
		strcmp(role, "epoch") != 0 || parse_hex(pk, raw, sizeof(raw)) < 0)
		return audit_verify_fail(v, AUDIT_TAMPERED, index,
			"record %" PRIu64 " announces a key in an unknown way", index);
	if (epoch < 0 || (uint64_t)epoch != v->epoch + 1)
		return audit_verify_fail(v, AUDIT_TAMPERED, index,
			"record %" PRIu64 " begins epoch %" PRIu64 " where %" PRIu64 " must follow",
			index, (uint64_t)epoch, v->epoch + 1);
	if (!epoch_ended_in_time(v) ||
		(v->epoch > 0 && index - v->epoch_index > AUDIT_EPOCH_RECORDS_MAX + 64))
		return audit_verify_fail(v, AUDIT_TAMPERED, index,
			"epoch %" PRIu64 ", which ends at record %" PRIu64 ", lasted too long",
			v->epoch, index);
	v->epoch_keys[1] = v->epoch_keys[0];
	v->epoch++;
	v->epoch_index = index;
	v->epoch_boottime = record.boottime_usec;
	memcpy(v->epoch_boot, record.boot, sizeof(v->epoch_boot));
	return audit_vkey_init(&v->epoch_keys[0], v->key.name, AUDIT_KEY_ED25519, raw) == 0
		       ? 0
		       : -EINVAL;
}

/* All signature lines must be of the identity key, the epoch's key or the one before; the first two
 * must be there, and the third where the epoch changed since the note before. */
static int check_signatures(
	struct verify *v, const struct audit_note *note, uint64_t size, const char *what)
{
	const struct audit_vkey *keys[3] = {&v->key, &v->epoch_keys[0], &v->epoch_keys[1]};
	size_t n_keys = v->epoch > 1 ? 3 : 2;
	size_t n_required = v->epoch != v->note_epoch && v->epoch > 1 ? 3 : 2;
	static const char *const names[] = {
		"the log's key", "the key of its epoch", "the key of the epoch before"};

	if (v->epoch == 0)
		return audit_verify_fail(v, AUDIT_TAMPERED, v->good,
			"%s of %" PRIu64 " records is damaged or not signed by %s", what, size,
			names[0]);
	if (v->epoch > v->note_epoch + 1)
		return audit_verify_fail(v, AUDIT_TAMPERED, size - 1,
			"a change of epochs before record %" PRIu64
			" is not covered by any checkpoint",
			size);
	for (size_t i = 0; i < n_keys; i++) {
		int r = audit_note_check(note, keys[i], NULL);

		if (r == AUDIT_NOTE_E_BAD_SIGNATURE || (r != 0 && i < n_required))
			return audit_verify_fail(v, AUDIT_TAMPERED, v->good,
				"%s of %" PRIu64 " records is not signed by %s", what, size,
				names[i]);
	}
	for (size_t i = 0; i < note->n_sigs; i++) {
		bool known = false;

		for (size_t k = 0; k < n_keys; k++)
			known = known || (note->sigs[i].id == keys[k]->id &&
						 note->sigs[i].name_size == strlen(keys[k]->name) &&
						 memcmp(note->sigs[i].name, keys[k]->name,
							 note->sigs[i].name_size) == 0);
		if (!known)
			return audit_verify_fail(v, AUDIT_TAMPERED, v->good,
				"%s of %" PRIu64 " records has a signature of an unknown key", what,
				size);
	}
	return 0;
}

/* A note of our own that the pass has reached. */
static int check_note(struct verify *v, const char *data, size_t size, const char *what)
{
	struct audit_checkpoint checkpoint;
	uint8_t root[AUDIT_HASH_SIZE];
	struct audit_note note;
	int r;

	if (audit_note_parse(data, size, &note) != 0 ||
		audit_checkpoint_parse(note.text, note.text_size, &checkpoint) != 0)
		return audit_verify_fail(v, AUDIT_TAMPERED, v->good,
			"%s behind record %" PRIu64 " cannot be read", what, v->good);
	audit_tree_root(&v->tree, root);
	/* A forged note must not be taken for damaged records, nor a damaged record, which may be
	 * the one that announces a key, for a forged note. */
	if (audit_note_check(&note, &v->key, NULL) != 0)
		return check_signatures(v, &note, checkpoint.size, what);
	if (memcmp(root, checkpoint.root, sizeof(root)) != 0)
		return fail_range(v, checkpoint.size, what);
	r = check_signatures(v, &note, checkpoint.size, what);
	if (r != 0)
		return r;
	v->good = checkpoint.size;
	v->note_epoch = v->epoch;
	return 0;
}

static int check_outside(struct verify *v)
{
	uint8_t root[AUDIT_HASH_SIZE];

	for (size_t i = 0; i < v->n_outside; i++) {
		if (v->outside[i].size != v->tree.size)
			continue;
		audit_tree_root(&v->tree, root);
		if (memcmp(root, v->outside[i].root, sizeof(root)) != 0)
			return fail_range(v, v->tree.size, "a checkpoint from outside");
	}
	return 0;
}

/* The end of "checkpoints" may be a note that was cut while it was appended: the beginning of the
 * last checkpoint. Anything else is damage, or the writer at this very moment. */
static bool is_torn_note(struct verify *v)
{
	v->torn = true;
	return v->next_bytes < v->text_size && memcmp(v->next, v->text, v->next_bytes) == 0;
}

/* Loads the next note of "checkpoints" into v->next. */
static int next_note(struct verify *v)
{
	struct audit_checkpoint checkpoint;
	struct audit_note note;
	uint64_t before = v->next_size;
	int r;

	r = audit_history_next(&v->history, &v->next, &v->next_bytes);
	if (r < 0)
		return r;
	if (r == AUDIT_HISTORY_TORN && !is_torn_note(v))
		return audit_verify_fail(v, AUDIT_TAMPERED, v->good,
			"the file \"" AUDIT_HISTORY_FILE
			"\" is damaged behind the checkpoint of %" PRIu64 " records",
			before);
	if (r != 0) {
		v->next = NULL;
		v->next_size = UINT64_MAX;
		return 0;
	}
	/* The last note may have been cut between two signature lines. */
	if (v->history.left == 0 && v->history.start == v->history.end &&
		v->next_bytes < v->text_size && memcmp(v->next, v->text, v->next_bytes) == 0) {
		v->next = NULL;
		v->next_size = UINT64_MAX;
		return 0;
	}
	if (audit_note_parse(v->next, v->next_bytes, &note) != 0 ||
		audit_checkpoint_parse(note.text, note.text_size, &checkpoint) != 0 ||
		checkpoint.size < before || checkpoint.origin_size != strlen(v->key.name) ||
		memcmp(checkpoint.origin, v->key.name, checkpoint.origin_size) != 0)
		return audit_verify_fail(v, AUDIT_TAMPERED, v->good,
			"the file \"" AUDIT_HISTORY_FILE
			"\" is damaged behind the checkpoint of %" PRIu64 " records",
			before);
	if (checkpoint.size > v->checkpoint.size)
		return audit_verify_fail(v, AUDIT_TAMPERED, v->checkpoint.size,
			"the log was set back: a signed checkpoint of %" PRIu64
			" records exists, the last one covers %" PRIu64,
			checkpoint.size, v->checkpoint.size);
	v->next_size = checkpoint.size;
	return 0;
}

/* The history of a log starts with the checkpoint of its creation. */
static int first_note(struct verify *v)
{
	int r = next_note(v);

	if (r == 0 && v->checkpoint.size > VERIFY_CREATION_MAX &&
		(!v->next || v->next_size > VERIFY_CREATION_MAX))
		r = audit_verify_fail(v, AUDIT_TAMPERED, 0,
			"the file \"" AUDIT_HISTORY_FILE "\" lacks its beginning");
	return r;
}

/* All that refers to the present size. */
static int check_stop(struct verify *v)
{
	int r = 0;

	while (r == 0 && v->next && v->next_size == v->tree.size) {
		r = check_note(v, v->next, v->next_bytes, "the signed checkpoint");
		if (r == 0)
			r = next_note(v);
	}
	if (r == 0)
		r = check_outside(v);
	if (r == 0 && v->tree.size == v->checkpoint.size)
		r = check_note(v, v->text, v->text_size, "the last checkpoint");
	return r;
}

static uint64_t next_stop(const struct verify *v)
{
	uint64_t stop = v->checkpoint.size;

	if (v->next && v->next_size < stop)
		stop = v->next_size;
	for (size_t i = 0; i < v->n_outside; i++)
		if (v->outside[i].size > v->tree.size && v->outside[i].size < stop)
			stop = v->outside[i].size;
	return stop;
}

static int add_line(struct verify *v, const char *line, size_t size)
{
	static const char mark[] = "\"type\":\"log.key\"";
	uint64_t index = v->tree.size;
	uint8_t leaf[AUDIT_HASH_SIZE];
	struct audit_tree_step step;
	struct audit_record record;
	int r = 0;

	if (index == 0)
		r = check_first(v, line, size);
	else if (memmem(line, size, mark, sizeof(mark) - 1))
		r = check_key_record(v, index, line, size);
	if (r != 0)
		return r;
	if (index == v->report->anchored && audit_record_parse(line, size, &record, NULL) == 0)
		memcpy(v->unanchored_since, record.time, sizeof(v->unanchored_since));
	audit_hash_leaf(line, size, leaf);
	audit_tree_append(&v->tree, leaf, &step);
	memcpy(v->previous, line, size);
	v->previous_size = size;
	return audit_tiles_add(v->tiles, 0, &step, check_tile, v);
}

/* A record that says something impossible may itself be the one that was changed, or the one
 * before. */
static int judge_line(struct verify *v, const char *line, size_t size)
{
	uint64_t index = v->tree.size, bad = 0;
	int r = add_line(v, line, size);
	const char *how = NULL;

	if (r != VERIFY_E_FAILED)
		return r;
	r = locate(v, index + 1, &bad, &how);
	if (r == 0 && how)
		return audit_verify_fail(v, AUDIT_TAMPERED, bad, "record %" PRIu64 " %s", bad, how);
	return r < 0 ? r : VERIFY_E_FAILED;
}

/* What the writer has appended meanwhile, or did not live to sign: mentioned, not judged. */
static int count_unsigned(struct verify *v, struct audit_reader *reader)
{
	const char *line;
	size_t size;
	int r;

	for (;;) {
		r = audit_reader_next(reader, &line, &size);
		if (r < 0)
			return r;
		if (r == AUDIT_READER_END)
			return 0;
		v->n_unsigned++;
		if (r == AUDIT_READER_TORN)
			return 0;
	}
}

/* The pass. */
int audit_verify_records(struct verify *v)
{
	struct audit_reader reader;
	uint64_t stop;
	const char *line;
	size_t size;
	int r;

	r = first_note(v);
	if (r != 0)
		return r;
	r = audit_reader_init(&reader, v->seg_fd, 0);
	if (r != 0)
		return r < 0 ? r : fail_range(v, v->checkpoint.size, "the last checkpoint");
	stop = next_stop(v);
	while (r == 0 && v->tree.size < v->checkpoint.size) {
		r = audit_reader_next(&reader, &line, &size);
		if (r > 0)
			r = fail_range(v, v->checkpoint.size, "the last checkpoint");
		else if (r == 0)
			r = judge_line(v, line, size);
		if (r == 0 && v->tree.size == stop) {
			r = check_stop(v);
			stop = next_stop(v);
		}
	}
	if (r == 0)
		r = count_unsigned(v, &reader);
	audit_reader_deinit(&reader);
	return r;
}
