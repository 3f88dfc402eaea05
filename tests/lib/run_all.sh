#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The agent-supervisor authors
#
# Runs the named make targets, all of them even after a failure, and closes with one count.
set -u

COUNT_FILE=$(mktemp)
export COUNT_FILE
trap 'rm -f "$COUNT_FILE"' EXIT
status=0
for target in "$@"; do
    ${MAKE:-make} --no-print-directory -j"${JOBS:-2}" MODE="$MODE" BUILD="$BUILD" "$target" || status=1
done
awk '{ p += $1; f += $2; s += $3 } END { printf "%d passed, %d failed, %d skipped\n", p, f, s }' "$COUNT_FILE"
exit $status
