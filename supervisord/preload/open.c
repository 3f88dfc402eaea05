/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */

/* The accelerator library, preloaded into the agent's programs.
 *
 * A read-only open is first tried with the cookie in a register that openat does not use: the
 * filter lets it through, and Landlock and the mounts alone decide. Only where they refuse is the
 * call repeated without it, and reaches the broker. Nothing depends on this library: a program that
 * does without (static, of another libc, with LD_PRELOAD removed) is notified more often, that is
 * all.
 *
 * MUST: no constructor, no state, no allocation of its own, no lock: open() is called in signal
 * handlers, between fork and exec, and before libc is set up. What is lost: open() is no
 * cancellation point. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* PLAN_COOKIE of supervisord/sandbox/plan.h; tests/unit/broker/test_preload.c compares them. */
#define COOKIE 0x5eed5afe0badcafeUL

#define PUBLIC __attribute__((visibility("default")))

/* glibc's fopen by its other name; absent elsewhere. */
extern FILE *_IO_fopen(const char *path, const char *mode) __attribute__((weak));

/* The fortified forms, which headers declare only to fortified programs. */
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int dir_fd, const char *path, int flags);
int __openat64_2(int dir_fd, const char *path, int flags);

#if defined(__x86_64__)
static long raw_openat(int dir_fd, const char *path, int flags, unsigned mode, unsigned long sixth)
{
	register long r10 __asm__("r10") = (long)mode;
	register long r8 __asm__("r8") = 0;
	register unsigned long r9 __asm__("r9") = sixth;
	long r;

	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "a"((long)SYS_openat), "D"((long)dir_fd), "S"(path), "d"((long)flags),
			 "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return r;
}
#elif defined(__aarch64__)
static long raw_openat(int dir_fd, const char *path, int flags, unsigned mode, unsigned long sixth)
{
	register long x8 __asm__("x8") = SYS_openat;
	register long x0 __asm__("x0") = dir_fd;
	register const char *x1 __asm__("x1") = path;
	register long x2 __asm__("x2") = flags;
	register long x3 __asm__("x3") = (long)mode;
	register long x4 __asm__("x4") = 0;
	register unsigned long x5 __asm__("x5") = sixth;

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
}
#else
static long raw_openat(int dir_fd, const char *path, int flags, unsigned mode, unsigned long sixth)
{
	int saved = errno;
	long r = syscall(SYS_openat, dir_fd, path, flags, mode, 0L, sixth);

	if (r < 0) {
		r = -errno;
		errno = saved;
	}
	return r;
}
#endif

static bool takes_mode(int flags)
{
	return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE;
}

static bool is_read(int flags)
{
	return (flags & O_ACCMODE) == O_RDONLY && !(flags & (O_TRUNC | O_PATH)) &&
	       !takes_mode(flags);
}

static int do_open(int dir_fd, const char *path, int flags, unsigned mode)
{
	long r = -EACCES;

	/* A success leaves errno alone, also when the first attempt had failed. */
	if (is_read(flags))
		r = raw_openat(dir_fd, path, flags, 0, COOKIE);
	if (r == -EACCES)
		r = raw_openat(dir_fd, path, flags, mode, 0);
	if (r < 0) {
		errno = (int)-r;
		return -1;
	}
	return (int)r;
}

/* Reads the mode where the flags say that there is one. */
#define MODE_OF(flags, mode)                                                                       \
	do {                                                                                       \
		if (takes_mode(flags)) {                                                           \
			va_list ap;                                                                \
                                                                                                   \
			va_start(ap, flags);                                                       \
			(mode) = va_arg(ap, unsigned);                                             \
			va_end(ap);                                                                \
		}                                                                                  \
	} while (0)

PUBLIC int open(const char *path, int flags, ...)
{
	unsigned mode = 0;

	MODE_OF(flags, mode);
	return do_open(AT_FDCWD, path, flags, mode);
}

PUBLIC int open64(const char *path, int flags, ...)
{
	unsigned mode = 0;

	MODE_OF(flags, mode);
	return do_open(AT_FDCWD, path, flags, mode);
}

PUBLIC int openat(int dir_fd, const char *path, int flags, ...)
{
	unsigned mode = 0;

	MODE_OF(flags, mode);
	return do_open(dir_fd, path, flags, mode);
}

PUBLIC int openat64(int dir_fd, const char *path, int flags, ...)
{
	unsigned mode = 0;

	MODE_OF(flags, mode);
	return do_open(dir_fd, path, flags, mode);
}

PUBLIC int __open_2(const char *path, int flags)
{
	return do_open(AT_FDCWD, path, flags, 0);
}

PUBLIC int __open64_2(const char *path, int flags)
{
	return do_open(AT_FDCWD, path, flags, 0);
}

PUBLIC int __openat_2(int dir_fd, const char *path, int flags)
{
	return do_open(dir_fd, path, flags, 0);
}

PUBLIC int __openat64_2(int dir_fd, const char *path, int flags)
{
	return do_open(dir_fd, path, flags, 0);
}

/* The flags of an fopen mode; -1 for none. */
static int mode_flags(const char *mode)
{
	int flags;

	if (mode[0] == 'r')
		flags = O_RDONLY;
	else if (mode[0] == 'w')
		flags = O_WRONLY | O_CREAT | O_TRUNC;
	else if (mode[0] == 'a')
		flags = O_WRONLY | O_CREAT | O_APPEND;
	else
		return -1;
	for (size_t i = 1; mode[i] && mode[i] != ','; i++) {
		if (mode[i] == '+')
			flags = (flags & ~O_ACCMODE) | O_RDWR;
		else if (mode[i] == 'x')
			flags |= O_EXCL;
		else if (mode[i] == 'e')
			flags |= O_CLOEXEC;
	}
	return flags;
}

static FILE *do_fopen(const char *path, const char *mode)
{
	int flags = mode_flags(mode), fd;
	FILE *file;

	if (_IO_fopen && (flags < 0 || !is_read(flags) || strchr(mode, ',')))
		return _IO_fopen(path, mode);
	if (flags < 0) {
		errno = EINVAL;
		return NULL;
	}
	fd = do_open(AT_FDCWD, path, flags, 0666);
	if (fd < 0)
		return NULL;
	file = fdopen(fd, mode);
	if (!file) {
		int saved = errno;

		close(fd);
		errno = saved;
	}
	return file;
}

PUBLIC FILE *fopen(const char *path, const char *mode)
{
	return do_fopen(path, mode);
}

PUBLIC FILE *fopen64(const char *path, const char *mode)
{
	return do_fopen(path, mode);
}

PUBLIC DIR *opendir(const char *path)
{
	int fd = do_open(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_DIRECTORY | O_CLOEXEC, 0);
	DIR *dir;

	if (fd < 0)
		return NULL;
	dir = fdopendir(fd);
	if (!dir) {
		int saved = errno;

		close(fd);
		errno = saved;
	}
	return dir;
}
