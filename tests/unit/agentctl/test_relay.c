/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "agentctl/relay.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

struct pipes {
	int in[2], out[2];
	struct relay relay;
};

static void open_pipes(struct pipes *p)
{
	assert_int_equal(pipe2(p->in, O_NONBLOCK | O_CLOEXEC), 0);
	assert_int_equal(pipe2(p->out, O_NONBLOCK | O_CLOEXEC), 0);
	relay_init(&p->relay, p->in[0], p->out[1]);
}

static void close_pipes(struct pipes *p)
{
	for (int i = 0; i < 2; i++) {
		close_fd(p->in[i]);
		close_fd(p->out[i]);
	}
}

static void bytes_pass_unchanged(void **state)
{
	static const char data[] = "a\0b\003\032\xff";
	struct pipes p;
	char got[16];

	(void)state;
	open_pipes(&p);
	assert_int_equal(write(p.in[1], data, sizeof(data)), sizeof(data));
	assert_int_equal(relay_read(&p.relay), RELAY_PROGRESS);
	assert_true(relay_wants_write(&p.relay));
	assert_int_equal(relay_write(&p.relay), RELAY_PROGRESS);
	assert_int_equal(read(p.out[0], got, sizeof(got)), sizeof(data));
	assert_memory_equal(got, data, sizeof(data));
	assert_int_equal(relay_read(&p.relay), RELAY_NOTHING);
	close_pipes(&p);
}

/* Each byte depends on its place, so that a lost, doubled or swapped one shows. */
static char byte_at(size_t i)
{
	return (char)(i * 31 + i / 251);
}

static void a_full_reader_holds_the_writer_back_and_loses_nothing(void **state)
{
	static char block[4096];
	const size_t total = (size_t)4 * 1024 * 1024;
	struct pipes p;
	size_t sent = 0, got = 0;
	bool held = false;

	(void)state;
	open_pipes(&p);
	while (got < total) {
		size_t want = total - sent < sizeof(block) ? total - sent : sizeof(block);
		ssize_t n;

		for (size_t i = 0; i < want; i++)
			block[i] = byte_at(sent + i);
		n = want ? write(p.in[1], block, want) : 0;
		sent += n > 0 ? (size_t)n : 0;
		(void)relay_read(&p.relay);
		(void)relay_write(&p.relay);
		if (!relay_wants_read(&p.relay))
			held = true;
		/* The reader is slow: it comes only when nothing moves any more. */
		if (n > 0)
			continue;
		n = read(p.out[0], block, 1000);
		for (ssize_t i = 0; i < n; i++)
			assert_int_equal(block[i], byte_at(got + (size_t)i));
		got += n > 0 ? (size_t)n : 0;
	}
	assert_true(held);
	assert_int_equal(sent, total);
	close_pipes(&p);
}

static void the_end_of_input_keeps_what_is_buffered(void **state)
{
	struct pipes p;
	char got[8];

	(void)state;
	open_pipes(&p);
	assert_int_equal(write(p.in[1], "last", 4), 4);
	assert_int_equal(relay_read(&p.relay), RELAY_PROGRESS);
	p.in[1] = close_fd(p.in[1]);
	assert_int_equal(relay_read(&p.relay), RELAY_END);
	assert_int_equal(p.relay.from_fd, -1);
	assert_int_equal(relay_write(&p.relay), RELAY_PROGRESS);
	assert_int_equal(read(p.out[0], got, sizeof(got)), 4);
	close_pipes(&p);
}

static void a_reader_that_is_gone_ends_the_direction(void **state)
{
	struct pipes p;

	(void)state;
	open_pipes(&p);
	assert_int_equal(write(p.in[1], "x", 1), 1);
	assert_int_equal(relay_read(&p.relay), RELAY_PROGRESS);
	p.out[0] = close_fd(p.out[0]);
	assert_int_equal(relay_write(&p.relay), RELAY_END);
	assert_int_equal(p.relay.to_fd, -1);
	assert_false(relay_wants_write(&p.relay));
	/* What still comes is thrown away, so that the writer does not block. */
	assert_int_equal(write(p.in[1], "y", 1), 1);
	assert_int_equal(relay_read(&p.relay), RELAY_PROGRESS);
	assert_int_equal(relay_write(&p.relay), RELAY_PROGRESS);
	assert_false(relay_wants_write(&p.relay));
	close_pipes(&p);
}

static void a_blocking_reader_gets_small_pieces(void **state)
{
	static char data[1000];
	struct pipes p;
	char got[1000];

	(void)state;
	open_pipes(&p);
	p.relay.write_max = 256;
	assert_int_equal(write(p.in[1], data, sizeof(data)), sizeof(data));
	assert_int_equal(relay_read(&p.relay), RELAY_PROGRESS);
	assert_int_equal(relay_write(&p.relay), RELAY_PROGRESS);
	assert_int_equal(read(p.out[0], got, sizeof(got)), 256);
	close_pipes(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_pass_unchanged),
		cmocka_unit_test(a_full_reader_holds_the_writer_back_and_loses_nothing),
		cmocka_unit_test(the_end_of_input_keeps_what_is_buffered),
		cmocka_unit_test(a_reader_that_is_gone_ends_the_direction),
		cmocka_unit_test(a_blocking_reader_gets_small_pieces),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
