/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "supervisord/sandbox/landlock.h"

/* MUST:
 *  1. ask for rights by name, as far as the ABI knows them: a right that is handled and not granted
 * is denied, so "all of them" would deny what a later kernel adds
 *  2. not handle EXECUTE: the broker verifies programs; ld.so and memfd would pass by it anyway
 *  3. grant IOCTL_DEV and device writes only below /dev */

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "supervisord/sandbox/plan.h"
#include "supervisord/sandbox/plan_parts.h"

/* Our own names and numbers: the build's <linux/landlock.h> may end at an older ABI. */
#define FS_WRITE_FILE (1ULL << 1)
#define FS_READ_FILE (1ULL << 2)
#define FS_READ_DIR (1ULL << 3)
#define FS_REMOVE_DIR (1ULL << 4)
#define FS_REMOVE_FILE (1ULL << 5)
#define FS_MAKE_CHAR (1ULL << 6)
#define FS_MAKE_DIR (1ULL << 7)
#define FS_MAKE_REG (1ULL << 8)
#define FS_MAKE_SOCK (1ULL << 9)
#define FS_MAKE_FIFO (1ULL << 10)
#define FS_MAKE_BLOCK (1ULL << 11)
#define FS_MAKE_SYM (1ULL << 12)
#define FS_REFER (1ULL << 13)     /* ABI 2 */
#define FS_TRUNCATE (1ULL << 14)  /* ABI 3 */
#define FS_IOCTL_DEV (1ULL << 15) /* ABI 5 */
#define NET_BIND_TCP (1ULL << 0)  /* ABI 4 */
#define NET_CONNECT_TCP (1ULL << 1)
#define SCOPE_ABSTRACT_UNIX (1ULL << 0) /* ABI 6 */
#define SCOPE_SIGNAL (1ULL << 1)

#define CREATE_RULESET_VERSION (1U << 0)
#define RULE_PATH_BENEATH 1

#define FS_ABI_1                                                                                   \
	(FS_WRITE_FILE | FS_READ_FILE | FS_READ_DIR | FS_REMOVE_DIR | FS_REMOVE_FILE |             \
		FS_MAKE_CHAR | FS_MAKE_DIR | FS_MAKE_REG | FS_MAKE_SOCK | FS_MAKE_FIFO |           \
		FS_MAKE_BLOCK | FS_MAKE_SYM)
#define FS_OF_FILES (FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE | FS_IOCTL_DEV)
/* Device nodes are never made below a grant. */
#define FS_OF_MODIFY                                                                               \
	(FS_WRITE_FILE | FS_REMOVE_DIR | FS_REMOVE_FILE | FS_MAKE_DIR | FS_MAKE_REG |              \
		FS_MAKE_SOCK | FS_MAKE_FIFO | FS_MAKE_SYM | FS_REFER | FS_TRUNCATE)

struct ruleset_attr {
	uint64_t handled_fs;
	uint64_t handled_net; /* ABI 4 */
	uint64_t scoped;      /* ABI 6 */
};

struct path_beneath_attr {
	uint64_t allowed;
	int32_t parent_fd;
} __attribute__((packed));

int landlock_abi(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, (size_t)0, CREATE_RULESET_VERSION);

	return abi < 0 ? -errno : (int)abi;
}

static uint64_t handled_fs(int abi)
{
	uint64_t rights = FS_ABI_1;

	if (abi >= 2)
		rights |= FS_REFER;
	if (abi >= LANDLOCK_TRUNCATES)
		rights |= FS_TRUNCATE;
	if (abi >= 5)
		rights |= FS_IOCTL_DEV;
	return rights;
}

static bool plan_has(const struct plan *plan, enum plan_step_kind kind)
{
	for (size_t i = 0; i < plan->n_steps; i++)
		if (plan->steps[i].kind == kind)
			return true;
	return false;
}

static int ruleset_new(const struct plan *plan)
{
	struct ruleset_attr attr = {.handled_fs = handled_fs(plan->landlock_abi)};
	size_t size = sizeof(attr.handled_fs);
	long fd;

	if (plan->landlock_abi >= 4) {
		size = 2 * sizeof(uint64_t);
		if (plan_has(plan, PLAN_NET_CLOSED))
			attr.handled_net = NET_BIND_TCP | NET_CONNECT_TCP;
	}
	if (plan->landlock_abi >= LANDLOCK_SCOPES) {
		size = sizeof(attr);
		if (plan_has(plan, PLAN_SCOPED))
			attr.scoped = SCOPE_ABSTRACT_UNIX | SCOPE_SIGNAL;
	}
	fd = syscall(SYS_landlock_create_ruleset, &attr, size, 0u);
	return fd < 0 ? -errno : (int)fd;
}

static uint64_t rights_of(const struct plan_step *step)
{
	uint64_t rights = 0;

	if (step->access & (PLAN_READ | PLAN_START)) /* an exec opens its file for reading */
		rights |= FS_READ_FILE;
	if (step->access & PLAN_LIST)
		rights |= FS_READ_DIR;
	if (step->access & PLAN_MODIFY) {
		/* The session's own nodes and terminals are written to, nothing is made or removed
		 * there. */
		if (plan_path_below(step->path, "/dev") && !plan_path_below(step->path, "/dev/shm"))
			rights |= FS_WRITE_FILE | FS_IOCTL_DEV;
		else
			rights |= FS_OF_MODIFY;
	}
	return rights;
}

static int add_rule(int ruleset, uint64_t rights, const char *path)
{
	struct path_beneath_attr attr = {.parent_fd = -1};
	struct stat st;
	int r = 0;

	/* A plan holds resolved names; a link that appeared since must not widen it. */
	attr.parent_fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (attr.parent_fd < 0)
		return errno == ENOENT || errno == ENOTDIR || errno == EACCES ? 0 : -errno;
	if (fstat(attr.parent_fd, &st) < 0)
		r = -errno;
	else if (S_ISDIR(st.st_mode))
		attr.allowed = rights;
	else if (!S_ISLNK(st.st_mode))
		attr.allowed = rights & FS_OF_FILES;
	if (r == 0 && attr.allowed != 0 &&
		syscall(SYS_landlock_add_rule, ruleset, RULE_PATH_BENEATH, &attr, 0u) < 0)
		r = -errno;
	close(attr.parent_fd);
	return r;
}

int landlock_apply(const struct plan *plan, const char *tmp_dir)
{
	uint64_t known = handled_fs(plan->landlock_abi);
	int ruleset, r = 0;

	ruleset = ruleset_new(plan);
	if (ruleset < 0)
		return ruleset;
	for (size_t i = 0; i < plan->n_steps && r == 0; i++) {
		const struct plan_step *step = &plan->steps[i];
		const char *path = step->path;

		if (step->kind != PLAN_ALLOW)
			continue;
		if (strcmp(path, PLAN_SESSION_TMP) == 0)
			path = tmp_dir;
		if (path)
			r = add_rule(ruleset, rights_of(step) & known, path);
	}
	if (r == 0 && syscall(SYS_landlock_restrict_self, ruleset, 0u) < 0)
		r = -errno;
	close(ruleset);
	return r;
}
