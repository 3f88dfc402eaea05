#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The agent-supervisor authors
#
# agentctl's part of a session on a terminal, with a broker that only speaks the protocol: what fails here is
# agentctl's.
. "$(dirname "$0")/../lib/e2e.sh"
. "$ROOT/tests/lib/pty.sh"

mkdir "$E2E/bin"
cp "$BIN/agentctl" "$BIN/agent-supervisord" "$BIN/agent-tui" "$E2E/bin/"
cp "$TOOLS/fixtures/fake_broker" "$E2E/bin/agent-broker"
PATH=$E2E/bin:$PATH

is 'a broker that refuses tells the exit status' "$(agentctl run -- fake-fail 2>/dev/null </dev/null; echo $?)" 127
like 'and its text is made safe' "$(agentctl run -- fake-fail 2>&1 </dev/null)" 'no such\\x1b\[2Jcommand'
is 'a broker that dies is a failure of the supervisor' "$(agentctl run -- fake-die 2>/dev/null </dev/null; echo $?)" 125
like 'and is named' "$(agentctl run -- fake-die 2>&1 </dev/null)" 'broker ended'
. "$ROOT/tests/lib/pty_checks.sh"
