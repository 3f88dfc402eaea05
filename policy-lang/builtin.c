/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "policy-lang/policy.h"

#include <string.h>

/* The texts of contrib/policies, put into the program by the assembler. Paths are relative to the
 * top of the source tree, where the compiler runs; embed.mk makes this file depend on them. */
#define EMBED(symbol, name)                                                                        \
	__asm__(".pushsection .rodata\n"                                                           \
		"policy_text_" #symbol ":\n"                                                       \
		".incbin \"contrib/policies/" name ".policy\"\n"                                   \
		"policy_text_" #symbol "_end:\n"                                                   \
		".byte 0\n"                                                                        \
		".popsection\n");                                                                  \
	extern const char policy_text_##symbol[] __attribute__((visibility("hidden")));            \
	extern const char policy_text_##symbol##_end[] __attribute__((visibility("hidden")))

EMBED(core, "core");

static const struct {
	const char *name;
	const char *text;
	const char *end;
} shipped[] = {
	{"core", policy_text_core, policy_text_core_end},
};

const char *const *policy_builtin_names(void)
{
	static const char *const names[] = {"core", NULL};

	_Static_assert(
		ARRAY_LEN(names) == ARRAY_LEN(shipped) + 1, "every shipped policy has a name");
	return names;
}

const char *policy_builtin_text(const char *name, size_t *sizep)
{
	for (size_t i = 0; i < ARRAY_LEN(shipped); i++) {
		if (strcmp(shipped[i].name, name) != 0)
			continue;
		*sizep = (size_t)(shipped[i].end - shipped[i].text);
		return shipped[i].text;
	}
	return NULL;
}
