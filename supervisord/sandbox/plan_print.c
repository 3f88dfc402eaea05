/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "supervisord/sandbox/plan.h"

/* The plan for people and programs, and its digest. MUST show no value of the caller's environment.
 */

#include <errno.h>
#include <sodium.h>
#include <string.h>

#include "supervisord/base/display.h"
#include "supervisord/base/error.h"

static const char *const step_names[_PLAN_STEP_N] = {
	[PLAN_NAMESPACE] = "namespace",
	[PLAN_MOUNT_TMPFS] = "tmpfs",
	[PLAN_MOUNT_BIND] = "keep",
	[PLAN_MOUNT_MASK] = "mask",
	[PLAN_MOUNT_PROC] = "proc",
	[PLAN_MOUNT_DEV] = "dev",
	[PLAN_ALLOW] = "allow",
	[PLAN_NET_CLOSED] = "closed",
	[PLAN_SCOPED] = "scoped",
	[PLAN_NO_CAPS] = "none",
	[PLAN_FILTER] = "filter",
	[PLAN_NOTIFY] = "notify",
	[PLAN_ENV] = "env",
};

static const char *access_text(unsigned access, char out[32])
{
	static const char *const names[] = {"read", "list", "modify", "start"};
	size_t n = 0;

	out[0] = '\0';
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (access & (1u << i))
			n += (size_t)snprintf(out + n, 32 - n, "%s%s", n > 0 ? "," : "", names[i]);
	return out;
}

/* The bytes of a step's object that may be shown. */
static size_t shown_size(const struct plan_step *step)
{
	if (step->kind == PLAN_ENV && step->source)
		return strcspn(step->path, "=");
	return strlen(step->path);
}

static int print_step(const struct plan_step *step, FILE *out)
{
	_cleanup_(freep) char *object = display_escape(step->path, shown_size(step), NULL);
	char access[32];

	if (!object)
		return err_trace(-ENOMEM);
	if (step->kind == PLAN_ALLOW)
		(void)fprintf(out, "%s %s %s\n", step_names[step->kind],
			access_text(step->access, access), object);
	else
		(void)fprintf(out, "%s %s\n", step_names[step->kind], object);
	return 0;
}

int plan_print(const struct plan *plan, FILE *out)
{
	int r;

	(void)fprintf(out, "landlock abi %d\n", plan->landlock_abi);
	(void)fprintf(out, "reads %s%s%s\n", plan->notify_reads ? "notified" : "by the floor",
		plan->cookie ? ", with cookie" : "",
		plan->floor_reads ? "" : ", all carried out by the broker");
	if (plan->reduced)
		(void)fprintf(out, "reduced: without %s\n", plan->reduced);
	for (size_t i = 0; i < plan->n_steps; i++) {
		r = print_step(&plan->steps[i], out);
		if (r < 0)
			return err_trace(r);
	}
	return ferror(out) ? err_trace(-EIO) : 0;
}

static json_t *step_to_json(const struct plan_step *step)
{
	_cleanup_(json_decrefp) json_t *object = json_pack("{s:s}", "step", step_names[step->kind]);

	char access[32];

	if (!object || json_set_bytes(object, "object", step->path, shown_size(step)) < 0)
		return NULL;
	if (step->kind == PLAN_ALLOW && json_object_set_new(object, "access",
						json_string(access_text(step->access, access))) < 0)
		return NULL;
	return TAKE_PTR(object);
}

json_t *plan_to_json(const struct plan *plan)
{
	_cleanup_(json_decrefp) json_t *steps = json_array();
	uint8_t digest[32];
	char hex[65];

	if (!steps)
		return NULL;
	for (size_t i = 0; i < plan->n_steps; i++)
		if (json_array_append_new(steps, step_to_json(&plan->steps[i])) < 0)
			return NULL;
	plan_digest(plan, digest);
	sodium_bin2hex(hex, sizeof(hex), digest, sizeof(digest));
	return json_pack("{s:i, s:b, s:b, s:b, s:s?, s:s, s:O}", "landlock_abi", plan->landlock_abi,
		"notify_reads", (int)plan->notify_reads, "floor_reads", (int)plan->floor_reads,
		"cookie", (int)plan->cookie, "reduced", plan->reduced, "digest", hex, "steps",
		steps);
}

void plan_digest(const struct plan *plan, uint8_t out[32])
{
	char *text = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&text, &size);
	int r = -ENOMEM;

	if (stream) {
		r = plan_print(plan, stream);
		if (fclose(stream) != 0)
			r = -ENOMEM;
	}
	/* Without memory there is no digest; zeros match no plan. */
	memset(out, 0, 32);
	if (r == 0)
		crypto_generichash(out, 32, (const unsigned char *)text, size, NULL, 0);
	free(text);
}
