#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The agent-supervisor authors
#
# agentctl approve and agent-tui: what decides, and what never does.
. "$(dirname "$0")/../lib/e2e.sh"
. "$ROOT/tests/lib/pty.sh"

for i in 1 2 3 4 5 6 7 8 9; do echo "content $i" >"$HOME/f$i"; done
ask() { # file in the home: a session that reads it, in the background
    run -- cat "$HOME/$1" >"$E2E/$1.out" 2>&1 </dev/null &
    ask_pid=$!
    e2e_pids+=("$ask_pid")
    wait_for has_pending
}
answered() { # TEXT WANTED: how the session ended
    wait "$ask_pid"
    is "$1" "$?" "$2"
}
still_pending() {
    has_pending && kill -0 "$ask_pid"
}

# approve, linear ---------------------------------------------------------------------------------------
pty_open
line 'agentctl approve'
sees 'approve can wait for a supervisor' 'no supervisor runs'
ask f1
sees 'a request is shown' "object +$HOME/f1"
sees 'with the program' 'program +/.*cat'
sees 'with the rule' 'rule +core'
id=$(pending_id)
# Typed at once: within the quiet time.
line "allow $id"
check 'what is typed at once decides nothing' still_pending
quiet_over() { line '?' && shows 'leave; nothing is decided'; }
check 'then input counts' wait_for quiet_over
keys Enter
keys Space Enter
line y
line yes
line allow
line 'allow 999'
sees 'a wrong id is told' 'not the id'
check 'Enter, Space, y, a verb alone and a wrong id decide nothing' still_pending
line "allow $id"
sees 'the typed id does' '^allowed'
answered 'and the program goes on' 0
is 'with its content' "$(cat "$E2E/f1.out")" 'content 1'

ask f2
sees 'the next request is shown' "object +$HOME/f2"
agentctl deny "$(pending_id)" >/dev/null
sees 'a decision elsewhere is told' 'is over: denied'
answered 'and holds' 1

ask f3
sees 'one more' "object +$HOME/f3"
id=$(pending_id)
# In the quiet time Ctrl-D is thrown away like every other key.
listed() { line list && shows "^$id: read"; }
wait_for listed
check 'the quiet time passes' wait_for quiet_over
keys C-d
prompt_back 'the end of input leaves'
check 'and decides nothing' still_pending
pty kill-server
agentctl deny "$(pending_id)" >/dev/null
answered 'it was still to be decided' 1

# A name so long that the terminal would begin a line with what stands behind its 67th column.
forged=$HOME/
while [ ${#forged} -lt 67 ]; do forged+=x; done
forged+='  risk       forged'
echo forged >"$forged"
pty_open
line 'agentctl approve'
ask "${forged#"$HOME"/}"
sees 'a value that is broken goes on behind a mark' '^  \.\.\.          risk       forged'
check 'and never looks like another fact' sh -c '! printf "%s" "$1" | grep -qE "^  risk +forged"' - "$(screen)"
pty_close
pty_open
line 'agentctl tui'
wait_for shows '^> '
keys Enter
sees 'the same on the screen' '^ \.\.\.          risk       forged'
pty_close
agentctl deny "$(pending_id)" >/dev/null
answered 'it was still to be decided' 1

# approve --json -------------------------------------------------------------------------------------------
mkfifo "$E2E/answers"
agentctl approve --json <"$E2E/answers" >"$E2E/events" 2>&1 &
e2e_pids+=($!)
exec 8>"$E2E/answers"
ask f4
check 'an event tells of the request' wait_for grep -q '"event":"request"' "$E2E/events"
echo '{"id":"'"$(pending_id)"'","decision":"allow","for":"session","unknown":1}' >&8
check 'an unknown member is refused' wait_for grep -q '"event":"error"' "$E2E/events"
echo '{"id":"'"$(pending_id)"'","decision":"allow"}' >&8
answered 'an answer as JSON allows' 0
check 'and is told' wait_for grep -q '"event":"decided"' "$E2E/events"
exec 8>&-

# agent-tui ------------------------------------------------------------------------------------------------
pty_open
agentctl daemon stop >/dev/null
line 'agentctl tui'
sees 'the screen starts without a supervisor' 'NO SUPERVISOR'
ask f5
sees 'it attaches when one runs, and lists the request' "> .*read .*f5"
keys Enter
sees 'Enter shows the details' 'REQUEST'
sees 'all facts' "object +$HOME/f5"
keys a
keys Space Enter y q
check 'a at once, Space, Enter, y and q decide nothing' still_pending
wait_for shows '^PENDING'
keys Enter
sees 'the details again' 'REQUEST'
allow_by_key() { shows 'in a moment' && return 1; keys a; shows '^PENDING'; }
check 'a allows once after the quiet time' wait_for allow_by_key
answered 'and the program goes on' 0

ask f6
sees 'another request' "> .*f6"
keys Enter
wait_for shows 'REQUEST'
confirm_by_key() { shows 'ALLOW FOR THE SESSION' || { keys s; return 1; }; }
check 's asks for a confirmation' wait_for confirm_by_key
sees 'with the rule that would hold' 'rule .*grant read'
keys y
sees 'a small y goes back' 'REQUEST'
check 'and decides nothing' still_pending
wait_for confirm_by_key
yes_by_key() { shows 'in a moment' && return 1; keys Y; shows '^PENDING'; }
check 'a capital Y allows' wait_for yes_by_key
answered 'and the program goes on' 0

ask f7
sees 'one more' '> .*f7'
keys w
sees 'w shows the rule' 'THE RULE THAT ASKS'
keys q
wait_for shows '^PENDING'
keys '?'
sees '? shows the keys' '^ ?.KEYS|^ KEYS'
keys q
wait_for shows '^PENDING'
pty resize-window -x 30 -y 8
sees 'a small window says so' '1 pending'
pty resize-window -x 100 -y 30
sees 'and a large one shows the list' '> .*f7'
keys d
answered 'd denies at once' 1
keys q
prompt_back 'q leaves'
pty_close

# What is shown is what runs ----------------------------------------------------------------------------------
evil=$HOME/$'a\n[allow] b\033[2K\u202etxt'
echo x >"$evil"
run -- cat "$evil" >/dev/null 2>&1 </dev/null &
ask_pid=$!
e2e_pids+=("$ask_pid")
wait_for has_pending
like 'hostile names are shown escaped' "$(agentctl pending)" 'a\\n\[allow\] b\\x1b\[2K\\u\{202e\}txt'
is 'on one line' "$(agentctl pending | wc -l)" 2
agentctl deny "$(pending_id)" >/dev/null
answered 'and denied' 1
like 'also by why' "$(agentctl why)" 'a\\n\[allow\] b\\x1b\[2K'
log_ok 'the log verifies'
