#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The agent-supervisor authors
#
# A request waits, is seen, is answered from another terminal; deny and time-out refuse; why explains.
. "$(dirname "$0")/../lib/e2e.sh"

echo 'remember the milk' >"$HOME/notes.txt"

# Starts a supervised command in the background; its output goes to $E2E/out.
ask_start() {
    rm -f "$E2E/out"
    run "$@" >"$E2E/out" 2>"$E2E/err" </dev/null &
    ask_pid=$!
    e2e_pids+=("$ask_pid")
}
# Waits for it; its exit status is in $status.
ask_wait() {
    wait "$ask_pid"
    status=$?
}
field() { # key of the first pending request
    agentctl pending --json | python3 -c 'import json,sys; print(json.load(sys.stdin)[0][sys.argv[1]])' "$1"
}

ask_start -- cat "$HOME/notes.txt"
check 'a read below the home asks' wait_for has_pending
is 'the request names the operation' "$(field op)" read
is 'and the real path' "$(field real_path)" "$HOME/notes.txt"
like 'and the program' "$(field program)" '/cat$'
like 'and argv' "$(field argv)" "cat.*notes.txt"
is 'and the folder' "$(field cwd)" "$WS"
like 'and the rule' "$(field rule)" 'core.*:[0-9]+'
like 'and the pid' "$(field pid)" '^[0-9]+$'
for key in id session object layer reason deadline durations scopes fingerprint count; do
    check "and has $key" field $key
done
check 'the list for people shows it' sh -c 'agentctl pending | grep -q notes.txt'
check 'allow' agentctl allow "$(pending_id)"
ask_wait
is 'the same cat prints it' "$status:$(cat "$E2E/out")" '0:remember the milk'
check 'nothing is pending any more' no_pending

ask_start -- cat "$HOME/notes.txt"
wait_for has_pending
check 'deny' agentctl deny "$(pending_id)" --note 'not today'
ask_wait
is 'deny gives EACCES' "$status" 1
like 'and cat says so' "$(cat "$E2E/err")" 'Permission denied'
why=$(agentctl why)
like 'why names the object' "$why" 'notes.txt'
like 'and the rule' "$why" 'core.*:[0-9]+'
like 'and what would change it' "$why" 'allow read'
like 'and the note' "$why" 'note +not today'

cat >"$E2E/short.policy" <<'P'
policy "short" lang 1 layer user
ask read "~/short.txt" offer once timeout 1s
ask write "$PROJECT/asked.txt" offer once,session
ask rename "$PROJECT/onto.txt" offer once
ask create "$PROJECT/onto.txt" offer once
ask exec "/usr/bin/git" args "push" ... offer once
P
echo s >"$HOME/short.txt"
is 'a time-out gives EACCES' "$(run --policy "$E2E/short.policy" -- cat "$HOME/short.txt" 2>&1 </dev/null | grep -c 'Permission denied')" 1
is 'and is on record' "$(agentctl log show --json | grep -c '"ask.timeout"')" 1

echo before >asked.txt
ask_start --policy "$E2E/short.policy" -- sh -c 'echo after >asked.txt; cat asked.txt'
wait_for has_pending
is 'a write asks' "$(field op)" write
is 'and has not happened yet' "$(cat asked.txt)" before
check 'allow the write' agentctl allow "$(pending_id)"
ask_wait
is 'then it happens' "$status:$(cat "$E2E/out")" '0:after'

ask_start --policy "$E2E/short.policy" -- sh -c 'echo new >t; mv t onto.txt; cat onto.txt'
wait_for has_pending
like 'a rename onto asks' "$(field op)" '^(rename|create)$'
check 'allow the rename' agentctl allow "$(pending_id)"
ask_wait
is 'then it happens too' "$status:$(cat "$E2E/out")" '0:new'

git init -q repo && git -C repo commit -q --allow-empty -m c && git init -q --bare bare.git
ask_start -- git -C repo push ../bare.git main
wait_for has_pending
is 'git push asks at exec' "$(field op)" exec
like 'with its argv' "$(field argv)" "push"
check 'deny the push' agentctl deny "$(pending_id)"
ask_wait
like 'a denied exec is EACCES' "$status" '^(126|128)$'

python3 -u -m http.server --bind 127.0.0.1 0 >"$E2E/http" 2>&1 &
e2e_pids+=($!)
wait_for grep -q 'port' "$E2E/http"
port=$(grep -o 'port [0-9]*' "$E2E/http" | head -n 1 | cut -d' ' -f2)
ask_start -- python3 -c "import urllib.request as u; print(u.urlopen('http://127.0.0.1:$port/').status)"
wait_for has_pending
is 'a connect to loopback asks' "$(field op)" connect
like 'with its address' "$(field object)" "127.0.0.1:$port"
check 'allow the connect' agentctl allow "$(pending_id)" --for session
ask_wait
is 'then it connects' "$status:$(cat "$E2E/out")" '0:200'

echo a >"$HOME/a.txt"
echo b >"$HOME/b.txt"
ask_start -- sh -c "cat $HOME/a.txt; cat $HOME/a.txt; cat $HOME/b.txt"
wait_for has_pending
check 'allow for the session, whole folder' agentctl allow "$(pending_id)" --for session --scope dir
ask_wait
is 'covers the same and its neighbours' "$status:$(tr -d '\n' <"$E2E/out")" '0:aab'
is 'a wrong id is refused' "$(agentctl allow nosuchid >/dev/null 2>&1; echo $?)" 1
is '--no-ask denies at once' "$(run --no-ask -- cat "$HOME/a.txt" 2>&1 </dev/null | grep -c 'Permission denied')" 1

ask_start -- cat "$HOME/notes.txt"
wait_for has_pending
agentctl stop "$(field session)" >/dev/null
ask_wait
is 'stop ends the session' "$status" 143
check 'and withdraws its request' wait_for no_pending
log_ok 'the log verifies'
