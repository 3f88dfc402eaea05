/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_SANDBOX_PLAN_PARTS_H
#define SUPERVISORD_SANDBOX_PLAN_PARTS_H

/* What the parts of the plan builder share; nothing outside this folder includes it. */

#include <stdbool.h>
#include <stddef.h>

#include "supervisord/sandbox/plan.h"

/* The first ABI of Landlock that looks at truncate and O_TRUNC. */
#define LANDLOCK_TRUNCATES 3
/* The first that keeps signals and abstract sockets inside. */
#define LANDLOCK_SCOPES 6

/* Stands in the plan of a session without a mount namespace for the folder that launch_start()
 * makes. */
#define PLAN_SESSION_TMP "/tmp/agent-supervisor-session-XXXXXX"

#define PLAN_STEPS_MAX 8192

/* Appends a step; copies PATH and SOURCE (may be NULL). 0, -ENOMEM, -E2BIG. */
int plan_add(struct plan *plan, enum plan_step_kind kind, unsigned access, const char *path,
	const char *source) _must_use_;

/* Is PATH the folder ROOT itself or something below it? Both absolute, without dots. */
bool plan_path_below(const char *path, const char *root);

/* Does the session see something else at PATH than the host (private tmpfs, devices, processes)?
 * Then the host's content there says nothing. */
bool plan_path_private(const struct plan *plan, const char *path);

/* plan_floor.c: adds the PLAN_ALLOW steps that POLICIES permits, sorted by path, with the PROGRAM
 * that is to run and the accelerator library PRELOAD (either may be NULL); sets floor_reads and
 * cookie. 0, -ENOMEM, -E2BIG. */
int plan_add_floor(struct plan *plan, const struct policy_set *policies, const char *program,
	const char *preload) _must_use_;

/* plan_cover.c: what all folders on the way up to PATH grant together, as Landlock counts. */
unsigned plan_access_of(const struct plan *plan, const char *path);

/* env.c: fills plan->env and adds the PLAN_ENV steps. 0, -ENOMEM. */
int plan_add_env(struct plan *plan, const struct policy_set *policies,
	const struct session_spec *spec) _must_use_;

#endif
