/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_BROKER_PATH_WALK_H
#define SUPERVISORD_BROKER_PATH_WALK_H

/* The parts of path resolution below path.c: folders, symbolic links, /proc. */

#include <stdbool.h>
#include <stdint.h>

#include "supervisord/broker/notification.h"

struct path;

/* One resolution under way. */
struct walk {
	struct notification *n;
	uint64_t resolve; /* the caller's: RESOLVE_NO_SYMLINKS and RESOLVE_NO_MAGICLINKS count here
			   */
	unsigned n_links; /* symbolic links followed by us */
	bool followed;    /* any symbolic link was, or may have been, followed */
	bool have_root;
	uint64_t root_mnt, root_ino;
	uint32_t root_major, root_minor;
};

/* Opens (O_PATH) the folder TEXT, from the session's root when TEXT is absolute, else from BASE_FD
 * (borrowed). *FDP is owned by the caller. 0, -ENOTDIR, -errno. */
int walk_folder(struct walk *walk, int base_fd, const char *text, int *fdp) _must_use_;

/* Follows the symbolic link NAME of PARENT_FD, pinned as LINK_FD: either *TEXTP (owned by the
 * caller) is the text to go on with, or *JUMP_FDP (owned) is the object that a magic link of /proc
 * led to. 0, -ELOOP, -EACCES, -ENOENT, -errno. */
int walk_link(struct walk *walk, int parent_fd, const char *name, int link_fd, char **textp,
	int *jump_fdp) _must_use_;

/* Statfs magic of a descriptor's file system; 0 when it cannot be had. */
long walk_fs_type(int fd);

/* The same for links of a procfs: self, thread-self, magic links. */
int path_proc_link(struct walk *walk, int parent_fd, const char *name, int link_fd, char **textp,
	int *jump_fdp) _must_use_;

/* Where an object lies in a procfs. */
struct path_proc_place {
	bool process;   /* below /PID */
	bool own;       /* PID is the requester's thread group */
	char rest[320]; /* behind "/PID/" (process) or "/" (else) */
};
/* 0, or -errno when it cannot be told. */
int path_proc_place(
	struct notification *n, const struct path *path, struct path_proc_place *place) _must_use_;

#endif
