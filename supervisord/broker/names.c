/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */

#include "supervisord/broker/names.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "supervisord/base/cleanup.h"

/* One broker is one process. Writers first: a stream of creations must not keep a rename waiting.
 */
static pthread_rwlock_t lock = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static atomic_uint_fast64_t generation = 1;

uint64_t names_generation(void)
{
	return atomic_load(&generation);
}

void names_lock_shared(void)
{
	(void)pthread_rwlock_rdlock(&lock);
}

void names_lock_exclusive(void)
{
	(void)pthread_rwlock_wrlock(&lock);
}

void names_unlock(void)
{
	(void)pthread_rwlock_unlock(&lock);
}

void names_moved(void)
{
	atomic_fetch_add(&generation, 1);
}

bool names_same(const struct path *path)
{
	_cleanup_(freep) char *name = NULL;
	size_t size;

	if (path->generation == names_generation())
		return true;
	if (path->parent_fd < 0) {
		/* A descriptor's object, acted on by itself: its name cannot be used up. */
		if (path->anonymous || path->object_fd < 0)
			return true;
		return path_fd_name(path->object_fd, &name) == 0 && strcmp(name, path->real) == 0;
	}
	if (path_fd_name(path->parent_fd, &name) < 0)
		return false;
	size = strlen(name);
	if (size == 1)
		size = 0;
	return strncmp(path->real, name, size) == 0 && path->real[size] == '/' &&
	       strcmp(path->real + size + 1, path->name) == 0;
}
