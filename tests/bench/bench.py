#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The agent-supervisor authors
"""Times real work bare, under agentctl run, and under what a user would use instead, in one run.

Each workload runs in turn under every runner (A B C, A B C, ...), so that a drift of the machine's speed hits
all of them; the table shows medians as ratios to the bare command. Peers are used where they are installed.
"""
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, os.environ.get("BUILD", "build/release"))
BIN = os.path.join(BUILD, "bin")
TOOLS = os.path.join(BUILD, "tests", "bench")
RUNS = int(os.environ.get("BENCH_RUNS", "5"))


def environment(base, runtime):
    env = {
        "HOME": os.path.join(base, "home"),
        "XDG_RUNTIME_DIR": runtime,
        "PATH": BIN + ":/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "TERM": "dumb",
    }
    os.mkdir(os.path.join(base, "home"), 0o700)
    return env


def runners(ws, policy):
    found = {
        "bare": [],
        "here": [os.path.join(BIN, "agentctl"), "run", "--no-ask", "--policy", policy, "--workspace", ws, "--"],
    }
    if shutil.which("bwrap"):
        found["bubblewrap"] = ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp",
                               "--bind", ws, ws, "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts",
                               "--die-with-parent", "--"]
    if shutil.which("firejail"):
        found["firejail"] = ["firejail", "--quiet", "--noprofile", "--keep-var-tmp", "--caps.drop=all",
                             "--nonewprivs", "--seccomp", "--"]
    if shutil.which("strace"):
        found["strace"] = ["strace", "-f", "--seccomp-bpf", "-e", "trace=openat,execve,connect", "-o", "/dev/null"]
    return found


def once(command, cwd, env, prepare):
    subprocess.run(["bash", "-c", prepare], cwd=cwd, env=env, check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    start = time.perf_counter()
    done = subprocess.run(command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE)
    took = time.perf_counter() - start
    if done.returncode != 0:
        return None, done.stderr.decode(errors="replace").strip().splitlines()[-1:]
    return took, None


def measure(name, command, found, cwd, env, prepare=":", only=None):
    times, failed = {}, {}
    for turn in range(RUNS + 1):
        for runner, prefix in found.items():
            if runner in failed or (only and runner not in only):
                continue
            took, error = once(prefix + command, cwd, env, prepare)
            if took is None:
                failed[runner] = error
            elif turn > 0:  # the first round warms up
                times.setdefault(runner, []).append(took)
    return {"name": name, "times": times, "failed": failed}


def row(result, found):
    bare = statistics.median(result["times"]["bare"])
    cells = ["%.1f ms" % (bare * 1e3)]
    for runner in found:
        if runner == "bare":
            continue
        if runner in result["times"]:
            got = statistics.median(result["times"][runner])
            cells.append("%.2f (%+.1f ms)" % (got / bare, (got - bare) * 1e3))
        else:
            cells.append("fails" if runner in result["failed"] else "-")
    return "| %s | %s |" % (result["name"], " | ".join(cells))


def listener():
    server = socket.socket()
    server.bind(("127.0.0.1", 0))
    server.listen(512)

    def accept():
        while True:
            try:
                server.accept()[0].close()
            except OSError:
                return

    threading.Thread(target=accept, daemon=True).start()
    return server.getsockname()[1]


def rss(pid):
    for line in open("/proc/%d/status" % pid):
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0


def memory(env, prefix, ws, rounds):
    """Resident MiB of the broker and the daemon after each round of 20,000 notifications."""
    script = "while read x; do %s/files 10000 || exit 1; echo done; done" % TOOLS
    session = subprocess.Popen(prefix + ["sh", "-c", script], cwd=ws, env=env, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    status = json.loads(subprocess.run([BIN + "/agentctl", "daemon", "status", "--json"], env=env, capture_output=True,
                                       text=True).stdout)
    got = []
    for _ in range(rounds):
        session.stdin.write("\n")
        session.stdin.flush()
        if not session.stdout.readline():
            break
        broker = subprocess.run(["pgrep", "-P", str(session.pid)], capture_output=True, text=True).stdout.split()
        got.append((rss(int(broker[0])), rss(status["pid"])))
    session.stdin.close()
    session.wait()
    return got


def main():
    base = tempfile.mkdtemp(prefix="agent-supervisor-bench.", dir="/var/tmp")
    # As on a real system: /run/user is a tmpfs.
    runtime = tempfile.mkdtemp(prefix="agent-supervisor-bench.", dir="/dev/shm")
    env = environment(base, runtime)
    # In memory: ext4 looks for an inode for longer the more were just freed, and a disk has other users. This is
    # the hard case for us, because the bare command waits for nothing.
    ws = tempfile.mkdtemp(prefix="agent-supervisor-bench.", dir="/dev/shm")
    policy = os.path.join(base, "bench.policy")
    with open(policy, "w") as out:
        out.write('policy "bench" lang 1 layer user\nallow connect tcp "127.0.0.1" port any\n'
                  'allow read,list "%s/**"\nallow exec "%s/**" args ...\n' % (BUILD, BUILD))
    found = runners(ws, policy)
    port = listener()
    try:
        subprocess.run(["bash", "-c", "mkdir tree && cd tree && for d in $(seq 100); do mkdir d$d; for f in $(seq 100); do "
                        "echo \"some text of file $f in folder $d\" >d$d/f$f; done; done; cd .. && mkdir repo && cd repo && "
                        "git init -q && git config user.email t@example.org && git config user.name t && for d in $(seq 15); do mkdir d$d; "
                        "for f in $(seq 97); do echo \"$d $f\" >d$d/f$f; done; done && git add . && git commit -qm all; cd .. && "
                        "mkdir c && cd c && for i in $(seq 24); do { echo '#include <stdio.h>'; echo '#include <stdlib.h>'; "
                        "for k in $(seq 60); do echo \"int f${i}_$k(int x) { printf(\\\"%d\\\\n\\\", x); return x * $k; }\"; done; } >f$i.c; done; "
                        "printf 'OBJS = $(patsubst %%.c,%%.o,$(wildcard *.c))\\nall: $(OBJS)\\n' >Makefile"],
                       cwd=ws, env=env, check=True, stdout=subprocess.DEVNULL)
        os.sync()
        subprocess.run([BIN + "/agentctl", "daemon", "start"], env=env, check=True, stdout=subprocess.DEVNULL)
        work = [
            ("start of `true`", ["true"], ":", None),
            ("`grep -r` over 10,000 files", ["bash", "-c", "! grep -r nosuchtext tree"], ":", None),
            ("`cat` of 10,000 files", ["bash", "-c", "cat tree/*/* | wc -c"], ":", None),
            ("python start with imports", ["/usr/bin/python3", "-c", "import json, ssl, asyncio, http.client, sqlite3"], ":", None),
            ("`git status` (1,455 files)", ["git", "-C", "repo", "status"], ":", None),
            ("`git clone` of 1,455 files", ["git", "clone", "-q", "--no-hardlinks", "repo", "copy"], "rm -rf copy", None),
            ("C build, make -j2, 24 files", ["make", "-s", "-C", "c", "-j2"], "rm -f c/*.o", None),
            ("10,000 file creations and unlinks", [TOOLS + "/files", "10000"], ":", None),
            ("500 execs", [TOOLS + "/execs", "500"], ":", None),
            ("1,000 connects to loopback", [TOOLS + "/connects", str(port), "1000"], ":", None),
        ]
        wanted = sys.argv[1:]
        print("| work | bare | %s |" % " | ".join(r for r in found if r != "bare"))
        print("|---" * (len(found) + 1) + "|")
        for name, command, prepare, only in work:
            if wanted and not any(w in name for w in wanted):
                continue
            result = measure(name, command, found, ws, env, prepare, only)
            if "bare" not in result["times"]:
                print("| %s | fails: %s |" % (name, result["failed"]["bare"]))
                continue
            print(row(result, found), flush=True)
            for runner, error in result["failed"].items():
                print("<!-- %s: %s -->" % (runner, error))
        got = [] if wanted and "memory" not in wanted else memory(env, found["here"], ws, int(os.environ.get("BENCH_ROUNDS", "5")))
        if got:
            print("\nResident after 20,000 notifications: broker %.1f MiB, daemon %.1f MiB; after %d: %.1f and %.1f."
                  % (*got[0], 20000 * len(got), *got[-1]))
    finally:
        subprocess.run([BIN + "/agentctl", "daemon", "stop", "--force"], env=env, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        shutil.rmtree(base, ignore_errors=True)
        shutil.rmtree(runtime, ignore_errors=True)
        shutil.rmtree(ws, ignore_errors=True)


if __name__ == "__main__":
    main()
