/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */

#include "supervisord/base/display.h"

#include <stdint.h>
#include <string.h>

#include "supervisord/base/buf.h"

/* Classification depends on nothing but the table below: not on the locale, which the environment
 * of whoever starts us could choose. */

#define DISPLAY_TAIL 40 /* bytes that stay at the end of a text that is cut */
#define DISPLAY_SHORT_MIN 80

struct display_range {
	uint32_t first, last;
};

/* Code points beyond ASCII that show nothing, look like a space, or act on the text around them.
 * Sorted. Variation selectors, blanks and fillers stand here too: they make two names look alike.
 */
static const struct display_range display_hidden[] = {
	{0x00a0, 0x00a0}, /* no-break space */
	{0x00ad, 0x00ad}, /* soft hyphen */
	{0x034f, 0x034f}, /* grapheme joiner */
	{0x0600, 0x0605}, /* number signs that enclose what follows */
	{0x061c, 0x061c}, /* Arabic letter mark */
	{0x06dd, 0x06dd}, {0x070f, 0x070f}, {0x0890, 0x0891}, {0x08e2, 0x08e2},
	{0x115f, 0x1160}, /* Hangul fillers */
	{0x1680, 0x1680}, {0x17b4, 0x17b5}, {0x180b, 0x180f},
	{0x2000, 0x200f}, /* spaces, zero width, direction marks */
	{0x2028, 0x202f}, /* separators, embeddings and overrides */
	{0x205f, 0x206f}, /* invisible operators, isolates */
	{0x2800, 0x2800}, /* blank Braille pattern */
	{0x2fe0, 0x2fef}, {0x3000, 0x3000}, {0x3164, 0x3164}, {0xe000, 0xf8ff}, /* private use */
	{0xfdd0, 0xfdef},                                                       /* noncharacters */
	{0xfe00, 0xfe0f}, /* variation selectors */
	{0xfeff, 0xfeff}, {0xffa0, 0xffa0}, {0xfff0, 0xfffc}, {0xfffe, 0xffff}, {0x110bd, 0x110bd},
	{0x110cd, 0x110cd}, {0x13430, 0x1345f}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a},
	{0x1fffe, 0x1ffff}, {0x2fa20, 0x2ffff}, /* unassigned */
	{0x323b0, 0x10ffff}, /* unassigned, tags, more variation selectors, private use */
};

/* Letters whose shapes are shared between scripts. Sorted within a script. */
static const struct display_range display_latin[] = {
	{'A', 'Z'},
	{'a', 'z'},
	{0x00c0, 0x00d6},
	{0x00d8, 0x00f6},
	{0x00f8, 0x02af},
	{0x1d00, 0x1d25},
	{0x1e00, 0x1eff},
	{0x2c60, 0x2c7f},
	{0xa722, 0xa7ff},
	{0xff21, 0xff3a},
	{0xff41, 0xff5a},
};

static const struct display_range display_other_script[] = {
	{0x0370, 0x0373}, /* Greek */
	{0x0376, 0x03ff},
	{0x0400, 0x052f}, /* Cyrillic */
	{0x1c80, 0x1c8f},
	{0x1f00, 0x1fff},
	{0x2de0, 0x2dff},
	{0xa640, 0xa69f},
};

enum display_class {
	DISPLAY_PLAIN,     /* printable ASCII, as it is */
	DISPLAY_BACKSLASH, /* printable, but starts our escapes */
	DISPLAY_LETTER,    /* beyond ASCII, as it is */
	DISPLAY_BYTES,     /* controls and invalid bytes: each byte as \xNN */
	DISPLAY_POINT,     /* hidden code point: \u{...} */
};

struct display_token {
	enum display_class class;
	size_t size; /* bytes of the input */
	uint32_t point;
};

/* What a word has shown so far, for DISPLAY_MIXED_SCRIPT. */
struct display_word {
	bool latin, other;
};

static bool display_in(const struct display_range *ranges, size_t n, uint32_t point)
{
	size_t low = 0, high = n, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (point < ranges[middle].first)
			high = middle;
		else if (point > ranges[middle].last)
			low = middle + 1;
		else
			return true;
	}
	return false;
}

/* Strict UTF-8: the length of the sequence at DATA, 0 where it is no shortest form of a scalar
 * value. */
static size_t display_decode(const unsigned char *data, size_t size, uint32_t *pointp)
{
	static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
	uint32_t point;
	size_t length, i;

	if (data[0] < 0x80) {
		*pointp = data[0];
		return 1;
	}
	if (data[0] >= 0xc2 && data[0] <= 0xdf) {
		length = 2;
		point = data[0] & 0x1fu;
	} else if (data[0] >= 0xe0 && data[0] <= 0xef) {
		length = 3;
		point = data[0] & 0x0fu;
	} else if (data[0] >= 0xf0 && data[0] <= 0xf4) {
		length = 4;
		point = data[0] & 0x07u;
	} else {
		return 0;
	}
	if (length > size)
		return 0;
	for (i = 1; i < length; i++) {
		if ((data[i] & 0xc0u) != 0x80)
			return 0;
		point = point << 6 | (data[i] & 0x3fu);
	}
	if (point < smallest[length] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
		return 0;
	*pointp = point;
	return length;
}

/* The next unit of a text of at least one byte. */
static struct display_token display_next(const char *data, size_t size)
{
	struct display_token token = {.class = DISPLAY_BYTES, .size = 1};
	size_t length;

	length = display_decode((const unsigned char *)data, size, &token.point);
	if (length == 0)
		return token;
	token.size = length;
	if (token.point < 0x20 || (token.point >= 0x7f && token.point < 0xa0))
		token.class = DISPLAY_BYTES;
	else if (token.point == '\\')
		token.class = DISPLAY_BACKSLASH;
	else if (token.point < 0x7f)
		token.class = DISPLAY_PLAIN;
	else if (display_in(display_hidden, ARRAY_LEN(display_hidden), token.point))
		token.class = DISPLAY_POINT;
	else
		token.class = DISPLAY_LETTER;
	return token;
}

static unsigned display_token_flags(const struct display_token *token, struct display_word *word)
{
	bool mark = token->point >= 0x300 && token->point <= 0x36f;
	bool latin = false, other = false;

	if (token->class == DISPLAY_BYTES || token->class == DISPLAY_POINT)
		/* A hidden character does not end a word: that would hide the mixture. */
		return DISPLAY_ESCAPED;
	latin = display_in(display_latin, ARRAY_LEN(display_latin), token->point);
	other = display_in(display_other_script, ARRAY_LEN(display_other_script), token->point);
	if (token->class != DISPLAY_LETTER && !latin && (token->point < '0' || token->point > '9'))
		*word = (struct display_word){0};
	if (!mark) {
		word->latin |= latin;
		word->other |= other;
	}
	return (token->class == DISPLAY_LETTER ? DISPLAY_NON_ASCII : 0u) |
	       (word->latin && word->other ? DISPLAY_MIXED_SCRIPT : 0u);
}

/* Appends TOKEN, which stands at DATA. SHELL: the escapes of $'...' instead of ours. */
static void display_put(
	struct buf *out, const char *data, const struct display_token *token, bool shell)
{
	size_t i;

	if (token->class == DISPLAY_PLAIN || token->class == DISPLAY_LETTER) {
		if (shell && *data == '\'')
			(void)buf_putc(out, '\\');
		(void)buf_append(out, data, token->size);
	} else if (token->class == DISPLAY_BACKSLASH) {
		(void)buf_puts(out, "\\\\");
	} else if (token->class == DISPLAY_POINT && shell) {
		(void)buf_printf(out, token->point > 0xffff ? "\\U%08x" : "\\u%04x", token->point);
	} else if (token->class == DISPLAY_POINT) {
		(void)buf_printf(out, "\\u{%04x}", token->point);
	} else if (*data == '\n') {
		(void)buf_puts(out, "\\n");
	} else if (*data == '\t') {
		(void)buf_puts(out, "\\t");
	} else {
		for (i = 0; i < token->size; i++)
			(void)buf_printf(out, "\\x%02x", (unsigned)(unsigned char)data[i]);
	}
}

/* Appends DATA escaped; returns the flags. */
static unsigned display_put_all(struct buf *out, const char *data, size_t size, bool shell)
{
	struct display_word word = {0};
	struct display_token token;
	unsigned flags = 0;
	size_t i;

	for (i = 0; i < size; i += token.size) {
		token = display_next(data + i, size - i);
		flags |= display_token_flags(&token, &word);
		display_put(out, data + i, &token, shell);
	}
	return flags;
}

char *display_escape(const char *data, size_t size, unsigned *flagsp)
{
	_cleanup_(buf_deinit) struct buf out;
	unsigned flags;

	buf_init(&out, SIZE_MAX / 2);
	flags = display_put_all(&out, data, size, false);
	if (flagsp)
		*flagsp = flags;
	return buf_take(&out);
}

char *display_escape_short(const char *text, size_t max, unsigned *flagsp)
{
	size_t size = strlen(text), head_max, head = 0, tail = 0, at = 0, i;
	_cleanup_(buf_deinit) struct buf all;
	_cleanup_(buf_deinit) struct buf out;
	struct display_token token;
	bool in_head = true;

	if (max < DISPLAY_SHORT_MIN)
		max = DISPLAY_SHORT_MIN;
	buf_init(&out, SIZE_MAX / 2);
	buf_init(&all, SIZE_MAX / 2);
	i = display_put_all(&all, text, size, false);
	if (flagsp)
		*flagsp = (unsigned)i;
	if (all.error || all.size <= max)
		return buf_take(&all);
	/* The marker is at most as long as one that left out everything. */
	(void)buf_printf(&out, "...[%zu bytes]...", size);
	head_max = max - DISPLAY_TAIL - out.size;
	/* Cuts only between units, so that half an escape or half a letter is never shown: OUT is
	 * used to measure each unit. */
	for (i = 0; i < size; i += token.size) {
		token = display_next(text + i, size - i);
		if (all.size - at <= DISPLAY_TAIL)
			break;
		out.size = 0;
		display_put(&out, text + i, &token, false);
		if (out.error)
			return NULL;
		at += out.size;
		in_head = in_head && at <= head_max;
		if (in_head)
			head = i + token.size;
	}
	tail = i;
	out.size = 0;
	(void)display_put_all(&out, text, head, false);
	(void)buf_printf(&out, "...[%zu bytes]...", tail - head);
	(void)display_put_all(&out, text + tail, size - tail, false);
	return buf_take(&out);
}

/* How an argument has to be written so that a shell reads it back. */
enum display_quoting {
	DISPLAY_BARE,
	DISPLAY_QUOTED,  /* '...' */
	DISPLAY_DOLLARS, /* $'...', with escapes */
};

static enum display_quoting display_quoting_of(const char *arg, size_t size, bool first)
{
	enum display_quoting quoting = size ? DISPLAY_BARE : DISPLAY_QUOTED;
	struct display_token token;
	size_t i;

	for (i = 0; i < size; i += token.size) {
		token = display_next(arg + i, size - i);
		if (token.class == DISPLAY_BYTES || token.class == DISPLAY_POINT)
			return DISPLAY_DOLLARS;
		if (token.class == DISPLAY_PLAIN &&
			((arg[i] >= '0' && arg[i] <= '9') || (arg[i] >= 'A' && arg[i] <= 'Z') ||
				(arg[i] >= 'a' && arg[i] <= 'z') || strchr("_@%+:,./-", arg[i]) ||
				(arg[i] == '=' && !first)))
			continue;
		quoting = DISPLAY_QUOTED;
	}
	return quoting;
}

char *display_argv(const char *const *argv, size_t n_argv)
{
	_cleanup_(buf_deinit) struct buf out;
	enum display_quoting quoting;
	size_t i, j, size;

	buf_init(&out, SIZE_MAX / 2);
	for (i = 0; i < n_argv; i++) {
		size = strlen(argv[i]);
		quoting = display_quoting_of(argv[i], size, i == 0);
		if (i)
			(void)buf_putc(&out, ' ');
		if (quoting == DISPLAY_DOLLARS) {
			(void)buf_puts(&out, "$'");
			(void)display_put_all(&out, argv[i], size, true);
			(void)buf_putc(&out, '\'');
		} else if (quoting == DISPLAY_QUOTED) {
			(void)buf_putc(&out, '\'');
			for (j = 0; j < size; j++)
				if (argv[i][j] == '\'')
					(void)buf_puts(&out, "'\\''");
				else
					(void)buf_putc(&out, argv[i][j]);
			(void)buf_putc(&out, '\'');
		} else {
			(void)buf_append(&out, argv[i], size);
		}
	}
	return buf_take(&out);
}
