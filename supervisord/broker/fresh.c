/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */

#include "supervisord/broker/fresh.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include "supervisord/base/error.h"
#include "supervisord/broker/path.h"

/* Levels between a .git folder and what lies in it (modules of modules, ref names). */
#define CLIMB_MAX 64

struct fresh_repo {
	uint32_t major, minor;
	uint64_t inode;
	int64_t born_sec;
	uint32_t born_nsec;
	bool announced;
};

struct fresh_repos {
	pthread_mutex_t lock;
	struct fresh_repo *repos;
	size_t n_repos, n_alloc;
	atomic_bool any; /* false: nothing to look for, no lock taken */
};

int fresh_repos_new(struct fresh_repos **freshp)
{
	struct fresh_repos *fresh = calloc(1, sizeof(*fresh));

	if (!fresh)
		return err_trace(-ENOMEM);
	(void)pthread_mutex_init(&fresh->lock, NULL);
	*freshp = fresh;
	return 0;
}

void fresh_repos_free(struct fresh_repos *fresh)
{
	if (!fresh)
		return;
	(void)pthread_mutex_destroy(&fresh->lock);
	free(fresh->repos);
	free(fresh);
}

static bool identity(int fd, struct fresh_repo *repo)
{
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &st) < 0)
		return false;
	*repo = (struct fresh_repo){
		.major = st.stx_dev_major,
		.minor = st.stx_dev_minor,
		.inode = st.stx_ino,
	};
	if (st.stx_mask & STATX_BTIME) {
		repo->born_sec = st.stx_btime.tv_sec;
		repo->born_nsec = st.stx_btime.tv_nsec;
	}
	return true;
}

static bool same(const struct fresh_repo *a, const struct fresh_repo *b)
{
	return a->inode == b->inode && a->major == b->major && a->minor == b->minor &&
	       a->born_sec == b->born_sec && a->born_nsec == b->born_nsec;
}

void fresh_repos_add(struct fresh_repos *fresh, int fd)
{
	struct fresh_repo repo;
	struct fresh_repo *grown;
	size_t alloc;

	if (!identity(fd, &repo))
		return;
	(void)pthread_mutex_lock(&fresh->lock);
	if (fresh->n_repos == fresh->n_alloc && fresh->n_alloc < FRESH_REPOS_MAX) {
		alloc = fresh->n_alloc ? fresh->n_alloc * 2 : 16;
		grown = reallocarray(fresh->repos, alloc, sizeof(*grown));
		if (grown) {
			fresh->repos = grown;
			fresh->n_alloc = alloc;
		}
	}
	if (fresh->n_repos < fresh->n_alloc) {
		fresh->repos[fresh->n_repos++] = repo;
		atomic_store(&fresh->any, true);
	}
	(void)pthread_mutex_unlock(&fresh->lock);
}

/* The remembered folder that FD is, or NULL; with the lock held. */
static struct fresh_repo *find(struct fresh_repos *fresh, int fd)
{
	struct fresh_repo repo;
	size_t i;

	if (!identity(fd, &repo))
		return NULL;
	for (i = 0; i < fresh->n_repos; i++)
		if (same(&fresh->repos[i], &repo))
			return &fresh->repos[i];
	return NULL;
}

bool fresh_repos_is(struct fresh_repos *fresh, int fd)
{
	bool found;

	if (!atomic_load(&fresh->any))
		return false;
	(void)pthread_mutex_lock(&fresh->lock);
	found = find(fresh, fd) != NULL;
	(void)pthread_mutex_unlock(&fresh->lock);
	return found;
}

/* Climbs from the pinned folder, so that names that change meanwhile cannot mislead. */
static struct fresh_repo *climb(struct fresh_repos *fresh, const struct path *path)
{
	_cleanup_(closep) int fd = -1;
	struct fresh_repo *repo = NULL;
	const char *p;
	unsigned depth;
	int up;

	/* A pointer file is one by itself. */
	if (path->object_fd >= 0 && S_ISREG(path->st.st_mode)) {
		repo = find(fresh, path->object_fd);
		if (repo)
			return repo;
	}
	if (path->object_fd >= 0 && S_ISDIR(path->st.st_mode))
		fd = fcntl(path->object_fd, F_DUPFD_CLOEXEC, 0);
	else if (path->parent_fd >= 0)
		fd = fcntl(path->parent_fd, F_DUPFD_CLOEXEC, 0);
	/* No more levels than the name has. */
	for (depth = 0, p = path->real; *p; p++)
		depth += *p == '/';
	if (depth > CLIMB_MAX)
		depth = CLIMB_MAX;
	for (; fd >= 0; depth--) {
		repo = find(fresh, fd);
		if (repo || depth == 0)
			return repo;
		up = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		close(fd);
		fd = up;
	}
	return NULL;
}

static bool look(struct fresh_repos *fresh, const struct path *path, bool announce)
{
	struct fresh_repo *repo;
	bool found;

	/* Only names with such a folder in them can lie in one. */
	if (!atomic_load(&fresh->any) || path->anonymous || !strstr(path->real, "/.git"))
		return false;
	(void)pthread_mutex_lock(&fresh->lock);
	repo = climb(fresh, path);
	found = repo != NULL;
	if (repo && announce) {
		found = !repo->announced;
		repo->announced = true;
	}
	(void)pthread_mutex_unlock(&fresh->lock);
	return found;
}

bool fresh_repos_holds(struct fresh_repos *fresh, const struct path *path)
{
	return look(fresh, path, false);
}

bool fresh_repos_announce(struct fresh_repos *fresh, const struct path *path)
{
	return look(fresh, path, true);
}
