/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */

/* exec_race path GOOD EVIL N: another process changes the path of an exec between two programs of
 * equally long names while it is being decided. exec_race argv PROGRAM GOOD EVIL N: the same with
 * its argument. Prints how the N execs ended: "ran R killed K refused F". */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static char *page;

static void flip(const char *a, const char *b)
{
	size_t size = strlen(a) + 1;

	for (;;) {
		memcpy(page, a, size);
		__asm__ volatile("" ::: "memory");
		memcpy(page, b, size);
		__asm__ volatile("" ::: "memory");
	}
}

int main(int argc, char **argv)
{
	int by_path = argc == 5 && strcmp(argv[1], "path") == 0, at = by_path ? 2 : 3;
	int ran = 0, killed = 0, refused = 0;
	pid_t flipper;

	if (!by_path && argc != 6)
		return 2;
	if (strlen(argv[at]) != strlen(argv[at + 1]))
		return 2;
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return 2;
	strcpy(page, argv[at]);
	flipper = fork();
	if (flipper == 0)
		flip(argv[at], argv[at + 1]);
	for (int i = 0; i < atoi(argv[argc - 1]); i++) {
		pid_t pid = fork();
		int status = 0;

		if (pid == 0) {
			char *by[] = {
				by_path ? (char[]){"x"} : argv[2], by_path ? NULL : page, NULL};

			execve(by_path ? page : argv[2], by, environ);
			_exit(99);
		}
		if (waitpid(pid, &status, 0) != pid)
			return 2;
		if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
			killed++;
		else if (WIFEXITED(status) && WEXITSTATUS(status) == 99)
			refused++;
		else
			ran++;
	}
	kill(flipper, SIGKILL);
	printf("ran %d killed %d refused %d\n", ran, killed, refused);
	return 0;
}
