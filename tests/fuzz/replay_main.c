/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */

/* Runs a fuzz target on files given by name, without a fuzzing engine, so that every compiler can
 * replay the corpus. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		FILE *file = fopen(argv[i], "rb");
		size_t alloc = 1 << 20, size;
		uint8_t *data = malloc(alloc);

		if (!file || !data) {
			perror(argv[i]);
			return 1;
		}
		size = fread(data, 1, alloc, file);
		fclose(file);
		LLVMFuzzerTestOneInput(data, size);
		free(data);
	}
	return 0;
}
