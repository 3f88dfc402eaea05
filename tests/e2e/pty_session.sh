#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The agent-supervisor authors
#
# A session on a terminal: size, keys, job control, modes, hang-up.
. "$(dirname "$0")/../lib/e2e.sh"
. "$ROOT/tests/lib/pty.sh"
. "$ROOT/tests/lib/pty_checks.sh"
