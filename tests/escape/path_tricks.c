/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */

/* Ways to a guarded file that need no race. Runs in the workspace, where "secret/f" is denied,
 * "repo" is a repository that was there before, and OUTSIDE is a file outside every grant. Prints a
 * line each.
 *
 * usage: path_tricks OUTSIDE */

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

static int failed;

/* Wanted: a refusal. */
static void refused(const char *text, long r)
{
	int error = errno;

	if (r >= 0) {
		printf("not ok %s: it worked\n", text);
		failed = 1;
	} else if (error == EACCES || error == EPERM || error == ENOENT || error == ELOOP ||
		   error == ENOSYS || error == EXDEV || error == EROFS) {
		printf("ok %s\n", text);
	} else {
		printf("not ok %s: %s\n", text, strerror(error));
		failed = 1;
	}
}

static void worked(const char *text, long r)
{
	if (r < 0) {
		printf("not ok %s: %s\n", text, strerror(errno));
		failed = 1;
	} else {
		printf("ok %s\n", text);
	}
}

static void metadata(const char *outside)
{
	refused("chmod of a file outside", chmod(outside, 0777));
	refused("fchmodat2 of a file outside", syscall(452, AT_FDCWD, outside, 0777, 0));
	refused("chown of a file outside", chown(outside, getuid(), getgid()));
	refused("utimensat of a file outside", utimensat(AT_FDCWD, outside, NULL, 0));
	refused("setxattr of a file outside", setxattr(outside, "user.x", "v", 1, 0));
	refused("truncate of a file outside", truncate(outside, 0));
	refused("O_TRUNC of a guarded file", open("secret/f", O_RDONLY | O_TRUNC));
	refused("setxattrat", syscall(463, AT_FDCWD, outside, 0, "user.x", NULL, 0));
	refused("file_setattr", syscall(469, AT_FDCWD, outside, NULL, 0, 0));
}

static void repository(void)
{
	refused("rename onto a hook", rename("repo/.git/x", "repo/.git/hooks/pre-commit"));
	refused("link onto a hook", link("repo/.git/x", "repo/.git/hooks/pre-commit"));
	refused("symlink onto a hook", symlink("../x", "repo/.git/hooks/pre-commit"));
	refused("a new hook", open("repo/.git/hooks/pre-commit", O_WRONLY | O_CREAT, 0755));
	refused("moving the repository's own folder", rename("repo/.git", "repo/g"));
	refused("moving the hooks", rename("repo/.git/hooks", "h"));
	refused("exchanging the repository's own folder",
		renameat2(AT_FDCWD, "repo/.git", AT_FDCWD, "plain", RENAME_EXCHANGE));
	refused("writing its settings", open("repo/.git/config", O_WRONLY));
	refused("a folder with hooks put in its place", rename("planted", "plain/.git"));
	refused("a link to a folder as a folder that holds guarded ones",
		symlink("plain", ".github"));
	refused("a second name of such a link", link("link1", ".github"));
	worked("a folder for the settings of submodules", mkdir("repo/.git/modules", 0755));
	refused("a link as the settings of a submodule",
		symlink("../../plain", "repo/.git/modules/x"));
	rmdir("repo/.git/modules");
	refused("a repository around a repository", open("repo/HEAD", O_WRONLY | O_CREAT, 0644));
	refused("its HEAD moved there", rename("repo/.git/HEAD", "repo/HEAD"));
	refused("a link as that HEAD", symlink(".git/HEAD", "repo/HEAD"));
	worked("a folder for a bare repository", mkdir("bare", 0755));
	worked("its HEAD", open("bare/HEAD", O_WRONLY | O_CREAT, 0644));
	unlink("bare/HEAD");
	rmdir("bare");
	worked("its objects can be written", open("repo/.git/objects-x", O_WRONLY | O_CREAT, 0644));
}

static void descriptors(const char *outside)
{
	char folder[4096], name[64];
	int fd, dir;

	snprintf(folder, sizeof(folder), "%s", outside);
	*strrchr(folder, '/') = '\0';
	fd = open(outside, O_PATH);
	dir = open(folder, O_PATH | O_DIRECTORY);
	refused("openat of a handle's folder", openat(dir, strrchr(outside, '/') + 1, O_RDWR));
	refused("openat of .. of a handle", openat(dir, "../x-made", O_RDWR | O_CREAT, 0600));
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	refused("a handle opened again for reading", open(name, O_RDONLY));
	refused("a handle opened again for writing", open(name, O_RDWR));
	refused("a handle made executable", chmod(name, 0777));
	refused("fchmodat2 of a handle", syscall(452, fd, "", 0777, AT_EMPTY_PATH));
	refused("a handle linked", linkat(AT_FDCWD, name, AT_FDCWD, "stolen", AT_SYMLINK_FOLLOW));
	refused("a handle linked by itself", linkat(fd, "", AT_FDCWD, "stolen", AT_EMPTY_PATH));
	snprintf(name, sizeof(name), "/dev/fd/%d/../x-made", dir);
	refused("a name behind /dev/fd", open(name, O_RDWR | O_CREAT, 0600));
	refused("open_by_handle_at", syscall(SYS_open_by_handle_at, AT_FDCWD, NULL, O_RDONLY));
}

/* To the kernel an owner's descriptor is enough for these, one that only reads too. */
static void readers(void)
{
	struct timespec ts[2] = {{1, 0}, {1, 0}};
	int fd = open("unwritable", O_RDONLY), config = open("repo/.git/config", O_RDONLY);
	int hooks = open("repo/.git/hooks", O_RDONLY | O_DIRECTORY);

	refused("fchmod by a descriptor that only reads", fchmod(fd, 0777));
	refused("fchown by a descriptor that only reads", fchown(fd, getuid(), getgid()));
	refused("fsetxattr by a descriptor that only reads", fsetxattr(fd, "user.x", "y", 1, 0));
	refused("fremovexattr by a descriptor that only reads", fremovexattr(fd, "user.x"));
	refused("futimens by a descriptor that only reads", futimens(fd, ts));
	refused("fchmod of a repository's settings", fchmod(config, 0777));
	refused("fchmod of a repository's hooks", fchmod(hooks, 0777));
	fd = open("own", O_RDWR | O_CREAT, 0600);
	worked("fchmod of an own file", fchmod(fd, 0640));
	worked("futimens of an own file", futimens(fd, ts));
	unlink("own");
	worked("fchmod of a file without a name", fchmod(fd, 0600));
}

static void proc(const char *outside)
{
	char name[4200];

	snprintf(name, sizeof(name), "/proc/self/root%s", outside);
	refused("/proc/self/root", open(name, O_RDWR));
	snprintf(name, sizeof(name), "/proc/thread-self/root%s", outside);
	refused("/proc/thread-self/root", open(name, O_RDWR));
	snprintf(name, sizeof(name), "/proc/1/root%s", outside);
	refused("/proc/1/root", open(name, O_RDWR));
	refused("/proc/self/cwd", open("/proc/self/cwd/secret/f", O_RDWR));
	refused("/proc/self/cwd/..", open("/proc/self/cwd/../ws/secret/f", O_RDWR));
	refused("/proc/1/mem", open("/proc/1/mem", O_RDWR));
	refused("/proc/self/mem", open("/proc/self/mem", O_RDWR));
	refused("/proc/sys", open("/proc/sys/kernel/core_pattern", O_WRONLY));
	refused("/proc/sysrq-trigger", open("/proc/sysrq-trigger", O_WRONLY));
	refused("/sys", open("/sys/kernel/uevent_helper", O_WRONLY));
	refused("/proc/self/uid_map", open("/proc/self/uid_map", O_WRONLY));
}

static void laundering(void)
{
	refused("renaming a guarded file", rename("secret/f", "free"));
	refused("renaming a guarded folder", rename("secret", "free"));
	refused("linking a guarded file", link("secret/f", "free"));
	refused("a guarded name that is not there yet", open("secret/new", O_RDWR | O_CREAT, 0600));
	refused("a symlink to a guarded file", open("tosecret", O_RDWR));
}

int main(int argc, char **argv)
{
	if (argc != 2 || argv[1][0] != '/')
		return 2;
	metadata(argv[1]);
	repository();
	descriptors(argv[1]);
	readers();
	proc(argv[1]);
	laundering();
	return failed;
}
