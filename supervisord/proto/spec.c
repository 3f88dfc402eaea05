/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */

#include "supervisord/proto/spec.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "supervisord/base/error.h"
#include "supervisord/base/file.h"

/* What makes the memfd immutable: nobody, its writer included, can change what the broker reads. */
#define SPEC_SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)
#define SPEC_STRINGS_MAX 65536
#define SPEC_POLICIES_MAX 256

static int spec_set_string(json_t *json, const char *key, const char *value)
{
	return value ? json_set_bytes(json, key, value, strlen(value)) : 0;
}

static int spec_set_bool(json_t *json, const char *key, bool value)
{
	return json_object_set_new(json, key, json_boolean(value));
}

static int spec_set_u64(json_t *json, const char *key, uint64_t value)
{
	return value > INT64_MAX ? -1
				 : json_object_set_new(json, key, json_integer((json_int_t)value));
}

static json_t *spec_policies_to_json(const struct session_spec *spec)
{
	_cleanup_(json_decrefp) json_t *array = json_array();
	const struct spec_policy *policy;
	json_t *item;
	size_t i;

	for (i = 0; array && i < spec->n_policies; i++) {
		policy = &spec->policies[i];
		item = json_object();
		/* The array owns the item from here on, also where it cannot be filled. */
		if (json_array_append_new(array, item) < 0 ||
			spec_set_string(item, "file", policy->file) < 0 ||
			json_object_set_new(
				item, "layer", json_string(policy_layer_name(policy->layer))) < 0 ||
			json_set_bytes(item, "text", policy->text, policy->size) < 0)
			return NULL;
	}
	return TAKE_PTR(array);
}

static json_t *spec_to_json(const struct session_spec *spec)
{
	_cleanup_(json_decrefp) json_t *json = json_object();

	if (!json || json_set_bytes_array(json, "argv", spec->argv, spec->n_argv) < 0 ||
		json_set_bytes_array(json, "env", spec->env, spec->n_env) < 0 ||
		spec_set_string(json, "cwd", spec->cwd) < 0 ||
		spec_set_string(json, "workspace", spec->workspace) < 0 ||
		spec_set_string(json, "agent", spec->agent) < 0 ||
		spec_set_string(json, "profile", spec->profile) < 0 ||
		spec_set_string(json, "control", spec->control) < 0 ||
		spec_set_string(json, "preload", spec->preload) < 0 ||
		spec_set_bool(json, "pty", spec->pty) < 0 ||
		spec_set_u64(json, "rows", spec->rows) < 0 ||
		spec_set_u64(json, "cols", spec->cols) < 0 ||
		spec_set_bool(json, "no_ask", spec->no_ask) < 0 ||
		spec_set_bool(json, "reduced_userns", spec->reduced_userns) < 0 ||
		spec_set_bool(json, "force_no_userns", spec->force_no_userns) < 0 ||
		spec_set_u64(json, "timeout_usec", spec->timeout_usec) < 0 ||
		json_object_set_new(json, "policies", spec_policies_to_json(spec)) < 0)
		return NULL;
	return TAKE_PTR(json);
}

int spec_to_memfd(const struct session_spec *spec, int *fdp)
{
	_cleanup_(json_decrefp) json_t *json = spec_to_json(spec);
	_cleanup_(closep) int fd = -1;
	_cleanup_(freep) char *text = NULL;
	int r;

	text = json ? json_write(json) : NULL;
	if (!text)
		return err_trace(-ENOMEM);
	if (strlen(text) > SPEC_JSON_MAX)
		return -E2BIG;
	fd = memfd_create("agent-supervisor-spec", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return err_trace(err_errno());
	r = fd_write_all(fd, text, strlen(text));
	if (r < 0)
		return err_trace(r);
	if (fcntl(fd, F_ADD_SEALS, SPEC_SEALS) < 0)
		return err_trace(err_errno());
	*fdp = TAKE_FD(fd);
	return 0;
}

static int spec_policy_from_json(json_t *json, struct spec_policy *policy)
{
	struct json_reader reader;
	const char *layer;
	int r;

	json_reader_init(&reader, json);
	json_read_bytes(&reader, "file", true, &policy->file, NULL);
	layer = json_read_str(&reader, "layer", true);
	json_read_bytes(&reader, "text", true, &policy->text, &policy->size);
	r = json_reader_finish(&reader);
	if (r < 0)
		return r;
	if (policy_layer_from_name(layer, &policy->layer) < 0 || policy->size > SPEC_POLICY_MAX)
		return -EBADMSG;
	return 0;
}

static int spec_policies_from_json(json_t *array, struct session_spec *spec)
{
	size_t n = json_array_size(array), i;
	int r;

	if (n > SPEC_POLICIES_MAX)
		return -EBADMSG;
	spec->policies = calloc(n + 1, sizeof(*spec->policies));
	if (!spec->policies)
		return err_trace(-ENOMEM);
	/* Counted at once, so that a half-read list is freed whole. */
	spec->n_policies = n;
	for (i = 0; i < n; i++) {
		r = spec_policy_from_json(json_array_get(array, i), &spec->policies[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

int spec_from_json(json_t *json, struct session_spec **specp)
{
	_cleanup_(spec_freep) struct session_spec *spec = calloc(1, sizeof(*spec));
	struct json_reader reader;
	uint64_t rows, cols;
	json_t *policies;
	int r;

	if (!spec)
		return err_trace(-ENOMEM);
	json_reader_init(&reader, json);
	json_read_bytes_array(&reader, "argv", true, SPEC_STRINGS_MAX, &spec->argv, &spec->n_argv);
	json_read_bytes_array(&reader, "env", true, SPEC_STRINGS_MAX, &spec->env, &spec->n_env);
	json_read_bytes(&reader, "cwd", true, &spec->cwd, NULL);
	json_read_bytes(&reader, "workspace", true, &spec->workspace, NULL);
	json_read_bytes(&reader, "agent", false, &spec->agent, NULL);
	json_read_bytes(&reader, "profile", false, &spec->profile, NULL);
	json_read_bytes(&reader, "control", false, &spec->control, NULL);
	json_read_bytes(&reader, "preload", false, &spec->preload, NULL);
	spec->pty = json_read_bool(&reader, "pty", true);
	rows = json_read_u64(&reader, "rows", true);
	cols = json_read_u64(&reader, "cols", true);
	spec->no_ask = json_read_bool(&reader, "no_ask", true);
	spec->reduced_userns = json_read_bool(&reader, "reduced_userns", true);
	spec->force_no_userns = json_read_bool(&reader, "force_no_userns", true);
	spec->timeout_usec = json_read_u64(&reader, "timeout_usec", true);
	policies = json_read_array(&reader, "policies", true);
	r = json_reader_finish(&reader);
	if (r < 0)
		return r;
	if (spec->n_argv == 0 || spec->cwd[0] != '/' || spec->workspace[0] != '/' ||
		rows > UINT16_MAX || cols > UINT16_MAX)
		return -EBADMSG;
	spec->rows = (uint16_t)rows;
	spec->cols = (uint16_t)cols;
	r = spec_policies_from_json(policies, spec);
	if (r < 0)
		return r;
	*specp = TAKE_PTR(spec);
	return 0;
}

int spec_from_fd(int fd, struct session_spec **specp)
{
	_cleanup_(json_decrefp) json_t *json = NULL;
	_cleanup_(freep) char *text = NULL;
	size_t size;
	int seals, r;

	seals = fcntl(fd, F_GET_SEALS);
	if (seals < 0 || (seals & SPEC_SEALS) != SPEC_SEALS)
		return err_trace(-EPERM);
	r = file_read_fd(fd, SPEC_JSON_MAX, &text, &size);
	if (r < 0)
		return err_trace(r);
	r = json_parse_strict(text, size, SPEC_JSON_MAX, &json);
	if (r < 0)
		return err_trace(r);
	return spec_from_json(json, specp);
}

void spec_free(struct session_spec *spec)
{
	size_t i;

	if (!spec)
		return;
	json_bytes_array_free(spec->argv, spec->n_argv);
	json_bytes_array_free(spec->env, spec->n_env);
	for (i = 0; i < spec->n_policies; i++) {
		free(spec->policies[i].file);
		free(spec->policies[i].text);
	}
	free(spec->policies);
	free(spec->cwd);
	free(spec->workspace);
	free(spec->agent);
	free(spec->profile);
	free(spec->control);
	free(spec->preload);
	free(spec);
}
