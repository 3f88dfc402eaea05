/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef SUPERVISORD_PROTO_REQUEST_H
#define SUPERVISORD_PROTO_REQUEST_H

/* What is being decided: operation, object, subject. Made by the broker from facts that the kernel
 * gave, judged by policy_set_eval(), shown to people, recorded in the log.
 *
 * Strings are raw bytes without NUL, as the kernel has them: possibly invalid UTF-8, never to be
 * printed without display_escape(). */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "supervisord/base/json.h"
#include "supervisord/proto/op.h"

#define REQUEST_JSON_MAX (512 * 1024) /* a request with a long argv; longer ones are denied */
#define REQUEST_ARGV_MAX 262144       /* elements kept; an argv beyond that is refused */

struct request {
	enum op op;

	/* Files, programs, unix sockets: the name of the resolved object, absolute, in the
	 * session's view ("/home/u/notes.txt"). */
	char *path;
	/* The name that was asked for, made absolute but not resolved; NULL when it equals path.
	 * Stricter rules match it too, looser ones never. */
	char *alias;
	/* Rename and link: the other end, for people; the two ends are judged as two requests. */
	char *other;
	/* The object lies in a .git folder that this session made itself: the shipped rules that
	 * guard repositories (named "repo-...") do not apply. Only ever set from the broker's own
	 * records. */
	bool fresh_repo;

	/* exec: argv as given; interpreter of a script or NULL. */
	char **argv;
	size_t n_argv;
	char *interpreter;
	/* The requester's own command line, as it shows it itself: for people, decides nothing.
	 * Filled in where a person or the log is to see it. */
	char **command;
	size_t n_command;

	/* connect, listen */
	enum net_proto proto;
	char *host; /* canonical numeric address, or the name where one is known; NULL for unix */
	uint8_t addr[16]; /* IPv6, or IPv4 mapped into ::ffff:0:0/96 */
	uint16_t port;

	/* Subject */
	pid_t pid;       /* thread-group id in the supervisor's pid namespace */
	pid_t inner_pid; /* the same process as the session sees it */
	uint64_t start_ticks;
	uid_t uid;
	char *program; /* resolved path of the requester's image */
	char *cwd;
	char *session; /* session id; filled in by the daemon where NULL */
};

struct request *request_new(enum op op);
void request_free(struct request *request);
DEFINE_CLEANUP(struct request *, request_free);

/* One line for people and lists: the path, the argv, or host:port; escaped; owned by the caller. */
char *request_object_text(const struct request *request);

/* The message form. New reference, or NULL when out of memory. */
json_t *request_to_json(const struct request *request);
/* 0, -EBADMSG, -ENOMEM. */
int request_from_json(json_t *json, struct request **requestp) _must_use_;

/* BLAKE2b-256 over a length-prefixed encoding of (id, session, op, object, program, rule, policy
 * digest): what an answer is bound to. */
void request_fingerprint(const struct request *request, const char *id, const char *rule,
	const uint8_t policy_digest[32], uint8_t out[32]);

/* Same operation, object and program, of an exec the same folder too: such requests coalesce, one
 * answer to what was shown of the first answers them all. */
bool request_same(const struct request *a, const struct request *b);

#endif
