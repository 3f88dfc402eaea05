/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "tests/unit/sandbox/harness.h"

#include <dirent.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#define PTRACE_NAME_MAX 64

/* One session at a time, and too large for the stack. */
static struct session s;

static void assert_contains(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no \"%s\" in:\n%s", part, text);
}

static void assert_lacks(const char *text, const char *part)
{
	if (strstr(text, part))
		fail_msg("\"%s\" in:\n%s", part, text);
}

static void run(const char *script)
{
	session_init(&s, POLICY_OPEN);
	session_run(&s, shell(script));
}

static void runs_a_command_and_reports_its_status(void **state)
{
	(void)state;
	run("echo hello; exit 7");
	assert_string_equal(s.text, "hello\n");
	assert_true(WIFEXITED(s.status));
	assert_int_equal(WEXITSTATUS(s.status), 7);
	assert_true(s.n_notified > 0);
	session_deinit(&s);
}

static void reports_the_signal_that_ended_the_agent(void **state)
{
	(void)state;
	run("kill -USR1 $$");
	assert_true(WIFSIGNALED(s.status));
	assert_int_equal(WTERMSIG(s.status), SIGUSR1);
	session_deinit(&s);
}

static void reports_why_an_exec_failed(void **state)
{
	const char *const missing[] = {"no-such-program-here", NULL};
	const char *const folder[] = {"/usr", NULL};

	(void)state;
	session_init(&s, POLICY_OPEN);
	session_run(&s, missing);
	assert_int_equal(s.exec_errno, ENOENT);
	assert_int_equal(WEXITSTATUS(s.status), 127);
	session_deinit(&s);
	session_init(&s, POLICY_OPEN);
	session_run(&s, folder);
	assert_int_equal(s.exec_errno, EACCES);
	assert_int_equal(WEXITSTATUS(s.status), 126);
	session_deinit(&s);
}

static void finds_the_program_in_the_agents_path(void **state)
{
	const char *const argv[] = {"uname", "-s", NULL};

	(void)state;
	session_init(&s, POLICY_OPEN);
	session_run(&s, argv);
	assert_string_equal(s.text, "Linux\n");
	session_deinit(&s);
}

static void the_agent_has_no_capability_and_cannot_gain_one(void **state)
{
	(void)state;
	run("grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status");
	assert_string_equal(s.text,
		"CapInh:\t0000000000000000\nCapPrm:\t0000000000000000\nCapEff:\t0000000000000000\n"
		"CapBnd:\t0000000000000000\nCapAmb:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:"
		"\t2\n");
	session_deinit(&s);
}

static void only_the_session_is_seen_in_proc(void **state)
{
	(void)state;
	run("ls -d /proc/[0-9]* | wc -l; tr '\\0' ' ' </proc/1/cmdline; cat /proc/1/comm; "
	    "cat /proc/1/environ");
	/* Process 1, the shell, ls and wc. */
	assert_true(atoi(s.text) >= 3 && atoi(s.text) <= 5);
	assert_contains(s.text, "agent-init");
	assert_lacks(s.text, "PATH=");
	session_deinit(&s);
}

static void tmp_and_shm_are_private_and_writable(void **state)
{
	char path[] = "/tmp/sbx-host-XXXXXX";
	int fd = mkstemp(path);
	char script[256];

	(void)state;
	assert_true(fd >= 0);
	snprintf(script, sizeof(script),
		"ls -A /tmp /dev/shm; test -e %s && echo seen; echo a >/tmp/sbx-inside && mv "
		"/tmp/sbx-inside "
		"/tmp/sbx-moved && cat /tmp/sbx-moved; echo b >/dev/shm/sbx && cat /dev/shm/sbx; "
		"mktemp -d",
		path);
	run(script);
	assert_contains(s.text, "/dev/shm:\n\n/tmp:\na\nb\n/tmp/tmp.");
	assert_lacks(s.text, "seen");
	assert_int_equal(access("/tmp/sbx-moved", F_OK), -1);
	close(fd);
	unlink(path);
	session_deinit(&s);
}

static void the_floor_refuses_what_was_not_granted(void **state)
{
	(void)state;
	/* The answers here let everything go on: what is refused is refused by the kernel. */
	run("cat /etc/shadow; ls /home; echo x >/usr/sbx; touch /etc/sbx; mkdir /sbx; mv "
	    "/etc/hostname /etc/h; "
	    "ln /etc/passwd /tmp/p; echo x >/proc/sys/kernel/core_pattern; echo x "
	    ">/sys/power/state; cat /etc/passwd "
	    ">/dev/null && echo readable");
	assert_lacks(s.text, "root:");
	assert_contains(s.text, "readable");
	assert_int_equal(access("/usr/sbx", F_OK), -1);
	assert_int_equal(access("/etc/sbx", F_OK), -1);
	assert_int_equal(access("/sbx", F_OK), -1);
	assert_int_equal(access("/etc/hostname", F_OK), 0);
	session_deinit(&s);
}

static void devices_are_the_harmless_ones(void **state)
{
	(void)state;
	run("ls /dev; echo x >/dev/null; head -c 3 /dev/zero | wc -c; head -c 3 /dev/urandom | wc "
	    "-c; mkdir /dev/x");
	assert_contains(s.text, "fd\nfull\nnull\nptmx\npts\nrandom\nshm\nstderr\nstdin\nstdout\ntty"
				"\nurandom\nzero\n3\n3\n");
	assert_lacks(s.text, "sda");
	session_deinit(&s);
}

static void dangerous_parts_of_proc_and_sys_are_closed(void **state)
{
	(void)state;
	run("for f in kcore kallsyms keys timer_list kmsg; do test -s /proc/$f && head -c 1 "
	    "/proc/$f | wc -c; done; "
	    "grep -E ' /proc/(sys|irq|bus|fs) ' /proc/mounts | grep -vc ' ro,'; grep ' /sys ' "
	    "/proc/mounts | "
	    "grep -c ' ro,'; ls /sys/kernel/debug /sys/firmware 2>/dev/null | grep -v : | grep -c "
	    ".");
	assert_string_equal(s.text, "0\n1\n0\n");
	session_deinit(&s);
}

/* --- A workspace below /tmp
 * ------------------------------------------------------------------------ */

static void a_workspace_below_tmp_stays_visible_and_nothing_is_made_beside_it(void **state)
{
	char top[] = "/tmp/sbx-ws-XXXXXX", work[64], file[80], script[256];
	FILE *f;

	(void)state;
	assert_non_null(mkdtemp(top));
	chmod(top, 0755);
	snprintf(work, sizeof(work), "%s/work", top);
	assert_int_equal(mkdir(work, 0755), 0);
	snprintf(file, sizeof(file), "%s/note", work);
	f = fopen(file, "w");
	assert_non_null(f);
	fputs("kept\n", f);
	fclose(f);
	session_init(&s, POLICY_OPEN);
	s.spec.workspace = s.spec.cwd = work;
	snprintf(script, sizeof(script), "pwd; stat -c %%n note; ls /tmp; ls %s; touch /tmp/inside",
		top);
	session_run(&s, shell(script));
	assert_contains(s.text, work);
	assert_contains(s.text, "note\n");
	assert_contains(s.text, "work\n");
	assert_int_equal(access("/tmp/inside", F_OK), -1);
	/* A tree that holds something of the host's is not writable by the floor alone. */
	assert_false(plan_floor_covers(s.plan, PLAN_MODIFY, "/tmp/inside"));
	session_deinit(&s);
	unlink(file);
	rmdir(work);
	assert_int_equal(rmdir(top), 0);
}

/* Every name below PATH with its size, mode and times, as text owned by the caller. */
static char *tree_text(const char *path)
{
	char command[256], *text = calloc(1, 16384);
	FILE *f;

	assert_non_null(text);
	snprintf(command, sizeof(command), "find %s -printf '%%p %%s %%m %%T@ %%C@\\n' | sort",
		path);
	f = popen(command, "r");
	assert_non_null(f);
	(void)!fread(text, 1, 16383, f);
	pclose(f);
	return text;
}

static void write_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void remove_tree(const char *path)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", path);
	assert_int_equal(system(command), 0);
}

static void the_hosts_tree_stays_as_it_is_and_our_folders_are_out_of_sight(void **state)
{
	char home[] = "/tmp/sbx-home-XXXXXX", path[128], mark[128], *before, *during, *after;

	(void)state;
	assert_non_null(mkdtemp(home));
	for (const char *const *name =
			(const char *const[]){".config", ".config/agent-supervisor", "ws", NULL};
		*name; name++) {
		snprintf(path, sizeof(path), "%s/%s", home, *name);
		assert_int_equal(mkdir(path, 0700), 0);
	}
	snprintf(path, sizeof(path), "%s/.config/agent-supervisor/policy", home);
	write_text(path, "secret\n");
	unsetenv("XDG_CONFIG_HOME");
	setenv("HOME", home, 1);
	session_init(&s, POLICY_OPEN);
	snprintf(mark, sizeof(mark), "HOME=%s", home);
	s.env[1] = mark;
	snprintf(path, sizeof(path), "%s/ws", home);
	s.spec.workspace = s.spec.cwd = path;
	session_command(
		&s, shell("cat $HOME/.config/agent-supervisor/policy; ls -A "
			  "$HOME/.config/agent-supervisor | wc -l; "
			  "touch $HOME/.config/agent-supervisor/x; echo on; read x </dev/zero"));
	before = tree_text(home);
	assert_int_equal(session_start(&s), 0);
	assert_int_equal(launch_go(&s.launch), 0);
	while (!strstr(s.text, "on\n") && session_step(&s, SESSION_TIMEOUT_MSEC))
		;
	during = tree_text(home);
	launch_end(&s.launch);
	after = tree_text(home);
	assert_string_equal(before, during);
	assert_string_equal(before, after);
	assert_lacks(s.text, "secret");
	assert_contains(s.text, "0\n");
	free(before);
	free(during);
	free(after);
	session_deinit(&s);
	remove_tree(home);
}

/* --- The caller's side
 * ------------------------------------------------------------------------------ */

static void the_caller_reaches_the_agent_without_any_capability(void **state)
{
	pid_t helper;
	int status;

	(void)state;
	session_init(&s, POLICY_OPEN);
	session_command(&s, shell("exec sleep 1000"));
	helper = fork();
	if (helper == 0) {
		char path[PTRACE_NAME_MAX], byte;
		struct iovec local = {&byte, 1}, remote = {(void *)(uintptr_t)&s, 1};
		int pidfd;

		/* A process of its own, because what is dropped is gone for good. */
		if (session_start(&s) != 0 || launch_drop_caps() != 0)
			_exit(10);
		if (process_vm_readv(s.launch.agent_pid, &local, 1, &remote, 1, 0) != 1)
			_exit(11);
		if (launch_go(&s.launch) != 0)
			_exit(12);
		while (s.n_notified < 4 && session_step(&s, SESSION_TIMEOUT_MSEC))
			;
		/* After its exec the agent belongs to the session's user namespace alone. */
		snprintf(path, sizeof(path), "/proc/%d/root", s.launch.agent_pid);
		if (open(path, O_PATH | O_CLOEXEC) < 0)
			_exit(13);
		pidfd = (int)syscall(SYS_pidfd_open, s.launch.agent_pid, 0);
		if (syscall(SYS_pidfd_getfd, pidfd, 1, 0) < 0)
			_exit(14);
		if (ptrace(PTRACE_SEIZE, s.launch.agent_pid, NULL, NULL) < 0)
			_exit(15);
		launch_end(&s.launch);
		_exit(0);
	}
	assert_int_equal(waitpid(helper, &status, 0), helper);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	session_deinit(&s);
}

/* Is there a process whose command line holds TEXT? */
static bool process_exists(const char *text)
{
	DIR *dir = opendir("/proc");
	bool found = false;

	for (struct dirent *entry; dir && (entry = readdir(dir)) && !found;) {
		char path[300], line[512];
		FILE *f;
		size_t n;

		if (entry->d_name[0] < '0' || entry->d_name[0] > '9')
			continue;
		snprintf(path, sizeof(path), "/proc/%s/cmdline", entry->d_name);
		f = fopen(path, "r");
		if (!f)
			continue;
		n = fread(line, 1, sizeof(line) - 1, f);
		fclose(f);
		line[n] = '\0';
		found = memmem(line, n, text, strlen(text)) != NULL;
	}
	if (dir)
		closedir(dir);
	return found;
}

static bool gone_within(const char *text, int rounds)
{
	for (; rounds > 0 && process_exists(text); rounds--)
		poll(NULL, 0, 10);
	return rounds > 0;
}

/* Starts a session in a process of its own, kills that, and expects the session to be gone. */
static void kill_the_broker(bool reduced, const char *mark)
{
	int pipes[2], status;
	char script[128], byte;
	pid_t broker;

	session_init(&s, POLICY_OPEN);
	s.spec.reduced_userns = s.spec.force_no_userns = reduced;
	snprintf(script, sizeof(script), "(setsid sleep %s & sleep %s &) ; echo on; exec sleep %s",
		mark, mark, mark);
	session_command(&s, shell(script));
	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	broker = fork();
	if (broker == 0) {
		close(pipes[0]);
		if (session_start(&s) != 0 || launch_go(&s.launch) != 0)
			_exit(1);
		while (!strstr(s.text, "on") && session_step(&s, SESSION_TIMEOUT_MSEC))
			;
		(void)!write(pipes[1], "x", 1);
		while (session_step(&s, SESSION_TIMEOUT_MSEC))
			;
		_exit(0);
	}
	close(pipes[1]);
	assert_int_equal(read(pipes[0], &byte, 1), 1);
	close(pipes[0]);
	assert_true(process_exists(mark));
	kill(broker, SIGKILL);
	waitpid(broker, &status, 0);
	assert_true(gone_within(mark, 300));
	session_deinit(&s);
}

static void a_session_dies_with_its_broker(void **state)
{
	(void)state;
	kill_the_broker(false, "31415.9265");
}

static void a_session_without_namespaces_dies_with_its_broker_too(void **state)
{
	(void)state;
	kill_the_broker(true, "27182.8182");
}

static void background_processes_end_with_the_agent(void **state)
{
	(void)state;
	run("(setsid sleep 16180.339 &); echo done");
	assert_string_equal(s.text, "done\n");
	assert_true(gone_within("16180.339", 300));
	session_deinit(&s);
}

static void a_failing_step_is_named(void **state)
{
	(void)state;
	session_init(&s, POLICY_OPEN);
	s.spec.cwd = (char *)(uintptr_t) "/no/such/folder";
	session_command(&s, shell("true"));
	assert_int_equal(session_start(&s), -ENOENT);
	assert_non_null(s.message);
	assert_contains(s.message, "entering /no/such/folder");
	assert_int_equal(s.launch.init_pid, 0);
	session_deinit(&s);
}

static void a_folder_as_standard_input_is_refused(void **state)
{
	int saved = fcntl(0, F_DUPFD_CLOEXEC, 10),
	    folder = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	session_init(&s, POLICY_OPEN);
	session_command(&s, shell("true"));
	session_plan(&s);
	dup2(folder, 0);
	assert_int_equal(launch_start(s.plan, &s.spec, &s.launch, &s.message), -EISDIR);
	dup2(saved, 0);
	close(saved);
	close(folder);
	session_deinit(&s);
}

static void inherited_descriptors_are_closed(void **state)
{
	int extra = open("/", O_RDONLY | O_DIRECTORY);

	(void)state;
	assert_true(extra >= 0);
	run("ls /proc/self/fd");
	/* 3 is the folder that ls itself reads. */
	assert_string_equal(s.text, "0\n1\n2\n3\n");
	close(extra);
	session_deinit(&s);
}

/* --- A terminal
 * ------------------------------------------------------------------------------------- */

/* The session takes its terminals from 0-2; the test gives it those of a pair of its own. */
static void run_on_terminal(const char *script)
{
	int outer = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), slave, saved[3], r;

	assert_true(outer >= 0 && grantpt(outer) == 0 && unlockpt(outer) == 0);
	slave = open(ptsname(outer), O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_true(slave >= 0);
	session_init(&s, POLICY_OPEN);
	s.spec.pty = true;
	s.spec.rows = 33;
	s.spec.cols = 101;
	session_command(&s, shell(script));
	session_plan(&s);
	for (int fd = 0; fd < 3; fd++) {
		saved[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 10);
		dup2(slave, fd);
	}
	r = launch_start(s.plan, &s.spec, &s.launch, &s.message);
	for (int fd = 0; fd < 3; fd++) {
		dup2(saved[fd], fd);
		close(saved[fd]);
	}
	close(slave);
	close(outer);
	if (r != 0)
		fail_msg("%s", s.message);
	assert_true(s.launch.pty_fd >= 0);
	assert_int_equal(launch_go(&s.launch), 0);
}

static void the_terminal_is_the_sessions_own(void **state)
{
	(void)state;
	run_on_terminal("tty; stty size; ls -1 /dev/pts; echo x >/dev/tty; ps -o "
			"pid,sid,pgid,tpgid,comm -p $$; ulimit -c");
	session_finish(&s);
	assert_contains(s.text, "/dev/pts/0\r\n33 101\r\n0\r\nptmx\r\nx\r\n");
	assert_contains(s.text, "2       1       2       2 sh");
	session_deinit(&s);
}

static void the_last_output_on_a_terminal_is_not_lost(void **state)
{
	(void)state;
	/* More than the line discipline holds, and the agent ends at once. */
	run_on_terminal("seq 1 2500");
	while (!s.ended && session_step(&s, SESSION_TIMEOUT_MSEC))
		;
	session_drain(&s);
	assert_contains(s.text, "\n2500\r\n");
	session_deinit(&s);
}

static void a_stopped_agent_is_reported_and_goes_on(void **state)
{
	const struct init_message go_on = {.kind = INIT_CONTINUE};

	(void)state;
	run_on_terminal("kill -TSTP $$; echo resumed");
	while (s.stop_signal == 0 && session_step(&s, SESSION_TIMEOUT_MSEC))
		;
	assert_int_equal(s.stop_signal, SIGTSTP);
	assert_int_equal(write(s.launch.init_sock, &go_on, sizeof(go_on)), sizeof(go_on));
	session_finish(&s);
	assert_contains(s.text, "resumed");
	session_deinit(&s);
}

static void signals_reach_the_foreground_group(void **state)
{
	const struct init_message interrupt = {.kind = INIT_SIGNAL, .value = SIGINT};

	(void)state;
	run_on_terminal("trap 'echo caught; exit 3' INT; echo ready; while :; do sleep 0.02; done");
	while (!strstr(s.text, "ready") && session_step(&s, SESSION_TIMEOUT_MSEC))
		;
	assert_int_equal(
		write(s.launch.init_sock, &interrupt, sizeof(interrupt)), sizeof(interrupt));
	session_finish(&s);
	assert_contains(s.text, "caught");
	assert_int_equal(WEXITSTATUS(s.status), 3);
	session_deinit(&s);
}

/* --- Without user namespaces
 * -------------------------------------------------------------------------- */

static void without_namespaces_the_floor_and_the_filter_still_hold(void **state)
{
	char path[128] = "";

	(void)state;
	session_init(&s, POLICY_OPEN);
	s.spec.reduced_userns = s.spec.force_no_userns = true;
	session_run(&s, shell("cat /etc/shadow; echo x >/usr/sbx; echo $TMPDIR; echo y >$TMPDIR/f "
			      "&& cat $TMPDIR/f; grep "
			      "^CapEff /proc/self/status; kill -0 $PPID && echo signalled; echo x "
			      ">/tmp/sbx-shared"));
	assert_lacks(s.text, "root:");
	assert_contains(s.text, "/tmp/agent-supervisor-session-");
	assert_contains(s.text, "\ny\nCapEff:\t0000000000000000\n");
	assert_lacks(s.text, "signalled");
	assert_int_equal(access("/tmp/sbx-shared", F_OK), -1);
	snprintf(path, sizeof(path), "%s", s.launch.tmp_dir);
	launch_end(&s.launch);
	assert_int_equal(access(path, F_OK), -1);
	session_deinit(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_a_command_and_reports_its_status),
		cmocka_unit_test(reports_the_signal_that_ended_the_agent),
		cmocka_unit_test(reports_why_an_exec_failed),
		cmocka_unit_test(finds_the_program_in_the_agents_path),
		cmocka_unit_test(the_agent_has_no_capability_and_cannot_gain_one),
		cmocka_unit_test(only_the_session_is_seen_in_proc),
		cmocka_unit_test(tmp_and_shm_are_private_and_writable),
		cmocka_unit_test(the_floor_refuses_what_was_not_granted),
		cmocka_unit_test(devices_are_the_harmless_ones),
		cmocka_unit_test(dangerous_parts_of_proc_and_sys_are_closed),
		cmocka_unit_test(a_workspace_below_tmp_stays_visible_and_nothing_is_made_beside_it),
		cmocka_unit_test(the_hosts_tree_stays_as_it_is_and_our_folders_are_out_of_sight),
		cmocka_unit_test(the_caller_reaches_the_agent_without_any_capability),
		cmocka_unit_test(a_session_dies_with_its_broker),
		cmocka_unit_test(a_session_without_namespaces_dies_with_its_broker_too),
		cmocka_unit_test(background_processes_end_with_the_agent),
		cmocka_unit_test(a_failing_step_is_named),
		cmocka_unit_test(a_folder_as_standard_input_is_refused),
		cmocka_unit_test(inherited_descriptors_are_closed),
		cmocka_unit_test(the_terminal_is_the_sessions_own),
		cmocka_unit_test(the_last_output_on_a_terminal_is_not_lost),
		cmocka_unit_test(a_stopped_agent_is_reported_and_goes_on),
		cmocka_unit_test(signals_reach_the_foreground_group),
		cmocka_unit_test(without_namespaces_the_floor_and_the_filter_still_hold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
