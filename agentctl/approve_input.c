/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
/* Typed lines, and when they count. */

#include "agentctl/approve_input.h"

#include <errno.h>
#include <string.h>
#include <termios.h>

#include "agentctl/output.h"
#include "supervisord/base/clock.h"

void approve_input_init(struct approve_input *input)
{
	*input = (struct approve_input){.terminal = isatty(STDIN_FILENO)};
	input->line = malloc(APPROVE_LINE_MAX);
	if (!input->line)
		out_of_memory();
}

void approve_input_deinit(struct approve_input *input)
{
	free(input->line);
	input->line = NULL;
}

static void discard(struct approve_input *input)
{
	if (input->terminal)
		(void)tcflush(STDIN_FILENO, TCIFLUSH);
	input->size = 0;
	input->too_long = false;
}

void approve_input_prompted(struct approve_input *input)
{
	/* A script's lines are answers to what it was told, whenever they are written. */
	if (!input->terminal)
		return;
	discard(input);
	input->quiet_until = clock_monotonic_usec() + APPROVE_QUIET_USEC;
}

int approve_input_wait_ms(const struct approve_input *input)
{
	uint64_t now = clock_monotonic_usec();

	if (input->quiet_until == 0)
		return -1;
	if (now >= input->quiet_until)
		return 0;
	return (int)((input->quiet_until - now) / USEC_PER_MSEC + 1);
}

void approve_input_tick(struct approve_input *input)
{
	if (input->quiet_until == 0 || clock_monotonic_usec() < input->quiet_until)
		return;
	input->quiet_until = 0;
	discard(input);
}

/* One byte of input. Returns true when a line is complete. */
static bool take(struct approve_input *input, char c)
{
	if (c == '\n') {
		bool whole = !input->too_long;

		input->line[input->size] = '\0';
		input->size = 0;
		input->too_long = false;
		return whole;
	}
	/* A NUL would hide the rest of the line. */
	if (c == '\0' || input->size + 1 >= APPROVE_LINE_MAX)
		input->too_long = true;
	else
		input->line[input->size++] = c;
	return false;
}

void approve_input_read(
	struct approve_input *input, bool (*fn)(void *userdata, char *line), void *userdata)
{
	char data[4096];
	ssize_t n = read(STDIN_FILENO, data, sizeof(data));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0) {
		input->ended = true;
		return;
	}
	for (ssize_t i = 0; i < n; i++)
		if (take(input, data[i]) && !fn(userdata, input->line))
			return;
}
