/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_BASE_JSON_H
#define SUPERVISORD_BASE_JSON_H

/* Strict JSON at trust boundaries: a size cap, no duplicate keys, no trailing bytes, no reals;
 * every key that the reader did not ask for is an error (json_reader_finish). One form of writing:
 * compact, sorted keys, ASCII. */

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "supervisord/base/cleanup.h"

/* _cleanup_(json_decrefp) comes with jansson. */

/* Parses SIZE bytes. 0; -EBADMSG (not the strict JSON above); -EMSGSIZE (above MAX). New reference.
 */
int json_parse_strict(const char *text, size_t size, size_t max, json_t **jsonp) _must_use_;

/* Compact, sorted, ASCII text owned by the caller; NULL when out of memory. */
char *json_write(const json_t *json);

/* Reads an object member by member. The first failure sticks; check once with json_reader_finish.
 */
struct json_reader {
	json_t *object; /* borrowed */
	size_t n_read;
	int error; /* 0, -EBADMSG */
};

void json_reader_init(struct json_reader *reader, json_t *object);
/* Borrowed from the object; NULL when the member is absent or null and REQUIRED is false, or on
 * failure. */
const char *json_read_str(struct json_reader *reader, const char *key, bool required);
uint64_t json_read_u64(struct json_reader *reader, const char *key, bool required);
bool json_read_bool(struct json_reader *reader, const char *key, bool required);
json_t *json_read_array(struct json_reader *reader, const char *key, bool required);
json_t *json_read_object(struct json_reader *reader, const char *key, bool required);
/* 0, or -EBADMSG when a member was missing, of the wrong type, or not read at all. */
int json_reader_finish(struct json_reader *reader) _must_use_;

/* Bytes that may be invalid UTF-8: KEY gets the text with escapes made visible, and KEY_b64 the raw
 * bytes where the two differ. 0 or -ENOMEM. */
int json_set_bytes(json_t *object, const char *key, const char *data, size_t size) _must_use_;
/* The reverse: raw bytes and a NUL, owned by the caller. *DATAP is NULL where the member is absent
 * and not required. With a NULL SIZEP, bytes with a NUL among them are an error. Errors stick in
 * the reader. */
void json_read_bytes(
	struct json_reader *reader, const char *key, bool required, char **datap, size_t *sizep);

/* The same for an array of strings without NUL (argv, an environment): KEY is an array of texts,
 * and KEY_b64 one of all raw strings where any differs. 0 or -ENOMEM. */
int json_set_bytes_array(json_t *object, const char *key, char *const *items, size_t n) _must_use_;
/* The reverse; the array has a NULL behind its *NP elements and is freed with
 * json_bytes_array_free. An absent member that is not required is an empty array. More than MAX
 * elements is an error. Errors stick in the reader; *ITEMSP is NULL then. */
void json_read_bytes_array(struct json_reader *reader, const char *key, bool required, size_t max,
	char ***itemsp, size_t *np);
void json_bytes_array_free(char **items, size_t n);

#endif
