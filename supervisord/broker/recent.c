/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "supervisord/broker/recent.h"

#include <pthread.h>
#include <sodium.h>
#include <string.h>

#include "supervisord/base/clock.h"

#define KEY_BYTES 16

static struct {
	pthread_mutex_t lock;
	struct {
		uint8_t key[KEY_BYTES];
		uint64_t until_usec;
	} slots[RECENT_MAX];
	size_t next;
} recent = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void key_text(crypto_generichash_state *state, const char *text)
{
	if (!text)
		text = "";
	crypto_generichash_update(state, (const uint8_t *)text, strlen(text) + 1);
}

/* The resolved object, not the name that was asked for. */
static void recent_key(const struct request *request, const char *rule, uint8_t key[KEY_BYTES])
{
	crypto_generichash_state state;
	uint64_t numbers[5] = {(uint64_t)request->op, (uint64_t)request->pid, request->start_ticks,
		(uint64_t)request->proto, request->port};

	crypto_generichash_init(&state, NULL, 0, KEY_BYTES);
	crypto_generichash_update(&state, (const uint8_t *)numbers, sizeof(numbers));
	key_text(&state, rule);
	key_text(&state, request->path);
	key_text(&state, request->host);
	for (size_t i = 0; i < request->n_argv; i++)
		key_text(&state, request->argv[i]);
	crypto_generichash_final(&state, key, KEY_BYTES);
}

void recent_add(const struct request *request, const char *rule)
{
	uint8_t key[KEY_BYTES];

	recent_key(request, rule, key);
	pthread_mutex_lock(&recent.lock);
	memcpy(recent.slots[recent.next].key, key, KEY_BYTES);
	recent.slots[recent.next].until_usec = clock_boottime_usec() + RECENT_USEC;
	recent.next = (recent.next + 1) % RECENT_MAX;
	pthread_mutex_unlock(&recent.lock);
}

bool recent_has(const struct request *request, const char *rule)
{
	uint64_t now = clock_boottime_usec();
	uint8_t key[KEY_BYTES];
	bool found = false;

	recent_key(request, rule, key);
	pthread_mutex_lock(&recent.lock);
	for (size_t i = 0; i < RECENT_MAX && !found; i++)
		found = recent.slots[i].until_usec > now &&
			memcmp(recent.slots[i].key, key, KEY_BYTES) == 0;
	pthread_mutex_unlock(&recent.lock);
	return found;
}
