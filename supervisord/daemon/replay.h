/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_DAEMON_REPLAY_H
#define SUPERVISORD_DAEMON_REPLAY_H

/* What earlier daemons and brokers left: a session as the log has it, and the spool files of
 * brokers that found no daemon. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "supervisord/daemon/daemon.h"

/* A session in the log. */
struct replay_scan {
	bool started, ended;
	pid_t broker_pid;
	uint64_t broker_start;
	uint64_t last_n; /* serial of its last record that is in the log */
};

/* Looks for SESSION in the log from INDEX on; the log must be committed. 0 or -errno. */
int replay_scan_log(
	const char *dir, const char *session, uint64_t index, struct replay_scan *scan) _must_use_;

/* Appends what is in the spool file of SESSION beyond LAST_N, commits, removes the file. *ENDEDP is
 * set when the session's end was among it. 0 (also where there is no file); -errno: the file stays.
 */
int replay_spool(
	struct daemon *daemon, const char *session, uint64_t last_n, bool *endedp) _must_use_;

/* Replays every spool file whose broker does not run any more. */
void replay_all(struct daemon *daemon);

/* May a broker write records of TYPE? Those that only the daemon can vouch for are its own. */
bool replay_type_is_brokers(const char *type);

/* Is the process PID still the one that started at START ticks? */
bool replay_process_lives(pid_t pid, uint64_t start);

#endif
