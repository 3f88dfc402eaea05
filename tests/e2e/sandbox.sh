#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The agent-supervisor authors
#
# What a session looks like from inside, and that starting one changes nothing outside.
. "$(dirname "$0")/../lib/e2e.sh"

inside() {
    run --no-ask -- "$@" </dev/null 2>&1
}
is 'no capability' "$(inside grep -c '^Cap\(Eff\|Prm\|Inh\|Bnd\|Amb\):.0000000000000000$' /proc/self/status)" 5
is 'no_new_privs' "$(inside grep NoNewPrivs /proc/self/status | tr -d '\t')" 'NoNewPrivs:1'
is 'the same uid' "$(inside id -u)" "$(id -u)"
is 'no open descriptor but 0 to 2' "$(inside sh -c 'ls /proc/$$/fd' | tr '\n' ' ')" '0 1 2 '
is 'an inherited descriptor is closed' "$(exec 7</; inside sh -c 'ls /proc/$$/fd/7 2>&1 | grep -c "No such"')" 1
is 'only the session is seen' "$(inside sh -c 'ls /proc | grep -c "^[0-9]*$"; true')" 4
is '/tmp is private' "$(date >/var/tmp/x.$$ 2>/dev/null; rm -f /var/tmp/x.$$; inside sh -c 'ls -A /tmp | wc -l')" 0
inside sh -c 'echo x >/tmp/left' >/dev/null
is 'and thrown away' "$(ls /tmp/left 2>/dev/null)" ''
is 'secrets stay out of the environment' "$(AWS_SECRET_ACCESS_KEY=c1 MY_TOKEN=c2 LD_AUDIT=c3 NODE_OPTIONS=c4 BASH_ENV=c5 FOO=c6 inside env | grep -c '=c[1-6]')" 0
like 'what programs need stays' "$(TERM=xterm LC_X=1 inside env)" '^TERM=xterm'
is 'the supervisor folders are out of reach' "$(inside sh -c "cat $XDG_RUNTIME_DIR/agent-supervisor/control $HOME/.local/state/agent-supervisor/audit/default/checkpoint 2>/dev/null | wc -c")" 0
is 'credentials are denied' "$(mkdir -p "$HOME/.ssh" "$HOME/.aws"; echo k >"$HOME/.ssh/id_x"; echo k >"$HOME/.aws/credentials"; inside sh -c 'cat ~/.ssh/id_x ~/.aws/credentials; ls ~/.ssh' | grep -c 'Permission denied')" 3
is 'by every process, with a record for each' "$(inside sh -c 'cat ~/.ssh/id_x & (cat ~/.ssh/id_x) & setsid cat ~/.ssh/id_x; wait' | grep -c 'Permission denied'; agentctl log show --json | grep '"decision":"deny"' | grep -c '"object":"[^"]*id_x"')" "3
4"
is 'a write beside the workspace is denied' "$(inside sh -c 'echo x >../x' | grep -c 'ermission denied'; ls ../x 2>/dev/null)" 1
is 'sudo is denied' "$(inside sh -c 'exec sudo true' | grep -cE 'ermission denied|not found')" 1
for path in .git/hooks/pre-commit .git/config .vscode/tasks.json .mcp.json .bashrc .claude/settings.json sub/dir/.git/hooks/x; do
    mkdir -p "$(dirname "$path")"
    is "what runs later is protected: $path" "$(inside sh -c "echo x >$path" | grep -c 'ermission denied'; [ -s "$path" ] && echo changed)" 1
done
is 'so is its parent' "$(inside mv .git g | grep -c 'ermission denied')" 1
before=$(cd "$E2E" && find home ws run -printf '%p %m %s\n' | LC_ALL=C sort)
during=$(run --no-ask -- sh -c 'read x' < <(wait_for sh -c 'agentctl ps --json | grep -q id'; cd "$E2E" && find home ws run -printf '%p %m %s\n' | grep -v agent-supervisor | LC_ALL=C sort >"$E2E/during"; echo))
is 'the tree outside is the same while a session runs' "$(cat "$E2E/during")" "$(printf '%s\n' "$before" | grep -v agent-supervisor)"
[ -z "$during" ] || echo "# $during"
is 'and after it' "$(cd "$E2E" && find home ws run -printf '%p %m %s\n' | grep -v agent-supervisor | LC_ALL=C sort)" "$(printf '%s\n' "$before" | grep -v agent-supervisor)"

is 'exit status' "$(run -- sh -c 'exit 7' </dev/null; echo $?)" 7
is 'death by signal' "$(run -- sh -c 'kill -TERM $$' </dev/null; echo $?)" 143
is 'command not found' "$(run -- nosuchcommand </dev/null 2>/dev/null; echo $?)" 127
is 'not executable' "$(echo x >plain; run -- ./plain </dev/null 2>/dev/null; echo $?)" 126
is 'time limit' "$(run --timeout 1s -- sleep 100 </dev/null 2>/dev/null; echo $?)" 143
is 'background processes end with the session' "$(run -- sh -c 'setsid sleep 4242 & exit 0' </dev/null; pgrep -xf 'sleep 4242' | wc -l)" 0
is 'a pipe in and out' "$(printf 'a\nb\n' | run -- sort -r | tr '\n' ' ')" 'b a '
is 'a session inside a session says so' "$(run --policy "$(tools_policy)" -- agentctl run -- true </dev/null 2>&1 | grep -c 'already supervised')" 1
log_ok 'the log verifies'
