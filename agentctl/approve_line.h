/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef AGENTCTL_APPROVE_LINE_H
#define AGENTCTL_APPROVE_LINE_H

/* A line typed at the approve prompt. An answer needs its verb and the request's id in full: no
 * key, no empty line, no "y" is one. */

#include "agentctl/answer.h"

enum approve_word {
	APPROVE_NOTHING, /* an empty line */
	APPROVE_ANSWER,
	APPROVE_SKIP,
	APPROVE_SHOW,
	APPROVE_LIST,
	APPROVE_HELP,
	APPROVE_QUIT,
	APPROVE_WRONG, /* line->wrong says what */
};

struct approve_line {
	enum approve_word word;
	const char *id;
	struct answer answer;
	const char *wrong; /* static */
};

/* Reads LINE, which is cut into words in place; the result points into it. */
void approve_line_parse(char *text, struct approve_line *line);

#endif
