/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "supervisord/daemon/grants.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "supervisord/base/buf.h"
#include "supervisord/base/clock.h"
#include "supervisord/base/error.h"
#include "supervisord/base/file.h"
#include "supervisord/base/log.h"
#include "policy-lang/policy.h"

#define GRANTS_FILE "grants.policy"
#define GRANTS_HEAD                                                                                \
	"# Answers that were given \"forever\". Delete a line to take one back.\n"                 \
	"policy \"grants\" lang 1 layer user\n"
#define GRANTS_FILE_MAX (1024u * 1024) /* what the policy reader takes */

void grants_init(struct grants *grants)
{
	memset(grants, 0, sizeof(*grants));
}

void grants_deinit(struct grants *grants)
{
	for (size_t i = 0; i < grants->n_items; i++)
		grant_free(grants->items[i]);
	grants->n_items = 0;
}

static void drop_expired(struct grants *grants, uint64_t now_usec)
{
	size_t kept = 0;

	for (size_t i = 0; i < grants->n_items; i++) {
		struct grant *grant = grants->items[i];

		if (grant->deadline_usec && now_usec >= grant->deadline_usec)
			grant_free(grant);
		else
			grants->items[kept++] = grant;
	}
	grants->n_items = kept;
}

int grants_add(struct grants *grants, struct grant *grant)
{
	if (grants->n_items == GRANTS_MAX) {
		grant_free(grant);
		return err_trace(-ENOSPC);
	}
	grants->items[grants->n_items++] = grant;
	return 0;
}

const struct grant *grants_find(
	struct grants *grants, const struct request *request, const char *rule, uint64_t now_usec)
{
	drop_expired(grants, now_usec);
	for (size_t i = 0; i < grants->n_items; i++)
		if (grant_covers(grants->items[i], request, rule, now_usec))
			return grants->items[i];
	return NULL;
}

bool grants_remove(struct grants *grants, const char *id)
{
	for (size_t i = 0; i < grants->n_items; i++) {
		if (strcmp(grants->items[i]->id, id) != 0)
			continue;
		grant_free(grants->items[i]);
		grants->items[i] = grants->items[--grants->n_items];
		return true;
	}
	return false;
}

int grants_to_json(struct grants *grants, const char *session, uint64_t now_usec, json_t *array)
{
	drop_expired(grants, now_usec);
	for (size_t i = 0; i < grants->n_items; i++) {
		const struct grant *grant = grants->items[i];
		_cleanup_(freep) char *text = grant_rule_text(grant->like, grant->scope);
		json_t *json = grant_to_json(grant);

		if (!json)
			return err_trace(-ENOMEM);
		json_object_set_new(json, "session", json_string(session));
		json_object_set_new(json, "rule_text", text ? json_string(text) : json_null());
		if (grant->deadline_usec)
			json_object_set_new(json, "remaining_ms",
				json_integer((json_int_t)((grant->deadline_usec - now_usec) /
							  USEC_PER_MSEC)));
		if (json_array_append_new(array, json) < 0)
			return err_trace(-ENOMEM);
	}
	return 0;
}

static struct refusal *find_refusal(struct grants *grants, const uint8_t key[32])
{
	size_t n = grants->n_refusals < REFUSALS_MAX ? grants->n_refusals : REFUSALS_MAX;

	for (size_t i = 0; i < n; i++)
		if (!memcmp(grants->refusals[i].key, key, sizeof(grants->refusals[i].key)))
			return &grants->refusals[i];
	return NULL;
}

void grants_note_refusal(struct grants *grants, const uint8_t key[32], bool for_session)
{
	struct refusal *refusal = find_refusal(grants, key);

	if (!refusal) {
		refusal = &grants->refusals[grants->n_refusals++ % REFUSALS_MAX];
		memcpy(refusal->key, key, sizeof(refusal->key));
		refusal->n = 0;
	}
	refusal->n = for_session ? REFUSALS_BEFORE_AUTO : refusal->n + 1;
}

bool grants_is_refused(const struct grants *grants, const uint8_t key[32])
{
	size_t n = grants->n_refusals < REFUSALS_MAX ? grants->n_refusals : REFUSALS_MAX;

	for (size_t i = 0; i < n; i++)
		if (!memcmp(grants->refusals[i].key, key, sizeof(grants->refusals[i].key)))
			return grants->refusals[i].n >= REFUSALS_BEFORE_AUTO;
	return false;
}

int grant_make(const char *id, const struct request *request, const char *rule,
	enum grant_scope scope, enum grant_duration duration, uint64_t deadline_usec,
	struct grant **grantp)
{
	_cleanup_(grant_freep) struct grant *grant = calloc(1, sizeof(*grant));
	_cleanup_(json_decrefp) json_t *copy = request_to_json(request);
	int r;

	if (!grant || !copy)
		return err_trace(-ENOMEM);
	grant->scope = scope;
	grant->duration = duration;
	grant->deadline_usec = deadline_usec;
	grant->id = strdup(id);
	grant->rule = strdup(rule);
	if (!grant->id || !grant->rule)
		return err_trace(-ENOMEM);
	r = request_from_json(copy, &grant->like);
	if (r < 0)
		return err_trace(r);
	*grantp = TAKE_PTR(grant);
	return 0;
}

/* One printable line: nothing in it can begin another statement. */
static bool is_one_line(const char *text)
{
	for (const char *p = text; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			return false;
	return true;
}

static bool has_line(const char *file, const char *line)
{
	size_t size = strlen(line);

	for (const char *at = file; at && (at = strstr(at, line)); at += size)
		if ((at == file || at[-1] == '\n') && (at[size] == '\n' || !at[size]))
			return true;
	return false;
}

/* Reads TEXT on top of a policy that asks about what LINE grants, for ever if one likes. */
static int read_grants(
	struct policy_set *set, const struct buf *text, const char *line, struct diag_list *diags)
{
	_cleanup_(freep) char *base = NULL;
	int r;

	if (strncmp(line, "grant ", 6) != 0)
		return err_trace(-EINVAL);
	if (asprintf(&base, "policy \"asked\" lang 1 layer builtin\nask %s offer once, forever\n",
		    line + 6) < 0) {
		base = NULL;
		return err_trace(-ENOMEM);
	}
	r = policy_set_add(set, "asked", base, strlen(base), LAYER_BUILTIN, diags);
	if (r == 0)
		r = policy_set_add(set, GRANTS_FILE, text->data, text->size, LAYER_USER, diags);
	if (r == 0)
		r = policy_set_seal(set, diags);
	return r;
}

/* A remembered answer that does not answer the request that was asked about would be asked again
 * and again: the text is read as sessions will read it, and judged. */
static int check_text(const struct dirs *dirs, const struct buf *text, const char *line,
	const struct request *request)
{
	_cleanup_(policy_set_freep) struct policy_set *set = NULL;
	const struct policy_vars vars = {
		.home = dirs->home,
		.project = "/",
		.tmp = "/tmp",
		.xdg_config = dirs->config,
		.xdg_state = dirs->state,
		.xdg_data = dirs->state,
		.xdg_cache = dirs->state,
		.xdg_runtime = dirs->runtime,
	};
	const struct policy_rule_info *rule = NULL;
	struct diag_list *diags = calloc(1, sizeof(*diags));
	int r;

	if (!diags)
		return err_trace(-ENOMEM);
	diag_list_init(diags);
	r = policy_set_new(&vars, &set);
	if (r == 0)
		r = read_grants(set, text, line, diags);
	if (r == 0 && policy_set_eval(set, request, &rule) != VERDICT_ALLOW)
		r = -EINVAL;
	if (r > 0 && diags->n_items > 0)
		log_error("%s:%u: %s", GRANTS_FILE, diags->items[0].line, diags->items[0].message);
	diag_list_deinit(diags);
	free(diags);
	return r > 0 ? -EINVAL : r;
}

int grants_store(const struct dirs *dirs, const struct request *request, enum grant_scope scope,
	const char *by, uint64_t realtime_usec)
{
	_cleanup_(buf_deinit) struct buf buf;
	_cleanup_(freep) char *text = grant_rule_text(request, scope);
	_cleanup_(freep) char *old = NULL;
	_cleanup_(closep) int folder = -1;
	char when[CLOCK_TEXT_MAX];
	size_t old_size = 0;
	int r;

	buf_init(&buf, GRANTS_FILE_MAX);
	if (!text)
		return err_trace(-ENOMEM);
	if (!is_one_line(text) || !is_one_line(by))
		return err_trace(-EINVAL);
	r = dir_open_private(dirs->config, &folder);
	if (r < 0)
		return err_trace(r);
	r = file_read(folder, GRANTS_FILE, GRANTS_FILE_MAX, &old, &old_size);
	if (r < 0 && r != -ENOENT)
		return err_trace(r);
	if (has_line(old, text))
		return 0;
	clock_format_utc(realtime_usec, when);
	(void)buf_append(
		&buf, old_size ? old : GRANTS_HEAD, old_size ? old_size : strlen(GRANTS_HEAD));
	if (old_size && old[old_size - 1] != '\n')
		(void)buf_putc(&buf, '\n');
	(void)buf_printf(&buf, "# %s, given by %s\n%s\n", when, by, text);
	if (buf.error)
		return err_trace(buf.error == -E2BIG ? -EFBIG : buf.error);
	r = check_text(dirs, &buf, text, request);
	if (r < 0)
		return err_trace(r);
	return file_replace(folder, GRANTS_FILE, buf.data, buf.size, 0600);
}
