/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "policy-lang/resolve.h"

#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#define DEPTH_MAX 64 /* components of a pattern's prefix */

struct resolved {
	struct resolved *next;
	const char *path;
	const char *real;
	bool exists;
};

static struct resolved **bucket(struct resolver *resolver, const char *path)
{
	uint32_t hash = 2166136261u;

	for (; *path; path++)
		hash = (hash ^ (unsigned char)*path) * 16777619u;
	return &resolver->buckets[hash % RESOLVER_BUCKETS];
}

/* What PATH is, given what its folder is. */
static struct resolved *look_up(struct resolver *resolver, const struct resolved *folder,
	const char *path, const char *name)
{
	struct resolved *entry = arena_alloc(resolver->arena, sizeof(*entry));
	bool at_root = !folder || !strcmp(folder->real, "/");
	struct stat st;

	if (!entry)
		return NULL;
	entry->path = arena_copy(resolver->arena, path, strlen(path));
	entry->real = arena_printf(resolver->arena, "%s/%s", at_root ? "" : folder->real, name);
	if (!entry->path || !entry->real)
		return NULL;
	if (!at_root && !folder->exists)
		return entry;
	entry->exists = lstat(entry->real, &st) == 0;
	if (entry->exists && S_ISLNK(st.st_mode)) {
		_cleanup_(freep) char *real = realpath(entry->real, NULL);

		/* A link that leads nowhere stays a name of its own. */
		entry->exists = real != NULL;
		if (real)
			entry->real = arena_copy(resolver->arena, real, strlen(real));
	}
	return entry->real ? entry : NULL;
}

static struct resolved *find(struct resolver *resolver, const char *path, unsigned depth)
{
	struct resolved **head = bucket(resolver, path);
	const char *slash = strrchr(path, '/');
	struct resolved *folder = NULL, *entry;

	for (entry = *head; entry; entry = entry->next)
		if (!strcmp(entry->path, path))
			return entry;
	if (slash && slash != path && depth < DEPTH_MAX) {
		const char *above = arena_copy(resolver->arena, path, (size_t)(slash - path));

		folder = above ? find(resolver, above, depth + 1) : NULL;
		if (!folder)
			return NULL;
	}
	entry = look_up(resolver, folder, path, slash ? slash + 1 : path);
	if (entry) {
		entry->next = *head;
		*head = entry;
	}
	return entry;
}

const char *resolver_resolve(struct resolver *resolver, const char *path)
{
	const struct resolved *entry;

	if (!strcmp(path, "/"))
		return path;
	entry = find(resolver, path, 0);
	return entry ? entry->real : NULL;
}
