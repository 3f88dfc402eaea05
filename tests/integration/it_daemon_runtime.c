/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
/* The way to the daemon is taken away: the socket, and the whole runtime folder, as the end of a
 * person's last login does it. */

#include "tests/integration/it_daemon.h"

static int setup(void **state)
{
	struct fx *fx = calloc(1, sizeof(*fx));

	fx_init(fx);
	*state = fx;
	return 0;
}

static int teardown(void **state)
{
	fx_deinit(*state);
	free(*state);
	return 0;
}

static bool has_session(struct client *client, const char *session)
{
	json_t *array = fx_call(client, "Sessions", NULL);
	bool found = false;

	for (size_t i = 0; i < json_array_size(array); i++)
		found = found ||
			!strcmp(json_string_value(json_object_get(json_array_get(array, i), "id")),
				session);
	json_decref(array);
	return found;
}

static bool can_connect(const struct fx *fx)
{
	struct client *client = NULL;

	if (client_connect(fx->dirs.control, &client) < 0)
		return false;
	client_close(client);
	return true;
}

static void a_socket_that_is_taken_away_comes_back(void **state)
{
	struct fx *fx = *state;
	int fd;

	fx_start(fx);
	assert_int_equal(unlink(fx->dirs.control), 0);
	assert_false(can_connect(fx));
	FX_WAIT(can_connect(fx));
	/* Something else in its place is not the socket. */
	assert_int_equal(unlink(fx->dirs.control), 0);
	fd = open(fx->dirs.control, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
	FX_WAIT(can_connect(fx));
	(void)fx_end(fx, SIGTERM);
	fx_verify(fx);
}

static void sessions_outlive_the_runtime_folder(void **state)
{
	struct fx *fx = *state;
	struct client *client;
	const char *session;
	struct link *link;
	char id[32];

	fx_start(fx);
	link = fx_link(fx, &session);
	(void)snprintf(id, sizeof(id), "%s", session);
	assert_int_equal(nftw(fx->dirs.runtime, fx_remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
	assert_false(can_connect(fx));
	FX_WAIT(can_connect(fx));
	/* The folder's list of sessions is there again too: a later daemon knows it. */
	(void)fx_end(fx, SIGKILL);
	fx_start(fx);
	client = fx_client(fx);
	FX_WAIT(has_session(client, id));
	client_close(client);
	link_free(link);
	(void)fx_end(fx, SIGTERM);
	fx_verify(fx);
}

static void a_daemon_without_sessions_and_folder_makes_room(void **state)
{
	struct fx *fx = *state;
	int status = 0;

	fx_start(fx);
	assert_int_equal(nftw(fx->dirs.runtime, fx_remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
	assert_int_equal(waitpid(fx->daemon, &status, 0), fx->daemon);
	fx->daemon = 0;
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	fx_start(fx);
	(void)fx_end(fx, SIGTERM);
	fx_verify(fx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_socket_that_is_taken_away_comes_back, setup, teardown),
		cmocka_unit_test_setup_teardown(
			sessions_outlive_the_runtime_folder, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_daemon_without_sessions_and_folder_makes_room, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
