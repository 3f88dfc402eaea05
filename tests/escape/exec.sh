#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The agent-supervisor authors
#
# Programs: what was judged is what runs, whatever changes in between; tricks around a denied program.
. "$(dirname "$0")/../lib/e2e.sh"

cp "$TOOLS/escape/exec_race" "$WS/"
cp /usr/bin/true "$WS/good"
cp /usr/bin/touch "$WS/evil"
cat >"$E2E/p.policy" <<'P'
policy "exec" lang 1 layer user
deny exec "$PROJECT/evil" "$PROJECT/evil-ld"
deny exec "/usr/bin/touch" has "evil-arg"
P
inside() {
    run --policy "$E2E/p.policy" --no-ask -- "$@" </dev/null 2>&1
}

out=$(inside ./exec_race path ./good ./evil 400)
like 'a path changed after the decision' "$out" '^ran [0-9]+ killed [0-9]+ refused [0-9]+$'
check 'never runs the other program' test ! -e x
out=$(inside ./exec_race argv /usr/bin/touch good-arg evil-arg 400)
like 'an argument changed after the decision' "$out" '^ran [0-9]+ killed [0-9]+ refused [0-9]+$'
check 'never reaches the program' test ! -e evil-arg
if printf '%s\n' "$out" | grep -q 'killed 0'; then
    skip 'a swap is on record as an attack' 'no swap came between decision and exec in this run'
else
    like 'a swap is on record as an attack' "$(agentctl log show --json)" '"attack.exec"'
fi

is 'a denied program is refused' "$(inside sh -c './evil x; echo $?' | tail -n 1)" 126
ln evil evil2
ln -s evil evil3
is 'by its other hard link too' "$(inside sh -c './evil2 y; echo $?' | tail -n 1)" 126
is 'and by a symbolic link' "$(inside sh -c './evil3 y; echo $?' | tail -n 1)" 126
printf '#!./evil\n' >script && chmod +x script
is 'and as the interpreter of a script' "$(inside sh -c './script; echo $?' | tail -n 1)" 126
is 'a copy in a memfd does not run' "$(inside /usr/bin/python3 -c '
import os
fd = os.memfd_create("x", 0)
os.write(fd, open("evil", "rb").read())
for name in ("/proc/self/fd/%d" % fd, fd):
    try: os.execve(name, ["evil", "memfd-ran"], os.environ)
    except OSError as e: print(e.errno)' | paste -sd' ')" '13 13'
check 'no memfd copy ran' test ! -e memfd-ran

# The same program with a loader of the workspace: a short name fits where the real one stood.
if grep -qa /lib64/ld-linux-x86-64 /usr/bin/true; then
    cp /lib64/ld-linux-x86-64.so.2 evil-ld
    /usr/bin/python3 - <<'P'
data = open("/usr/bin/true", "rb").read()
old = b"/lib64/ld-linux-x86-64.so.2"
for name, new in (("dynamic", b"./evil-ld"), ("usual", old)):
    open(name, "wb").write(data.replace(old, new.ljust(len(old), b"\0"), 1))
P
    chmod +x dynamic usual evil-ld
    is 'a denied loader does not load' "$(inside sh -c './dynamic; echo $?' | tail -n 1)" 126
    is 'the usual one does' "$(inside ./usual; echo $?)" 0
    # Not a boundary for code, and it need not be: rights belong to the session.
    inside /lib64/ld-linux-x86-64.so.2 /usr/bin/touch "$HOME/made-outside" >/dev/null
    check 'the loader called by name gives no more rights' test ! -e "$HOME/made-outside"
else
    skip 'a denied loader does not load' 'another architecture'
fi
printf '#!/usr/bin/env -S python3 -u\nprint(1)\n' >t && chmod +x t
is 'a script through env runs' "$(inside ./t)" 1
is 'an exec that is only a check is unknown' "$(inside /usr/bin/python3 -c '
import ctypes
c = ctypes.CDLL(None, use_errno=True)
print(c.syscall(322, -100, b"/usr/bin/true", 0, 0, 0x10000), ctypes.get_errno())')" '-1 22'
if command -v strace >/dev/null; then
    is 'a traced exec is refused' "$(inside strace -o /dev/null /usr/bin/true >/dev/null 2>&1; echo $?)" 1
    like 'and the log says why' "$(agentctl log show --json)" '"refused.traced-exec"'
else
    skip 'a traced exec is refused' 'no strace'
fi
cp "$TOOLS/escape/exec_hang" .
is 'execs that never end hold up nobody else' "$(inside timeout 30 ./exec_hang 40)" opened
log_ok 'the log verifies'
