/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */

/* connects PORT N: connects N times to 127.0.0.1:PORT and closes. */

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int n = argc > 2 ? atoi(argv[2]) : 100;

	to.sin_port = htons((unsigned short)(argc > 1 ? atoi(argv[1]) : 0));
	for (int i = 0; i < n; i++) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

		if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0) {
			perror("connect");
			return 1;
		}
		close(fd);
	}
	return 0;
}
