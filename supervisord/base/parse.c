/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */

#include "supervisord/base/parse.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "supervisord/base/clock.h"

#define SPAN_MAX_SEC (3650ULL * 86400)

/* The units of a span, largest first. */
static const struct {
	char suffix;
	uint64_t seconds;
} span_units[] = {
	{'d', 86400},
	{'h', 3600},
	{'m', 60},
	{'s', 1},
};

/* SIZE digits; the strict form of a number without a terminator. */
static int parse_digits(const char *text, size_t size, uint64_t max, uint64_t *valuep)
{
	uint64_t value = 0;
	bool over = false;
	size_t i;

	if (size == 0 || (size > 1 && text[0] == '0'))
		return -EINVAL;
	for (i = 0; i < size; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -EINVAL;
		over = over || __builtin_mul_overflow(value, (uint64_t)10, &value) ||
		       __builtin_add_overflow(value, (uint64_t)(text[i] - '0'), &value);
	}
	if (over || value > max)
		return -ERANGE;
	*valuep = value;
	return 0;
}

int parse_u64(const char *text, uint64_t max, uint64_t *valuep)
{
	return parse_digits(text, strlen(text), max, valuep);
}

int parse_span(const char *text, uint64_t *usecp)
{
	size_t size = strlen(text);
	uint64_t value;
	size_t i;
	int r;

	if (size < 2)
		return -EINVAL;
	for (i = 0; i < ARRAY_LEN(span_units); i++)
		if (span_units[i].suffix == text[size - 1])
			break;
	if (i == ARRAY_LEN(span_units))
		return -EINVAL;
	r = parse_digits(text, size - 1, SPAN_MAX_SEC / span_units[i].seconds, &value);
	if (r < 0)
		return r;
	if (value == 0)
		return -ERANGE;
	*usecp = value * span_units[i].seconds * USEC_PER_SEC;
	return 0;
}

void format_span(uint64_t usec, char *out, size_t size)
{
	uint64_t seconds = usec / USEC_PER_SEC;
	size_t i;

	for (i = 0; i + 1 < ARRAY_LEN(span_units); i++)
		if (seconds && seconds % span_units[i].seconds == 0)
			break;
	(void)snprintf(
		out, size, "%" PRIu64 "%c", seconds / span_units[i].seconds, span_units[i].suffix);
}

void format_hex(const uint8_t *data, size_t size, char *out)
{
	static const char digits[] = "0123456789abcdef";
	size_t i;

	for (i = 0; i < size; i++) {
		out[2 * i] = digits[data[i] >> 4];
		out[2 * i + 1] = digits[data[i] & 15];
	}
	out[2 * size] = '\0';
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

int parse_hex(const char *text, uint8_t *data, size_t size)
{
	int high, low;
	size_t i;

	/* Checked first, so that DATA is written whole or not at all by length. */
	if (strlen(text) != 2 * size)
		return -EINVAL;
	for (i = 0; i < size; i++) {
		high = hex_digit(text[2 * i]);
		low = hex_digit(text[2 * i + 1]);
		if (high < 0 || low < 0)
			return -EINVAL;
		data[i] = (uint8_t)(high << 4 | low);
	}
	return 0;
}
