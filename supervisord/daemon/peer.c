/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "supervisord/daemon/peer.h"

#include <sys/socket.h>
#include <sys/syscall.h>

#include "supervisord/base/error.h"
#include "supervisord/base/proc.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

/* Before kernel 6.5 there is only the pid; whoever has it when the descriptor is made is who we
 * hold. The caller compares the start time before and after. */
static int open_pidfd(pid_t pid)
{
	uint64_t before, after;
	int fd, r;

	r = proc_start_ticks(pid, &before);
	if (r < 0)
		return r;
	fd = (int)syscall(SYS_pidfd_open, pid, 0u);
	if (fd < 0)
		return err_errno();
	r = proc_start_ticks(pid, &after);
	if (r < 0 || before != after || !proc_pidfd_alive(fd)) {
		close(fd);
		return -ESRCH;
	}
	return fd;
}

int peer_init(struct peer *peer, int fd)
{
	struct ucred cred;
	socklen_t size = sizeof(cred);
	int r;

	*peer = (struct peer){.pidfd = -1};
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &size) < 0)
		return err_trace(err_errno());
	peer->pid = cred.pid;
	peer->uid = cred.uid;
	peer->gid = cred.gid;
	/* Not in our pid namespace: nothing more can be known. */
	if (cred.pid <= 0)
		return 0;
	size = sizeof(peer->pidfd);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &peer->pidfd, &size) < 0) {
		if (errno != ENOPROTOOPT)
			return err_errno();
		r = open_pidfd(cred.pid);
		if (r < 0)
			return r;
		peer->pidfd = r;
	}
	r = proc_start_ticks(peer->pid, &peer->start_ticks);
	if (r == 0 && proc_link(peer->pid, "exe", &peer->exe) < 0)
		peer->exe = NULL;
	if (r < 0 || !proc_pidfd_alive(peer->pidfd)) {
		peer_deinit(peer);
		return -ESRCH;
	}
	return 0;
}

void peer_deinit(struct peer *peer)
{
	peer->pidfd = close_fd(peer->pidfd);
	free(peer->exe);
	peer->exe = NULL;
}

/* In our namespace NAME? True when it is another one. Where the kernel does not say (a process that
 * is not dumpable), the ancestors decide. */
static bool is_elsewhere(pid_t pid, const char *name)
{
	uint64_t dev, ino, own_dev, own_ino;

	if (proc_namespace(getpid(), name, &own_dev, &own_ino) < 0)
		return true;
	if (proc_namespace(pid, name, &dev, &ino) < 0)
		return false;
	return dev != own_dev || ino != own_ino;
}

/* A pid namespace below ours shows in the world-readable status of the process. */
static bool is_in_inner_pid_namespace(pid_t pid)
{
	pid_t tgid, tid;

	return proc_inner_ids(pid, &tgid, &tid) == 0 && tgid != pid;
}

static const struct session *session_around(
	const struct peer *peer, const struct sessions *sessions, bool *unsurep)
{
	for (const struct session *s = sessions->first; s; s = s->next) {
		int r;

		if (s->broker_pid <= 0 || s->broker_pid == peer->pid)
			continue;
		r = proc_is_descendant(peer->pid, s->broker_pid);
		if (r > 0)
			return s;
		if (r < 0)
			*unsurep = true;
	}
	return NULL;
}

enum peer_verdict peer_judge(
	const struct peer *peer, const struct sessions *sessions, const struct session **sessionp)
{
	bool unsure = false, elsewhere;

	*sessionp = NULL;
	if (peer->uid != geteuid())
		return PEER_OTHER_USER;
	if (peer->pid <= 0 || peer->pidfd < 0)
		return PEER_FOREIGN;
	*sessionp = session_around(peer, sessions, &unsure);
	elsewhere = is_elsewhere(peer->pid, "user") || is_elsewhere(peer->pid, "pid") ||
		    is_in_inner_pid_namespace(peer->pid);
	/* Everything above spoke of this process only if it is still there. */
	if (!proc_pidfd_alive(peer->pidfd))
		return PEER_GONE;
	if (*sessionp)
		return PEER_INSIDE;
	if (elsewhere)
		return PEER_FOREIGN;
	return unsure ? PEER_GONE : PEER_OK;
}

const char *peer_verdict_text(enum peer_verdict verdict)
{
	switch (verdict) {
	case PEER_OK:
		return "accepted";
	case PEER_OTHER_USER:
		return "the caller is another user";
	case PEER_INSIDE:
		return "the caller is inside a session: nothing in a session can answer for it";
	case PEER_FOREIGN:
		return "the caller runs in another user or pid namespace";
	case PEER_GONE:
		return "the process that connected does not exist any more";
	}
	return "?";
}
