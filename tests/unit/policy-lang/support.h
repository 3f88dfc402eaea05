/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef TESTS_UNIT_POLICY_LANG_SUPPORT_H
#define TESTS_UNIT_POLICY_LANG_SUPPORT_H

/* Sets and requests in one line each. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "policy-lang/policy.h"
#include "supervisord/base/cleanup.h"
#include "supervisord/proto/grant.h"

static const struct policy_vars sample_vars _unused_ = {
	.home = "/home/user",
	.project = "/home/user/project",
	.tmp = "/tmp",
	.xdg_config = "/home/user/.config",
	.xdg_state = "/home/user/.local/state",
	.xdg_data = "/home/user/.local/share",
	.xdg_cache = "/home/user/.cache",
	.xdg_runtime = "/run/user/1000",
};

struct layer_text {
	enum policy_layer layer;
	const char *body; /* without the header */
};

/* Adds BODY with a header before it on the same line count: the body's first line is line 2. */
static inline int add_text(struct policy_set *set, const char *file, enum policy_layer layer,
	const char *body, struct diag_list *diags)
{
	char *text = NULL;
	int n, r;

	n = asprintf(&text, "policy \"t\" lang 1 layer %s\n%s", policy_layer_name(layer), body);
	assert_true(n > 0);
	r = policy_set_add(set, file, text, (size_t)n, layer, diags);
	free(text);
	return r;
}

/* A sealed set of the texts; fails the test on any error. */
static inline struct policy_set *sealed(
	const struct policy_vars *vars, const struct layer_text *texts, size_t n)
{
	struct policy_set *set = NULL;
	struct diag_list diags;
	int r;

	diag_list_init(&diags);
	assert_int_equal(policy_set_new(vars, &set), 0);
	for (size_t i = 0; i < n; i++) {
		char file[32];

		(void)snprintf(
			file, sizeof(file), "%s-%zu.policy", policy_layer_name(texts[i].layer), i);
		r = add_text(set, file, texts[i].layer, texts[i].body, &diags);
		if (r)
			diag_list_print(&diags, stderr);
		assert_int_equal(r, 0);
	}
	r = policy_set_seal(set, &diags);
	if (r)
		diag_list_print(&diags, stderr);
	assert_int_equal(r, 0);
	diag_list_deinit(&diags);
	return set;
}

static inline struct policy_set *sealed_one(enum policy_layer layer, const char *body)
{
	const struct layer_text text = {layer, body};

	return sealed(&sample_vars, &text, 1);
}

/* The request that LINE describes: words separated by blanks; nothing is looked up. */
static inline struct request *request_of(const struct policy_set *set, const char *line)
{
	const char *words[32];
	size_t n = 0;
	char copy[4096];
	char *save = NULL, *message = NULL;
	struct request *request = NULL;

	assert_true(strlen(line) < sizeof(copy));
	memcpy(copy, line, strlen(line) + 1);
	for (char *word = strtok_r(copy, " ", &save); word && n < 32;
		word = strtok_r(NULL, " ", &save))
		words[n++] = word;
	if (policy_request_parse(set, words, n, "/home/user/project", &request, &message))
		fail_msg("%s: %s", line, message ? message : "?");
	return request;
}

static inline void expect_rule(const struct policy_set *set, const char *line, enum verdict verdict,
	const struct policy_rule_info **rulep)
{
	struct request *request = request_of(set, line);
	enum verdict found = policy_set_eval(set, request, rulep);

	if (found != verdict)
		fail_msg("%s: expected %s, found %s by %s (%s)", line, verdict_name(verdict),
			verdict_name(found), (*rulep)->id, (*rulep)->text);
	request_free(request);
}

static inline void expect_verdict(
	const struct policy_set *set, const char *line, enum verdict verdict)
{
	const struct policy_rule_info *rule;

	expect_rule(set, line, verdict, &rule);
}

#endif
