/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "supervisord/sandbox/filter.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "supervisord/base/error.h"
#include "supervisord/base/file.h"
#include "supervisord/sandbox/plan.h"
#include "supervisord/sandbox/plan_parts.h"
#include "supervisord/sandbox/syscalls.h"

/* Newer than the build's <linux/seccomp.h> may be. */
#define FLAG_NEW_LISTENER (1UL << 3)
#define FLAG_WAIT_KILLABLE_RECV (1UL << 5)

#define SPECIAL_MAX 256
#define EXPORT_MAX (BPF_MAXINSNS * sizeof(struct sock_filter))

static void context_releasep(scmp_filter_ctx *context)
{
	if (*context)
		seccomp_release(*context);
}

static uint32_t action_of(const struct plan *plan, const struct syscall_entry *entry)
{
	/* Its flags are behind a pointer: where it goes on in the kernel they may have become
	 * O_TRUNC, which this Landlock does not look at. Libraries fall back to openat. */
	if (entry->nr == SYS_openat2 && plan->landlock_abi < LANDLOCK_TRUNCATES)
		return SCMP_ACT_ERRNO(ENOSYS);
	switch (entry->disposition) {
	case SYSCALL_ALLOW:
		/* "ipc": without a namespace these reach every session of the user. */
		if (entry->class && strcmp(entry->class, "ipc") == 0 && !plan->ipc_ns)
			return SCMP_ACT_ERRNO(EPERM);
		return SCMP_ACT_ALLOW;
	case SYSCALL_ERRNO:
		return SCMP_ACT_ERRNO((uint32_t)entry->error);
	case SYSCALL_NOTIFY:
		return SCMP_ACT_NOTIFY;
	case SYSCALL_NOTIFY_OPEN:
	case SYSCALL_NOTIFY_ADDR:
	case SYSCALL_SPECIAL:
		break;
	}
	return 0; /* has a block in filter_special.c */
}

static int add_rules(scmp_filter_ctx context, const struct plan *plan)
{
	int r;

	for (size_t i = 0; i < syscall_table_size; i++) {
		const struct syscall_entry *entry = &syscall_table[i];
		uint32_t action = action_of(plan, entry);

		/* A rule with the default action is an error for the library, and needless. */
		if (action == 0 || action == SCMP_ACT_ERRNO(ENOSYS) || entry->nr < 0)
			continue;
		r = seccomp_rule_add(context, action, entry->nr, 0);
		if (r < 0)
			return err_trace(r);
	}
	return 0;
}

/* The allow list as instructions, in *DATAP (owned by the caller). */
static int export_list(const struct plan *plan, char **datap, size_t *sizep)
{
	_cleanup_(context_releasep) scmp_filter_ctx context = NULL;
	_cleanup_(closep) int fd = -1;
	int r;

	context = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
	if (!context)
		return err_trace(-ENOMEM);
	r = seccomp_attr_set(context, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (r >= 0)
		r = seccomp_attr_set(context, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	if (r < 0)
		return err_trace(r);
	r = add_rules(context, plan);
	if (r < 0)
		return err_trace(r);
	fd = memfd_create("filter", MFD_CLOEXEC);
	if (fd < 0)
		return err_trace(err_errno());
	r = seccomp_export_bpf(context, fd);
	if (r < 0)
		return err_trace(r);
	r = file_read_fd(fd, EXPORT_MAX, datap, sizep);
	return r < 0 ? err_trace(r) : 0;
}

int filter_build(const struct plan *plan, struct filter *filter)
{
	_cleanup_(freep) char *list = NULL;
	size_t size = 0, n_special;
	int r;

	*filter = (struct filter){0};
	r = export_list(plan, &list, &size);
	if (r < 0)
		return err_trace(r);
	filter->code =
		calloc(SPECIAL_MAX + size / sizeof(struct sock_filter), sizeof(struct sock_filter));
	if (!filter->code)
		return err_trace(-ENOMEM);
	n_special = filter_special(plan, filter->code, SPECIAL_MAX);
	if (n_special == 0)
		return err_trace(-E2BIG);
	/* All jumps are relative, so the exported program runs as it is behind the register tests.
	 */
	if (list)
		memcpy(filter->code + n_special, list, size);
	filter->n_code = n_special + size / sizeof(struct sock_filter);
	if (filter->n_code > BPF_MAXINSNS)
		return err_trace(-E2BIG);
	return 0;
}

void filter_deinit(struct filter *filter)
{
	free(filter->code);
	*filter = (struct filter){0};
}

int filter_load(const struct filter *filter)
{
	struct sock_fprog program = {
		.len = (unsigned short)filter->n_code,
		.filter = filter->code,
	};
	long fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
		FLAG_NEW_LISTENER | FLAG_WAIT_KILLABLE_RECV, &program);

	return fd < 0 ? -errno : (int)fd;
}
