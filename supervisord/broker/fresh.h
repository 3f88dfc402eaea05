/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_BROKER_FRESH_H
#define SUPERVISORD_BROKER_FRESH_H

/* The .git folders, and .git pointer files of worktrees, that this session made itself. Policies
 * may let `git init` and `git clone` write hooks and settings there that are protected in
 * repositories that were there before.
 *
 * A folder is known by device, inode and birth time, never by its name: a repository of somebody
 * else cannot slip under the name of a fresh one. */

#include <stdbool.h>

#include "supervisord/base/cleanup.h"

struct path;
struct fresh_repos;

#define FRESH_REPOS_MAX 4096

/* 0 or -ENOMEM. */
int fresh_repos_new(struct fresh_repos **freshp) _must_use_;
void fresh_repos_free(struct fresh_repos *fresh);
DEFINE_CLEANUP(struct fresh_repos *, fresh_repos_free);

/* Remembers the folder that FD (borrowed) names; when there are too many, it stays protected. */
void fresh_repos_add(struct fresh_repos *fresh, int fd);
/* Does the object (or the name to be made) lie at or below a remembered folder? */
bool fresh_repos_holds(struct fresh_repos *fresh, const struct path *path);
/* Is the folder FD (borrowed) itself one of them, under whatever name? */
bool fresh_repos_is(struct fresh_repos *fresh, int fd);
/* As fresh_repos_holds(); and is this the first time that this is asked about the folder? For one
 * record each. */
bool fresh_repos_announce(struct fresh_repos *fresh, const struct path *path);

#endif
