#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The agent-supervisor authors
#
# The system call surface from inside: what no agent needs is refused before anything else is looked at.
. "$(dirname "$0")/../lib/e2e.sh"

cp "$TOOLS/escape/surface" "$WS/"
got=$(run --no-ask -- ./surface 7</ 8<"$HOME" </dev/null 2>&1)

result() {
    printf '%s\n' "$got" | sed -n "s/^$1 //p"
}
while read -r name wanted; do
    is "$name gives $wanted" "$(result "$name")" "$wanted"
done <<'TABLE'
io_uring_setup ENOSYS
io_uring_enter ENOSYS
clone3 ENOSYS
unshare EPERM
clone-newuser EPERM
setns EPERM
listener EBUSY
allow-all-filter ENOSYS
TIOCSTI EPERM
TIOCSTI-high-bits EPERM
TIOCLINUX EPERM
TIOCSETD EPERM
AF_VSOCK EAFNOSUPPORT
AF_ALG EAFNOSUPPORT
AF_PACKET EAFNOSUPPORT
AF_XDP EAFNOSUPPORT
NETLINK_AUDIT EPROTONOSUPPORT
NETLINK_ROUTE done
MPTCP EPROTONOSUPPORT
SCTP EPROTONOSUPPORT
RAW EPERM
fastopen-sendto EOPNOTSUPP
fastopen-sendmsg EOPNOTSUPP
udp-unspec EACCES
name_to_handle_at EPERM
open_by_handle_at EPERM
bpf EPERM
perf_event_open EPERM
userfaultfd EPERM
keyctl EPERM
mount EPERM
chroot EPERM
ptrace-1 EPERM
process_vm_readv-1 EPERM
not-dumpable-write EACCES
source-route EPERM
routing-header EPERM
TABLE
# A kernel without the other ABIs refuses by itself: that proves nothing about the filter.
for name in x32 int80; do
    case $(result "$name") in
    ENOSYS | SIGSYS) ok "$name is refused" ;;
    SIGSEGV) skip "$name is refused" 'this kernel has no such entry: SIGSEGV before any filter' ;;
    *) not_ok "$name is refused" "got: $(result "$name")" ;;
    esac
done
is 'no descriptor is inherited' "$(result descriptor)" ''
is 'no descriptor is the listener' "$(run --no-ask -- sh -c 'ls -l /proc/self/fd' </dev/null | grep -c seccomp)" 0
# Output on the person's terminal, input from elsewhere: what is typed there is for others.
if command -v script >/dev/null; then
    reads="try: __import__('os').read(1, 1)
except OSError as e: print('not to be read', e.errno)"
    like 'a terminal for output is not read' \
        "$(echo typed | script -qec "agentctl run --no-ask -- /usr/bin/python3 -c \"$reads\" </dev/null" /dev/null)" 'not to be read 9'
else
    skip 'a terminal for output is not read' 'no script program'
fi
log_ok 'the log verifies'
