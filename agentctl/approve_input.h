/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef AGENTCTL_APPROVE_INPUT_H
#define AGENTCTL_APPROVE_INPUT_H

/* Lines of standard input for a poll(2) loop. On a terminal what was typed before a prompt was
 * there, and in the moment after, is thrown away. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define APPROVE_LINE_MAX 65536
#define APPROVE_QUIET_USEC 800000

struct approve_input {
	bool terminal;
	bool ended;           /* end of file or hang-up */
	uint64_t quiet_until; /* monotonic; 0 = input counts */
	char *line;           /* what has come of the current line */
	size_t size;
	bool too_long; /* drop until the next newline */
};

void approve_input_init(struct approve_input *input);
void approve_input_deinit(struct approve_input *input);

/* A prompt has just been printed: earlier input is void, and so is what comes at once. */
void approve_input_prompted(struct approve_input *input);
/* Milliseconds until input counts, or -1 when it does. */
int approve_input_wait_ms(const struct approve_input *input);
/* Ends the quiet time when it is over, and throws away what came in it. */
void approve_input_tick(struct approve_input *input);
/* Reads what is there; calls FN for each whole line (NUL-terminated, without newline, changeable)
 * until it returns false. */
void approve_input_read(
	struct approve_input *input, bool (*fn)(void *userdata, char *line), void *userdata);

#endif
