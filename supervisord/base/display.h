/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_BASE_DISPLAY_H
#define SUPERVISORD_BASE_DISPLAY_H

/* The one module through which untrusted bytes reach a person: screens, prompts, messages, logs.
 *
 * Printable ASCII stays. Made visible, never dropped: C0, DEL, C1 and invalid UTF-8 as \xNN
 * (newline \n, tab \t, backslash \\); bidi controls, zero-width and other format characters, tags,
 * variation selectors, line and paragraph separators, unassigned and non-printing characters as
 * \u{XXXX}. Other letters beyond ASCII stay and set DISPLAY_NON_ASCII. */

#include <stdbool.h>
#include <stddef.h>

#include "supervisord/base/cleanup.h"

enum display_flag {
	DISPLAY_ESCAPED = 1 << 0,      /* something hidden was made visible */
	DISPLAY_NON_ASCII = 1 << 1,    /* letters beyond ASCII: may look like others */
	DISPLAY_MIXED_SCRIPT = 1 << 2, /* Latin together with Cyrillic or Greek in one word */
};

/* Text safe for a terminal, owned by the caller; *FLAGSP (may be NULL) is a set of display_flag.
 * NULL when out of memory. */
char *display_escape(const char *data, size_t size, unsigned *flagsp);

/* Text that should be escaped already: its escapes stay as they are, and whatever is not safe for a
 * terminal is escaped now, newlines too. Owned by the caller; NULL when out of memory. */
char *display_reescape(const char *text);

/* display_escape of a NUL-terminated string, cut in the middle so that it has at most MAX bytes;
 * the cut is shown as "...[N bytes]..." and the last 40 bytes stay. MAX at least 80. */
char *display_escape_short(const char *text, size_t max, unsigned *flagsp);

/* An argv as one line that a shell would read back: elements quoted where needed, escapes visible.
 */
char *display_argv(const char *const *argv, size_t n_argv);

#endif
