#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The agent-supervisor authors
#
# While requests wait for a person, for a FIFO or for the network, everything else goes through.
. "$(dirname "$0")/../lib/e2e.sh"

echo secret >"$HOME/waits.txt"
for i in $(seq 40); do echo "$i" >"$HOME/many$i.txt"; done

run -- sh -c 'cat ~/waits.txt & i=0; while [ $i -lt 1000 ]; do echo $i >f$((i % 10)); i=$((i + 1)); done; echo thousand >done; wait' \
    >"$E2E/out" 2>&1 </dev/null &
pid=$!
e2e_pids+=("$pid")
wait_for has_pending
check '1,000 operations of the same session go through meanwhile' wait_for test -s "done"
check 'and the request still waits' has_pending
is 'another session goes through too' "$(run -- sh -c 'echo x >g; cat g' </dev/null)" x
agentctl allow "$(pending_id)" >/dev/null
wait "$pid"
is 'then the waiting one is answered' "$(grep -c secret "$E2E/out")" 1

cat >threads.py <<'P'
import os, threading
def wait():
    try: open(os.path.expanduser("~/waits.txt")).read()
    except OSError: pass
t = threading.Thread(target=wait)
t.start()
for i in range(1000):
    with open("h%d" % (i % 7), "w") as f: f.write("x")
open("done2", "w").write("y")
t.join()
P
run -- /usr/bin/python3 threads.py >"$E2E/out2" 2>&1 </dev/null &
pid=$!
e2e_pids+=("$pid")
wait_for has_pending
check '1,000 operations of other threads of the same process go through' wait_for test -s done2
agentctl deny "$(pending_id)" >/dev/null
wait "$pid"
is 'the process ends well' $? 0

# Appending: cat copies within the kernel otherwise, and of two that do so to one open file one may be lost.
run -- sh -c 'for i in $(seq 40); do cat ~/many$i.txt & done; wait' >>"$E2E/out3" 2>/dev/null </dev/null &
pid=$!
e2e_pids+=("$pid")
check '40 requests wait at once' wait_for has_pending 39
is 'and the 41st process still writes' "$(run -- sh -c 'echo x >k; cat k' </dev/null)" x
for id in $(agentctl pending --json | python3 -c 'import json,sys,random; a=[x["id"] for x in json.load(sys.stdin)]; random.Random(1).shuffle(a); print(*a)'); do
    agentctl allow "$id" >/dev/null
done
wait "$pid"
is 'each gets its own answer' "$(sort -n "$E2E/out3" | tr '\n' ' ')" "$(seq -s ' ' 40) "

run -- sh -c 'mkfifo p; cat p & echo x >m; cat m >done3; echo hello >p; wait' >"$E2E/out4" 2>&1 </dev/null
is 'a FIFO without a writer blocks nobody' "$(cat "$E2E/out4")" hello

run -- sh -c 'cat ~/waits.txt & until [ -e seen ]; do :; done; kill -9 $!; wait; echo killed >done4; cat' >/dev/null 2>&1 < <(wait_for no_pending) &
pid=$!
e2e_pids+=("$pid")
wait_for has_pending
: >seen
wait_for test -s done4
check 'a killed requester withdraws its request' wait_for no_pending
wait "$pid"
log_ok 'the log verifies'
is 'the withdrawal is on record' "$(agentctl log show --json | grep -c '"ask.withdrawn"')" 1
