/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "audit-log/verify.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "supervisord/base/display.h"
#include "supervisord/base/error.h"
#include "supervisord/base/file.h"
#include "supervisord/base/parse.h"

/* What the verifier reads before its pass over the records: keys, checkpoints, anchors; and the
 * verdict after it. */

static void verify_deinit(struct verify *v)
{
	audit_history_deinit(&v->history);
	close_fd(v->seg_fd);
	close_fd(v->dir_fd);
	free(v->text);
	free(v->tiles);
	free(v->previous);
}

static bool exists(const struct verify *v, const char *name)
{
	return faccessat(v->dir_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static int open_folders(struct verify *v, const char *dir)
{
	v->dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (v->dir_fd < 0)
		return audit_verify_fail(v, AUDIT_UNREADABLE, UINT64_MAX,
			"there is no log that can be read: %s", strerror(errno));
	v->seg_fd = openat(
		v->dir_fd, AUDIT_SEGMENT_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (v->seg_fd >= 0)
		return 0;
	if (errno == ENOENT && (exists(v, AUDIT_ORIGIN_FILE) || exists(v, AUDIT_CHECKPOINT_FILE)))
		return audit_verify_fail(
			v, AUDIT_TAMPERED, 0, "the folder of the records is missing");
	return audit_verify_fail(v, AUDIT_UNREADABLE, UINT64_MAX,
		"there is no log that can be read: %s",
		errno == ENOENT ? "the folder holds none" : strerror(errno));
}

/* The verifier key: pinned by the caller, else the log's own word. */
static int find_key(struct verify *v, const struct audit_verify_options *options)
{
	const char *pinned = options ? options->vkey : NULL;
	int r;

	if (pinned && audit_vkey_parse(pinned, &v->key) != 0)
		return audit_verify_fail(v, AUDIT_UNREADABLE, UINT64_MAX,
			"the given verifier key is not one (NAME+ID+KEY)");
	r = audit_origin_read(v->dir_fd, &v->origin);
	if (r == -ENOENT && !exists(v, AUDIT_CHECKPOINT_FILE))
		return audit_verify_fail(v, AUDIT_UNREADABLE, UINT64_MAX,
			"the folder holds no log: \"" AUDIT_ORIGIN_FILE
			"\" and \"" AUDIT_CHECKPOINT_FILE "\" are missing");
	if (r == -EACCES || r == -EPERM)
		return audit_verify_fail(v, AUDIT_UNREADABLE, UINT64_MAX,
			"the log cannot be read: %s", strerror(-r));
	if (r < 0)
		return audit_verify_fail(v, AUDIT_TAMPERED, UINT64_MAX,
			"the file \"" AUDIT_ORIGIN_FILE "\" is missing or damaged");
	if (pinned && (v->key.id != v->origin.identity.id ||
			      memcmp(v->key.pk, v->origin.identity.pk, AUDIT_PK_SIZE) != 0 ||
			      strcmp(v->key.name, v->origin.identity.name) != 0))
		return audit_verify_fail(v, AUDIT_TAMPERED, UINT64_MAX,
			"this log is signed by another key than the given one");
	v->key = v->origin.identity;
	return 0;
}

/* Highest epoch key beside the log; none where the folder was copied without keys. */
static void look_at_keys(struct verify *v)
{
	_cleanup_(closep) int fd =
		openat(v->dir_fd, AUDIT_KEY_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0 || audit_key_highest_epoch(fd, &v->highest_key, &v->have_previous_key) < 0)
		v->highest_key = 0;
}

/* A note of this log, by its identity key. False when it is anything else. */
static bool read_own_note(const struct verify *v, const char *data, size_t size,
	struct audit_note *note, struct audit_checkpoint *checkpoint)
{
	return audit_note_parse(data, size, note) == 0 &&
	       audit_note_check(note, &v->key, NULL) == 0 &&
	       audit_checkpoint_parse(note->text, note->text_size, checkpoint) == 0 &&
	       checkpoint->origin_size == strlen(v->key.name) &&
	       memcmp(checkpoint->origin, v->key.name, checkpoint->origin_size) == 0;
}

static int read_checkpoint(struct verify *v)
{
	struct audit_note note;
	int r;

	/* First the history's length, then the checkpoint: the writer goes the other way round. */
	r = audit_history_init(&v->history, v->dir_fd);
	if (r == -ENOENT)
		return audit_verify_fail(v, AUDIT_TAMPERED, UINT64_MAX,
			"the file \"" AUDIT_HISTORY_FILE "\" is missing");
	if (r == -EACCES || r == -EPERM)
		return audit_verify_fail(v, AUDIT_UNREADABLE, UINT64_MAX,
			"the log cannot be read: %s", strerror(-r));
	if (r < 0)
		return r;
	r = file_read(v->dir_fd, AUDIT_CHECKPOINT_FILE, AUDIT_NOTE_MAX, &v->text, &v->text_size);
	if (r == -EACCES || r == -EPERM)
		return audit_verify_fail(v, AUDIT_UNREADABLE, UINT64_MAX,
			"the log cannot be read: %s", strerror(-r));
	if (r == -ENOENT)
		return audit_verify_fail(v, AUDIT_TAMPERED, UINT64_MAX,
			"the file \"" AUDIT_CHECKPOINT_FILE "\" is missing");
	if (r == -ENOMEM)
		return r;
	if (r < 0 || !read_own_note(v, v->text, v->text_size, &note, &v->checkpoint) ||
		v->checkpoint.size == 0)
		return audit_verify_fail(v, AUDIT_TAMPERED, UINT64_MAX,
			"the checkpoint is damaged or not signed by the log's key");
	v->report->size = v->checkpoint.size;
	format_hex(v->checkpoint.root, AUDIT_HASH_SIZE, v->report->root);
	return 0;
}

static int add_outside(struct verify *v, const struct audit_checkpoint *checkpoint)
{
	struct verify_outside *outside = &v->outside[v->n_outside];

	if (checkpoint->size > v->checkpoint.size)
		return audit_verify_fail(v, AUDIT_TAMPERED, v->checkpoint.size,
			"the log was cut: a checkpoint from outside covers %" PRIu64
			" records, this log only %" PRIu64,
			checkpoint->size, v->checkpoint.size);
	if (checkpoint->size == 0 || v->n_outside == VERIFY_OUTSIDE_MAX)
		return 0;
	outside->size = checkpoint->size;
	memcpy(outside->root, checkpoint->root, sizeof(outside->root));
	v->n_outside++;
	if (checkpoint->size > v->report->anchored)
		v->report->anchored = checkpoint->size;
	return 0;
}

/* Is NOTE cosigned by one of the witnesses that the caller trusts? */
static bool is_witnessed(const struct audit_note *note, const struct audit_verify_options *options)
{
	for (size_t i = 0; i < options->n_witnesses; i++) {
		struct audit_vkey witness;

		if (audit_vkey_parse(options->witnesses[i], &witness) == 0 &&
			witness.type == AUDIT_KEY_COSIGNATURE &&
			audit_note_check(note, &witness, NULL) == 0)
			return true;
	}
	return false;
}

/* Receipts in anchors/ count when a witness that the caller named has cosigned them. */
static int read_anchors(struct verify *v, const struct audit_verify_options *options)
{
	struct dirent *entry;
	DIR *dir;
	int fd, r = 0;

	fd = openat(v->dir_fd, AUDIT_ANCHOR_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return 0;
	dir = fdopendir(fd);
	if (!dir) {
		close_fd(fd);
		return err_errno();
	}
	while (r == 0 && (entry = readdir(dir)) != NULL) {
		_cleanup_(freep) char *text = NULL;
		struct audit_checkpoint checkpoint;
		struct audit_note note;
		size_t size = 0;

		if (file_read(fd, entry->d_name, AUDIT_NOTE_MAX, &text, &size) == 0 &&
			read_own_note(v, text, size, &note, &checkpoint) &&
			is_witnessed(&note, options))
			r = add_outside(v, &checkpoint);
	}
	closedir(dir);
	return r;
}

static int read_outside(struct verify *v, const struct audit_verify_options *options)
{
	struct audit_checkpoint checkpoint;
	struct audit_note note;
	int r = 0;

	if (!options)
		return 0;
	if (options->checkpoint) {
		if (!read_own_note(v, options->checkpoint, strlen(options->checkpoint), &note,
			    &checkpoint))
			return audit_verify_fail(v, AUDIT_TAMPERED, UINT64_MAX,
				"the given checkpoint is not one of this log: its name or key "
				"differ");
		r = add_outside(v, &checkpoint);
	}
	if (r == 0 && options->n_witnesses > 0)
		r = read_anchors(v, options);
	return r;
}

/* Everything was compared and right. */
static int verdict(struct verify *v)
{
	struct audit_report *report = v->report;
	char later[64] = "";

	if (v->bad_tile)
		return audit_verify_fail(v, AUDIT_TAMPERED, v->bad_tile_index,
			"the hash tile %s is %s (record %" PRIu64
			" on); the records themselves are right",
			v->bad_tile_path, v->bad_tile_missing ? "missing" : "damaged",
			v->bad_tile_index);
	/* Keys of epochs that the log does not know: it had them before it was set back. */
	if (v->highest_key > v->epoch + 1 ||
		(v->highest_key == v->epoch + 1 && !v->have_previous_key))
		return audit_verify_fail(v, AUDIT_TAMPERED, report->size,
			"the log was set back: the key of epoch %" PRIu64
			" exists, the log ends in epoch %" PRIu64,
			v->highest_key, v->epoch);
	if (v->n_unsigned > 0)
		(void)snprintf(
			later, sizeof(later), "; %" PRIu64 " more not yet signed", v->n_unsigned);
	if (report->anchored >= report->size) {
		report->status = AUDIT_OK;
		(void)snprintf(report->message, sizeof(report->message),
			"%" PRIu64 " records verified and anchored outside%s", report->size, later);
		return 0;
	}
	report->status = AUDIT_UNANCHORED;
	(void)snprintf(report->message, sizeof(report->message),
		"%" PRIu64 " records verified; tail not anchored since %s (record %" PRIu64 ")%s",
		report->size, v->unanchored_since[0] ? v->unanchored_since : "its beginning",
		report->anchored, later);
	return 0;
}

static int verify_once(const char *dir, const struct audit_verify_options *options,
	struct audit_report *report, bool *tornp)
{
	_cleanup_(verify_deinit) struct verify v = {
		.report = report, .dir_fd = -1, .seg_fd = -1, .history = {.fd = -1}};
	_cleanup_(freep) char *name = NULL;
	int r;

	memset(report, 0, sizeof(*report));
	report->first_bad = UINT64_MAX;
	v.tiles = calloc(1, sizeof(*v.tiles));
	v.previous = malloc(AUDIT_LINE_MAX);
	if (!v.tiles || !v.previous)
		return err_trace(-ENOMEM);
	r = open_folders(&v, dir);
	if (r == 0)
		r = find_key(&v, options);
	if (r == 0) {
		name = display_escape(v.key.name, strlen(v.key.name), NULL);
		if (!name)
			return err_trace(-ENOMEM);
		(void)snprintf(report->origin, sizeof(report->origin), "%s", name);
		look_at_keys(&v);
		r = read_checkpoint(&v);
	}
	if (r == 0)
		r = read_outside(&v, options);
	if (r == 0)
		r = audit_verify_records(&v);
	if (r == 0)
		r = verdict(&v);
	if (r < 0 && r != -ENOMEM)
		r = audit_verify_fail(&v, AUDIT_UNREADABLE, UINT64_MAX,
			"the log cannot be read: %s", strerror(-r));
	*tornp = v.torn && report->status == AUDIT_TAMPERED;
	return r < 0 ? err_trace(r) : 0;
}

int audit_verify(
	const char *dir, const struct audit_verify_options *options, struct audit_report *report)
{
	bool torn = true;
	int r = 0;

	if (sodium_init() < 0)
		return err_trace(-ENOMEM);
	/* A note that the writer is just appending looks cut: look again. */
	for (unsigned attempt = 0; torn && r == 0 && attempt < 3; attempt++) {
		torn = false;
		r = verify_once(dir, options, report, &torn);
	}
	return r < 0 ? r : (int)report->status;
}
