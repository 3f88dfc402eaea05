/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_BASE_CLEANUP_H
#define SUPERVISORD_BASE_CLEANUP_H

/* Scope-bound release of memory and descriptors.
 *
 * A variable is declared with _cleanup_(fn) where the resource is acquired; TAKE_PTR and TAKE_FD
 * hand it over to a new owner. Cleanup functions leave errno as it was. */

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define _cleanup_(fn) __attribute__((cleanup(fn)))
#define _must_use_ __attribute__((warn_unused_result))
#define _unused_ __attribute__((unused))
#define _printf_(f, a) __attribute__((format(printf, f, a)))

/* Around a function that puts allocated memory into an array behind a pointer: the analyzer of gcc
 * 12 loses sight of it there and calls it leaked. Such leaks are left to the sanitizer. */
#if defined(__GNUC__) && !defined(__clang__)
#define ANALYZER_LEAKS_OFF _Pragma("GCC diagnostic ignored \"-Wanalyzer-malloc-leak\"")
#define ANALYZER_ARRAY_BEGIN _Pragma("GCC diagnostic push") ANALYZER_LEAKS_OFF
#define ANALYZER_ARRAY_END _Pragma("GCC diagnostic pop")
#else
#define ANALYZER_ARRAY_BEGIN
#define ANALYZER_ARRAY_END
#endif

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* Hands a pointer over and clears the variable, so that its cleanup does nothing. */
#define TAKE_PTR(p)                                                                                \
	({                                                                                         \
		__typeof__(p) *_pp = &(p);                                                         \
		__typeof__(p) _v = *_pp;                                                           \
		*_pp = NULL;                                                                       \
		_v;                                                                                \
	})

/* The same for a descriptor; -1 is "none". */
#define TAKE_FD(fd)                                                                                \
	({                                                                                         \
		int *_fp = &(fd);                                                                  \
		int _f = *_fp;                                                                     \
		*_fp = -1;                                                                         \
		_f;                                                                                \
	})

/* _cleanup_(freep) char *x */
static inline void freep(void *p)
{
	int saved = errno;

	free(*(void **)p);
	errno = saved;
}

/* _cleanup_(closep) int fd = -1 */
static inline void closep(const int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		close(*fd);
	errno = saved;
}

/* Closes FD if it is one; returns -1, for `fd = close_fd(fd)`. */
static inline int close_fd(int fd)
{
	closep(&fd);
	return -1;
}

/* Defines fn##p for a fn that takes the pointer: DEFINE_CLEANUP(struct buf *, buf_free). */
#define DEFINE_CLEANUP(type, fn)                                                                   \
	static inline void fn##p(type *p)                                                          \
	{                                                                                          \
		int _saved = errno;                                                                \
                                                                                                   \
		if (*p)                                                                            \
			fn(*p);                                                                    \
		errno = _saved;                                                                    \
	}                                                                                          \
	struct _allow_trailing_semicolon

#endif
