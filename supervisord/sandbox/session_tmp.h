/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_SANDBOX_SESSION_TMP_H
#define SUPERVISORD_SANDBOX_SESSION_TMP_H

/* The folder that a session without a mount namespace has in the /tmp that all users share. */

#include "supervisord/base/cleanup.h"

/* Makes it (0700). *PATHP is owned by the caller. 0, -ENOMEM, -errno. */
int session_tmp_make(char **pathp) _must_use_;

/* Removes it with all that is in it; the session must be dead. Links are removed, not followed. */
void session_tmp_remove(const char *path);

#endif
