/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "policy-lang/policy.h"

#include <stdlib.h>
#include <string.h>

/* The first byte chooses the layer; the rest is the text. What can be read is also asked. */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct policy_vars vars = {
	.home = "/home/user",
	.project = "/home/user/project",
	.tmp = "/tmp",
};

static void ask(const struct policy_set *set)
{
	static const char *const requests[][4] = {
		{"read", "/home/user/project/a/.git/config"},
		{"write", "/home/user/notes"},
		{"exec", "/usr/bin/git", "push", "x"},
		{"connect", "tcp", "192.0.2.1"},
		{"listen", "unix", "/tmp/x"},
	};

	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		const struct policy_rule_info *rule, **trace = NULL;
		struct request *request = NULL;
		char *message = NULL;
		size_t n = 0;

		while (n < 4 && requests[i][n])
			n++;
		if (policy_request_parse(set, requests[i], n, "/", &request, &message)) {
			free(message);
			continue;
		}
		/* A judged tree may not contradict a decision on its root. */
		enum verdict verdict = policy_set_eval(set, request, &rule);

		if (request->op <= OP_LIST && !request->alias &&
			policy_set_judge_tree(set, request->op, request->path) ==
				POLICY_TREE_ALLOW &&
			verdict != VERDICT_ALLOW)
			abort();
		if (!policy_set_trace(set, request, &trace, &n) && trace[0] != rule)
			abort();
		free(trace);
		free(policy_set_remedy(set, request));
		request_free(request);
	}
	(void)policy_set_env_allowed(set, "PATH");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct policy_set *set = NULL;
	struct diag_list diags;
	char *text;

	if (!size)
		return 0;
	text = malloc(size);
	if (!text)
		return 0;
	memcpy(text, data + 1, size - 1);
	diag_list_init(&diags);
	if (!policy_set_new(&vars, &set)) {
		enum policy_layer layer = (enum policy_layer)((data[0] - '0') & 3);
		int r = policy_set_add(set, "fuzz", text, size - 1, layer, &diags);

		if (!r)
			r = policy_set_seal(set, &diags);
		/* Refused without a word, or accepted with an error: both would be faults. */
		if ((r == POLICY_E_INVALID) != (diags.n_errors > 0))
			abort();
		if (!r)
			ask(set);
		policy_set_free(set);
	}
	diag_list_deinit(&diags);
	free(text);
	return 0;
}
