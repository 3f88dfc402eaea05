/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */

/* sock_race addr GOOD EVIL N: another process changes the port of a connect to loopback while it is
 * decided. sock_race path GOOD EVIL N: the same with the path of a datagram. sock_race fd GOOD PATH
 * N: another thread puts a unix socket on the descriptor number of a TCP connect to the port GOOD,
 * and back, with an address that is one or the other. Prints "ok O refused R". The servers outside
 * see who came. */

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static void *page;
static union {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_un un;
} good, evil;
static int numbers[3];

static void in_set(void *to, const char *port)
{
	struct sockaddr_in in = {.sin_family = AF_INET,
		.sin_port = htons((uint16_t)atoi(port)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	memcpy(to, &in, sizeof(in));
}

static void un_set(void *to, const char *path)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};

	snprintf(un.sun_path, sizeof(un.sun_path), "%s", path);
	memcpy(to, &un, sizeof(un));
}

static void *flip(void *swap)
{
	for (;;) {
		memcpy(page, &good, sizeof(good));
		if (swap)
			dup2(numbers[1], numbers[0]);
		__asm__ volatile("" ::: "memory");
		memcpy(page, &evil, sizeof(evil));
		if (swap)
			dup2(numbers[2], numbers[0]);
		__asm__ volatile("" ::: "memory");
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int ok = 0, refused = 0, swap, datagram;
	pthread_t thread;
	pid_t pid = -1;

	if (argc != 5)
		return 2;
	swap = strcmp(argv[1], "fd") == 0;
	datagram = strcmp(argv[1], "path") == 0;
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (datagram)
		un_set(&good, argv[2]);
	else
		in_set(&good, argv[2]);
	if (datagram || swap)
		un_set(&evil, argv[3]);
	else
		in_set(&evil, argv[3]);
	memcpy(page, &good, sizeof(good));
	numbers[0] = 90;
	numbers[1] = socket(AF_INET, SOCK_STREAM, 0);
	numbers[2] = socket(AF_UNIX, SOCK_STREAM, 0);
	if (swap)
		pthread_create(&thread, NULL, flip, "swap");
	else if ((pid = fork()) == 0)
		flip(NULL);
	for (int i = 0; i < atoi(argv[4]); i++) {
		int fd = swap ? numbers[0]
			      : socket(good.sa.sa_family, datagram ? SOCK_DGRAM : SOCK_STREAM, 0);
		ssize_t r;

		if (datagram)
			r = sendto(fd, "x", 1, MSG_DONTWAIT, page, sizeof(struct sockaddr_un));
		else
			r = connect(fd, page,
				swap ? sizeof(struct sockaddr_un) : sizeof(struct sockaddr_in));
		if (r >= 0)
			ok++;
		else
			refused++;
		if (swap) {
			/* A fresh pair, so that each try can connect. */
			dup2(socket(AF_INET, SOCK_STREAM, 0), numbers[1]);
			dup2(socket(AF_UNIX, SOCK_STREAM, 0), numbers[2]);
			for (int n = 100; n < 110; n++)
				close(n);
		} else {
			close(fd);
		}
		if (swap && i % 200 == 199) {
			for (int n = 10; n < 1024; n++) {
				if (n != numbers[0])
					close(n);
			}
		}
	}
	if (pid > 0)
		kill(pid, SIGKILL);
	printf("ok %d refused %d\n", ok, refused);
	return 0;
}
