/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */

/* files N: creates N small files in the current folder and unlinks them. */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1000;
	char name[32];

	for (int i = 0; i < n; i++) {
		int fd;

		snprintf(name, sizeof(name), "bench%d", i);
		fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
		if (fd < 0 || write(fd, name, 5) != 5) {
			perror(name);
			return 1;
		}
		close(fd);
	}
	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "bench%d", i);
		if (unlink(name) < 0) {
			perror(name);
			return 1;
		}
	}
	return 0;
}
