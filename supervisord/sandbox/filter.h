/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_SANDBOX_FILTER_H
#define SUPERVISORD_SANDBOX_FILTER_H

/* The seccomp filter of a session: first register tests that are written here instruction by
 * instruction, then the allow list that libseccomp makes of syscall_table. */

#include <linux/filter.h>
#include <stddef.h>

#include "supervisord/base/cleanup.h"

struct plan;

struct filter {
	struct sock_filter *code;
	size_t n_code;
};

/* Makes the program for PLAN. Release with filter_deinit() in any case. 0, -ENOMEM, -E2BIG (longer
 * than the kernel takes), -errno. */
int filter_build(const struct plan *plan, struct filter *filter) _must_use_;
void filter_deinit(struct filter *filter);

/* Loads it into the calling thread with a listener; no_new_privs must be set. Safe after fork.
 * Returns the listener (close-on-exec) or -errno. */
int filter_load(const struct filter *filter) _must_use_;

/* Appends the register tests to CODE, which has room for MAX. Returns how many instructions, or 0
 * when MAX is too small. (filter_special.c) */
size_t filter_special(const struct plan *plan, struct sock_filter *code, size_t max);

#endif
