/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "policy-lang/suggest.h"

#include <stddef.h>
#include <string.h>

#define SUGGEST_MAX 64

static size_t min3(size_t a, size_t b, size_t c)
{
	size_t least = a < b ? a : b;

	return least < c ? least : c;
}

/* Number of inserted, deleted, replaced or swapped letters between A and B. */
static size_t edit_distance(const char *a, const char *b)
{
	size_t rows[3][SUGGEST_MAX + 1];
	size_t n_a = strlen(a), n_b = strlen(b);
	size_t *before = rows[0], *last = rows[1], *row = rows[2];

	if (n_a > SUGGEST_MAX || n_b > SUGGEST_MAX)
		return SUGGEST_MAX;
	for (size_t j = 0; j <= n_b; j++) {
		last[j] = j;
		before[j] = j;
	}
	for (size_t i = 1; i <= n_a; i++) {
		size_t *spare = before;

		row[0] = i;
		for (size_t j = 1; j <= n_b; j++) {
			row[j] = min3(
				last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
				before[j - 2] + 1 < row[j])
				row[j] = before[j - 2] + 1;
		}
		before = last;
		last = row;
		row = spare;
	}
	return last[n_b];
}

const char *suggest_word(const char *word, const char *const *words)
{
	size_t length = strlen(word);
	size_t limit = length <= 3 ? 1 : length <= 6 ? 2 : 3;
	const char *best = NULL;

	for (; *words; words++) {
		size_t distance = edit_distance(word, *words);

		if (distance <= limit) {
			limit = distance ? distance - 1 : 0;
			best = *words;
			if (!distance)
				break;
		}
	}
	return best;
}
