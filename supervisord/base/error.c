/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */

#include "supervisord/base/error.h"

#include <errno.h>
#include <string.h>

#include "supervisord/base/log.h"

int err_trace_at(int r, const char *file, int line, const char *func)
{
	if (r < 0 && log_enabled(LOG_LEVEL_DEBUG))
		log_debug_r(r, "%s:%d: %s", file, line, func);
	return r;
}

int err_fold(int r)
{
	return r > 0 ? -ENOTRECOVERABLE : r;
}

int err_errno(void)
{
	return errno > 0 ? -errno : -EIO;
}
