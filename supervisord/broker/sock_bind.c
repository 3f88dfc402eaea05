/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "supervisord/broker/sock.h"

/* bind and listen.
 *
 * A unix socket must keep the very name that the requester gave: servers hand out getsockname(),
 * and a peer answers to it. So the kernel has to walk that name again, in the session's root and
 * the requester's folder. A short-lived child does it, confined by Landlock to making sockets below
 * the pinned parent: a name that changed its meaning meanwhile leads nowhere else. */

#include <fcntl.h>
#include <linux/landlock.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "supervisord/base/error.h"
#include "supervisord/base/log.h"
#include "supervisord/broker/decide.h"
#include "supervisord/broker/reply.h"
#include "supervisord/broker/target.h"

#define JUDGED_MAX 256

/* Sockets whose port was judged at bind: listen() need not ask again. */
static struct {
	pthread_mutex_t lock;
	struct {
		ino_t ino;
		in_port_t port;
	} items[JUDGED_MAX];
	size_t next;
} judged = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void judged_add(const struct sock *sock, in_port_t port)
{
	struct stat st;

	if (port == 0 || fstat(sock->fd, &st) < 0)
		return;
	pthread_mutex_lock(&judged.lock);
	judged.items[judged.next].ino = st.st_ino;
	judged.items[judged.next].port = port;
	judged.next = (judged.next + 1) % JUDGED_MAX;
	pthread_mutex_unlock(&judged.lock);
}

static bool judged_has(const struct sock *sock, in_port_t port)
{
	bool found = false;
	struct stat st;

	if (port == 0 || fstat(sock->fd, &st) < 0)
		return false;
	pthread_mutex_lock(&judged.lock);
	for (size_t i = 0; i < JUDGED_MAX && !found; i++)
		found = judged.items[i].ino == st.st_ino && judged.items[i].port == port;
	pthread_mutex_unlock(&judged.lock);
	return found;
}

static in_port_t addr_port(const struct sock_addr *addr)
{
	/* The port stands at the same place in both families. */
	return ((const struct sockaddr_in *)(const void *)addr->bytes)->sin_port;
}

/* Allows this process nothing but to make sockets below DIR_FD. System calls only: it runs in a
 * child of a process with threads. */
static int confine(int dir_fd)
{
	struct landlock_ruleset_attr attr = {.handled_access_fs = LANDLOCK_ACCESS_FS_MAKE_SOCK};
	struct landlock_path_beneath_attr below = {
		.allowed_access = LANDLOCK_ACCESS_FS_MAKE_SOCK, .parent_fd = dir_fd};
	int ruleset;

	/* The first version of the struct: later members ask for nothing here. */
	ruleset =
		(int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr.handled_access_fs), 0);
	if (ruleset < 0)
		return -1;
	if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &below, 0) < 0)
		return -1;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return (int)syscall(SYS_landlock_restrict_self, ruleset, 0);
}

/* The session's root; only a user namespace of its own lets an ordinary user change it. */
static int enter_root(const struct broker *broker)
{
	if (!broker->plan->mount_ns)
		return 0;
	if (fchdir(broker->launch.root_fd) < 0)
		return -1;
	if (chroot(".") == 0)
		return 0;
	if (unshare(CLONE_NEWUSER) < 0)
		return -1;
	return chroot(".");
}

static int bind_in_child(struct notification *n, const struct sock *sock,
	const struct sock_addr *addr, int parent_fd, int base_fd)
{
	int status;
	pid_t pid;

	pid = _Fork();
	if (pid < 0)
		return err_trace(err_errno());
	if (pid == 0) {
		umask(n->umask);
		if (confine(parent_fd) < 0 || enter_root(n->broker) < 0 || fchdir(base_fd) < 0)
			_exit(EACCES);
		_exit(bind(sock->fd, &addr->sa, addr->size) < 0 ? errno : 0);
	}
	while (waitpid(pid, &status, __WALL) < 0) {
		if (errno != EINTR)
			return err_trace(err_errno());
	}
	if (!WIFEXITED(status))
		return -EACCES;
	return -WEXITSTATUS(status);
}

static int judge_path(struct notification *n, const struct path *path)
{
	_cleanup_(request_freep) struct request *create = path_request(n, path, OP_CREATE);
	_cleanup_(request_freep) struct request *listen = path_request(n, path, OP_LISTEN);
	struct request *const both[] = {create, listen};

	if (!create || !listen)
		return err_trace(-ENOMEM);
	listen->proto = NET_UNIX;
	return decide_all(n, both, 2) == VERDICT_ALLOW ? 0 : -EACCES;
}

/* Is there now a socket where the judged name is? If not, the name led elsewhere meanwhile. */
static int check_made(struct notification *n, const struct path *path)
{
	_cleanup_(request_freep) struct request *request = NULL;
	struct stat st;

	if (fstatat(path->parent_fd, path->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		S_ISSOCK(st.st_mode))
		return 0;
	request = path_request(n, path, OP_LISTEN);
	if (request) {
		request->proto = NET_UNIX;
		decide_record_event(n, "attack.bind", request,
			"the name of a socket changed its meaning while it was bound");
	}
	return -EACCES;
}

static int bind_path(struct notification *n, const struct sock *sock, const struct sock_addr *addr,
	const char *name)
{
	_cleanup_(closep) int base_fd = -1;
	struct path path;
	int r;

	r = path_resolve(n, AT_FDCWD, name, PATH_PARENT, 0, &path);
	if (r >= 0 && path.object_fd >= 0)
		r = -EADDRINUSE;
	else if (r >= 0 && path.slash)
		r = -ENOENT;
	else if (r >= 0)
		r = judge_path(n, &path);
	if (r >= 0)
		r = target_open_base(n, AT_FDCWD, &base_fd);
	if (r >= 0)
		r = target_ids(n);
	if (r >= 0)
		r = bind_in_child(n, sock, addr, path.parent_fd, base_fd);
	if (r >= 0)
		r = check_made(n, &path);
	path_deinit(&path);
	return r;
}

static int bind_abstract(struct notification *n, const struct sock *sock,
	const struct sock_addr *addr, const char *name)
{
	_cleanup_(request_freep) struct request *request = request_new(OP_LISTEN);

	if (!request)
		return err_trace(-ENOMEM);
	request->proto = NET_UNIX;
	request->path = strdup(name);
	if (!request->path)
		return err_trace(-ENOMEM);
	if (decide(n, request) != VERDICT_ALLOW)
		return -EACCES;
	return bind(sock->fd, &addr->sa, addr->size) < 0 ? -errno : 0;
}

static int bind_unix(struct notification *n, const struct sock *sock, const struct sock_addr *addr)
{
	char name[sizeof(struct sockaddr_un) + 2];
	int kind = sock_unix_name(addr, name);

	switch (kind) {
	case SOCK_UNIX_UNNAMED: /* a name that the kernel picks */
		return bind(sock->fd, &addr->sa, addr->size) < 0 ? -errno : 0;
	case SOCK_UNIX_ABSTRACT:
		return bind_abstract(n, sock, addr, name);
	case SOCK_UNIX_PATH:
		return bind_path(n, sock, addr, name);
	default:
		return kind < 0 ? kind : -EINVAL;
	}
}

static int bind_inet(struct notification *n, const struct sock *sock, struct sock_addr *addr)
{
	int r;

	r = sock_inet_judge(n, sock, SOCK_BIND, addr);
	if (r < 0)
		return r;
	if (bind(sock->fd, &addr->sa, addr->size) < 0)
		return -errno;
	judged_add(sock, addr_port(addr));
	return 0;
}

void handle_bind(struct notification *n)
{
	_cleanup_(sock_deinit) struct sock sock = {.fd = -1};
	struct sock_addr addr;
	int r;

	r = sock_open(n, (int)n->args[0], &sock);
	if (r >= 0)
		r = sock_addr_copy(n, n->args[1], n->args[2], &addr);
	if (r >= 0) {
		switch (sock.domain) {
		case AF_INET:
		case AF_INET6:
			r = bind_inet(n, &sock, &addr);
			break;
		case AF_UNIX:
			r = bind_unix(n, &sock, &addr);
			break;
		case AF_NETLINK: /* listens to the kernel, as far as it lets anyone */
			r = bind(sock.fd, &addr.sa, addr.size) < 0 ? -errno : 0;
			break;
		default:
			r = -EACCES;
			break;
		}
	}
	if (r < 0)
		reply_errno(n, -r);
	else
		reply_value(n, 0);
}

static int listen_judge(struct notification *n, const struct sock *sock)
{
	_cleanup_(request_freep) struct request *request = request_new(OP_LISTEN);
	struct sock_addr addr = {.size = sizeof(addr.storage)};
	in_port_t port;
	int r;

	if (!request)
		return err_trace(-ENOMEM);
	if (getsockname(sock->fd, &addr.sa, &addr.size) < 0)
		return err_trace(err_errno());
	port = addr_port(&addr);
	if (judged_has(sock, port))
		return 0;
	r = sock_inet_request(sock, SOCK_BIND, &addr, request);
	if (r < 0)
		return err_trace(r);
	if (decide(n, request) != VERDICT_ALLOW)
		return -EACCES;
	judged_add(sock, port);
	return 0;
}

void handle_listen(struct notification *n)
{
	_cleanup_(sock_deinit) struct sock sock = {.fd = -1};
	int r;

	r = sock_open(n, (int)n->args[0], &sock);
	if (r >= 0 && sock.type == SOCK_STREAM &&
		(sock.domain == AF_INET || sock.domain == AF_INET6))
		r = listen_judge(n, &sock);
	/* A unix socket's name was judged when it was bound. */
	if (r >= 0)
		r = listen(sock.fd, (int)n->args[1]) < 0 ? -errno : 0;
	if (r < 0)
		reply_errno(n, -r);
	else
		reply_value(n, 0);
}
