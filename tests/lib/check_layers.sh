#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The agent-supervisor authors
#
# Checks that each folder includes only the folders of its own layer and below (ARCHITECTURE.md), and
# that a few things stand in one place only.
set -u

status=0
check() { # folder, allowed folders as an extended regular expression
    found=$(grep -nE '#include "[a-z-]+/' "$1"/*.[ch] 2>/dev/null | grep -vE "#include \"($2)/[a-z_]+\.h\"")
    if [ -n "$found" ]; then
        echo "layers: $1 may include only $2:" >&2
        echo "$found" >&2
        status=1
    fi
}
base=supervisord/base
proto="$base|supervisord/proto"
client="$proto|supervisord/client"
check supervisord/base "$base"
check supervisord/proto "$proto"
check supervisord/client "$client"
check policy-lang "$proto|policy-lang"
check audit-log "$proto|audit-log"
check supervisord/sandbox "$proto|policy-lang|supervisord/sandbox"
check supervisord/broker "$client|policy-lang|supervisord/sandbox|supervisord/broker"
check supervisord/daemon "$client|policy-lang|audit-log|supervisord/daemon"
check agentctl "$client|policy-lang|audit-log|supervisord/sandbox|agentctl"
check tui "$client|tui"

only() { # pattern, files where it may stand, what it is
    found=$(grep -rlE "$1" supervisord agentctl tui policy-lang audit-log --include='*.[ch]' | grep -vE "^($2)$")
    if [ -n "$found" ]; then
        echo "layers: $3 belongs in $2, found in:" >&2
        echo "$found" >&2
        status=1
    fi
}
only 'SECCOMP_USER_NOTIF_FLAG_CONTINUE' 'supervisord/broker/reply.c' 'sending CONTINUE'
only '\bsd_(bus|event)_[a-z_]+\(' \
    'supervisord/(daemon|broker|client)/[a-z_]+\.[ch]|agentctl/[a-z_]+\.c|tui/[a-z_]+\.c' 'the bus and event loop'
exit $status
