#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The agent-supervisor authors
#
# Faults that users of comparable tools reported: signals and notifications, missing features, approvals. The
# letters are groups of kinds: E terminals, F signals and runtimes, J restricted hosts, K approvals.
. "$(dirname "$0")/../lib/e2e.sh"

# E: the terminal belongs to whoever had it
is 'E2 a script goes on after a supervised shell' "$(printf 'agentctl run -- bash -c exit </dev/null\nread x\necho got $x\n' >t.sh; echo line | bash t.sh)" 'got line'

# F: signals, runtimes, notification mechanics
failed=0
for _ in $(seq 60); do
    out=$(run -- dash -c 'seq 9 | tr 1-9 a-i | wc -c' </dev/null) || failed=$((failed + 1))
    [ "$out" = 18 ] || failed=$((failed + 1))
done
is 'F1 60 shell pipelines, none hangs or fails' "$failed" 0
cat >signals.py <<'P'
import os, signal, threading, time
signal.signal(signal.SIGALRM, lambda *a: None)
signal.siginterrupt(signal.SIGALRM, False)  # as Go and most runtimes do: SA_RESTART
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
for i in range(2000):
    name = "s%d" % (i % 5)
    with open(name, "w") as f: f.write(str(i))
    os.rename(name, name + "x")
    with open(name + "x") as f: assert f.read() == str(i)
    os.mkdir("d"); os.rmdir("d")
    os.unlink(name + "x")
signal.setitimer(signal.ITIMER_REAL, 0)
print("intact")
P
is 'F1 a signal each millisecond changes no result' "$(run -- /usr/bin/python3 signals.py </dev/null 2>&1)" intact
stuck=0
for _ in $(seq 60); do
    run -- true </dev/null || stuck=$((stuck + 1))
done
is 'F4 60 short commands all return' "$stuck" 0
is 'F4 a shell that exits returns its status' "$(run -- bash -c 'exit 3' </dev/null; echo $?)" 3
if command -v node >/dev/null; then
    is 'F6 node starts without io_uring' "$(run --no-ask -- node -e 'console.log(1)' </dev/null 2>&1)" 1
fi

# J: what the host lacks
like 'J4 doctor probes by calls' "$(agentctl doctor)" '[Ll]andlock'
check 'doctor has JSON' sh -c 'agentctl doctor --json | python3 -m json.tool'
out=$(PATH=/nonexistent "$BIN/agentctl" run -- /bin/true </dev/null 2>&1)
is 'J2 helpers are not searched in PATH' "$?" 0
mkdir "$E2E/alone" && cp "$BIN/agentctl" "$E2E/alone/"
out=$("$E2E/alone/agentctl" run -- touch ran </dev/null 2>&1)
is 'J2 without its broker nothing runs' "$?:$(ls ran 2>/dev/null)" 125:

# K: approvals
echo secret >"$HOME/secret"
for i in $(seq 20); do echo "$i" >"$HOME/secret$i"; done
field() {
    agentctl pending --json | python3 -c 'import json,sys; print(json.load(sys.stdin)[0][sys.argv[1]])' "$1"
}

run -- cat "$HOME/secret" >"$E2E/out" 2>&1 </dev/null &
pid=$!
wait_for has_pending
# Closing every surface, or typing nonsense into one, decides nothing.
printf 'y\n1\n\n \nyes\na\n' | agentctl approve >"$E2E/approve" 2>&1
check 'K1 stray input decides nothing' has_pending
agentctl approve </dev/null >/dev/null 2>&1
check 'K1 end of input decides nothing' has_pending
id=$(pending_id)
is 'K26 an ambiguous or foreign id is refused' "$(agentctl allow zzzz >/dev/null 2>&1; echo $?)" 1
like 'K26 three letters of an id allow nothing' "$(agentctl allow "${id:0:3}" 2>&1)" 'at least 4 letters'
check 'K26 the request still waits' has_pending
check 'K26 four letters of an id are enough' agentctl allow "${id:0:4}"
second=$(agentctl deny "$id" 2>&1 >/dev/null)
wait "$pid"
like 'K13 a second answer is refused' "$second" 'already|no pending|closed'
is 'K13 and changes nothing' "$(cat "$E2E/out")" secret

pids=()
for i in $(seq 20); do
    run -- cat "$HOME/secret$i" >"$E2E/out$i" 2>/dev/null </dev/null &
    pids+=($!)
done
check 'K13 20 sessions wait at once' wait_for has_pending 19
for id in $(agentctl pending --json | python3 -c 'import json,sys,random; a=[x["id"] for x in json.load(sys.stdin)]; random.Random(7).shuffle(a); print(*a)'); do
    agentctl allow "$id" >/dev/null &
done
wait "${pids[@]}"
wait
is 'K13 and each gets its own answer' "$(for i in $(seq 20); do cat "$E2E/out$i"; done | tr '\n' ' ')" "$(seq -s ' ' 20) "

setsid agentctl run --workspace "$WS" -- cat "$HOME/secret" </dev/null >"$E2E/out" 2>&1 &
pid=$!
check 'K7 without a terminal the request is still seen' wait_for has_pending
agentctl deny "$(pending_id)" >/dev/null
wait "$pid"
is 'K7 and its denial ends the wait' $? 1
is 'K8 a missing terminal does not change the status' "$(setsid agentctl run --no-ask -- sh -c 'cat ~/secret 2>/dev/null; exit 0' </dev/null; echo $?)" 0

run -- sh -c "agentctl allow --help >/dev/null; for i in 1 2 3; do agentctl allow $(printf a) ; agentctl pending; done; cat ~/secret" >"$E2E/out" 2>&1 </dev/null &
pid=$!
wait_for has_pending
check 'K14 from inside nothing is decided' has_pending
agentctl deny "$(pending_id)" >/dev/null
wait "$pid"
is 'K14 and nothing is seen' "$(grep -c secret: "$E2E/out"; grep -c '"real_path"' "$E2E/out")" "1
0"

echo cat >"$(printf '%s/e\033[2Kvil\nname' "$HOME")"
run -- cat "$(printf '%s/e\033[2Kvil\nname' "$HOME")" >"$E2E/out" 2>&1 </dev/null &
pid=$!
wait_for has_pending
is 'K4 no raw escape or newline of a name reaches the terminal' "$(agentctl pending | LC_ALL=C grep -ac "$(printf '\033')"; agentctl pending --json | python3 -c 'import json,sys; print("\x1b" in json.load(sys.stdin)[0]["object"])')" "0
False"
agentctl allow "$(pending_id)" >/dev/null
wait "$pid"
is 'K4 and the exact file is opened' "$(cat "$E2E/out")" cat
is 'K10 a time-out stores no rule' "$(printf 'policy "t" lang 1 layer user\nask read "~/secret1" offer once timeout 1s\n' >"$E2E/t.policy"; run --policy "$E2E/t.policy" -- sh -c 'cat ~/secret1' >/dev/null 2>&1 </dev/null; ls "$HOME/.config/agent-supervisor/grants.policy" 2>/dev/null)" ''
log_ok 'the log verifies'
