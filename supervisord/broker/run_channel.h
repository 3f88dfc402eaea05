/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_BROKER_RUN_CHANNEL_H
#define SUPERVISORD_BROKER_RUN_CHANNEL_H

/* The socket to agentctl (RUN_FD): one struct run_message each way. */

#include "supervisord/base/cleanup.h"
#include "supervisord/proto/spec.h"

/* Sends a message; FD (borrowed, -1 = none) goes along. A reader that is gone is not an error here:
 * the main loop sees the hang-up. TEXT is escaped and cut. */
void run_channel_send(int run_fd, enum run_message_kind kind, int value, int fd, const char *text);

/* Tells agentctl that the session failed with exit status STATUS, and returns 1. */
int run_channel_fail(int run_fd, int status, const char *format, ...) _printf_(3, 4);

#endif
