/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "supervisord/broker/record.h"

#include <errno.h>
#include <pthread.h>
#include <sodium.h>
#include <string.h>

#include "supervisord/base/error.h"
#include "supervisord/broker/link.h"

#define KEY_BYTES 16 /* BLAKE2b-128: two decisions never share a key by accident */
#define FIRST_SLOTS 1024

struct record_slot {
	uint8_t key[KEY_BYTES];
	uint64_t count; /* 0 = free */
	char *label;    /* "allow read RULE OBJECT", once the count passes one */
};

struct record_table {
	pthread_mutex_t lock;
	struct record_slot *slots; /* open addressing, a power of two */
	size_t n_slots;
	size_t n_used;
	uint64_t totals[_VERDICT_N];
};

int record_table_new(struct record_table **tablep)
{
	_cleanup_(freep) struct record_table *table = calloc(1, sizeof(*table));

	if (!table)
		return err_trace(-ENOMEM);
	table->slots = calloc(FIRST_SLOTS, sizeof(*table->slots));
	if (!table->slots)
		return err_trace(-ENOMEM);
	table->n_slots = FIRST_SLOTS;
	pthread_mutex_init(&table->lock, NULL);
	*tablep = TAKE_PTR(table);
	return 0;
}

void record_table_free(struct record_table *table)
{
	if (!table)
		return;
	for (size_t i = 0; i < table->n_slots; i++)
		free(table->slots[i].label);
	free(table->slots);
	pthread_mutex_destroy(&table->lock);
	free(table);
}

static void key_text(crypto_generichash_state *state, const char *text)
{
	/* The NUL separates: none of the texts contains one. */
	if (!text)
		text = "";
	crypto_generichash_update(state, (const uint8_t *)text, strlen(text) + 1);
}

static void record_key(const struct request *request, const char *rule, enum verdict verdict,
	pid_t pid, uint8_t key[KEY_BYTES])
{
	crypto_generichash_state state;
	uint32_t numbers[5] = {(uint32_t)request->op, (uint32_t)verdict, (uint32_t)pid,
		(uint32_t)request->proto, request->port};

	crypto_generichash_init(&state, NULL, 0, KEY_BYTES);
	crypto_generichash_update(&state, (const uint8_t *)numbers, sizeof(numbers));
	key_text(&state, rule);
	key_text(&state, request->program);
	key_text(&state, request->path);
	key_text(&state, request->host);
	for (size_t i = 0; i < request->n_argv; i++)
		key_text(&state, request->argv[i]);
	crypto_generichash_final(&state, key, KEY_BYTES);
}

static struct record_slot *table_slot(struct record_slot *slots, size_t n, const uint8_t *key)
{
	uint64_t start;

	memcpy(&start, key, sizeof(start));
	for (size_t i = 0; i < n; i++) {
		struct record_slot *slot = &slots[(start + i) & (n - 1)];

		if (slot->count == 0 || memcmp(slot->key, key, KEY_BYTES) == 0)
			return slot;
	}
	return NULL;
}

/* Keeps the table at most half full. False when it cannot grow any more. */
static bool table_make_room(struct record_table *table)
{
	struct record_slot *slots;
	size_t n = table->n_slots * 2;

	if (table->n_used * 2 < table->n_slots)
		return true;
	if (n > 2 * (size_t)RECORD_KEYS_MAX)
		return false;
	slots = calloc(n, sizeof(*slots));
	if (!slots)
		return false;
	for (size_t i = 0; i < table->n_slots; i++) {
		struct record_slot *to;

		if (table->slots[i].count == 0)
			continue;
		to = table_slot(slots, n, table->slots[i].key);
		if (to)
			*to = table->slots[i];
	}
	free(table->slots);
	table->slots = slots;
	table->n_slots = n;
	return true;
}

static char *record_label(const struct request *request, const char *rule, enum verdict verdict)
{
	_cleanup_(freep) char *object = request_object_text(request);
	char *label = NULL;

	if (!object || asprintf(&label, "%s %s %s %s", verdict_name(verdict), op_name(request->op),
			       rule, object) < 0)
		return NULL;
	return label;
}

bool record_table_first(struct record_table *table, const struct request *request, const char *rule,
	enum verdict verdict, pid_t pid)
{
	uint8_t key[KEY_BYTES];
	struct record_slot *slot;
	bool first = true;

	record_key(request, rule, verdict, pid, key);
	pthread_mutex_lock(&table->lock);
	table->totals[verdict]++;
	/* A full table records too much rather than too little. */
	if (table_make_room(table)) {
		slot = table_slot(table->slots, table->n_slots, key);
		if (slot) {
			first = slot->count == 0;
			if (first) {
				memcpy(slot->key, key, KEY_BYTES);
				table->n_used++;
			} else if (!slot->label) {
				slot->label = record_label(request, rule, verdict);
			}
			slot->count++;
		}
	}
	pthread_mutex_unlock(&table->lock);
	return first;
}

static int set_text(json_t *json, const char *key, const char *text)
{
	return text ? json_object_set_new(json, key, json_string(text)) : 0;
}

json_t *record_decision(const struct request *request, enum verdict verdict,
	const struct policy_rule_info *rule, const char *outcome, const char *remedy)
{
	_cleanup_(json_decrefp) json_t *json = json_object();
	_cleanup_(freep) char *object = request_object_text(request);
	_cleanup_(json_decrefp) json_t *body = request_to_json(request);
	int r = 0;

	if (!json || !object || !body)
		return NULL;
	r |= set_text(json, "type", "decision");
	r |= set_text(json, "decision", verdict_name(verdict));
	r |= set_text(json, "op", op_name(request->op));
	r |= set_text(json, "object", object);
	r |= set_text(json, "outcome", outcome);
	r |= set_text(json, "rule", rule->id);
	r |= set_text(json, "layer", policy_layer_name(rule->layer));
	r |= set_text(json, "reason", rule->reason);
	r |= set_text(json, "rule_text", rule->text);
	r |= set_text(json, "remedy", remedy);
	r |= json_object_set_new(json, "pid", json_integer(request->pid));
	if (request->program)
		r |= json_set_bytes(json, "program", request->program, strlen(request->program));
	r |= json_object_set(json, "request", body);
	if (r != 0)
		return NULL;
	return TAKE_PTR(json);
}

static json_t *record_totals(const struct record_table *table)
{
	return json_pack("{s:s, s:I, s:I, s:I, s:I}", "type", "decision.totals", "allowed",
		(json_int_t)table->totals[VERDICT_ALLOW], "denied",
		(json_int_t)table->totals[VERDICT_DENY], "hidden",
		(json_int_t)table->totals[VERDICT_HIDE], "kinds", (json_int_t)table->n_used);
}

int record_table_flush(struct record_table *table, struct link *link)
{
	json_t *totals;
	int r = 0;

	pthread_mutex_lock(&table->lock);
	for (size_t i = 0; i < table->n_slots && r == 0; i++) {
		struct record_slot *slot = &table->slots[i];
		json_t *json;

		if (slot->count < 2 || !slot->label)
			continue;
		json = json_pack("{s:s, s:s, s:I}", "type", "decision.count", "what", slot->label,
			"count", (json_int_t)slot->count);
		r = json ? link_record(link, json, false) : -ENOMEM;
		slot->count = 1;
	}
	totals = record_totals(table);
	pthread_mutex_unlock(&table->lock);
	if (r == 0)
		r = totals ? link_record(link, totals, false) : -ENOMEM;
	else
		json_decref(totals);
	return r < 0 ? err_trace(r) : 0;
}
