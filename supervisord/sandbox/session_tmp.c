/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "supervisord/sandbox/session_tmp.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>

#include "supervisord/base/error.h"
#include "supervisord/sandbox/plan_parts.h"

#define OPEN_FOLDERS_MAX 16

int session_tmp_make(char **pathp)
{
	char path[] = PLAN_SESSION_TMP;

	*pathp = NULL;
	if (!mkdtemp(path))
		return err_trace(err_errno());
	*pathp = strdup(path);
	if (!*pathp) {
		rmdir(path);
		return err_trace(-ENOMEM);
	}
	return 0;
}

static int remove_entry(const char *path, const struct stat *st _unused_, int type _unused_,
	struct FTW *ftw _unused_)
{
	(void)!remove(path);
	return 0;
}

void session_tmp_remove(const char *path)
{
	(void)nftw(path, remove_entry, OPEN_FOLDERS_MAX, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}
