/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */

#include "supervisord/base/json.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "supervisord/base/display.h"
#include "supervisord/base/error.h"

#define JSON_KEY_MAX 64 /* bytes of a member's name that carries bytes, "_b64" included */
#define JSON_DEPTH_MAX 64

/* Walks a parsed value: no reals, no deep nests. */
static bool json_is_strict(json_t *json, unsigned depth)
{
	void *iter;
	size_t i;

	if (json_is_real(json) || depth > JSON_DEPTH_MAX)
		return false;
	for (i = 0; i < json_array_size(json); i++)
		if (!json_is_strict(json_array_get(json, i), depth + 1))
			return false;
	for (iter = json_object_iter(json); iter; iter = json_object_iter_next(json, iter))
		if (!json_is_strict(json_object_iter_value(iter), depth + 1))
			return false;
	return true;
}

int json_parse_strict(const char *text, size_t size, size_t max, json_t **jsonp)
{
	_cleanup_(json_decrefp) json_t *json = NULL;

	if (size > max)
		return -EMSGSIZE;
	json = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
	if (!json || !json_is_strict(json, 0))
		return -EBADMSG;
	*jsonp = TAKE_PTR(json);
	return 0;
}

char *json_write(const json_t *json)
{
	return json_dumps(
		json, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENSURE_ASCII | JSON_ENCODE_ANY);
}

void json_reader_init(struct json_reader *reader, json_t *object)
{
	*reader = (struct json_reader){.object = object};
	if (!json_is_object(object))
		reader->error = -EBADMSG;
}

static void json_reader_fail(struct json_reader *reader)
{
	reader->error = -EBADMSG;
}

/* The member KEY, counted as read; NULL when it is absent or null, which fails when it is REQUIRED.
 */
static json_t *json_reader_get(struct json_reader *reader, const char *key, bool required)
{
	json_t *value;

	if (reader->error)
		return NULL;
	value = json_object_get(reader->object, key);
	if (value)
		reader->n_read++;
	if (value && !json_is_null(value))
		return value;
	if (required)
		json_reader_fail(reader);
	return NULL;
}

static json_t *json_reader_get_typed(
	struct json_reader *reader, const char *key, bool required, json_type type)
{
	json_t *value;

	value = json_reader_get(reader, key, required);
	if (value && json_typeof(value) != type) {
		json_reader_fail(reader);
		return NULL;
	}
	return value;
}

const char *json_read_str(struct json_reader *reader, const char *key, bool required)
{
	return json_string_value(json_reader_get_typed(reader, key, required, JSON_STRING));
}

uint64_t json_read_u64(struct json_reader *reader, const char *key, bool required)
{
	json_t *value;

	value = json_reader_get_typed(reader, key, required, JSON_INTEGER);
	if (!value)
		return 0;
	if (json_integer_value(value) < 0) {
		json_reader_fail(reader);
		return 0;
	}
	return (uint64_t)json_integer_value(value);
}

bool json_read_bool(struct json_reader *reader, const char *key, bool required)
{
	json_t *value;

	value = json_reader_get(reader, key, required);
	if (value && !json_is_boolean(value))
		json_reader_fail(reader);
	return json_is_true(value);
}

json_t *json_read_array(struct json_reader *reader, const char *key, bool required)
{
	return json_reader_get_typed(reader, key, required, JSON_ARRAY);
}

json_t *json_read_object(struct json_reader *reader, const char *key, bool required)
{
	return json_reader_get_typed(reader, key, required, JSON_OBJECT);
}

int json_reader_finish(struct json_reader *reader)
{
	if (!reader->error && reader->n_read != json_object_size(reader->object))
		json_reader_fail(reader);
	return reader->error;
}

static void json_raw_key(const char *key, char out[JSON_KEY_MAX])
{
	(void)snprintf(out, JSON_KEY_MAX, "%s_b64", key);
}

/* New reference to the base64 text of DATA, or NULL. */
static json_t *json_new_base64(const char *data, size_t size)
{
	size_t text_size = sodium_base64_encoded_len(size, sodium_base64_VARIANT_ORIGINAL);
	_cleanup_(freep) char *text = malloc(text_size);

	if (!text)
		return NULL;
	sodium_bin2base64(
		text, text_size, (const unsigned char *)data, size, sodium_base64_VARIANT_ORIGINAL);
	return json_string(text);
}

/* New reference to the text of DATA with escapes made visible; *DIFFERSP when it is not DATA
 * itself. */
static json_t *json_new_text(const char *data, size_t size, bool *differsp)
{
	_cleanup_(freep) char *text = display_escape(data, size, NULL);

	if (!text)
		return NULL;
	*differsp = strlen(text) != size || memcmp(text, data, size) != 0;
	return json_string(text);
}

int json_set_bytes(json_t *object, const char *key, const char *data, size_t size)
{
	char raw_key[JSON_KEY_MAX];
	bool differs = false;

	if (json_object_set_new(object, key, json_new_text(data, size, &differs)) < 0)
		return err_trace(-ENOMEM);
	if (!differs)
		return 0;
	json_raw_key(key, raw_key);
	if (json_object_set_new(object, raw_key, json_new_base64(data, size)) < 0)
		return err_trace(-ENOMEM);
	return 0;
}

/* The raw bytes of TEXT, or of RAW (base64) where that is not NULL; RAW must then be what TEXT
 * shows, so that people never read one thing and the program another. NULL on failure. */
static char *json_decode_bytes(const char *text, const char *raw, size_t *sizep)
{
	_cleanup_(freep) char *data = NULL;
	_cleanup_(freep) char *shown = NULL;
	size_t max, size = strlen(text);

	if (!raw) {
		data = strdup(text);
		*sizep = size;
		return TAKE_PTR(data);
	}
	max = strlen(raw) / 4 * 3 + 3;
	data = malloc(max + 1);
	if (!data || sodium_base642bin((unsigned char *)data, max, raw, strlen(raw), NULL, &size,
			     NULL, sodium_base64_VARIANT_ORIGINAL) != 0)
		return NULL;
	data[size] = '\0';
	shown = display_escape(data, size, NULL);
	if (!shown || strcmp(shown, text) != 0)
		return NULL;
	*sizep = size;
	return TAKE_PTR(data);
}

void json_read_bytes(
	struct json_reader *reader, const char *key, bool required, char **datap, size_t *sizep)
{
	_cleanup_(freep) char *data = NULL;
	char raw_key[JSON_KEY_MAX];
	const char *text, *raw;
	size_t size = 0;

	*datap = NULL;
	if (sizep)
		*sizep = 0;
	json_raw_key(key, raw_key);
	text = json_read_str(reader, key, required);
	raw = json_read_str(reader, raw_key, false);
	if (reader->error || (!text && !raw))
		return;
	data = text ? json_decode_bytes(text, raw, &size) : NULL;
	if (!data || (!sizep && memchr(data, 0, size))) {
		json_reader_fail(reader);
		return;
	}
	if (sizep)
		*sizep = size;
	*datap = TAKE_PTR(data);
}

int json_set_bytes_array(json_t *object, const char *key, char *const *items, size_t n)
{
	_cleanup_(json_decrefp) json_t *texts = json_array();
	_cleanup_(json_decrefp) json_t *raws = json_array();
	bool differs, any = false;
	char raw_key[JSON_KEY_MAX];
	size_t i, size;

	if (!texts || !raws)
		return err_trace(-ENOMEM);
	for (i = 0; i < n; i++) {
		size = strlen(items[i]);
		differs = false;
		if (json_array_append_new(texts, json_new_text(items[i], size, &differs)) < 0 ||
			json_array_append_new(raws, json_new_base64(items[i], size)) < 0)
			return err_trace(-ENOMEM);
		any = any || differs;
	}
	json_raw_key(key, raw_key);
	if (json_object_set(object, key, texts) < 0 ||
		(any && json_object_set(object, raw_key, raws) < 0))
		return err_trace(-ENOMEM);
	return 0;
}

void json_read_bytes_array(struct json_reader *reader, const char *key, bool required, size_t max,
	char ***itemsp, size_t *np)
{
	char raw_key[JSON_KEY_MAX];
	const char *text, *raw;
	json_t *texts, *raws;
	char **items;
	size_t i, n, size;

	*itemsp = NULL;
	*np = 0;
	json_raw_key(key, raw_key);
	texts = json_read_array(reader, key, required);
	raws = json_read_array(reader, raw_key, false);
	n = json_array_size(texts);
	if (reader->error || n > max || (raws && json_array_size(raws) != n)) {
		json_reader_fail(reader);
		return;
	}
	items = calloc(n + 1, sizeof(*items));
	for (i = 0; items && i < n; i++) {
		text = json_string_value(json_array_get(texts, i));
		raw = json_string_value(json_array_get(raws, i));
		if (!text || (raws && !raw))
			break;
		items[i] = json_decode_bytes(text, raw, &size);
		if (!items[i] || memchr(items[i], 0, size))
			break;
	}
	if (!items || i < n) {
		json_bytes_array_free(items, n);
		json_reader_fail(reader);
		return;
	}
	*itemsp = items;
	*np = n;
}

void json_bytes_array_free(char **items, size_t n)
{
	size_t i;

	for (i = 0; items && i < n; i++)
		freep(&items[i]);
	freep(&items);
}
