#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The agent-supervisor authors
#
# run_scripts.sh NAME SCRIPT...: runs test scripts and programs that print TAP lines ("ok 1 - text",
# "not ok 2 - text", "ok 3 - text # SKIP reason"); exit 77 skips a whole script, its last line says why.
set -u

name=$1
shift
passed=0 failed=0 skipped=0
for script in "$@"; do
    case $script in
    *.sh) out=$(bash "$script" 2>&1 </dev/null) ;;
    *) out=$(CMOCKA_MESSAGE_OUTPUT=tap "$script" 2>&1 </dev/null) ;;
    esac
    status=$?
    if [ "$status" -eq 77 ]; then
        skipped=$((skipped + 1))
        echo "SKIP $script: $(printf '%s\n' "$out" | tail -n 1)"
        continue
    fi
    ok=$(printf '%s\n' "$out" | grep -aE '^[[:space:]]*ok ' | grep -acv '# SKIP')
    skip=$(printf '%s\n' "$out" | grep -acE '^[[:space:]]*ok .*# SKIP')
    bad=$(printf '%s\n' "$out" | grep -aE '^[[:space:]]*not ok ' | grep -acv '# SKIP')
    passed=$((passed + ok)) failed=$((failed + bad)) skipped=$((skipped + skip))
    [ "$skip" -gt 0 ] && printf '%s\n' "$out" | grep -aE '# SKIP'
    if [ "$status" -ne 0 ] || [ "$bad" -gt 0 ] || [ $((ok + skip)) -eq 0 ]; then
        printf 'FAIL %s (exit %d)\n%s\n' "$script" "$status" "$out" >&2
        [ "$bad" -gt 0 ] || failed=$((failed + 1))
    fi
done
[ -n "${COUNT_FILE:-}" ] && echo "$passed $failed $skipped" >>"$COUNT_FILE"
echo "$name: $passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
