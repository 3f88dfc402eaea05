/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef POLICY_LANG_SUGGEST_H
#define POLICY_LANG_SUGGEST_H

/* "Did you mean ...?" */

/* The word of WORDS (NULL-terminated) that is nearest to WORD, or NULL when none is near. */
const char *suggest_word(const char *word, const char *const *words);

#endif
