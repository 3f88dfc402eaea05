/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "audit-log/writer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "audit-log/reader.h"
#include "audit-log/record.h"
#include "supervisord/base/clock.h"
#include "supervisord/base/error.h"
#include "supervisord/base/file.h"
#include "supervisord/base/log.h"

/* Opening and closing: the folder, the lock, a new log or an old one. */

#define LOCK_FILE "lock"

static void log_free(struct audit_log *log)
{
	audit_key_free(log->identity);
	audit_key_free(log->epoch_key);
	audit_key_free(log->next_key);
	buf_deinit(&log->lines);
	free(log->pending);
	free(log->tiles);
	free(log->scratch);
	free(log->note);
	close_fd(log->segment_fd);
	close_fd(log->history_fd);
	close_fd(log->keys_fd);
	close_fd(log->seg_dir_fd);
	close_fd(log->dir_fd);
	/* Last: who gets the lock finds everything closed. */
	close_fd(log->lock_fd);
	free(log);
}
DEFINE_CLEANUP(struct audit_log *, log_free);

static struct audit_log *log_new(void)
{
	_cleanup_(log_freep) struct audit_log *log = calloc(1, sizeof(*log));

	if (!log)
		return NULL;
	log->dir_fd = log->seg_dir_fd = log->keys_fd = log->lock_fd = -1;
	log->segment_fd = log->history_fd = -1;
	log->realtime = clock_realtime_usec;
	log->boottime = clock_boottime_usec;
	buf_init(&log->lines, AUDIT_LINES_MAX);
	log->tiles = calloc(1, sizeof(*log->tiles));
	log->scratch = calloc(1, sizeof(*log->scratch));
	if (!log->tiles || !log->scratch)
		return NULL;
	clock_boot_id(log->boot);
	if (gethostname(log->host, sizeof(log->host) - 1) < 0)
		memcpy(log->host, "localhost", sizeof("localhost"));
	log->clock_offset = (int64_t)log->realtime() - (int64_t)log->boottime();
	return TAKE_PTR(log);
}

/* A lock that belongs to this open file: it ends with the process, however that ends. */
static int take_lock(struct audit_log *log)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	log->lock_fd = openat(log->dir_fd, LOCK_FILE,
		O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	if (log->lock_fd < 0)
		return err_trace(-errno);
	if (fcntl(log->lock_fd, F_OFD_SETLK, &lock) == 0)
		return 0;
	return errno == EAGAIN || errno == EACCES ? AUDIT_E_LOCKED : err_trace(-errno);
}

static int open_subdir(int dir_fd, const char *name, int *fdp)
{
	struct stat st;

	if (mkdirat(dir_fd, name, 0700) < 0 && errno != EEXIST)
		return err_trace(-errno);
	*fdp = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (*fdp < 0 || fstat(*fdp, &st) < 0)
		return err_trace(-errno);
	if (st.st_uid != geteuid() || st.st_mode & 077)
		return err_trace(-EPERM);
	return 0;
}

/* Removes what interrupted replacements left; with ALL every file (of a log that never came to be).
 */
static int clean_folder(int dir_fd, bool all)
{
	struct dirent *entry;
	DIR *dir;
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return err_trace(-errno);
	dir = fdopendir(fd);
	if (!dir) {
		close_fd(fd);
		return err_trace(err_errno());
	}
	while ((entry = readdir(dir)) != NULL) {
		const char *name = entry->d_name;
		size_t size = strlen(name);
		bool temporary = size > 5 && name[0] == '.' && strcmp(name + size - 4, ".tmp") == 0;

		if (!temporary && (!all || strcmp(name, ".") == 0 || strcmp(name, "..") == 0))
			continue;
		if (unlinkat(dir_fd, name, 0) < 0)
			log_debug_r(-errno, "cannot remove %s", name);
	}
	closedir(dir);
	return 0;
}

/* The first two records, their checkpoint, and last of all the origin file: with it the log exists.
 */
static int create(struct audit_log *log)
{
	_cleanup_(json_decrefp) json_t *record = NULL;
	char name[AUDIT_KEY_NAME_MAX + 1];
	_cleanup_(freep) char *vkey = NULL;
	struct audit_record first;
	int r;

	audit_origin_make_name(name);
	r = audit_key_generate(name, &log->identity);
	if (r < 0)
		return err_trace(r);
	r = audit_key_save(log->identity, log->keys_fd, AUDIT_KEY_IDENTITY);
	if (r < 0)
		return err_trace(r);
	log->origin.identity = *audit_key_public(log->identity);
	vkey = audit_vkey_format(&log->origin.identity);
	if (!vkey)
		return err_trace(-ENOMEM);
	record = json_pack("{s:s, s:i, s:s, s:s}", "type", "log.open", "format", AUDIT_FORMAT,
		"origin", name, "vkey", vkey);
	if (!record)
		return err_trace(-ENOMEM);
	r = audit_log_append_own(log, record);
	if (r < 0)
		return err_trace(r);
	r = audit_record_parse(log->lines.data, log->pending[0].end - 1, &first, NULL);
	if (r < 0)
		return err_trace(r);
	memcpy(log->origin.created, first.time, sizeof(log->origin.created));
	r = audit_log_rotate(log, "start");
	if (r < 0)
		return err_trace(r);
	r = audit_log_open_history(log);
	if (r < 0)
		return err_trace(r);
	r = audit_log_commit_once(log, true);
	if (r < 0)
		return err_trace(r);
	return err_trace(audit_origin_write(log->dir_fd, &log->origin));
}

/* How many complete records there are, up to MAX. */
static int count_records(int seg_dir_fd, uint64_t max, uint64_t *np)
{
	struct audit_reader reader;
	const char *line;
	size_t size;
	int r;

	*np = 0;
	r = audit_reader_init(&reader, seg_dir_fd, 0);
	if (r == AUDIT_READER_END)
		return 0;
	if (r < 0)
		return err_trace(r);
	while (*np < max && (r = audit_reader_next(&reader, &line, &size)) == 0)
		++*np;
	audit_reader_deinit(&reader);
	return r < 0 ? err_trace(r) : 0;
}

/* There is a checkpoint and no origin file: the very first start was cut short, or somebody removed
 * it. The identity key and the checkpoint together say what it was. */
static int restore_origin(struct audit_log *log, char **reasonp)
{
	_cleanup_(audit_key_freep) struct audit_key *key = NULL;
	_cleanup_(freep) char *text = NULL;
	char name[AUDIT_KEY_NAME_MAX + 1] = "";
	struct audit_checkpoint checkpoint;
	struct audit_record first;
	struct audit_reader reader;
	struct audit_note note;
	const char *line;
	size_t size = 0;
	int r;

	r = file_read(log->dir_fd, AUDIT_CHECKPOINT_FILE, AUDIT_NOTE_MAX, &text, &size);
	if (r < 0)
		return err_trace(r);
	if (audit_note_parse(text, size, &note) != 0 ||
		audit_checkpoint_parse(note.text, note.text_size, &checkpoint) != 0 ||
		checkpoint.origin_size >= sizeof(name))
		goto tampered;
	memcpy(name, checkpoint.origin, checkpoint.origin_size);
	r = audit_key_load(log->keys_fd, AUDIT_KEY_IDENTITY, name, &key);
	if (r != 0 || audit_note_check(&note, audit_key_public(key), NULL) != 0)
		goto tampered;
	r = audit_reader_init(&reader, log->seg_dir_fd, 0);
	if (r != 0)
		goto tampered;
	r = audit_reader_next(&reader, &line, &size);
	if (r == 0)
		r = audit_record_parse(line, size, &first, NULL);
	audit_reader_deinit(&reader);
	if (r != 0)
		goto tampered;
	log->origin.identity = *audit_key_public(key);
	memcpy(log->origin.created, first.time, sizeof(log->origin.created));
	return err_trace(audit_origin_write(log->dir_fd, &log->origin));
tampered:
	*reasonp = strdup("the file \"origin\" is missing and cannot be made again");
	return AUDIT_E_TAMPERED;
}

/* 0 with *NEWP; AUDIT_E_TAMPERED with *REASONP; -errno. */
static int look_around(struct audit_log *log, bool *newp, char **reasonp)
{
	bool have_checkpoint =
		faccessat(log->dir_fd, AUDIT_CHECKPOINT_FILE, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
	uint64_t n_records = 0;
	int r;

	*newp = false;
	r = audit_origin_read(log->dir_fd, &log->origin);
	if (r == -EBADMSG) {
		*reasonp = strdup("the file \"origin\" is damaged");
		return AUDIT_E_TAMPERED;
	}
	if (r != -ENOENT)
		return err_trace(r);
	if (have_checkpoint)
		return restore_origin(log, reasonp);
	r = count_records(log->seg_dir_fd, AUDIT_NEW_RECORDS + 1, &n_records);
	if (r < 0)
		return err_trace(r);
	if (n_records > AUDIT_NEW_RECORDS) {
		*reasonp = strdup("there are records, but neither \"origin\" nor \"checkpoint\"");
		return AUDIT_E_TAMPERED;
	}
	*newp = true;
	r = clean_folder(log->seg_dir_fd, true);
	return r < 0 ? r : err_trace(clean_folder(log->keys_fd, true));
}

int audit_log_open(const char *dir, struct audit_log **logp, char **reasonp)
{
	_cleanup_(log_freep) struct audit_log *log = NULL;
	bool new = false;
	int r;

	*logp = NULL;
	*reasonp = NULL;
	if (sodium_init() < 0)
		return err_trace(-ENOSYS);
	log = log_new();
	if (!log)
		return err_trace(-ENOMEM);
	r = dir_open_private(dir, &log->dir_fd);
	if (r < 0)
		return err_trace(r);
	r = take_lock(log);
	if (r != 0)
		return r;
	r = open_subdir(log->dir_fd, AUDIT_SEGMENT_DIR, &log->seg_dir_fd);
	if (r == 0)
		r = open_subdir(log->dir_fd, AUDIT_KEY_DIR, &log->keys_fd);
	if (r == 0)
		r = clean_folder(log->dir_fd, false);
	if (r == 0)
		r = clean_folder(log->keys_fd, false);
	if (r == 0)
		r = look_around(log, &new, reasonp);
	if (r == 0)
		r = new ? create(log) : audit_log_recover(log, reasonp);
	if (r != 0)
		return r < 0 ? err_trace(r) : r;
	*logp = TAKE_PTR(log);
	return 0;
}

void audit_log_close(struct audit_log *log)
{
	_cleanup_(json_decrefp) json_t *record = NULL;
	int r;

	if (!log)
		return;
	r = audit_log_tick(log);
	record = json_pack("{s:s}", "type", "log.close");
	if (r == 0)
		r = record ? audit_log_append_own(log, record) : -ENOMEM;
	if (r == 0)
		r = audit_log_commit_once(log, true);
	if (r < 0)
		log_error_r(r, "the audit log could not be closed in order");
	log_free(log);
}
