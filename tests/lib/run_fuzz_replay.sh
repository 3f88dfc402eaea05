#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The agent-supervisor authors
#
# Feeds every corpus file to its fuzz target once; a crash is a failure.
set -u

passed=0 failed=0
for program in "$@"; do
    name=${program##*/fuzz_}
    for file in tests/fuzz/corpus/"$name"/*; do
        [ -f "$file" ] || continue
        if out=$(timeout -k 10 60 "$program" "$file" 2>&1 </dev/null); then
            passed=$((passed + 1))
        else
            failed=$((failed + 1))
            printf 'FAIL %s %s\n%s\n' "$program" "$file" "$out" >&2
        fi
    done
done
[ -n "${COUNT_FILE:-}" ] && echo "$passed $failed 0" >>"$COUNT_FILE"
echo "fuzz-replay: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
