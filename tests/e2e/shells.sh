#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The agent-supervisor authors
#
# Programs that need a terminal of their own: other shells, a terminal multiplexer, a pager, a debugger's absence.
. "$(dirname "$0")/../lib/e2e.sh"
. "$ROOT/tests/lib/pty.sh"

pty_open
try_shell() { # name, command to start it
    if ! command -v "$1" >/dev/null; then
        skip "E7 $1" 'not installed'
        return
    fi
    line "agentctl run --no-ask -- $2"
    wait_for is_up
    # The key may come only when the command has the terminal.
    line "sh -c 'echo ready; exec sleep 1000'"
    sees "E7 $1 starts and takes commands" '^ready'
    keys C-c
    line 'exit 4'
    prompt_back "E7 $1 ends"
    line 'echo outer=$?'
    sees "E7 with its status" '^outer=4'
    wipe
}
# The prompt of an inner shell is anything but the outer one's and the command line.
is_up() {
    ! last_is '^OUT>' && ! last_is 'agentctl run'
}
try_shell zsh "env PS1='zsh> ' zsh -f -i"
try_shell dash "env PS1='dash> ' dash -i"
if command -v fish >/dev/null; then
    line 'agentctl run --no-ask -- fish -N -i'
    wait_for is_up
    line 'echo inner (math 40 + 2)'
    sees 'E7 fish starts and takes commands' '^inner 42'
    line 'exit 4'
    wait_for last_is '^OUT> ?$'
    line 'echo outer=$?'
    sees 'E7 and ends with its status' '^outer=4'
    wipe
else
    skip 'E7 fish' 'not installed'
fi
line 'agentctl run --no-ask -- tmux -f /dev/null new-session "echo in a tmux; read -r x"'
sees 'E7 tmux starts inside' '^in a tmux'
keys Enter
prompt_back 'E7 and ends'
wipe
seq 1000 >long
line 'agentctl run --no-ask -- less long'
sees 'less shows a page' '^20$'
keys G
sees 'and moves to the end' '^1000$'
keys q
prompt_back 'and quits'
wipe
line "agentctl run --no-ask -- script -qc 'tty' /dev/null"
sees 'a program may make a terminal of its own' '^/dev/pts/1'
prompt_back 'and ends'
log_ok 'the log verifies'
