/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_BASE_ERROR_H
#define SUPERVISORD_BASE_ERROR_H

/* The error convention of the whole tree.
 *
 *   0          done
 *   negative   -errno; fatal for the operation; passed on with err_trace(), never matched
 *   positive   a documented result MODULE_E_*, handled by the direct caller
 *
 * sd_* functions return positive numbers on success: their wrappers test `r < 0` only and end with
 * `return 0`. */

/* Passes an error on and notes, at debug level, where it went through. */
#define err_trace(r) err_trace_at((r), __FILE__, __LINE__, __func__)

int err_trace_at(int r, const char *file, int line, const char *func);

/* Turns a positive result that the caller did not expect into -ENOTRECOVERABLE; passes the rest. */
int err_fold(int r);

/* -errno, or -EIO where errno was not set: what a failed libc call becomes. */
int err_errno(void);

#endif
