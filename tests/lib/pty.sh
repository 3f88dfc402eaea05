# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The agent-supervisor authors
#
# Sourced behind e2e.sh by scripts that need a terminal: an interactive bash inside tmux, what is typed into it,
# what is then on its screen.
#
#   pty_open            a fresh bash with the prompt "OUT> " in a terminal of 80x24; the script ends where that fails
#   keys WORDS...       as tmux send-keys
#   line TEXT           types TEXT and Enter
#   screen              what is on the screen
#   shows PATTERN       is there a line on the screen that matches?
#   sees TEXT PATTERN   ok when such a line appears
#   prompt_back TEXT    ok when the outer shell's prompt is the last line
#   modes               the modes of the terminal, as stty -g prints them
#   pty_close

export TMUX_TMPDIR=$E2E
# tmux runs commands with this shell, or with the user's own, which for nobody is none.
export SHELL=/bin/bash
unset TMUX
pty_n=0

pty() {
    tmux -L "pty$pty_n" -f /dev/null "$@"
}
pty_open() {
    local try
    for try in 1 2 3; do
        pty_n=$((pty_n + 1))
        # Its server may end while it starts.
        pty new-session -d -x 80 -y 24 "env PS1='OUT> ' TERM=screen bash --norc --noprofile -i" || continue
        pty_tty=$(pty display-message -p '#{pane_tty}')
        wait_for last_is '^OUT>' && return 0
    done
    not_ok "a terminal opens ($try times tried)"
    exit 1
}
pty_close() {
    pty kill-server 2>/dev/null
}
keys() {
    pty send-keys "$@"
}
line() {
    pty send-keys -l -- "$1"
    pty send-keys Enter
}
screen() {
    pty capture-pane -p
}
shows() {
    screen | grep -qaE -- "$1"
}
last_is() {
    screen | grep -a . | tail -n 1 | grep -qaE -- "$1"
}
sees() {
    if wait_for shows "$2"; then ok "$1"; else not_ok "$1" "wanted: $2" "screen:" "$(screen | grep -a .)"; fi
}
prompt_back() {
    if wait_for last_is '^OUT> ?$'; then ok "$1"; else not_ok "$1" "no prompt, screen:" "$(screen | grep -a .)"; fi
}
modes() {
    stty -g <"$pty_tty"
}
# The shell's own line editor changes modes while it waits: compare what a command sees.
command_modes() {
    rm -f "$E2E/modes"
    line "stty -g >$E2E/modes"
    wait_for test -s "$E2E/modes"
    cat "$E2E/modes"
}
wipe() {
    line clear
    wait_for last_is '^OUT> ?$'
}
pty_exit() {
    local status=$?
    pty_close
    (exit $status)
    e2e_exit
}
trap pty_exit EXIT
