/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "audit-log/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "audit-log/note.h"
#include "audit-log/origin.h"
#include "audit-log/reader.h"
#include "supervisord/base/error.h"
#include "supervisord/base/file.h"

/* Reading without the writer and without judging: what is shown here is as good as audit_verify
 * says. */

static int open_dir(const char *dir, int *fdp)
{
	*fdp = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return *fdp < 0 ? -errno : 0;
}

/* How many records the checkpoint covers; UINT64_MAX where it cannot be read. */
static uint64_t covered(int dir_fd)
{
	_cleanup_(freep) char *text = NULL;
	struct audit_checkpoint checkpoint;
	struct audit_note note;
	size_t size = 0;

	if (file_read(dir_fd, AUDIT_CHECKPOINT_FILE, AUDIT_NOTE_MAX, &text, &size) < 0 ||
		audit_note_parse(text, size, &note) != 0 ||
		audit_checkpoint_parse(note.text, note.text_size, &checkpoint) != 0)
		return UINT64_MAX;
	return checkpoint.size;
}

int audit_read(const char *dir, uint64_t from, audit_record_fn fn, void *userdata)
{
	_cleanup_(closep) int dir_fd = -1, seg_fd = -1;
	struct audit_reader reader;
	uint64_t limit;
	int r;

	r = open_dir(dir, &dir_fd);
	if (r < 0)
		return err_trace(r);
	limit = covered(dir_fd);
	seg_fd = openat(dir_fd, AUDIT_SEGMENT_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (seg_fd < 0)
		return err_trace(-errno);
	if (from >= limit)
		return 0;
	r = audit_reader_init(&reader, seg_fd, from);
	if (r == AUDIT_READER_END)
		return 0;
	if (r < 0)
		return err_trace(r);
	while (r == 0 && reader.index < limit) {
		uint64_t index = reader.index;
		const char *line;
		size_t size;

		r = audit_reader_next(&reader, &line, &size);
		if (r == AUDIT_READER_LONG)
			r = 0;
		if (r == 0)
			r = fn(userdata, index, line, size);
		else if (r > 0)
			break;
	}
	audit_reader_deinit(&reader);
	return r == AUDIT_READER_END || r == AUDIT_READER_TORN ? 0 : r;
}

int audit_checkpoint_text(const char *dir, char **textp)
{
	_cleanup_(closep) int dir_fd = -1;
	int r;

	*textp = NULL;
	r = open_dir(dir, &dir_fd);
	if (r == 0)
		r = file_read(dir_fd, AUDIT_CHECKPOINT_FILE, AUDIT_NOTE_MAX, textp, NULL);
	return err_trace(r);
}

int audit_log_vkey(const char *dir, char **vkeyp)
{
	_cleanup_(closep) int dir_fd = -1;
	struct audit_origin origin;
	int r;

	*vkeyp = NULL;
	r = open_dir(dir, &dir_fd);
	if (r == 0)
		r = audit_origin_read(dir_fd, &origin);
	if (r < 0)
		return err_trace(r);
	*vkeyp = audit_vkey_format(&origin.identity);
	return *vkeyp ? 0 : err_trace(-ENOMEM);
}
