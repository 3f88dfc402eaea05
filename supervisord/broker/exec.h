/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_BROKER_EXEC_H
#define SUPERVISORD_BROKER_EXEC_H

/* An exec between its judgement at the notification (exec.c) and its proof at the exec event
 * (exec_verify.c): what is to run, read from the file itself (exec_image.c), and with which
 * arguments (exec_args.c). */

#include <stdbool.h>
#include <sys/stat.h>

#include "supervisord/broker/notification.h"
#include "supervisord/proto/request.h"

#define EXEC_ARGS_BYTES_MAX (2u * 1024 * 1024)
#define EXEC_CHAIN_MAX 6 /* the file and up to five interpreters, as the kernel allows */
#define EXEC_HEADER_MAX 4096

/* The arguments of a program; every string and the array are owned. */
struct exec_args {
	char **items;
	size_t n;
};

enum exec_kind {
	EXEC_ELF,        /* native; `interpreter` is its loader, or NULL for a static one */
	EXEC_SCRIPT,     /* "#!" line; `interpreter` and, where given, `argument` */
	EXEC_OTHER,      /* the kernel knows what to do with it (binfmt_misc), or gives ENOEXEC */
	EXEC_UNREADABLE, /* may be run but not read */
};

struct exec_image {
	enum exec_kind kind;
	char *interpreter; /* as written in the file; owned */
	char *argument;    /* owned */
};

struct exec_plan {
	/* What was judged: the file, then each interpreter of a script with the arguments that the
	 * kernel gives it. Owned. */
	struct request *requests[EXEC_CHAIN_MAX];
	size_t n_requests;

	/* What must be seen at the exec event. */
	bool foreseen; /* false: another image than the file may run; it is judged at the event */
	dev_t dev;     /* of the image that runs: the last of the chain */
	ino_t ino;
	struct exec_args args;
	char *loader; /* resolved name of the ELF interpreter, or NULL; owned */
	dev_t loader_dev;
	ino_t loader_ino;
};

void exec_plan_deinit(struct exec_plan *plan);

/* Reads what the pinned object FD (O_PATH, borrowed) is. 0, -ENOMEM, -errno of the read. A file
 * that may not be read is EXEC_UNREADABLE, not an error. */
int exec_image_read(int fd, struct exec_image *image) _must_use_;
/* The same from the first SIZE bytes (at most EXEC_HEADER_MAX) of a file; a loader's name that lies
 * further behind is read through FD unless that is -1. 0, -ENOMEM. */
int exec_image_parse(
	const unsigned char *head, size_t size, int fd, struct exec_image *image) _must_use_;
void exec_image_deinit(struct exec_image *image);

/* exec_image_read() of the pinned object FD whose stat is ST, remembered for programs. */
int exec_cache_image(int fd, const struct stat *st, struct exec_image *image) _must_use_;
/* Fills in PLAN's loader where the file that TEXT names in the session was resolved and found
 * executable before, and has not changed. */
bool exec_cache_loader(
	const struct broker *broker, const char *text, struct exec_plan *plan) _must_use_;
void exec_cache_keep_loader(const char *text, const char *real, const struct stat *st);

/* A page of the requester is copied once and serves what lies on it: paths, pointers and arguments
 * are neighbours. */
#define EXEC_PAGE_BYTES 4096u
#define EXEC_PAGES 3
struct exec_reader {
	struct notification *n;
	uint64_t pages[EXEC_PAGES];
	unsigned filled; /* bits */
	unsigned next;
	char data[EXEC_PAGES][EXEC_PAGE_BYTES];
};
/* Copies a string with its NUL; MAX includes it. Its length; -ENAMETOOLONG, -EFAULT, -ESRCH. */
ssize_t exec_read_string(
	struct exec_reader *reader, uint64_t addr, char *text, size_t max) _must_use_;

/* Copies the argument vector at ADDR of the requester, each page once. An empty one becomes one
 * empty string, as the kernel makes it. 0; -E2BIG (more than REQUEST_ARGV_MAX or
 * EXEC_ARGS_BYTES_MAX); -EFAULT, -ESRCH, -ENOMEM. */
int exec_args_copy(struct exec_reader *reader, uint64_t addr, struct exec_args *args) _must_use_;
/* Replaces the first argument by those with which the kernel starts the interpreter of a script:
 * interpreter, argument (where there is one), the script's name. 0 or -ENOMEM. */
int exec_args_for_script(
	struct exec_args *args, const struct exec_image *image, const char *script) _must_use_;
/* A copy for a request. 0 or -ENOMEM. */
int exec_args_dup(const struct exec_args *args, char ***itemsp, size_t *np) _must_use_;
/* Bytes of all arguments with their NULs. */
size_t exec_args_size(const struct exec_args *args);
/* Is the NUL-separated text of SIZE bytes exactly these arguments? */
bool exec_args_equal(const struct exec_args *args, const char *text, size_t size);
void exec_args_deinit(struct exec_args *args);

/* Lets the judged call go on and proves at the exec event, before the new image runs, that it is
 * what was judged; kills it otherwise. Answers the notification. Returns when the exec has
 * succeeded, failed or ended with the task. */
void exec_verify(struct notification *n, struct exec_plan *plan);

/* Copies the subject of a request that was judged into another of the same requester. 0 or -ENOMEM.
 */
int exec_copy_subject(struct request *to, const struct request *from) _must_use_;

#endif
