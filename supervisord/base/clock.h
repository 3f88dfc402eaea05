/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_BASE_CLOCK_H
#define SUPERVISORD_BASE_CLOCK_H

/* Time in microseconds. Deadlines use CLOCK_BOOTTIME, which counts suspend, so that a grant does
 * not outlive its span on a laptop that slept; records carry CLOCK_REALTIME beside it. */

#include <stddef.h>
#include <stdint.h>

#define USEC_PER_SEC 1000000ULL
#define USEC_PER_MSEC 1000ULL
#define CLOCK_TEXT_MAX 32

uint64_t clock_realtime_usec(void);
uint64_t clock_boottime_usec(void);
uint64_t clock_monotonic_usec(void);

/* Writes "2026-01-31T12:34:56.789Z". */
void clock_format_utc(uint64_t realtime_usec, char out[CLOCK_TEXT_MAX]);

/* This boot's id, 36 characters and NUL, from /proc/sys/kernel/random/boot_id; all zeros where that
 * cannot be read. */
void clock_boot_id(char out[37]);

#endif
