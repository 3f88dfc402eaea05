/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "supervisord/client/client.h"

/* The socket is trusted because of where it is: in a folder of ours, made by a process of ours.
 * Both are checked before anything is said. */

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "supervisord/base/clock.h"
#include "supervisord/base/display.h"
#include "supervisord/base/error.h"
#include "supervisord/client/start.h"
#include "supervisord/proto/bus.h"

#define CALL_TIMEOUT_USEC (60 * USEC_PER_SEC)
/* A list of every pending request may be longer than what one may send. */
#define REPLY_MAX (12 * (size_t)BUS_MESSAGE_MAX)
#define START_TRIES 3

struct client {
	sd_bus *bus;
};

/* Opens the socket's folder and checks the owners of both. */
static int open_folder(const char *path, const char **namep, int *fdp)
{
	_cleanup_(freep) char *folder = NULL;
	_cleanup_(closep) int fd = -1;
	const char *slash = strrchr(path, '/');
	struct stat st;

	if (!slash || slash == path || !slash[1])
		return err_trace(-EINVAL);
	folder = strndup(path, (size_t)(slash - path));
	if (!folder)
		return err_trace(-ENOMEM);
	fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return err_errno();
	if (fstat(fd, &st) < 0)
		return err_errno();
	if (st.st_uid != geteuid() || (st.st_mode & 022))
		return err_trace(-EPERM);
	if (fstatat(fd, slash + 1, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return err_errno();
	if (st.st_uid != geteuid())
		return err_trace(-EPERM);
	if (!S_ISSOCK(st.st_mode))
		return err_trace(-ENOTSOCK);
	*namep = slash + 1;
	*fdp = TAKE_FD(fd);
	return 0;
}

static int connect_socket(const char *path, int *fdp)
{
	_cleanup_(closep) int folder = -1;
	_cleanup_(closep) int fd = -1;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct ucred cred;
	socklen_t size = sizeof(cred);
	const char *name = NULL;
	int r, n;

	r = open_folder(path, &name, &folder);
	if (r < 0)
		return r;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return err_trace(err_errno());
	/* By descriptor: the folder that was checked, however long its name is. */
	n = snprintf(
		address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", folder, name);
	if (n < 0 || (size_t)n >= sizeof(address.sun_path))
		return err_trace(-ENAMETOOLONG);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return err_errno();
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &size) < 0)
		return err_trace(err_errno());
	if (cred.uid != geteuid())
		return err_trace(-EPERM);
	*fdp = TAKE_FD(fd);
	return 0;
}

int client_connect(const char *path, struct client **clientp)
{
	_cleanup_(client_closep) struct client *client = NULL;
	_cleanup_(closep) int fd = -1;
	int r;

	r = connect_socket(path, &fd);
	if (r < 0)
		return r;
	client = calloc(1, sizeof(*client));
	if (!client)
		return err_trace(-ENOMEM);
	r = sd_bus_new(&client->bus);
	if (r < 0)
		return err_trace(r);
	r = sd_bus_set_fd(client->bus, fd, fd);
	if (r < 0)
		return err_trace(r);
	TAKE_FD(fd); /* the bus closes it */
	r = sd_bus_start(client->bus);
	if (r < 0)
		return err_trace(r);
	*clientp = TAKE_PTR(client);
	return 0;
}

void client_close(struct client *client)
{
	if (client->bus)
		sd_bus_close_unref(client->bus);
	free(client);
}

sd_bus *client_bus(struct client *client)
{
	return client->bus;
}

/* Someone answers at the other end: a daemon that is just stopping may have let us connect. */
static int ping(struct client *client)
{
	int r;

	r = sd_bus_call_method(
		client->bus, NULL, BUS_PATH, "org.freedesktop.DBus.Peer", "Ping", NULL, NULL, NULL);
	if (r < 0)
		return err_trace(r);
	return 0;
}

static int connect_alive(const char *path, struct client **clientp)
{
	_cleanup_(client_closep) struct client *client = NULL;
	int r;

	r = client_connect(path, &client);
	if (r < 0 || !client)
		return r < 0 ? r : err_trace(-EIO);
	r = ping(client);
	if (r < 0)
		return r;
	*clientp = TAKE_PTR(client);
	return 0;
}

static bool is_absent(int r)
{
	return r == -ENOENT || r == -ECONNREFUSED || r == -ECONNRESET || r == -EPIPE ||
	       r == -ENOTCONN;
}

int client_connect_or_start(const char *path, struct client **clientp)
{
	int r = -ENOENT, started;

	for (unsigned i = 0; i < START_TRIES; i++) {
		r = connect_alive(path, clientp);
		if (!is_absent(r))
			return r;
		started = client_start_daemon(path);
		if (started < 0 && started != -EHOSTDOWN)
			return err_trace(started);
		/* It may have ended because another one, started at the same time, was first. */
		r = connect_alive(path, clientp);
		if (!is_absent(r))
			return r;
		if (started < 0)
			return err_trace(started);
	}
	return err_trace(r);
}

static void set_error(struct client_error *error, const char *name, const char *message)
{
	_cleanup_(freep) char *text = NULL;

	if (!error)
		return;
	text = display_escape_short(message ? message : "", sizeof(error->message) - 1, NULL);
	(void)snprintf(error->name, sizeof(error->name), "%s", name ? name : "");
	(void)snprintf(error->message, sizeof(error->message), "%s", text ? text : "out of memory");
}

static int fold_call_error(int r, const sd_bus_error *bus_error, struct client_error *error)
{
	static const int gone[] = {ECONNRESET, EPIPE, ENOTCONN, ESHUTDOWN, ECONNABORTED};

	for (size_t i = 0; i < ARRAY_LEN(gone); i++)
		if (r == -gone[i])
			return -ECONNRESET;
	if (!sd_bus_error_is_set(bus_error))
		return err_trace(r);
	if (sd_bus_error_has_name(bus_error, SD_BUS_ERROR_NO_REPLY) ||
		sd_bus_error_has_name(bus_error, SD_BUS_ERROR_DISCONNECTED))
		return -ECONNRESET;
	set_error(error, bus_error->name, bus_error->message);
	return -EREMOTEIO;
}

static int make_call(struct client *client, const char *interface, const char *method,
	json_t *parameter, sd_bus_message **messagep)
{
	_cleanup_(freep) char *text = NULL;
	int r;

	r = sd_bus_message_new_method_call(
		client->bus, messagep, NULL, BUS_PATH, interface, method);
	if (r < 0)
		return err_trace(r);
	if (!parameter)
		return 0;
	text = json_write(parameter);
	if (!text)
		return err_trace(-ENOMEM);
	if (strlen(text) > BUS_MESSAGE_MAX)
		return err_trace(-EMSGSIZE);
	r = sd_bus_message_append(*messagep, "s", text);
	return r < 0 ? err_trace(r) : 0;
}

int client_call(struct client *client, const char *interface, const char *method, json_t *parameter,
	json_t **resultp, struct client_error *error)
{
	_cleanup_(sd_bus_error_free) sd_bus_error bus_error = SD_BUS_ERROR_NULL;
	_cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
	_cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	const char *text;
	int r;

	set_error(error, NULL, NULL);
	r = make_call(client, interface, method, parameter, &message);
	if (r < 0)
		return r;
	r = sd_bus_call(client->bus, message, CALL_TIMEOUT_USEC, &bus_error, &reply);
	if (r < 0)
		return fold_call_error(r, &bus_error, error);
	r = sd_bus_message_read(reply, "s", &text);
	if (r < 0)
		return err_trace(r);
	r = json_parse_strict(text, strlen(text), REPLY_MAX, resultp);
	return r < 0 ? err_trace(r) : 0;
}
