/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_BASE_DIRS_H
#define SUPERVISORD_BASE_DIRS_H

/* Where the supervisor keeps its things, from the environment of the person who starts it. No
 * session may reach these folders. */

#include "supervisord/base/cleanup.h"

struct dirs {
	char *home;    /* $HOME, or the passwd entry where it is unset or relative */
	char *config;  /* $XDG_CONFIG_HOME/agent-supervisor */
	char *state;   /* $XDG_STATE_HOME/agent-supervisor */
	char *runtime; /* $XDG_RUNTIME_DIR/agent-supervisor, else /run/user/UID/..., else
			* /tmp/agent-supervisor-UID (0700, owner checked on use) */
	char *org;     /* /etc/agent-supervisor */
	char *audit;   /* state/audit/default: the log that agentctl reads and the daemon writes */
	char *spool;   /* state/spool: records of brokers that found no daemon */
	char *control; /* runtime/control: the socket */
};

/* Fills every member with an absolute path; creates nothing. 0, -ENOMEM, or -ENOENT when no home
 * can be found. */
int dirs_init(struct dirs *dirs) _must_use_;
void dirs_deinit(struct dirs *dirs);

/* Path of a program of this project that stands beside the running one (/proc/self/exe's folder).
 * *PATHP is owned by the caller. 0, -ENOENT where it is not there, -errno. */
int dirs_find_program(const char *name, char **pathp) _must_use_;

/* Path of the accelerator library: ../lib/agent-supervisor-open.so beside bin/ (build tree), or
 * ../lib/agent-supervisor/agent-supervisor-open.so (installed). 0, -ENOENT, -errno. */
int dirs_find_preload(char **pathp) _must_use_;

#endif
