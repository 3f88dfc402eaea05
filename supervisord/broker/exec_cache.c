/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "supervisord/broker/exec.h"

/* What the broker foresaw before: the same few programs and the one loader are run again and again.
 *
 * Nothing here decides. An entry counts only for the same device, inode, size and times of change,
 * and what really runs is compared at the exec event: an entry that has become wrong makes a
 * legitimate exec fail at worst, so files that changed a moment ago are not kept. */

#include <fcntl.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include "supervisord/base/error.h"

#define CACHE_IMAGES 128 /* a power of two */
#define CACHE_LOADERS 4
#define CACHE_QUIET_SEC 2

struct cache_key {
	dev_t dev;
	ino_t ino;
	off_t size;
	mode_t mode;
	uid_t uid;
	gid_t gid;
	struct timespec mtime;
	struct timespec ctime;
};

struct cache_image {
	bool used;
	struct cache_key key;
	char *interpreter; /* NULL for a static program */
};

struct cache_loader {
	char *text; /* as written in programs; NULL = free */
	char *real;
	struct cache_key key;
};

static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
static struct cache_image images[CACHE_IMAGES];
static struct cache_loader loaders[CACHE_LOADERS];
static size_t next_loader;

static struct cache_key key_of(const struct stat *st)
{
	return (struct cache_key){
		.dev = st->st_dev,
		.ino = st->st_ino,
		.size = st->st_size,
		.mode = st->st_mode,
		.uid = st->st_uid,
		.gid = st->st_gid,
		.mtime = st->st_mtim,
		.ctime = st->st_ctim,
	};
}

static bool same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool same_key(const struct cache_key *a, const struct cache_key *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->size == b->size && a->mode == b->mode &&
	       a->uid == b->uid && a->gid == b->gid && same_time(&a->mtime, &b->mtime) &&
	       same_time(&a->ctime, &b->ctime);
}

static bool is_quiet(const struct stat *st)
{
	struct timespec now;

	return clock_gettime(CLOCK_REALTIME, &now) == 0 &&
	       st->st_ctim.tv_sec + CACHE_QUIET_SEC < now.tv_sec &&
	       st->st_mtim.tv_sec + CACHE_QUIET_SEC < now.tv_sec;
}

/* 1 when found, 0 when not, -ENOMEM. */
static int image_find(const struct cache_key *key, struct exec_image *image)
{
	struct cache_image *slot = &images[key->ino & (CACHE_IMAGES - 1)];
	int r = 0;

	pthread_mutex_lock(&cache_lock);
	if (slot->used && same_key(&slot->key, key)) {
		image->kind = EXEC_ELF;
		image->interpreter = slot->interpreter ? strdup(slot->interpreter) : NULL;
		r = slot->interpreter && !image->interpreter ? -ENOMEM : 1;
	}
	pthread_mutex_unlock(&cache_lock);
	return r;
}

static void image_keep(const struct cache_key *key, const struct exec_image *image)
{
	struct cache_image *slot = &images[key->ino & (CACHE_IMAGES - 1)];
	char *interpreter = image->interpreter ? strdup(image->interpreter) : NULL;

	if (image->interpreter && !interpreter)
		return;
	pthread_mutex_lock(&cache_lock);
	free(slot->interpreter);
	*slot = (struct cache_image){.used = true, .key = *key, .interpreter = interpreter};
	pthread_mutex_unlock(&cache_lock);
}

int exec_cache_image(int fd, const struct stat *st, struct exec_image *image)
{
	struct cache_key key = key_of(st);
	int r;

	r = image_find(&key, image);
	if (r != 0)
		return r < 0 ? err_trace(r) : 0;
	r = exec_image_read(fd, image);
	if (r >= 0 && image->kind == EXEC_ELF && is_quiet(st))
		image_keep(&key, image);
	return r;
}

/* The file that TEXT names in the session now. False when there is none. */
static bool stat_in_session(const struct broker *broker, const char *text, struct stat *st)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
	int fd = (int)syscall(SYS_openat2, broker->launch.root_fd, text, &how, sizeof(how));
	bool ok = fd >= 0 && fstat(fd, st) == 0;

	close_fd(fd);
	return ok;
}

bool exec_cache_loader(const struct broker *broker, const char *text, struct exec_plan *plan)
{
	struct cache_key key;
	struct stat st;
	bool found = false;

	if (text[0] != '/' || !stat_in_session(broker, text, &st))
		return false;
	key = key_of(&st);
	pthread_mutex_lock(&cache_lock);
	for (size_t i = 0; i < CACHE_LOADERS && !found; i++) {
		if (!loaders[i].text || strcmp(loaders[i].text, text) != 0 ||
			!same_key(&loaders[i].key, &key))
			continue;
		plan->loader = strdup(loaders[i].real);
		found = plan->loader != NULL;
	}
	pthread_mutex_unlock(&cache_lock);
	if (found) {
		plan->loader_dev = st.st_dev;
		plan->loader_ino = st.st_ino;
	}
	return found;
}

void exec_cache_keep_loader(const char *text, const char *real, const struct stat *st)
{
	char *text_copy, *real_copy;

	if (text[0] != '/' || !is_quiet(st))
		return;
	text_copy = strdup(text);
	real_copy = strdup(real);
	if (!text_copy || !real_copy) {
		free(text_copy);
		free(real_copy);
		return;
	}
	pthread_mutex_lock(&cache_lock);
	free(loaders[next_loader].text);
	free(loaders[next_loader].real);
	loaders[next_loader] =
		(struct cache_loader){.text = text_copy, .real = real_copy, .key = key_of(st)};
	next_loader = (next_loader + 1) % CACHE_LOADERS;
	pthread_mutex_unlock(&cache_lock);
}
