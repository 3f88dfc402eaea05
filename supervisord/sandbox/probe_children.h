/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_SANDBOX_PROBE_CHILDREN_H
#define SUPERVISORD_SANDBOX_PROBE_CHILDREN_H

/* The experiments of the probe. Each takes the errno of its failing step as its result: 0 = it
 * works. */

#include "supervisord/sandbox/probe.h"

/* A child under a filter with a listener: fills in the items from PROBE_SECCOMP_NOTIFY to
 * PROBE_PTRACE. 0 or -errno when there was no child. */
int probe_notify_child(struct probe *probe) _must_use_;

/* A child in new namespaces FLAGS that maps itself and, with CLONE_NEWNS, mounts; with CLONE_NEWPID
 * too, a fresh /proc. 0, a positive errno, or -errno when nothing could be tried. */
int probe_namespaces(unsigned long flags) _must_use_;

/* A child under a Landlock domain: can it still open what it was not granted? 0 or a positive
 * errno. */
int probe_landlock(void) _must_use_;

#endif
