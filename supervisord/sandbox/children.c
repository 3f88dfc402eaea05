/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "supervisord/sandbox/children.h"

#include <dirent.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>

#include "supervisord/base/parse.h"
#include "supervisord/base/proc.h"

void children_kill(pid_t parent)
{
	DIR *dir = opendir("/proc");
	uint64_t pid;

	if (!dir)
		return;
	for (struct dirent *entry; (entry = readdir(dir));) {
		if (parse_u64(entry->d_name, INT32_MAX, &pid) < 0 || (pid_t)pid == parent)
			continue;
		/* The caller reaps nothing meanwhile, and a killed parent's children come to it. */
		if (proc_is_descendant((pid_t)pid, parent) == 1)
			kill((pid_t)pid, SIGKILL);
	}
	closedir(dir);
}
