#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The agent-supervisor authors
#
# Without user namespaces: refused by default, and enforced all the same when accepted by name.
. "$(dirname "$0")/../lib/e2e.sh"

# What makes user namespaces unavailable for one command, without touching the system: a namespace of our own
# whose limit of further ones is 0.
without_userns() {
    unshare -Ur sh -c 'echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"' sh "$@"
}
if ! without_userns true 2>/dev/null; then
    skip 'reduced mode' 'no user namespace can be limited here'
    exit 0
fi
mkdir -p "$HOME/.ssh" && echo key >"$HOME/.ssh/id"
out=$(without_userns agentctl run -- touch ran </dev/null 2>&1)
is 'without user namespaces nothing starts' "$?:$(ls ran 2>/dev/null)" 125:
like 'the message names what is missing' "$out" 'user.namespace'
like 'and the option that accepts it' "$out" '--allow-reduced userns'
agentctl daemon stop --force >/dev/null 2>&1
reduced() {
    without_userns agentctl run --no-ask --workspace "$WS" --allow-reduced userns -- "$@" </dev/null 2>"$E2E/err"
}
is 'accepted by name it runs' "$(reduced sh -c 'echo x >f; cat f; exit 9'; echo $?)" "x
9"
like 'and says so' "$(cat "$E2E/err")" 'educed'
is 'credentials are denied' "$(reduced cat "$HOME/.ssh/id"; grep -c 'ermission denied' "$E2E/err")" 1
mkdir -p .git/hooks
is 'what runs later is protected' "$(reduced sh -c 'echo x >.git/hooks/pre-commit; echo x >.git/config'; grep -c 'ermission denied' "$E2E/err")" 2
is 'other processes cannot be signalled' "$(reduced sh -c "kill -0 $$"; grep -ciE 'not permitted|no such' "$E2E/err")" 1
is 'and not be limited' "$(reduced prlimit --pid $$ --core=0 >&2; grep -ci 'not permitted' "$E2E/err")" 1
is 'the agent cannot hide from the broker' "$(reduced /usr/bin/python3 -c '
import ctypes
ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
try: open("'"$HOME"'/.ssh/id")
except PermissionError: print("denied")')" denied
log_ok 'the log verifies'
