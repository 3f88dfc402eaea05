/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */

/* Notes, checkpoints, verifier keys: whatever the bytes are, nothing is read out of bounds, and
 * what was parsed lies inside the input. */

#include <sodium.h>
#include <stdint.h>
#include <string.h>

#include "audit-log/note.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_inside(const char *text, size_t size, const char *part, size_t part_size)
{
	if (part < text || part_size > size || part + part_size > text + size)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char vkey[] = "example.org/supervisor/host1/audit+70810843+AQOhB7/"
				   "zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4";
	_cleanup_(freep) char *text = malloc(size + 1);
	struct audit_checkpoint checkpoint;
	struct audit_vkey key;
	struct audit_note note;

	if (!text || sodium_init() < 0)
		return 0;
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	if (audit_note_measure(text, size) > size)
		abort();
	if (audit_vkey_parse(text, &key) == 0) {
		_cleanup_(freep) char *again = audit_vkey_format(&key);

		if (!again || strcmp(again, text) != 0)
			abort();
	}
	if (audit_checkpoint_parse(text, size, &checkpoint) == 0)
		check_inside(text, size, checkpoint.origin, checkpoint.origin_size);
	if (audit_note_parse(text, size, &note) != 0)
		return 0;
	check_inside(text, size, note.text, note.text_size);
	if (note.text[note.text_size - 1] != '\n' || note.n_sigs == 0)
		abort();
	for (size_t i = 0; i < note.n_sigs; i++) {
		check_inside(text, size, note.sigs[i].name, note.sigs[i].name_size);
		check_inside(text, size, note.sigs[i].base64, note.sigs[i].base64_size);
	}
	if (audit_vkey_parse(vkey, &key) != 0)
		abort();
	if (audit_note_verify(&note, &key, 1) < 0)
		abort();
	return 0;
}
