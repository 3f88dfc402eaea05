/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_BROKER_NAMES_H
#define SUPERVISORD_BROKER_NAMES_H

/* Keeps names true between the decision and the act.
 *
 * A pinned parent folder can get another name while a worker still works on a file in it: judged as
 * "t/hooks/x", made as ".git/hooks/x". Whoever changes names below a parent holds the lock shared
 * from the check of the name to the act; whoever moves a folder holds it alone. Never held while
 * waiting for a person. What the kernel carries out by itself (the floor) needs no lock: every name
 * there is allowed. */

#include <stdbool.h>
#include <stdint.h>

#include "supervisord/broker/path.h"

/* Changes whenever a folder was moved. */
uint64_t names_generation(void);

void names_lock_shared(void);
void names_lock_exclusive(void);
void names_unlock(void);
/* A folder was moved; with the exclusive lock held. */
void names_moved(void);

/* Does PATH still have the name that was judged? With either lock held. */
bool names_same(const struct path *path);

#endif
