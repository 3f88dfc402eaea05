/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */

/* Tries to get at a guarded file by changing the world between the supervisor's look and the act.
 * Runs in the workspace: "plain/f" is free, "secret/f" is denied. Prints "ok" or "not ok" and what
 * was tried.
 *
 * usage: race_files open|how|create|cwd|exchange|plant|move|fd LOOPS */

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct stat guarded;
static atomic_bool stop;
static char *page;
static long loops, opened, leaked;

/* Is what was opened the guarded file, or anything in its folder? */
static void judge(int fd)
{
	char link[64], name[4096];
	struct stat st;
	ssize_t size;

	if (fd < 0)
		return;
	opened++;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	size = readlink(link, name, sizeof(name) - 1);
	name[size > 0 ? size : 0] = '\0';
	if ((fstat(fd, &st) == 0 && st.st_dev == guarded.st_dev && st.st_ino == guarded.st_ino) ||
		strstr(name, "/secret/"))
		leaked++;
	close(fd);
}

static void start(pthread_t *thread, void *(*run)(void *))
{
	if (pthread_create(thread, NULL, run, NULL) != 0)
		exit(2);
}

static void *flip_name(void *unused)
{
	volatile char *p = page;

	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		memcpy((char *)page, "secret", 6);
		(void)p[0];
		memcpy((char *)page, ".plain", 6);
		(void)p[0];
		memcpy((char *)page, "./////", 6);
	}
	return unused;
}

static void race_open(void)
{
	pthread_t thread;
	long i;

	/* "secret/f", ".plain/f" and ".//////f" (a free file) take turns. */
	strcpy(page, ".plain/f");
	start(&thread, flip_name);
	for (i = 0; i < loops; i++)
		judge(open(page, i % 2 ? O_WRONLY : O_RDWR));
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
}

static void race_create(void)
{
	pthread_t thread;
	long i;

	strcpy(page, ".plain/new");
	start(&thread, flip_name);
	for (i = 0; i < loops; i++) {
		judge(open(page, O_WRONLY | O_CREAT, 0600));
		if (i % 16 == 0)
			unlink(".plain/new");
	}
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
	if (access("secret/new", F_OK) == 0)
		leaked++;
}

static void *flip_how(void *unused)
{
	volatile struct open_how *how = (void *)(page + 1024);

	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		how->flags = O_PATH;
		how->flags = O_RDONLY;
		how->flags = O_RDWR | O_TRUNC;
		how->resolve = RESOLVE_NO_SYMLINKS;
		how->resolve = 0;
	}
	return unused;
}

static void race_how(void)
{
	struct open_how *how = (void *)(page + 1024);
	pthread_t thread;
	struct stat st;
	long i;
	int fd;

	start(&thread, flip_how);
	for (i = 0; i < loops; i++) {
		/* unwritable may be read, never written */
		fd = (int)syscall(SYS_openat2, AT_FDCWD, "unwritable", how, sizeof(*how));
		if (fd < 0)
			continue;
		opened++;
		if ((fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY)
			leaked++;
		close(fd);
	}
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
	if (stat("unwritable", &st) < 0 || st.st_size == 0)
		leaked++;
}

static void *flip_cwd(void *unused)
{
	int plain = open("plain", O_PATH), secret = open("secret", O_PATH);

	while (!atomic_load_explicit(&stop, memory_order_relaxed))
		if (fchdir(secret) < 0 || fchdir(plain) < 0)
			break;
	return unused;
}

static void race_cwd(void)
{
	pthread_t thread;
	long i;

	start(&thread, flip_cwd);
	for (i = 0; i < loops; i++)
		judge(open("f", O_RDWR | (i % 2 ? O_CREAT : 0), 0600));
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
}

static void *flip_fd(void *unused)
{
	int plain = open("plain", O_PATH), secret = open("secret", O_PATH);

	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		dup2(secret, 100);
		dup2(plain, 100);
	}
	return unused;
}

static void race_fd(void)
{
	pthread_t thread;
	long i;

	start(&thread, flip_fd);
	for (i = 0; i < loops; i++)
		judge(openat(100, "f", O_RDWR));
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
}

/* The supervisor itself is made to exchange a link to the free folder with one to the guarded one.
 */
static void *flip_link(void *unused)
{
	while (!atomic_load_explicit(&stop, memory_order_relaxed))
		renameat2(AT_FDCWD, "link1", AT_FDCWD, "link2", RENAME_EXCHANGE);
	return unused;
}

static void race_exchange(void)
{
	pthread_t thread;
	long i;

	start(&thread, flip_link);
	for (i = 0; i < loops; i++)
		judge(open("link1/f", O_RDWR));
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
}

/* A link appears where a file is about to be made. */
static void *plant_link(void *unused)
{
	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		(void)!symlink("../secret/f", "plain/target");
		unlink("plain/target");
		(void)!symlink("../secret/made", "plain/target");
		unlink("plain/target");
	}
	return unused;
}

static void race_plant(void)
{
	pthread_t thread;
	long i;

	start(&thread, plant_link);
	for (i = 0; i < loops; i++)
		judge(open("plain/target", O_WRONLY | O_CREAT | (i % 2 ? O_TRUNC : 0), 0600));
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
	if (access("secret/made", F_OK) == 0)
		leaked++;
}

/* The folder gets a guarded name while a file is made in it. */
static void *move_folder(void *unused)
{
	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		rename("repo/t", "repo/.git");
		rename("repo/.git", "repo/t");
	}
	return unused;
}

static void race_move(void)
{
	pthread_t thread;
	long i;
	int fd;

	start(&thread, move_folder);
	for (i = 0; i < loops; i++) {
		fd = open("repo/t/config", O_WRONLY | O_CREAT, 0755);
		if (fd >= 0) {
			opened++;
			close(fd);
		}
		if (access("repo/.git/config", F_OK) == 0)
			leaked++;
		unlink("repo/t/config");
	}
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
}

static const struct {
	const char *name;
	void (*run)(void);
	const char *text;
} races[] = {
	{"open", race_open, "a path that changes in memory opens nothing guarded"},
	{"how", race_how, "an open_how that changes in memory opens nothing for writing"},
	{"create", race_create, "a path that changes in memory makes nothing guarded"},
	{"cwd", race_cwd, "a working folder that changes leads to nothing guarded"},
	{"fd", race_fd, "a folder's descriptor that changes leads to nothing guarded"},
	{"exchange", race_exchange, "exchanged links lead to nothing guarded"},
	{"plant", race_plant, "a planted link leads to nothing guarded"},
	{"move", race_move, "nothing is planted by moving its folder"},
};

int main(int argc, char **argv)
{
	size_t i;

	if (argc != 3)
		return 2;
	loops = atol(argv[2]);
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED || stat("secret/f", &guarded) < 0) {
		printf("not ok %s: cannot start\n", argv[1]);
		return 1;
	}
	for (i = 0; i < sizeof(races) / sizeof(races[0]); i++) {
		if (strcmp(races[i].name, argv[1]) != 0)
			continue;
		races[i].run();
		printf("%s %s (%ld tries, %ld opened, %ld leaked)\n",
			leaked == 0 && opened > 0 ? "ok" : "not ok", races[i].text, loops, opened,
			leaked);
		return leaked != 0;
	}
	return 2;
}
