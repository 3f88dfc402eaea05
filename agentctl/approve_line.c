/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
/* The small language of the approve prompt. */

#include "agentctl/approve_line.h"

#include <string.h>

static const char blanks[] = " \t\r\n";

/* The next word, or NULL. What follows it stays in *RESTP. */
static char *next_word(char **restp)
{
	char *word = *restp + strspn(*restp, blanks);
	size_t n = strcspn(word, blanks);

	if (n == 0)
		return NULL;
	*restp = word + n;
	if (word[n] != '\0') {
		word[n] = '\0';
		*restp = word + n + 1;
	}
	return word;
}

static void wrong(struct approve_line *line, const char *what)
{
	line->word = APPROVE_WRONG;
	line->wrong = what;
}

/* "ID [for DURATION] [scope NAME]" */
static void parse_allow(char *rest, struct approve_line *line)
{
	char *word;

	line->answer.allow = true;
	while ((word = next_word(&rest))) {
		const char **valuep = NULL;

		if (strcmp(word, "for") == 0)
			valuep = &line->answer.duration;
		else if (strcmp(word, "scope") == 0)
			valuep = &line->answer.scope;
		else
			return wrong(
				line, "after the id come only \"for DURATION\" and \"scope NAME\"");
		*valuep = next_word(&rest);
		if (!*valuep)
			return wrong(line, "\"for\" and \"scope\" need a word behind them");
	}
}

/* "ID [NOTE]": the note is the rest of the line. */
static void parse_deny(char *rest, struct approve_line *line)
{
	size_t n;

	rest += strspn(rest, blanks);
	n = strlen(rest);
	while (n > 0 && strchr(blanks, rest[n - 1]))
		rest[--n] = '\0';
	line->answer.note = n > 0 ? rest : NULL;
}

static void parse_answer(char *rest, bool allow, struct approve_line *line)
{
	line->word = APPROVE_ANSWER;
	line->id = next_word(&rest);
	if (!line->id)
		wrong(line, "the request's id must be typed: allow ID, deny ID");
	else if (allow)
		parse_allow(rest, line);
	else
		parse_deny(rest, line);
}

void approve_line_parse(char *text, struct approve_line *line)
{
	static const struct {
		const char *text;
		enum approve_word word;
	} words[] = {
		{"skip", APPROVE_SKIP},
		{"show", APPROVE_SHOW},
		{"list", APPROVE_LIST},
		{"?", APPROVE_HELP},
		{"help", APPROVE_HELP},
		{"quit", APPROVE_QUIT},
	};
	char *word;

	*line = (struct approve_line){.word = APPROVE_NOTHING};
	word = next_word(&text);
	if (!word)
		return;
	if (strcmp(word, "allow") == 0 || strcmp(word, "deny") == 0) {
		parse_answer(text, word[0] == 'a', line);
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strcmp(word, words[i].text) == 0) {
			if (next_word(&text))
				return wrong(line, "nothing may follow this word");
			line->word = words[i].word;
			return;
		}
	wrong(line, "this is no answer; ? shows what can be typed");
}
