/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */

/* Programs whose exec does not come to an end, because a thread of theirs is held by a debugger
 * that does not look after it. Other calls must go on. Prints "opened" when one did.
 *
 * usage: exec_hang COUNT */

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

static int told[2], go[2];

static void *held(void *userdata)
{
	int tid = (int)syscall(SYS_gettid);

	(void)userdata;
	if (write(told[1], &tid, sizeof(tid)) != sizeof(tid))
		_exit(1);
	for (;;)
		pause();
}

static void child(void)
{
	pthread_t thread;
	char byte;

	if (pthread_create(&thread, NULL, held, NULL) != 0 || read(go[0], &byte, 1) != 1)
		_exit(1);
	execl("/usr/bin/true", "true", (char *)NULL);
	_exit(1);
}

int main(int argc, char **argv)
{
	int count = argc == 2 ? atoi(argv[1]) : 0, tid;

	for (int i = 0; i < count; i++) {
		if (pipe(told) < 0 || pipe(go) < 0)
			return 2;
		if (fork() == 0)
			child();
		if (read(told[0], &tid, sizeof(tid)) != sizeof(tid) ||
			ptrace(PTRACE_SEIZE, tid, 0, 0) < 0 || write(go[1], "x", 1) != 1)
			return 2;
		close(told[0]);
		close(told[1]);
		close(go[0]);
		close(go[1]);
	}
	if (open("opened", O_WRONLY | O_CREAT, 0600) < 0)
		return 1;
	printf("opened\n");
	return 0;
}
