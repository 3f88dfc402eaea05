/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */

/* What file calls may do under a policy, by every route to an object. */

#include "tests/unit/broker/harness.h"

#include <linux/fs.h>
#include <linux/openat2.h>
#include <sys/xattr.h>

#define RULES                                                                                      \
	"allow read,write,create,delete,rename,link,chmod,list \"$PROJECT/**\"\n"                  \
	"allow read,list \"/proc/**\"\n"                                                           \
	"allow read,write \"/dev/null\"\n"                                                         \
	"repo-code: deny write,create,delete,rename,link,chmod \"**/.git/hooks/**\" "              \
	"\"**/.git/config\" because \"git runs it later\"\n"                                       \
	"repo-dir: deny write,delete,rename,link,chmod \"**/.git\" because \"so is its place\"\n"  \
	"deny read,write,create,delete,rename,link,chmod \"$PROJECT/secret/**\" because \"no\"\n"  \
	"deny read \"$PROJECT/sealed\" because \"no\"\n"                                           \
	"hide \"$PROJECT/hidden/**\"\n"                                                            \
	"ask write \"$PROJECT/asked\"\n"                                                           \
	"ask rename,create \"$PROJECT/**/guarded\"\n"

static void start(void)
{
	harness_start(RULES);
	harness_mkdir("secret");
	harness_make("secret/key", "key");
}

static int try_open(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0644);

	if (fd >= 0)
		close(fd);
	return fd < 0 ? -1 : 0;
}

static void child_routes(void)
{
	char name[64];
	int fd = open("secret", O_PATH);
	int dot = open(".", O_RDONLY | O_DIRECTORY);

	harness_note(0, try_open("secret/key", O_RDONLY));
	harness_note(1, try_open("alias", O_RDONLY));
	harness_note(2, try_open("dirlink/key", O_RDWR));
	harness_note(3, try_open("/proc/self/cwd/secret/key", O_RDONLY));
	harness_note(4, openat(fd, "key", O_RDONLY));
	(void)snprintf(name, sizeof(name), "/proc/self/fd/%d/key", fd);
	harness_note(5, try_open(name, O_RDONLY));
	(void)snprintf(name, sizeof(name), "/dev/fd/%d/secret/../secret/key", dot);
	harness_note(6, try_open(name, O_RDONLY));
	harness_note(7, try_open("/proc/thread-self/root/../proc/self/cwd/secret/key", O_RDONLY));
	harness_note(8, try_open("other/../secret/./key", O_RDONLY));
	harness_note(9, try_open("secret/new", O_WRONLY | O_CREAT));
	harness_note(10, try_open("plain", O_RDWR));
	harness_note(11, truncate("secret/key", 0));
	harness_note(12, chmod("alias", 0777));
	harness_note(13, setxattr("secret/key", "user.x", "v", 1, 0));
	harness_note(14, unlink("secret/key"));
	harness_note(15, utimensat(AT_FDCWD, "dirlink/key", NULL, 0));
	harness_note(16, chown("secret/key", (uid_t)-1, (gid_t)-1));
	harness_note(17, try_open("secret", O_RDWR | O_TMPFILE));
}

static void denied_by_every_route(_unused_ void **state)
{
	char path[PATH_MAX];
	size_t i;

	start();
	harness_mkdir("other");
	harness_make("plain", "plain");
	(void)snprintf(path, sizeof(path), "%s/alias", harness.dir);
	assert_int_equal(symlink("secret/key", path), 0);
	(void)snprintf(path, sizeof(path), "%s/dirlink", harness.dir);
	assert_int_equal(symlink("secret", path), 0);
	assert_int_equal(harness_run(child_routes), 0);
	for (i = 0; i <= 17; i++)
		if (i != 10)
			assert_int_equal(harness.results[i], -EACCES);
	assert_int_equal(harness.results[10], 0);
	assert_string_equal(harness_content("secret/key"), "key");
	harness_end();
}

static void child_repo(void)
{
	harness_note(0, rename("h", ".git/hooks/post-merge"));
	harness_note(1, link("h", ".git/hooks/post-merge"));
	harness_note(2, symlink("../../h", ".git/hooks/post-merge"));
	harness_note(3, mkdir(".git/hooks/post-merge", 0755));
	harness_note(4, truncate(".git/hooks/old", 0));
	harness_note(5, renameat2(AT_FDCWD, "h", AT_FDCWD, ".git/hooks/old", RENAME_EXCHANGE));
	harness_note(6, rename(".git", "g"));
	harness_note(7, rename(".git/hooks", "g"));
	harness_note(8, rename("tree", ".git2"));
	harness_note(9, rename(".git2", ".git/deep"));
	harness_note(10, rename("../../nonexistent-x", "g"));
	harness_note(11, renameat2(AT_FDCWD, ".git", AT_FDCWD, "other", RENAME_EXCHANGE));
	harness_note(12, renameat2(AT_FDCWD, "other", AT_FDCWD, ".git", RENAME_EXCHANGE));
	harness_note(13, mknod(".git/hooks/n", S_IFIFO | 0600, 0));
	harness_note(14, try_open(".git/hooks/n", O_WRONLY | O_CREAT));
	harness_note(15, try_open(".git/index.lock", O_WRONLY | O_CREAT | O_EXCL));
	harness_note(16, rename(".git/index.lock", ".git/index"));
	/* Its content would get guarded names. */
	harness_note(17, rename("planted", "sub/.git"));
	harness_note(18, unlink(".git/config"));
	harness_note(19, rename(".git/config", "c"));
	harness_note(20, link(".git/config", "c"));
}

static void repository_code_is_guarded_by_every_route(_unused_ void **state)
{
	size_t i;

	start();
	harness_make("h", "#!/bin/sh");
	harness_mkdir(".git");
	harness_mkdir(".git/hooks");
	harness_make(".git/hooks/old", "old");
	harness_make(".git/config", "[core]");
	harness_mkdir("other");
	harness_mkdir("sub");
	harness_mkdir("tree");
	harness_mkdir("tree/inner");
	harness_mkdir("planted");
	harness_mkdir("planted/hooks");
	harness_make("planted/hooks/pre-commit", "evil");
	assert_int_equal(harness_run(child_repo), 0);
	for (i = 0; i <= 20; i++) {
		if (i == 8 || i == 9 || i == 15 || i == 16)
			assert_int_equal(harness.results[i], 0);
		else if (i == 10)
			assert_int_equal(harness.results[i], -ENOENT);
		else
			assert_int_equal(harness.results[i], -EACCES);
	}
	assert_string_equal(harness_content(".git/hooks/old"), "old");
	assert_null(harness_content("sub/.git/hooks/pre-commit"));
	harness_end();
}

static void child_laundering(void)
{
	harness_note(0, rename("sealed", "open"));
	harness_note(1, link("sealed", "open"));
	harness_note(2, linkat(AT_FDCWD, "sealed", AT_FDCWD, "open", AT_SYMLINK_FOLLOW));
	harness_note(3, renameat2(AT_FDCWD, "sealed", AT_FDCWD, "h", RENAME_EXCHANGE));
	harness_note(4, renameat2(AT_FDCWD, "h", AT_FDCWD, "sealed", RENAME_EXCHANGE));
	harness_note(5, try_open("sealed", O_WRONLY));
	harness_note(6, try_open("sealed", O_RDWR));
}

static void a_new_name_gives_nothing_away(_unused_ void **state)
{
	size_t i;

	start();
	harness_make("sealed", "sealed");
	harness_make("h", "h");
	assert_int_equal(harness_run(child_laundering), 0);
	for (i = 0; i <= 6; i++)
		assert_int_equal(harness.results[i], i == 5 ? 0 : -EACCES);
	assert_null(harness_content("open"));
	harness_end();
}

static void child_hard_link(void)
{
	harness_note(0, try_open("sealed", O_RDONLY));
	harness_note(1, try_open("second", O_RDONLY));
	harness_note(2, link("second", "third"));
	harness_note(3, rename("second", "third"));
}

static void a_hard_link_from_before_counts_as_the_guarded_name(_unused_ void **state)
{
	char from[PATH_MAX], to[PATH_MAX];
	size_t i;

	harness_early = "sealed";
	start();
	harness_early = NULL;
	(void)snprintf(from, sizeof(from), "%s/sealed", harness.dir);
	(void)snprintf(to, sizeof(to), "%s/second", harness.dir);
	assert_int_equal(link(from, to), 0);
	assert_int_equal(harness_run(child_hard_link), 0);
	for (i = 0; i <= 3; i++)
		assert_int_equal(harness.results[i], -EACCES);
	harness_end();
}

static void child_hidden(void)
{
	char text[16];
	int fd = open("hidden/file", O_RDONLY);

	harness_note(0, fd < 0 ? -1 : read(fd, text, sizeof(text)));
	harness_note(1, write(fd, "x", 1));
	harness_note(2, try_open("hidden/file", O_WRONLY | O_TRUNC));
}

static void hidden_files_read_as_empty(_unused_ void **state)
{
	start();
	harness_mkdir("hidden");
	harness_make("hidden/file", "content");
	assert_int_equal(harness_run(child_hidden), 0);
	assert_int_equal(harness.results[0], 0);
	assert_int_equal(harness.results[1], -EBADF);
	harness_end();
}

static void child_ask(void)
{
	harness_note(0, try_open("asked", O_WRONLY));
	harness_note(1, rename("h", "asked"));
	harness_note(2, rename("d", "e"));
	harness_note(3, try_open("asked", O_RDONLY));
	harness_note(4, try_open("missing", O_WRONLY));
	harness_note(5, try_open("asked/x", O_WRONLY | O_CREAT));
}

static void questions_are_asked_once_and_answered_both_ways(_unused_ void **state)
{
	size_t i;

	start();
	harness_make("asked", "asked");
	harness_make("h", "h");
	harness_mkdir("d");
	harness_make("d/guarded", "x");
	assert_int_equal(harness_run(child_ask), 0);
	for (i = 0; i <= 2; i++)
		assert_int_equal(harness.results[i], -EACCES);
	assert_int_equal(harness.results[3], 0);
	assert_int_equal(harness.results[4], -ENOENT);
	assert_int_equal(harness.results[5], -ENOTDIR);
	assert_int_equal(harness.n_asked, 3);
	assert_string_equal(harness_content("asked"), "asked");
	harness.ask = true;
	harness.n_asked = 0;
	assert_int_equal(harness_run(child_ask), 0);
	for (i = 0; i <= 3; i++)
		assert_int_equal(harness.results[i], 0);
	/* One each for the write and the rename; for the folder, one for what is in it. */
	assert_int_equal(harness.n_asked, 3);
	assert_string_equal(harness_content("asked"), "h");
	assert_string_equal(harness_content("e/guarded"), "x");
	harness_end();
}

static void child_fresh(void)
{
	harness_note(0, mkdir("new", 0755));
	harness_note(1, mkdir("new/.git", 0755));
	harness_note(2, mkdir("new/.git/hooks", 0755));
	harness_note(3, try_open("new/.git/hooks/pre-commit", O_WRONLY | O_CREAT));
	harness_note(4, try_open("new/.git/config.lock", O_WRONLY | O_CREAT | O_EXCL));
	harness_note(5, rename("new/.git/config.lock", "new/.git/config"));
	harness_note(6, rename("new", "moved"));
	harness_note(7, try_open("moved/.git/config", O_RDWR));
	/* The repository that was there before stays guarded, also under the other's name. */
	harness_note(8, try_open("old/.git/config", O_WRONLY));
	harness_note(9, rename("old/.git/config", "moved/.git/config"));
	harness_note(10, rename("moved/.git/config", "old/.git/config"));
	harness_note(11, renameat2(AT_FDCWD, "old", AT_FDCWD, "moved", RENAME_EXCHANGE));
	harness_note(12, rename("moved/.git", "old/.git2"));
	harness_note(13, try_open("old/.git2/hooks/x", O_WRONLY | O_CREAT));
	harness_note(14, rename("old/.git2", "moved/.git"));
	/* A worktree's pointer file; and one that was there before. */
	harness_note(15, mkdir("tree", 0755));
	harness_note(16, try_open("tree/.git", O_WRONLY | O_CREAT | O_EXCL));
	harness_note(17, try_open("tree/.git", O_WRONLY | O_TRUNC));
	harness_note(18, try_open("pointed/.git", O_WRONLY));
	harness_note(19, rename("tree/.git", "pointed/.git"));
	harness_note(20, rename("tree", "tree2"));
	harness_note(21, unlink("tree2/.git"));
}

static void own_repositories_may_have_hooks(_unused_ void **state)
{
	size_t i;

	start();
	harness_mkdir("old");
	harness_mkdir("old/.git");
	harness_make("old/.git/config", "old");
	harness_mkdir("pointed");
	harness_make("pointed/.git", "gitdir: /old");
	assert_int_equal(harness_run(child_fresh), 0);
	for (i = 0; i <= 21; i++) {
		bool refused = (i >= 8 && i <= 11) || i == 14 || i == 18 || i == 19;

		if (harness.results[i] != (refused ? -EACCES : 0))
			print_error("call %zu: %ld\n", i, harness.results[i]);
		assert_int_equal(harness.results[i], refused ? -EACCES : 0);
	}
	assert_true(harness.n_events >= 1);
	assert_string_equal(harness_content("old/.git/config"), "old");
	harness_end();
}

static void child_proc(void)
{
	char name[64];

	harness_note(0, try_open("/proc/self/comm", O_WRONLY));
	harness_note(1, try_open("/proc/self/oom_score_adj", O_WRONLY));
	harness_note(2, try_open("/proc/self/mem", O_RDWR));
	harness_note(3, try_open("/proc/sys/kernel/hostname", O_WRONLY));
	harness_note(4, try_open("/proc/sys/vm/drop_caches", O_WRONLY));
	(void)snprintf(name, sizeof(name), "/proc/%d/comm", (int)getppid());
	harness_note(5, try_open(name, O_WRONLY));
	(void)snprintf(name, sizeof(name), "/proc/%d/environ", (int)getppid());
	harness_note(6, try_open(name, O_RDONLY));
	(void)snprintf(name, sizeof(name), "/proc/%d/root/dev/null", (int)getppid());
	harness_note(7, try_open(name, O_RDONLY));
	(void)snprintf(name, sizeof(name), "/proc/%d/fd/1", (int)getppid());
	harness_note(8, try_open(name, O_RDONLY));
	harness_note(9, try_open("/sys/kernel/profiling", O_WRONLY));
	harness_note(10, try_open("/proc/self/status", O_RDONLY));
	harness_note(11, try_open("/proc/self/map_files/0-0", O_RDONLY));
}

static void kernel_settings_and_other_processes_are_out_of_reach(_unused_ void **state)
{
	start();
	harness_end();
	harness_start("allow read,write,create,delete,rename,link,chmod,list \"/**\"\n");
	assert_int_equal(harness_run(child_proc), 0);
	assert_int_equal(harness.results[0], 0);
	assert_int_equal(harness.results[1], 0);
	assert_int_equal(harness.results[2], -EACCES);
	assert_int_equal(harness.results[3], -EACCES);
	assert_int_equal(harness.results[4], -EACCES);
	assert_int_equal(harness.results[5], -EACCES);
	assert_int_equal(harness.results[6], -EACCES);
	assert_int_equal(harness.results[7], -EACCES);
	assert_int_equal(harness.results[8], -EACCES);
	assert_true(harness.results[9] == -EACCES || harness.results[9] == -ENOENT);
	assert_int_equal(harness.results[10], 0);
	assert_true(harness.results[11] < 0);
	harness_end();
}

static void child_floor(void)
{
	harness_note(0, try_open("free/file", O_RDWR | O_CREAT));
	harness_note(1, rename("free/file", "free/file2"));
	harness_note(2, rename("free/file2", "file2"));
	harness_note(3, chmod("file2", 0600));
}

static void the_floor_carries_on_only_inside_it(_unused_ void **state)
{
	char floor[80];

	start();
	harness_mkdir("free");
	(void)snprintf(floor, sizeof(floor), "%s/free", harness.dir);
	harness.floor = floor;
	assert_int_equal(harness_run(child_floor), 0);
	assert_int_equal(harness.results[0], 0);
	assert_int_equal(harness.results[1], 0);
	assert_int_equal(harness.results[2], 0);
	assert_int_equal(harness.results[3], 0);
	harness_end();
}

/* The name in memory is flipped all the time between an allowed and a denied one. */
static char *flip_page;

static void *flip_thread(void *unused)
{
	for (;;) {
		strcpy(flip_page, "plain/k");
		strcpy(flip_page, "secret/");
		memcpy(flip_page, "secret/key", 11);
	}
	return unused;
}

static void child_flip(void)
{
	pthread_t thread;
	char text[8];
	long leaks = 0, opened = 0;
	int i, fd;

	flip_page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (flip_page == MAP_FAILED || pthread_create(&thread, NULL, flip_thread, NULL) != 0)
		_exit(1);
	for (i = 0; i < 5000; i++) {
		fd = open(flip_page, O_RDWR);
		if (fd < 0)
			continue;
		opened++;
		if (read(fd, text, 3) == 3 && memcmp(text, "key", 3) == 0)
			leaks++;
		close(fd);
	}
	harness_note(0, leaks);
	harness_note(1, opened);
}

static void a_name_that_changes_in_memory_leads_nowhere(_unused_ void **state)
{
	start();
	harness_mkdir("plain");
	harness_make("plain/k", "fine");
	assert_int_equal(harness_run(child_flip), 0);
	assert_int_equal(harness.results[0], 0);
	harness_end();
}

/* A folder changes its name between the decision and the creation. */
static void *rename_thread(void *unused)
{
	for (;;) {
		(void)rename("t", ".git");
		(void)rename(".git", "t");
	}
	return unused;
}

static void child_planting(void)
{
	pthread_t thread;
	struct stat st;
	long planted = 0;
	int i, fd;

	if (pthread_create(&thread, NULL, rename_thread, NULL) != 0)
		_exit(1);
	for (i = 0; i < 3000; i++) {
		fd = open("t/config", O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
		if (fd >= 0)
			close(fd);
		if (stat(".git/config", &st) == 0)
			planted++;
		(void)unlink("t/config");
	}
	harness_note(0, planted);
}

static void nothing_is_planted_by_moving_its_folder(_unused_ void **state)
{
	start();
	harness_mkdir("t");
	assert_int_equal(harness_run(child_planting), 0);
	assert_int_equal(harness.results[0], 0);
	harness_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(denied_by_every_route),
		cmocka_unit_test(repository_code_is_guarded_by_every_route),
		cmocka_unit_test(a_new_name_gives_nothing_away),
		cmocka_unit_test(a_hard_link_from_before_counts_as_the_guarded_name),
		cmocka_unit_test(hidden_files_read_as_empty),
		cmocka_unit_test(questions_are_asked_once_and_answered_both_ways),
		cmocka_unit_test(own_repositories_may_have_hooks),
		cmocka_unit_test(kernel_settings_and_other_processes_are_out_of_reach),
		cmocka_unit_test(the_floor_carries_on_only_inside_it),
		cmocka_unit_test(a_name_that_changes_in_memory_leads_nowhere),
		cmocka_unit_test(nothing_is_planted_by_moving_its_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
