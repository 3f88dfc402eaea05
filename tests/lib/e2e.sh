# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The agent-supervisor authors
#
# Sourced by scripts that try the real programs. Each script gets a home, XDG folders, a workspace and a daemon
# of its own below /var/tmp (sessions have a private /tmp), and leaves nothing behind. Prints TAP lines.
#
#   check TEXT COMMAND...       ok when COMMAND succeeds
#   is TEXT GOT WANTED          ok when the two strings are equal
#   like TEXT GOT PATTERN       ok when GOT matches the extended regular expression
#   skip TEXT REASON
#   wait_for COMMAND...         polls until COMMAND succeeds; fails after a bounded number of polls
#   same TEXT SETUP COMMAND     runs the shell text COMMAND bare and supervised, each in a fresh workspace that
#                               the shell text SETUP made; ok when output, status and files are equal
#   run ARGS...                 agentctl run --workspace "$WS" ARGS...
#   pending_id N                the id of pending request N (from 0), "" when there is none
#   log_ok TEXT                 ok when the log verifies (0, or 2: not anchored outside)

set -u
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
BUILD=${BUILD:-build/release}
case $BUILD in /*) ;; *) BUILD=$ROOT/$BUILD ;; esac
E2E=$(mktemp -d /var/tmp/agent-supervisor-test.XXXXXX)
chmod 700 "$E2E"
# Sessions have a /tmp of their own: what runs inside must lie elsewhere.
case $BUILD in
/tmp/* | /dev/shm/*)
    mkdir "$E2E/build"
    cp -r "$BUILD/bin" "$BUILD/lib" "$BUILD/tests" "$E2E/build/"
    BUILD=$E2E/build
    ;;
esac
export BUILD
BIN=$BUILD/bin
export TOOLS=$BUILD/tests
PATH=$BIN:/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin
export PATH LC_ALL=C.UTF-8 TZ=UTC
unset BASH_ENV ENV LD_PRELOAD AGENT_SUPERVISOR_SESSION DBUS_SESSION_BUS_ADDRESS XDG_STATE_HOME XDG_CONFIG_HOME \
    XDG_DATA_HOME XDG_CACHE_HOME TMPDIR MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES

echo "# files: $E2E"
export HOME=$E2E/home XDG_RUNTIME_DIR=$E2E/run
WS=$E2E/ws
mkdir -m 700 "$HOME" "$XDG_RUNTIME_DIR"
mkdir "$WS"
cd "$WS" || exit 1
git config --global user.name Test
git config --global user.email test@example.org
git config --global init.defaultBranch main

e2e_n=0 e2e_failed=0
# Processes that the script started in the background, ended at exit by pid.
e2e_pids=()

e2e_exit() {
    local status=$?
    for pid in "${e2e_pids[@]:-}"; do
        # A function in the background is a shell with the program below it.
        # shellcheck disable=SC2046
        [ -n "$pid" ] && kill "$pid" $(pgrep -P "$pid") 2>/dev/null
    done
    for id in $(agentctl ps --json 2>/dev/null | python3 -c 'import json,sys; print(*[s["id"] for s in json.load(sys.stdin)])' 2>/dev/null); do
        agentctl stop "$id" >/dev/null 2>&1
    done
    agentctl daemon stop --force >/dev/null 2>&1
    cd / && rm -rf "$E2E"
    [ "$status" -eq 0 ] && status=$e2e_failed
    [ "$e2e_n" -gt 0 ] && echo "1..$e2e_n"
    exit "$status"
}
trap e2e_exit EXIT
trap 'exit 143' HUP INT TERM

ok() {
    e2e_n=$((e2e_n + 1))
    echo "ok $e2e_n - $1"
}
not_ok() {
    e2e_n=$((e2e_n + 1))
    e2e_failed=1
    echo "not ok $e2e_n - $1"
    shift
    [ $# -eq 0 ] || printf '%s\n' "$@" | sed 's/^/#   /'
}
skip() {
    e2e_n=$((e2e_n + 1))
    echo "ok $e2e_n - $1 # SKIP $2"
}
check() {
    local text=$1 out
    shift
    if out=$("$@" 2>&1); then ok "$text"; else not_ok "$text" "$* failed:" "$out"; fi
}
is() {
    if [ "$2" = "$3" ]; then ok "$1"; else not_ok "$1" "got:    $2" "wanted: $3"; fi
}
like() {
    if printf '%s\n' "$2" | grep -qaE -- "$3"; then ok "$1"; else not_ok "$1" "got: $2" "wanted: $3"; fi
}
wait_for() {
    local i
    for ((i = 0; i < 600; i++)); do
        "$@" >/dev/null 2>&1 && return 0
        read -rt 0.05 <> <(:) || :
    done
    return 1
}
# A policy that lets a session run the programs under test themselves.
tools_policy() {
    printf 'policy "tools" lang 1 layer user\nallow read,list "%s/**"\nallow exec "%s/**" args ...\n' "$BUILD" "$BUILD" >"$E2E/tools.policy"
    echo "$E2E/tools.policy"
}
run() {
    agentctl run --workspace "$WS" "$@"
}
pending_id() {
    agentctl pending --json 2>/dev/null |
        python3 -c 'import json,sys; a=json.load(sys.stdin); i=int(sys.argv[1]); print(a[i]["id"] if i < len(a) else "")' "${1:-0}"
}
has_pending() {
    [ -n "$(pending_id "${1:-0}")" ]
}
no_pending() {
    [ -z "$(pending_id 0)" ]
}
log_ok() {
    local status out
    out=$(agentctl log verify 2>&1)
    status=$?
    if [ $status -eq 0 ] || [ $status -eq 2 ]; then ok "$1"; else not_ok "$1" "log verify: $status" "$out"; fi
}
# What a run left in the workspace: names, modes, contents (but for git indexes, which hold times).
e2e_tree() {
    (cd "$WS" && find . -type f -path '*/.git/index' -printf '%P %m\n' -o -type f -printf '%P %m ' -exec sha256sum {} \; -o \
        ! -type f -printf '%P %m %y %l\n' | sed "s/  .*//" | LC_ALL=C sort)
}
e2e_once() { # where the output goes, SETUP, COMMAND, prefix command...
    local to=$1 setup=$2 command=$3
    shift 3
    cd "$E2E" && chmod -R u+rwX "$WS" && rm -rf "$WS" && mkdir "$WS" && cd "$WS" || return 1
    bash -c "$setup" >/dev/null 2>&1
    "$@" bash -c "$command" >"$to.out" 2>"$to.err" </dev/null
    echo "status $?" >>"$to.out"
    e2e_tree >"$to.tree"
}
same() {
    local text=$1 diff
    e2e_once "$E2E/bare" "$2" "$3"
    e2e_once "$E2E/super" "$2" "$3" agentctl run --no-ask --workspace "$WS" --
    diff=$(for f in out err tree; do diff "$E2E/bare.$f" "$E2E/super.$f" | head -n 20 | sed "s/^/$f: /"; done)
    if [ -z "$diff" ]; then ok "$text"; else not_ok "$text" "$diff"; fi
}
