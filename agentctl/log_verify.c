/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
/* agentctl log verify: is the log what was signed? */

#include <fcntl.h>
#include <string.h>

#include "agentctl/connect.h"
#include "agentctl/output.h"
#include "audit-log/audit.h"
#include "supervisord/base/file.h"

#define NOTE_MAX (64 * 1024)

static const char help[] =
	"usage: agentctl log verify [--json] [--vkey KEY] [--checkpoint FILE] [DIR]\n"
	"\n"
	"Checks every record, hash and signature of the log in DIR (the supervisor's own).\n"
	"Exit status: 0 all good and anchored outside; 1 changed, cut or damaged; 2 good, but the\n"
	"last records rest on this machine's word alone; 3 it cannot be read.\n"
	"\n"
	"      --vkey KEY          the verifier key that must have signed, instead of the log's "
	"own\n"
	"      --checkpoint FILE   an earlier signed checkpoint that the log must continue\n"
	"      --json              one object\n"
	"\n"
	"  agentctl log verify\n"
	"  agentctl log verify --vkey \"$(cat audit.vkey)\" --checkpoint yesterday.note "
	"/mnt/audit\n";

enum {
	OPT_JSON,
	OPT_VKEY,
	OPT_CHECKPOINT,
};

static const struct option_def options_[] = {
	[OPT_JSON] = {"json", 0, NULL},
	[OPT_VKEY] = {"vkey", 0, "KEY"},
	[OPT_CHECKPOINT] = {"checkpoint", 0, "FILE"},
};

static const char *status_word(enum audit_status status)
{
	switch (status) {
	case AUDIT_OK:
		return "ok";
	case AUDIT_TAMPERED:
		return "tampered";
	case AUDIT_UNANCHORED:
		return "unanchored";
	case AUDIT_UNREADABLE:
		return "unreadable";
	}
	return "?";
}

static void print_json(const struct audit_report *report)
{
	_cleanup_(json_decrefp) json_t *object = json_pack("{s:s, s:i, s:I, s:I, s:s, s:s, s:s}",
		"status", status_word(report->status), "exit", (int)report->status, "size",
		(json_int_t)report->size, "anchored", (json_int_t)report->anchored, "origin",
		report->origin, "root", report->root, "message", report->message);

	if (!object)
		out_of_memory();
	json_object_set_new(object, "first_bad",
		report->first_bad == UINT64_MAX ? json_null()
						: json_integer((json_int_t)report->first_bad));
	out_json(object);
}

static void print_text(const struct audit_report *report)
{
	_cleanup_(freep) char *message = out_safe(report->message);
	_cleanup_(freep) char *origin = out_safe(report->origin);

	printf("%s  %s\n", status_word(report->status), message);
	if (report->status == AUDIT_UNREADABLE)
		return;
	printf("  origin     %s\n", origin);
	printf("  records    %llu, anchored outside: %llu\n", (unsigned long long)report->size,
		(unsigned long long)report->anchored);
	if (report->first_bad != UINT64_MAX)
		printf("  first bad  %llu\n", (unsigned long long)report->first_bad);
	printf("  root       %s\n", report->root);
	if (report->status == AUDIT_UNANCHORED)
		printf("  to anchor  keep a copy of the log's file \"checkpoint\" on another "
		       "machine; what it "
		       "covers is then proved by --checkpoint\n");
}

static int verify(const char *dir, const struct audit_verify_options *options, bool json)
{
	_cleanup_(freep) struct audit_report *report = calloc(1, sizeof(*report));
	int r;

	if (!report)
		out_of_memory();
	r = audit_verify(dir, options, report);
	if (r == -ENOMEM)
		out_of_memory();
	if (json)
		print_json(report);
	else
		print_text(report);
	return r < 0 ? (int)AUDIT_UNREADABLE : r;
}

static int verb_main(const struct verb *verb, struct options *options)
{
	_cleanup_(freep) char *note = NULL;
	struct audit_verify_options verify_options = {0};
	const char *value, *file = NULL;
	bool json = false;
	struct dirs dirs;
	size_t size;
	int id, r, status;

	while ((id = options_next(options, &value)) >= 0) {
		if (id == OPT_JSON)
			json = true;
		else if (id == OPT_VKEY)
			verify_options.vkey = value;
		else
			file = value;
	}
	if (id != OPTIONS_END)
		return out_options(verb, options, id);
	if (options->n_operands > 1)
		return out_usage(verb, "takes one folder");
	if (file) {
		r = file_read(AT_FDCWD, file, NOTE_MAX, &note, &size);
		if (r < 0) {
			out_error("the checkpoint %s cannot be read: %s", file, strerror(-r));
			return AUDIT_UNREADABLE;
		}
		verify_options.checkpoint = note;
	}
	connect_dirs(&dirs);
	status = verify(options->n_operands == 1 ? options->operands[0] : dirs.audit,
		&verify_options, json);
	dirs_deinit(&dirs);
	return status;
}

const struct verb verb_log_verify = {
	.name = "log verify",
	.summary = "check the audit log",
	.help = help,
	.options = options_,
	.n_options = ARRAY_LEN(options_),
	.usage_status = 3, /* 1 and 2 are findings about a log */
	.main = verb_main,
};
