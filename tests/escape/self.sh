#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The agent-supervisor authors
#
# The supervisor against its own session: nothing inside can decide, stop it, read it, or outlive it.
. "$(dirname "$0")/../lib/e2e.sh"

echo secret >"$HOME/secret"
inside() {
    run --no-ask --policy "$(tools_policy)" -- "$@" </dev/null 2>&1
}
agentctl daemon start >/dev/null
socket=$XDG_RUNTIME_DIR/agent-supervisor/control
like 'the control socket cannot be connected' "$(inside /usr/bin/python3 -c "
import socket
s = socket.socket(socket.AF_UNIX)
try: s.connect('$socket'); print('CONNECTED')
except OSError as e: print('refused', e.errno)")" '^refused'
for verb in 'allow x' 'deny x' pending 'daemon stop --force' 'stop x' ps; do
    # shellcheck disable=SC2086
    like "agentctl $verb is refused" "$(inside agentctl $verb; echo "status $?")" 'status [1-9]'
    # shellcheck disable=SC2086
    is "agentctl $verb runs, and says why" "$(inside agentctl $verb 2>&1 | grep -cE '^agentctl: ' | sed 's/[1-9][0-9]*/said/')" said
done
check 'the daemon still runs' agentctl daemon status
like 'the attempt is on record' "$(agentctl log show --json)" 'agent-supervisor/control|peer.refused'

is 'kill(-1) reaches only the session' "$(inside sh -c 'kill -9 -1' >/dev/null; agentctl daemon status >/dev/null && echo alive)" alive
daemon=$(agentctl daemon status --json | python3 -c 'import json,sys; print(json.load(sys.stdin)["pid"])')
is 'the daemon cannot be signalled or traced' "$(inside /usr/bin/python3 -c "
import os, ctypes
try: os.kill($daemon, 0); print('SIGNALLED')
except OSError: pass
print(ctypes.CDLL(None).ptrace(0x4206, $daemon, 0, 0))")" -1
is 'process 1 cannot be read or traced' "$(inside /usr/bin/python3 -c "
import ctypes
for f in ('environ', 'mem', 'maps'):
    try: open('/proc/1/' + f, 'rb').read(1); print('READ', f)
    except OSError: pass
for f in ('/proc/1/root/etc/hostname', '/proc/1/cwd/x', '/proc/1/fd/3'):
    try: open(f); print('OPENED', f)
    except OSError: pass
print(ctypes.CDLL(None).ptrace(0x4206, 1, 0, 0))")" -1
is 'no descriptor of the supervisor is inherited' "$(inside sh -c 'ls -l /proc/self/fd | grep -c "seccomp\|socket"')" 0
is 'policy files cannot be written' "$(mkdir -p "$HOME/.config/agent-supervisor/policy.d"; inside sh -c 'echo x >~/.config/agent-supervisor/policy.d/x.policy' | grep -ciE 'denied|no such|nonexistent|read-only'; ls -A "$HOME/.config/agent-supervisor/policy.d")" 1
is 'the log cannot be read or written' "$(inside sh -c 'cat ~/.local/state/agent-supervisor/audit/default/checkpoint; echo x >>~/.local/state/agent-supervisor/audit/default/checkpoint; rm -rf ~/.local/state/agent-supervisor/audit' | grep -ciE 'denied|no such|nonexistent|read-only|busy')" 2
check 'and is whole' test -s "$HOME/.local/state/agent-supervisor/audit/default/checkpoint"
is 'a daemon of the session does not outlive it' "$(inside sh -c 'setsid sh -c "(setsid sleep 4343 &) &" ; exit 0'; pgrep -xf 'sleep 4343' | wc -l)" 0
is 'the environment names no secret of the supervisor' "$(inside sh -c '(tr "\0" "\n" </proc/$PPID/environ) 2>/dev/null | wc -l')" 0

# From outside but below a broker: the daemon knows by ancestry, not by uid.
is 'nothing was allowed' "$(agentctl log show --json | grep -c '"type":"approval"')" 0
log_ok 'the log verifies'
