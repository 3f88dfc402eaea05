#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The agent-supervisor authors
#
# Runs cmocka programs one after another, shows what failed, and adds the counts to $COUNT_FILE
# (when set) as "passed failed skipped". One that hangs is ended after 5 minutes.
set -u

# Tests that start sessions run themselves inside, where /tmp is another: there they run from a copy.
copy=
case $PWD in
/tmp/* | /dev/shm/*)
    copy=$(mktemp -d /var/tmp/agent-supervisor-copy.XXXXXX)
    trap 'rm -rf "$copy"' EXIT
    ;;
esac
passed=0 failed=0 skipped=0
for program in "$@"; do
    run=$program
    if [ -n "$copy" ]; then
        case $program in
        */sandbox/*)
            run=$copy/${program##*/}
            cp "$program" "$run"
            ;;
        esac
    fi
    out=$(env -i PATH="$PATH" HOME="${HOME:-/}" TMPDIR="${TMPDIR:-/tmp}" BUILD="${BUILD:-build/release}" \
        LC_ALL=C.UTF-8 TZ=UTC CMOCKA_MESSAGE_OUTPUT=tap \
        timeout -k 10 300 "$run" 2>&1 </dev/null)
    status=$?
    ok=$(printf '%s\n' "$out" | grep -ac '^[[:space:]]*ok ')
    skip=$(printf '%s\n' "$out" | grep -acE '^[[:space:]]*(not )?ok .*# SKIP')
    bad=$(printf '%s\n' "$out" | grep -aE '^[[:space:]]*not ok ' | grep -acv '# SKIP')
    [ "$skip" -gt 0 ] && ok=$((ok - $(printf '%s\n' "$out" | grep -acE '^[[:space:]]*ok .*# SKIP')))
    [ "$skip" -gt 0 ] && printf '%s\n' "$out" | grep -aE '# SKIP' | sed "s|^|SKIP $program: |"
    passed=$((passed + ok)) failed=$((failed + bad)) skipped=$((skipped + skip))
    if [ "$status" -ne 0 ] || [ $((ok + skip)) -eq 0 ]; then
        printf 'FAIL %s (exit %d)\n%s\n' "$program" "$status" "$out" >&2
        [ "$bad" -gt 0 ] || failed=$((failed + 1))
    fi
done
[ -n "${COUNT_FILE:-}" ] && echo "$passed $failed $skipped" >>"$COUNT_FILE"
echo "unit: $passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
