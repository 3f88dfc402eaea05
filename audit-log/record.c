/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "audit-log/record.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "audit-log/tree.h"
#include "supervisord/base/error.h"
#include "supervisord/base/parse.h"

#define DEPTH_MAX 16
#define SHRINK_ROUNDS 64

bool audit_record_type_is_reserved(const char *type)
{
	static const char *const reserved[] = {"log.open", "log.close", "log.key", "log.tick",
		"log.recovered", "log.pressure", "log.break", "time.step"};

	for (size_t i = 0; i < ARRAY_LEN(reserved); i++)
		if (strcmp(type, reserved[i]) == 0)
			return true;
	return false;
}

/* {"head": first bytes, "len": bytes, "sha256": hex} of DATA; NULL when out of memory. */
static json_t *digest_of(const char *data, size_t size)
{
	uint8_t hash[AUDIT_HASH_SIZE];
	char hex[2 * AUDIT_HASH_SIZE + 1];
	size_t head = size < AUDIT_HEAD_MAX ? size : AUDIT_HEAD_MAX;

	crypto_hash_sha256(hash, (const uint8_t *)data, size);
	format_hex(hash, sizeof(hash), hex);
	/* Not in the middle of a UTF-8 character. */
	while (head > 0 && head < size && ((uint8_t)data[head] & 0xc0) == 0x80)
		head--;
	return json_pack(
		"{s:s%, s:I, s:s}", "head", data, head, "len", (json_int_t)size, "sha256", hex);
}

/* What replaces VALUE: of a text its bytes count, of anything else its JSON. */
static json_t *replacement(const json_t *value)
{
	_cleanup_(freep) char *text = NULL;

	if (json_is_string(value))
		return digest_of(json_string_value(value), json_string_length(value));
	text = json_write(value);
	return text ? digest_of(text, strlen(text)) : NULL;
}

static size_t json_size(const json_t *value)
{
	return json_dumpb(value, NULL, 0,
		JSON_COMPACT | JSON_SORT_KEYS | JSON_ENSURE_ASCII | JSON_ENCODE_ANY);
}

static int shrink_texts(json_t *value, unsigned depth);

static int shrink_member(json_t *value, unsigned depth, json_t **newp)
{
	*newp = NULL;
	if (json_is_real(value))
		return -EINVAL;
	if (json_is_string(value)) {
		if (json_string_length(value) <= AUDIT_FIELD_MAX)
			return 0;
		*newp = replacement(value);
		return *newp ? 0 : -ENOMEM;
	}
	return shrink_texts(value, depth + 1);
}

/* Replaces every over-long text in VALUE; refuses reals and deep nesting. */
static int shrink_texts(json_t *value, unsigned depth)
{
	const char *key;
	json_t *item, *new;
	size_t i;
	int r;

	if (depth > DEPTH_MAX)
		return -EINVAL;
	if (json_is_object(value)) {
		json_object_foreach(value, key, item)
		{
			r = shrink_member(item, depth, &new);
			if (r < 0)
				return r;
			if (new &&json_object_set_new_nocheck(value, key, new) < 0)
				return -ENOMEM;
		}
	} else if (json_is_array(value)) {
		json_array_foreach(value, i, item)
		{
			r = shrink_member(item, depth, &new);
			if (r < 0)
				return r;
			if (new &&json_array_set_new(value, i, new) < 0)
				return -ENOMEM;
		}
	}
	return 0;
}

static bool is_replacement(const json_t *value)
{
	return json_is_object(value) && json_object_size(value) == 3 &&
	       json_object_get(value, "sha256") && json_object_get(value, "head");
}

/* Replaces the largest member that can be; inside an object the largest of its members. */
static int shrink_largest(json_t *object, unsigned depth)
{
	const char *key, *largest_key = NULL;
	json_t *item, *largest = NULL, *new;
	size_t largest_size = 512; /* less is not worth a digest */

	json_object_foreach(object, key, item)
	{
		size_t size = json_size(item);

		if (size <= largest_size || is_replacement(item))
			continue;
		largest = item;
		largest_key = key;
		largest_size = size;
	}
	if (!largest)
		return -E2BIG;
	if (json_is_object(largest) && depth < DEPTH_MAX && shrink_largest(largest, depth + 1) == 0)
		return 0;
	new = replacement(largest);
	if (!new || json_object_set_new_nocheck(object, largest_key, new) < 0)
		return -ENOMEM;
	return 0;
}

static int set_stamp(json_t *object, const struct audit_stamp *stamp)
{
	char time[CLOCK_TEXT_MAX];

	clock_format_utc(stamp->realtime_usec, time);
	if (json_object_set_new(object, "seq", json_integer((json_int_t)stamp->seq)) < 0 ||
		json_object_set_new(object, "time", json_string(time)) < 0 ||
		json_object_set_new(
			object, "mono", json_integer((json_int_t)stamp->boottime_usec)) < 0 ||
		json_object_set_new(object, "boot", json_string(stamp->boot)) < 0 ||
		json_object_set_new(object, "host", json_string(stamp->host)) < 0)
		return -ENOMEM;
	return 0;
}

int audit_record_render(
	const json_t *record, const struct audit_stamp *stamp, char **linep, size_t *sizep)
{
	const char *type = json_string_value(json_object_get(record, "type"));
	_cleanup_(json_decrefp) json_t *copy = NULL;
	_cleanup_(freep) char *line = NULL;
	size_t size;
	int r;

	if (!json_is_object(record) || !type ||
		strlen(type) >= sizeof(((struct audit_record *)0)->type))
		return err_trace(-EINVAL);
	copy = json_deep_copy(record);
	if (!copy)
		return err_trace(-ENOMEM);
	r = shrink_texts(copy, 0);
	if (r < 0)
		return err_trace(r);
	r = set_stamp(copy, stamp);
	if (r < 0)
		return err_trace(r);
	for (unsigned round = 0;; round++) {
		line = json_write(copy);
		if (!line)
			return err_trace(-ENOMEM);
		size = strlen(line);
		if (size <= AUDIT_RECORD_MAX)
			break;
		free(line);
		line = NULL;
		r = round < SHRINK_ROUNDS ? shrink_largest(copy, 0) : -E2BIG;
		if (r < 0)
			return err_trace(r);
	}
	*linep = TAKE_PTR(line);
	*sizep = size;
	return 0;
}

static int parse_digits(const char *text, size_t n, int *valuep)
{
	*valuep = 0;
	for (size_t i = 0; i < n; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -EINVAL;
		*valuep = *valuep * 10 + (text[i] - '0');
	}
	return 0;
}

int audit_record_parse_time(const char *text, uint64_t *usecp)
{
	static const char shape[] = "dddd-dd-ddTdd:dd:dd.dddZ";
	struct tm tm = {0};
	int year, month, ms;
	time_t seconds;

	if (strlen(text) != sizeof(shape) - 1)
		return -EINVAL;
	for (size_t i = 0; i < sizeof(shape) - 1; i++)
		if (shape[i] != 'd' && text[i] != shape[i])
			return -EINVAL;
	if (parse_digits(text, 4, &year) < 0 || parse_digits(text + 5, 2, &month) < 0 ||
		parse_digits(text + 8, 2, &tm.tm_mday) < 0 ||
		parse_digits(text + 11, 2, &tm.tm_hour) < 0 ||
		parse_digits(text + 14, 2, &tm.tm_min) < 0 ||
		parse_digits(text + 17, 2, &tm.tm_sec) < 0 || parse_digits(text + 20, 3, &ms) < 0)
		return -EINVAL;
	tm.tm_year = year - 1900;
	tm.tm_mon = month - 1;
	seconds = timegm(&tm);
	if (seconds < 0)
		return -EINVAL;
	*usecp = (uint64_t)seconds * USEC_PER_SEC + (unsigned)ms * USEC_PER_MSEC;
	return 0;
}

static int copy_text(const json_t *object, const char *key, char *out, size_t out_size)
{
	const json_t *value = json_object_get(object, key);
	size_t size = value ? json_string_length(value) : 0;

	if (!json_is_string(value) || size >= out_size)
		return -EBADMSG;
	memcpy(out, json_string_value(value), size);
	out[size] = '\0';
	return strlen(out) == size ? 0 : -EBADMSG;
}

static int copy_number(const json_t *object, const char *key, uint64_t *valuep)
{
	const json_t *value = json_object_get(object, key);

	if (!json_is_integer(value) || json_integer_value(value) < 0)
		return -EBADMSG;
	*valuep = (uint64_t)json_integer_value(value);
	return 0;
}

int audit_record_parse(const char *line, size_t size, struct audit_record *record, json_t **jsonp)
{
	_cleanup_(json_decrefp) json_t *json = NULL;

	memset(record, 0, sizeof(*record));
	if (json_parse_strict(line, size, AUDIT_LINE_MAX, &json) < 0 || !json_is_object(json))
		return -EBADMSG;
	if (copy_number(json, "seq", &record->seq) < 0 ||
		copy_number(json, "mono", &record->boottime_usec) < 0 ||
		copy_text(json, "type", record->type, sizeof(record->type)) < 0 ||
		copy_text(json, "boot", record->boot, sizeof(record->boot)) < 0 ||
		copy_text(json, "time", record->time, sizeof(record->time)) < 0 ||
		audit_record_parse_time(record->time, &record->realtime_usec) < 0)
		return -EBADMSG;
	if (jsonp)
		*jsonp = TAKE_PTR(json);
	return 0;
}
