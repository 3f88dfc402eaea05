/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "supervisord/broker/sock.h"

/* The name servers that the host is configured with. */

#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>

#include "supervisord/base/file.h"
#include "supervisord/base/log.h"

#define RESOLV_CONF "/etc/resolv.conf"
#define RESOLV_BYTES_MAX (64u * 1024)
#define RESOLVERS_MAX 16
#define DNS_PORT 53

static uint8_t resolvers[RESOLVERS_MAX][16];
static size_t n_resolvers;
static pthread_once_t resolvers_once = PTHREAD_ONCE_INIT;

/* "fe80::1%eth0" names a zone, which is no part of the address. */
static bool parse_address(char *text, uint8_t out[16])
{
	struct in_addr v4;

	text[strcspn(text, "%")] = 0;
	if (inet_pton(AF_INET, text, &v4) == 1) {
		memset(out, 0, 10);
		memset(out + 10, 0xff, 2);
		memcpy(out + 12, &v4, 4);
		return true;
	}
	return inet_pton(AF_INET6, text, out) == 1;
}

size_t dns_parse_resolvers(const char *text, uint8_t (*addrs)[16], size_t max)
{
	size_t n = 0;

	while (*text && n < max) {
		size_t length = strcspn(text, "\n");
		char line[256] = "", *word, *rest = NULL;

		memcpy(line, text, length < sizeof(line) ? length : sizeof(line) - 1);
		word = strtok_r(line, " \t\r", &rest);
		if (word && strcmp(word, "nameserver") == 0) {
			word = strtok_r(NULL, " \t\r", &rest);
			if (word && parse_address(word, addrs[n]))
				n++;
		}
		text += length + (text[length] ? 1 : 0);
	}
	return n;
}

static void read_resolvers(void)
{
	static const char fallback[] = "nameserver 127.0.0.1\nnameserver ::1\n";
	_cleanup_(freep) char *text = NULL;
	size_t size;
	int r;

	r = file_read(AT_FDCWD, RESOLV_CONF, RESOLV_BYTES_MAX, &text, &size);
	if (r < 0)
		log_debug_r(r, "no name servers in " RESOLV_CONF);
	else
		n_resolvers = dns_parse_resolvers(text, resolvers, RESOLVERS_MAX);
	/* As the resolver of libc does. */
	if (n_resolvers == 0)
		n_resolvers = dns_parse_resolvers(fallback, resolvers, RESOLVERS_MAX);
}

bool dns_is_resolver(const uint8_t addr[16], uint16_t port)
{
	pthread_once(&resolvers_once, read_resolvers);
	if (port != DNS_PORT)
		return false;
	for (size_t i = 0; i < n_resolvers; i++) {
		if (memcmp(resolvers[i], addr, 16) == 0)
			return true;
	}
	return false;
}
