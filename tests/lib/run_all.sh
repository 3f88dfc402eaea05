#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The agent-supervisor authors
#
# Runs the named make targets, all of them even after a failure, and closes with one count. A target that fails
# before its tests run, by a compiler error for example, counts as one failure.
set -u

COUNT_FILE=$(mktemp)
export COUNT_FILE
trap 'rm -f "$COUNT_FILE"' EXIT
trap 'exit 130' HUP INT TERM
failures() {
    awk '{ f += $2 } END { print f + 0 }' "$COUNT_FILE"
}
status=0
for target in "$@"; do
    before=$(failures)
    ${MAKE:-make} --no-print-directory -j"${JOBS:-2}" MODE="$MODE" BUILD="$BUILD" "$target" && continue
    status=1
    [ "$(failures)" -gt "$before" ] || echo "0 1 0" >>"$COUNT_FILE"
done
awk '{ p += $1; f += $2; s += $3 } END { printf "%d passed, %d failed, %d skipped\n", p, f, s }' "$COUNT_FILE"
exit $status
