#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The agent-supervisor authors
#
# The command line: verbs, JSON, exit statuses, messages.
. "$(dirname "$0")/../lib/e2e.sh"

status() { # exit status of a command whose output nobody wants
    "$@" >/dev/null 2>&1 </dev/null
    echo $?
}
is_json() { # text: valid JSON?
    printf '%s' "$1" | python3 -c 'import json,sys; json.load(sys.stdin)'
}

# Without a daemon ------------------------------------------------------------------------------------
is 'pending without a supervisor is an empty list' "$(agentctl pending --json)" '[]'
is 'ps too' "$(agentctl ps --json)" '[]'
is 'daemon status says not running' "$(agentctl daemon status; echo $?)" "not running
1"
is 'daemon stop is content' "$(status agentctl daemon stop)" 0
is 'allow fails' "$(status agentctl allow 1)" 1
like 'and says why' "$(agentctl allow 1 2>&1)" 'no supervisor is running'
is 'log verify without a log is 3' "$(status agentctl log verify)" 3

# Help and usage ------------------------------------------------------------------------------------------
for verb in run ps stop pending allow deny approve why plan doctor 'policy check' 'policy explain' 'log show' \
    'log tail' 'log verify' 'daemon start' 'daemon stop' 'daemon status' version tui; do
    # shellcheck disable=SC2086
    help=$(agentctl $verb --help 2>&1)
    like "help of $verb has an example" "$help" "^  agentctl ${verb}"
done
is 'help VERB is VERB --help' "$(agentctl help log show)" "$(agentctl log show --help)"
is 'help of an unknown verb is 2' "$(status agentctl help frobnicate)" 2
like 'half a verb is named' "$(agentctl log frobnicate 2>&1)" 'no verb "log frobnicate"'
is 'an unknown option of run is 125' "$(status agentctl run --nope -- true)" 125
is 'of another verb 2' "$(status agentctl pending --nope)" 2
like 'with a hint' "$(agentctl pending --nope 2>&1)" 'agentctl pending --help'
is 'an unknown verb is 2' "$(status agentctl frobnicate)" 2
is 'run without a command is 125' "$(status agentctl run)" 125
is 'a bad time is 125' "$(status agentctl run --timeout 5x -- true)" 125
is 'a missing workspace is 125' "$(status agentctl run --workspace /nonexistent -- true)" 125
like 'version' "$(agentctl version)" '^agentctl .* [0-9]+\.[0-9]+'
check 'version --json' is_json "$(agentctl version --json)"

# Policies ------------------------------------------------------------------------------------------------
printf 'policy "bad" lang 1 layer user\nallow frobnicate "~/x"\n' >"$E2E/bad.policy"
is 'an unusable policy is 78' "$(status run --policy "$E2E/bad.policy" -- touch started)" 78
like 'with file, line and column' "$(run --policy "$E2E/bad.policy" -- true 2>&1)" "^$E2E/bad.policy:2:[0-9]+: "
check 'and nothing was started' test ! -e started
is 'a policy that is not there is 78' "$(status run --policy "$E2E/none.policy" -- true)" 78
is 'an unknown profile is 78' "$(status run --profile nosuch -- true)" 78
is 'policy check finds it' "$(status agentctl policy check "$E2E/bad.policy")" 78
like 'and prints where' "$(agentctl policy check "$E2E/bad.policy")" "^$E2E/bad.policy:2:[0-9]+: "
check 'policy check --json' is_json "$(agentctl policy check --json "$E2E/bad.policy")"
printf 'policy "good" lang 1 layer user\nask read "~/x"\n' >"$E2E/good.policy"
is 'a good one is 0' "$(status agentctl policy check "$E2E/good.policy")" 0
is 'wherever one stands' "$(cd && agentctl policy check "$E2E/good.policy")" '1 policy is usable'
mkdir -p "$HOME/.config/agent-supervisor/policy.d"
cp "$E2E/bad.policy" "$HOME/.config/agent-supervisor/policy.d/10-bad.policy"
is 'the policies of the user count' "$(status run -- true)" 78
chmod o+w "$HOME/.config/agent-supervisor/policy.d/10-bad.policy"
like 'one that everybody can write is refused' "$(run -- true 2>&1)" 'can be written by everybody'
rm "$HOME/.config/agent-supervisor/policy.d/10-bad.policy"
ln -s "$E2E/good.policy" .agent-policy
is 'a project policy through a link is refused' "$(status run -- true)" 78
rm .agent-policy
printf 'policy "p" lang 1 layer project\nallow read "~/x"\n' >.agent-policy
is 'a project policy that widens is refused' "$(status run -- true)" 78
rm .agent-policy
like 'explain begins with the verdict' "$(agentctl policy explain read "$HOME/.ssh/id_ed25519")" '^deny  read '
like 'and names the rule' "$(agentctl policy explain read "$HOME/.ssh/id_ed25519")" 'core.*decides'
like 'a variable is explained' "$(agentctl policy explain env NPM_TOKEN)" '^deny  env NPM_TOKEN'
like 'with the line that passes it' "$(agentctl policy explain env NPM_TOKEN)" 'allow env "NPM_TOKEN"'
like 'where there is one' "$(agentctl policy explain env LD_PRELOAD)" 'no line of yours'
check 'explain env --json' is_json "$(agentctl policy explain --json env PATH)"
check 'explain --json' is_json "$(agentctl policy explain --json read "$HOME/notes")"
is 'a request that is none is 2' "$(status agentctl policy explain frobnicate x)" 2
like 'plan prints steps' "$(agentctl plan -- true)" '[a-z]'
check 'plan --json' is_json "$(agentctl plan --json)"
check 'doctor --json' is_json "$(agentctl doctor --json)"
like 'doctor says whether sessions can run' "$(agentctl doctor)" 'sessions can(not)? run here'

# Running ---------------------------------------------------------------------------------------------------
is 'run starts the supervisor' "$(run -- echo hello </dev/null)" hello
like 'status' "$(agentctl daemon status)" '^running'
check 'status --json' is_json "$(agentctl daemon status --json)"
is 'exit status' "$(status run -- sh -c 'exit 9')" 9
is 'a signal' "$(status run -- sh -c 'kill -9 $$')" 137
is 'a missing command is 127' "$(status run -- nosuchcommand)" 127
like 'and is said to be missing' "$(run -- nosuchcommand 2>&1 </dev/null)" 'nosuchcommand: no such command in PATH'
is 'the whole home as a workspace gives one warning' "$(agentctl run -w "$HOME" -- true 2>&1 </dev/null | grep -c .)" 1
is 'one that cannot run is 126' "$(status run -- /etc/passwd)" 126
is 'standard input passes' "$(echo through | run -- cat)" through
is 'standard error is its own' "$(run -- sh -c 'echo e >&2' 2>&1 >/dev/null </dev/null)" e
is 'descriptors of the caller do not pass' "$(run -- sh -c 'ls /proc/self/fd | tail -n 1' 7</etc/passwd </dev/null)" 3
is 'a session inside a session is refused' "$(status run --policy "$(tools_policy)" -- agentctl run -- true)" 125
like 'and says so' "$(run --policy "$(tools_policy)" -- agentctl run -- true 2>&1 </dev/null)" 'already supervised'
agentctl run --workspace "$WS" -- sleep 1000 </dev/null &
pid=$!
e2e_pids+=("$pid")
session_runs() { [ "$(agentctl ps --json)" != '[]' ]; }
wait_for session_runs
like 'ps lists it' "$(agentctl ps)" 'sleep 1000'
kill -TERM "$pid"
wait "$pid"
is 'a signal to agentctl reaches the command' $? 143
session_gone() { ! session_runs; }
check 'the end of a session' wait_for session_gone
is 'a time limit ends the session' "$(status run --timeout 1s -- sleep 1000)" 143
like 'and says so' "$(run --timeout 1s -- sleep 1000 2>&1 </dev/null)" 'ended: time limit'
mkdir -m 755 "$E2E/open" "$E2E/open/agent-supervisor"
like 'a folder that cannot be used is named' \
    "$(XDG_RUNTIME_DIR="$E2E/open" agentctl daemon start 2>&1)" "folder $E2E/open/agent-supervisor .*0700"
setsid agentctl run -- sh -c 'exit 0' </dev/null >/dev/null 2>&1
is 'without a terminal the status is that of the command' $? 0

# Denials and records ------------------------------------------------------------------------------------------
echo secret >"$HOME/notes.txt"
like '--verbose tells what a command that succeeded was denied' \
    "$(run --no-ask --verbose -- sh -c 'cat ~/notes.txt; true' 2>&1 </dev/null)" 'denied  read .*/notes.txt'
out=$(run --no-ask --verbose -- cat "$HOME/notes.txt" 2>&1 </dev/null)
like 'the footer tells of denials' "$out" 'denied  read .*notes.txt'
like 'why tells the rule' "$(agentctl why)" 'rule  .*core'
check 'why --json' is_json "$(agentctl why --json)"
like 'log show' "$(agentctl log show)" 'session.start'
check 'log show --json prints one record a line' sh -c 'agentctl log show --json |
    python3 -c "import json,sys; [json.loads(l) for l in sys.stdin]"'
id=$(agentctl log show --json --type session.start | tail -n 1 | sed 's/.*"session":"\([^"]*\)".*/\1/')
like 'the beginning of a session id is enough' "$(agentctl log show --session "${id%??}" | head -n 1)" "session.start session=$id"
is 'log tail -n' "$(agentctl log tail -n 3 | wc -l)" 3
like 'log show --type' "$(agentctl log show --type session | cut -d" " -f3 | sort -u | tr "\n" " ")" '^session\.'
agentctl log tail -f --json >"$E2E/follow" &
e2e_pids+=($!)
wait_for test -s "$E2E/follow"
run -- true </dev/null
check 'log tail -f shows what comes' wait_for grep -q session.end "$E2E/follow"
log_ok 'the log verifies'
check 'log verify --json' is_json "$(agentctl log verify --json)"
is 'daemon stop' "$(agentctl daemon stop)" stopped
