#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The agent-supervisor authors
#
# run_scripts.sh NAME SCRIPT...: runs test scripts and programs that print TAP lines ("ok 1 - text",
# "not ok 2 - text", "ok 3 - text # SKIP reason"); exit 77 skips a whole script, its last line says why. One that
# hangs is ended after 10 minutes; one that leaves processes or files in /var/tmp behind has failed.
#
# As root, the scripts of e2e and escape run twice: as root, and as an unprivileged user on a copy of the
# programs that this user can reach.
set -u

name=$1
shift
copy=
log=$(mktemp)
trap 'rm -rf "$log" "$copy"' EXIT
trap 'exit 130' HUP INT TERM
case $name in
e2e | escape)
    if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null 2>&1; then
        copy=$(mktemp -d /var/tmp/agent-supervisor-copy.XXXXXX)
        chmod 755 "$copy"
        mkdir -p "$copy/$BUILD"
        cp -r tests contrib "$copy/"
        cp -r "$BUILD/bin" "$BUILD/lib" "$BUILD/tests" "$copy/$BUILD/"
        chmod -R a+rX "$copy"
    fi
    ;;
esac
passed=0 failed=0 skipped=0
run_one() { # script, user
    case $1:$2 in
    *.sh:unprivileged)
        # nobody: an account that owns nothing
        (cd "$copy" && setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all timeout -k 10 600 bash "$1" 2>&1 </dev/null)
        ;;
    *.sh:*) timeout -k 10 600 bash "$1" 2>&1 </dev/null ;;
    *) CMOCKA_MESSAGE_OUTPUT=tap timeout -k 10 600 "$1" 2>&1 </dev/null ;;
    esac
}
# The folder that e2e.sh made for the script, and processes that have it for their home or still have the output
# open, after the script ended. The last ones of a session may take a moment to be gone.
left_processes() { # folder
    {
        find /proc/[0-9]*/fd -lname "$log"
        [ -z "$1" ] || grep -alsF "HOME=$1/" /proc/[0-9]*/environ
    } 2>/dev/null | cut -d/ -f3 | sort -u
}
leftovers() { # script
    folder=$(sed -n 's|^# files: \(/var/tmp/agent-supervisor-test\.[A-Za-z0-9]*\)$|\1|p' "$log" | head -n 1)
    tries=0
    while left=$(left_processes "$folder") && [ -n "$left" ] && [ "$tries" -lt 50 ]; do
        tries=$((tries + 1))
        timeout 0.1 tail -f /dev/null
    done
    for pid in $left; do
        echo "not ok - $1 left process $pid: $(tr '\0' ' ' <"/proc/$pid/cmdline")"
        kill "$pid"
    done 2>/dev/null
    if [ -n "$folder" ] && [ -e "$folder" ]; then
        echo "not ok - $1 left $folder: $(find "$folder" 2>&1 | head -n 5 | tr '\n' ' ')"
        rm -rf "$folder"
    fi
}
count() { # script, user
    script=$1
    [ "$2" = same ] || script="$1 ($2)"
    start=$(date +%s)
    : >"$log"
    run_one "$1" "$2" >"$log" 2>&1
    status=$?
    left=$(leftovers "$1")
    out=$(cat "$log" && echo "$left")
    if [ "$status" -eq 77 ]; then
        skipped=$((skipped + 1))
        echo "SKIP $script: $(printf '%s\n' "$out" | tail -n 1)"
        return
    fi
    ok=$(printf '%s\n' "$out" | grep -aE '^[[:space:]]*ok ' | grep -acv '# SKIP')
    skip=$(printf '%s\n' "$out" | grep -acE '^[[:space:]]*ok .*# SKIP')
    bad=$(printf '%s\n' "$out" | grep -aE '^[[:space:]]*not ok ' | grep -acv '# SKIP')
    passed=$((passed + ok)) failed=$((failed + bad)) skipped=$((skipped + skip))
    [ "$skip" -gt 0 ] && printf '%s\n' "$out" | grep -aE '# SKIP'
    if [ "$status" -ne 0 ] || [ "$bad" -gt 0 ] || [ $((ok + skip)) -eq 0 ]; then
        printf 'FAIL %s (exit %d)\n%s\n' "$script" "$status" "$out" >&2
        [ "$bad" -gt 0 ] || failed=$((failed + 1))
    else
        echo "  $script: $ok in $(($(date +%s) - start)) s"
    fi
}
for each in "$@"; do
    count "$each" same
    [ -z "$copy" ] || count "$each" unprivileged
done
[ -n "${COUNT_FILE:-}" ] && echo "$passed $failed $skipped" >>"$COUNT_FILE"
echo "$name: $passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
