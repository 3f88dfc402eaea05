/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_BROKER_PATH_H
#define SUPERVISORD_BROKER_PATH_H

/* Path resolution in the session's own root, on pinned objects.
 *
 * MUST
 *  1. resolve every path once, into descriptors; what is judged is what is acted on
 *  2. never leave the session's root, also for "..", absolute links and /proc magic links
 *  3. take /proc/self, /proc/thread-self and /dev/fd as the requester's; follow a magic link only
 * of the requester's own thread group
 *  4. return the errno that the kernel would have returned */

#include <stdbool.h>
#include <sys/stat.h>

#include "supervisord/broker/notification.h"
#include "supervisord/proto/op.h"

struct request;

enum path_flag {
	PATH_NOFOLLOW = 1 << 0, /* a symbolic link as last component is itself the object */
	PATH_EMPTY = 1 << 1,    /* an empty path means the descriptor itself (AT_EMPTY_PATH) */
	PATH_PARENT = 1 << 2,   /* only the parent is pinned and must exist; the object, when there
				 * is one, is looked at without following (rename, unlink, mkdir) */
};

struct path {
	int parent_fd;  /* O_PATH of the folder that holds the last component; -1 when the object
			 * has none ("/", or a descriptor) */
	char name[256]; /* last component; with parent_fd -1: ".", ".." or "/" where the path
			 * ended so, else "" */
	int object_fd;  /* O_PATH of the object; -1 when it does not exist */
	struct stat st; /* of the object, when object_fd >= 0 */
	char *real;     /* absolute name of the object in the session's view; owned */
	char *asked;    /* the name asked for, absolute, dots removed, unresolved; owned */
	bool slash;     /* the path ended in "/": only a folder will do */
	bool anonymous; /* pipe, socket, memfd, deleted file: reached through a descriptor; REAL
			 * is then the former name, or what /proc shows ("pipe:[1]") */
	long fs_type;   /* statfs magic of the parent's file system, or of the object's */
	uint64_t generation; /* names_generation() before the resolution */
};

/* Resolves TEXT relative to DIR_FD of the requester. RESOLVE is openat2's resolve word (0 = none).
 * 0 with object_fd = -1 when only the last component is missing; -errno as the kernel would give
 * it. Release with path_deinit() in any case. */
int path_resolve(struct notification *n, int dir_fd, const char *text, unsigned flags,
	uint64_t resolve, struct path *path) _must_use_;
void path_deinit(struct path *path);

/* Copies a path argument at ADDR and resolves it. As path_resolve(); -EFAULT, -ENAMETOOLONG. */
int path_resolve_arg(struct notification *n, int dir_fd, uint64_t addr, unsigned flags,
	struct path *path) _must_use_;

/* A request about this object: path, alias (asked name, hard-link name of a protected object),
 * fresh_repo. New, owned by the caller; NULL when out of memory. Where both the asked name and a
 * protected hard-link name exist, the alias is the latter: judge_add() judges both. */
struct request *path_request(struct notification *n, const struct path *path, enum op op);

/* The name of a descriptor of ours as the kernel shows it (readlink of /proc/self/fd/FD), owned by
 * the caller. 0, -ENAMETOOLONG, -ENOMEM, -errno. */
int path_fd_name(int fd, char **namep) _must_use_;

/* Writes "/proc/self/fd/FD" for calls that take a path only. */
#define PATH_FD_LINK_MAX 32
void path_fd_link(int fd, char out[PATH_FD_LINK_MAX]);

#endif
