/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "supervisord/daemon/runtime.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>

#include "supervisord/base/clock.h"
#include "supervisord/base/error.h"
#include "supervisord/base/file.h"
#include "supervisord/base/log.h"
#include "supervisord/daemon/control.h"
#include "supervisord/daemon/daemon.h"
#include "supervisord/daemon/registry.h"

/* Two lock files. "daemon.lock" is held as long as a daemon lives. "daemon.starting" is held from
 * before that is taken until the socket listens, and from before the socket goes away until the
 * end: whoever gets it and finds the other one taken knows that a daemon is listening right now. */
#define LOCK_RUNNING "daemon.lock"
#define LOCK_STARTING "daemon.starting"
#define CHECK_USEC (3 * USEC_PER_SEC)

struct place {
	int runtime_fd, starting_fd, running_fd;
};

static void place_deinit(struct place *place)
{
	place->running_fd = close_fd(place->running_fd);
	place->starting_fd = close_fd(place->starting_fd);
	place->runtime_fd = close_fd(place->runtime_fd);
}

static int open_lock(const struct place *place, const char *name, int *fdp)
{
	*fdp = openat(place->runtime_fd, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	return *fdp < 0 ? err_trace(err_errno()) : 0;
}

static int lock(int fd, bool wait)
{
	while (flock(fd, LOCK_EX | (wait ? 0 : LOCK_NB)) < 0) {
		if (errno == EWOULDBLOCK)
			return DAEMON_E_RUNNING;
		if (errno != EINTR)
			return err_trace(err_errno());
	}
	return 0;
}

/* WAIT: for others who start or stop. */
static int place_open(struct place *place, const char *path, bool wait)
{
	int r;

	r = dir_open_private(path, &place->runtime_fd);
	if (r < 0) {
		log_error_r(r, "%s must be a folder of ours with mode 0700", path);
		return r;
	}
	r = open_lock(place, LOCK_STARTING, &place->starting_fd);
	if (r == 0)
		r = open_lock(place, LOCK_RUNNING, &place->running_fd);
	if (r == 0)
		r = lock(place->starting_fd, wait);
	if (r == 0)
		r = lock(place->running_fd, false);
	return r;
}

/* PLACE becomes the daemon's, what it had is closed. */
static void adopt(struct daemon *daemon, const struct place *place)
{
	struct place old = {daemon->runtime_fd, daemon->starting_fd, daemon->running_fd};

	daemon->runtime_fd = place->runtime_fd;
	daemon->starting_fd = place->starting_fd;
	daemon->running_fd = place->running_fd;
	place_deinit(&old);
}

int runtime_enter(struct daemon *daemon)
{
	struct place place = {-1, -1, -1};
	int r = place_open(&place, daemon->dirs.runtime, true);

	if (r == 0)
		adopt(daemon, &place);
	else
		place_deinit(&place);
	return r;
}

static const char *control_name(const struct daemon *daemon)
{
	return strrchr(daemon->dirs.control, '/') + 1;
}

static int make_socket(struct daemon *daemon, int *fdp)
{
	struct stat st;
	int r = control_listen(daemon->dirs.control, daemon->runtime_fd, fdp);

	if (r < 0) {
		log_error_r(r, "cannot listen on %s", daemon->dirs.control);
		return r;
	}
	if (fstatat(daemon->runtime_fd, control_name(daemon), &st, AT_SYMLINK_NOFOLLOW) == 0)
		daemon->control_ino = st.st_ino;
	return 0;
}

int runtime_listen(struct daemon *daemon, int *fdp)
{
	int n = sd_listen_fds(1);

	if (n == 1 && sd_is_socket_unix(SD_LISTEN_FDS_START, SOCK_STREAM, 1, NULL, 0) > 0) {
		*fdp = SD_LISTEN_FDS_START;
		if (fcntl(*fdp, F_SETFL, O_NONBLOCK) < 0)
			return err_trace(err_errno());
		daemon->activated = true;
		return 0;
	}
	if (n > 0) {
		log_error("socket activation passed something else than one listening unix socket");
		return err_trace(-EINVAL);
	}
	return make_socket(daemon, fdp);
}

int runtime_started(struct daemon *daemon)
{
	return flock(daemon->starting_fd, LOCK_UN) < 0 ? err_trace(err_errno()) : 0;
}

void runtime_leave(struct daemon *daemon)
{
	(void)lock(daemon->starting_fd, true);
	if (!daemon->activated)
		(void)unlinkat(daemon->runtime_fd, control_name(daemon), 0);
}

/* Is the folder that we hold the one that others find? */
static bool folder_is_there(const struct daemon *daemon)
{
	struct stat ours, there;

	return fstat(daemon->runtime_fd, &ours) == 0 && stat(daemon->dirs.runtime, &there) == 0 &&
	       ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
}

static bool socket_is_there(const struct daemon *daemon)
{
	struct stat st;

	return fstatat(daemon->runtime_fd, control_name(daemon), &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       st.st_ino == daemon->control_ino;
}

static bool parent_is_there(const struct daemon *daemon)
{
	_cleanup_(freep) char *parent = strdup(daemon->dirs.runtime);
	char *slash = parent ? strrchr(parent, '/') : NULL;

	if (!slash || slash == parent)
		return false;
	*slash = '\0';
	return access(parent, W_OK | X_OK) == 0;
}

static void listen_again(struct daemon *daemon)
{
	int r, fd = -1;

	r = make_socket(daemon, &fd);
	if (r == 0)
		r = control_set_socket(daemon->control, fd);
	if (r == 0)
		log_notice("%s was gone and is there again", daemon->dirs.control);
	else
		log_error_r(r, "%s is gone", daemon->dirs.control);
}

/* The folder was taken away with the locks in it. */
static void move_in_again(struct daemon *daemon)
{
	struct place place = {-1, -1, -1};

	/* Whoever needs a daemon starts one. */
	if (!daemon->sessions.first) {
		log_notice("%s is gone and no session runs: stopping", daemon->dirs.runtime);
		daemon_stop(daemon);
		return;
	}
	if (!parent_is_there(daemon))
		return;
	if (place_open(&place, daemon->dirs.runtime, false) != 0) {
		place_deinit(&place);
		return;
	}
	adopt(daemon, &place);
	listen_again(daemon);
	(void)registry_save(daemon);
	if (runtime_started(daemon) < 0)
		log_error("others who start will wait for us");
}

static int on_check(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct daemon *daemon = userdata;

	(void)usec;
	if (daemon->stopping)
		return 0;
	if (!folder_is_there(daemon))
		move_in_again(daemon);
	else if (!socket_is_there(daemon))
		listen_again(daemon);
	if (sd_event_source_set_time_relative(source, CHECK_USEC) < 0 ||
		sd_event_source_set_enabled(source, SD_EVENT_ONESHOT) < 0)
		log_error("the runtime folder is not watched any more");
	return 0;
}

int runtime_watch(struct daemon *daemon)
{
	int r;

	/* What an activator made, it looks after. */
	if (daemon->activated)
		return 0;
	r = sd_event_add_time_relative(
		daemon->event, NULL, CLOCK_MONOTONIC, CHECK_USEC, USEC_PER_SEC, on_check, daemon);
	return r < 0 ? err_trace(r) : 0;
}
