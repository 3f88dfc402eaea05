/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "policy-lang/set.h"

#include <sodium.h>
#include <string.h>

static void put_length(crypto_generichash_state *state, uint64_t length)
{
	uint8_t bytes[8];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(length >> (8 * i));
	(void)crypto_generichash_update(state, bytes, sizeof(bytes));
}

static void put_bytes(crypto_generichash_state *state, const char *data, size_t size)
{
	put_length(state, size);
	(void)crypto_generichash_update(state, (const unsigned char *)data, size);
}

static void put_string(crypto_generichash_state *state, const char *text)
{
	put_bytes(state, text, strlen(text));
}

void policy_set_digest(const struct policy_set *set, uint8_t out[32])
{
	const struct policy_vars *vars = set->vars;
	const char *const bound[] = {vars->home, vars->project, vars->tmp, vars->xdg_config,
		vars->xdg_state, vars->xdg_data, vars->xdg_cache, vars->xdg_runtime};
	crypto_generichash_state state;

	(void)crypto_generichash_init(&state, NULL, 0, 32);
	put_string(&state, "agent-supervisor policy set 1");
	put_length(&state, POLICY_LANG_VERSION);
	for (size_t i = 0; i < ARRAY_LEN(bound); i++)
		put_string(&state, bound[i]);
	put_length(&state, set->n_policies);
	for (size_t i = 0; i < set->n_policies; i++) {
		put_string(&state, policy_layer_name(set->policies[i]->layer));
		put_string(&state, set->policies[i]->file);
		put_bytes(&state, set->policies[i]->text, set->policies[i]->size);
	}
	(void)crypto_generichash_final(&state, out, 32);
}
