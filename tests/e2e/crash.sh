#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The agent-supervisor authors
#
# kill -9 of the broker and of the daemon: closed, recorded, recoverable.
. "$(dirname "$0")/../lib/e2e.sh"

echo secret >"$HOME/notes.txt"
child_named() { # parent pid, name (the kernel keeps 15 characters)
    pgrep -P "$1" -x "$2" | head -n 1
}

agentctl run --workspace "$WS" -- sh -c 'echo up >up; cat ~/notes.txt; echo later >later; exec sleep 1000' >"$E2E/out" 2>"$E2E/err" </dev/null &
pid=$!
e2e_pids+=("$pid")
wait_for has_pending
broker=$(child_named "$pid" agent-broker)
init=$(pgrep -P "$broker" | head -n 1)
agent=$(pgrep -P "$init" | head -n 1)
check 'broker, init and agent run' test -n "$broker" -a -n "$init" -a -n "$agent"
kill -9 "$broker"
wait "$pid"
is 'without its broker the session ends with 125' $? 125
like 'and agentctl says why' "$(cat "$E2E/err")" 'broker'
check 'the agent is gone' wait_for sh -c "! kill -0 $agent 2>/dev/null"
is 'nothing was let through' "$(cat "$E2E/out")$(ls later 2>/dev/null)" ''
check 'the daemon goes on' agentctl daemon status
check 'and withdraws the request' wait_for no_pending
log_ok 'the log verifies after the death of a broker'

agentctl run --workspace "$WS" -- sh -c 'echo one >one; while [ ! -e go ]; do :; done; echo two >two; cat ~/notes.txt; echo "cat: $?" >status; cat ~/.ssh/id; echo x >.git; while [ ! -e end ]; do :; done' \
    >"$E2E/out" 2>"$E2E/err" </dev/null &
pid=$!
e2e_pids+=("$pid")
mkdir -p "$HOME/.ssh" && echo key >"$HOME/.ssh/id"
wait_for test -s one
daemon=$(agentctl daemon status --json | python3 -c 'import json,sys; print(json.load(sys.stdin)["pid"])')
kill -9 "$daemon"
touch go
check 'without the daemon rules go on being enforced: a write that is allowed' wait_for test -s two
check 'an ask is denied' wait_for test -s status
is 'with an error' "$(cat status)" 'cat: 1'
wait_for grep -q 'id: Permission denied' "$E2E/err"
is 'a denial stays a denial' "$(grep -c 'id: Permission denied' "$E2E/err")" 1
check 'the daemon starts again' agentctl daemon start
check 'the session is there again' wait_for sh -c 'agentctl ps --json | grep -q "\"id\""'
touch end
wait "$pid"
is 'the session ends as it would' $? 0
check 'its end is on record' wait_for sh -c 'agentctl log show --json | grep -q "\"session.end\""'
like 'and what happened meanwhile' "$(agentctl log show --json)" 'replayed'
log_ok 'the log verifies after the death of the daemon'

is 'a supervisor that cannot start runs nothing' "$(mkdir -m 700 "$E2E/run2"; XDG_RUNTIME_DIR=$E2E/run2 XDG_STATE_HOME=/proc/nowhere agentctl run -- touch never 2>/dev/null; echo $?; ls never 2>/dev/null)" 125
agentctl daemon stop >/dev/null
check 'the daemon stops cleanly' wait_for sh -c '! agentctl daemon status'
is 'and is started on demand' "$(run -- echo again </dev/null)" again
log_ok 'the log verifies at the end'
