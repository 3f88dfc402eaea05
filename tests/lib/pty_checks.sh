# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The agent-supervisor authors
#
# Sourced by pty_session.sh (the real programs) and pty_relay.sh (agentctl with a stand-in broker): a session on a
# terminal behaves as without agentctl.

RUN="agentctl run --no-ask --"

# The session has the terminal.
# shellcheck disable=SC2154 # pty_tty comes from pty.sh
is_raw() {
    stty -a <"$pty_tty" | grep -q -- '-icanon' && stty -a <"$pty_tty" | grep -q -- '-opost'
}
is_cooked() {
    ! is_raw
}

pty_open
before=$(command_modes)
wipe

# Size -----------------------------------------------------------------------------------------------
line "$RUN stty size"
sees 'the program sees the size of the terminal' '^24 80'
prompt_back 'and the prompt returns'
wipe
cat >winch.sh <<'S'
trap 'stty size; echo changed' WINCH
echo watching
while :; do read -rt 0.1 x <>/dev/tty && exit; done
S
line "$RUN bash winch.sh"
sees 'a program waits for a resize' '^watching'
pty resize-window -x 100 -y 30
sees 'it learns the new size' '^30 100'
keys q Enter
prompt_back 'and ends'
pty resize-window -x 80 -y 24
wipe

# Exit status and modes ---------------------------------------------------------------------------------
line "$RUN sh -c 'exit 7'; echo status=\$?"
sees 'the exit status is that of the command' '^status=7'
wipe
line "$RUN sh -c 'kill -TERM \$\$'; echo status=\$?"
sees 'a signal is 128 and its number' '^status=143'
wipe
is 'the modes of the terminal are as before' "$(command_modes)" "$before"
wipe
line "$RUN seq 1 20000; echo status=\$?"
sees 'all of a long output comes before the end' '^status=0'
is 'its last line is there' "$(screen | grep -a -B1 '^status=0' | head -n 1)" 20000
wipe

# Ctrl-C ------------------------------------------------------------------------------------------------
line "$RUN bash --norc --noprofile -i"
sees 'an interactive shell starts' '^bash-[0-9.]+[#$]'
line 'PS1="IN> "'
wait_for last_is '^IN>'
line 'sleep 1000'
wait_for last_is '^IN> sleep 1000'
keys C-c
line 'echo inner=$?'
sees 'Ctrl-C ends the inner command only' '^inner=130'
line 'sleep 1000'
wait_for last_is 'sleep 1000'
keys C-z
sees 'Ctrl-Z stops a job of the inner shell' 'Stopped +sleep 1000'
line fg
wait_for last_is '^sleep 1000'
keys C-c
line 'stty size; exit 3'
prompt_back 'the inner shell ends'
line 'echo outer=$?'
sees 'with its status' '^outer=3'
wipe

# Ctrl-Z of the session -------------------------------------------------------------------------------
line "$RUN cat"
wait_for last_is 'cat$'
line 'one'
sees 'a program reads what is typed' '^one$'
keys C-z
sees 'Ctrl-Z shows Stopped in the outer shell' 'Stopped +agentctl run'
is 'with the modes as before' "$(command_modes)" "$before"
line fg
wait_for last_is '^agentctl run'
line 'two'
sees 'fg resumes it' '^two$'
keys C-z
wait_for last_is '^OUT> ?$'
line fg
line 'three'
sees 'also the second time' '^three$'
keys C-d
prompt_back 'Ctrl-D ends it'
wipe

# A full screen -----------------------------------------------------------------------------------------
if command -v vim >/dev/null; then
    printf 'first line\n' >text
    line "$RUN vim -u NONE -N -n text"
    sees 'vim paints its screen' '^first line'
    keys C-z
    sees 'Ctrl-Z leaves vim for the shell' 'Stopped +agentctl run'
    wipe
    line fg
    sees 'fg paints it again' '^first line'
    line 'A more'
    keys Escape
    line ':wq'
    prompt_back 'vim ends'
    like 'and has saved' "$(head -n 1 text)" 'first line'
    wipe
else
    skip 'vim' 'not installed'
fi

# Jobs in the background ---------------------------------------------------------------------------------
line "$RUN cat &"
wait_for last_is '^OUT> ?$'
line 'echo still mine'
sees 'a session in the background leaves the terminal alone' '^still mine'
line fg
wait_for is_raw
line 'late'
sees 'fg gives it the terminal' '^late$'
keys C-d
prompt_back 'and it ends'
wipe

# Scripts and pipes --------------------------------------------------------------------------------------
printf '%s\n' "$RUN bash -ic exit" 'read -r x' 'echo "got $x"' >t.sh
line 'bash t.sh'
wait_for last_is '^exit'
wait_for is_cooked
line 'word'
sees 'a script reads on after a session' '^got word'
wipe
line "echo through | $RUN cat | tr a-z A-Z"
sees 'a pipeline works' '^THROUGH'
wipe
line "$RUN sh -c 'exec cat >got'"
wait_for test -e got
seq 1 4000 >./paste
pty load-buffer paste
pty paste-buffer
keys C-d
prompt_back 'a long paste is taken'
check 'and nothing of it is lost' cmp paste got
wipe

# Violence -----------------------------------------------------------------------------------------------
line "$RUN sh -c 'echo \$\$ >inner; exec sleep 1000'"
wait_for test -s inner
wait_for is_raw
# The parent of the guard is the agentctl of this terminal.
victim=$(pgrep -t "${pty_tty#/dev/}" -x agentctl | head -n 1)
kill -KILL "$victim"
prompt_back 'after kill -9 of agentctl the shell is back'
is 'and the terminal has its modes' "$(command_modes)" "$before"
gone() { ! pgrep -f 'sleep 1000' -u "$(id -u)" -t "${pty_tty#/dev/}" >/dev/null; }
check 'and its command is gone' wait_for gone
wipe

cat >hup.sh <<'S'
trap 'echo bye >hup; exit' HUP
echo up
while :; do sleep 0.1; done
S
line "$RUN sh hup.sh"
sees 'a program waits for a hang-up' '^up'
pty_close
check 'a closed terminal hangs it up' wait_for test -e hup
