/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_BROKER_WORKERS_H
#define SUPERVISORD_BROKER_WORKERS_H

/* The threads that answer notifications. A few are always ready to receive; one that may have to
 * wait (for a person, a FIFO, the network) announces it and is replaced, so that waiting requests
 * block nobody. Threads live until the process ends. */

#include "supervisord/broker/broker.h"

#define WORKERS_READY 4     /* threads ready to receive */
#define WORKERS_BLOCKED 512 /* that may wait at the same time */

/* Starts the threads. Call once; signals must be blocked already. 0 or -errno. */
int workers_start(struct broker *broker) _must_use_;

#endif
