#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The agent-supervisor authors
#
# ARCHITECTURE.md describes what is: every `name()` and every `path/file.ext` in it must exist, and every
# test that an invariant names must be there.
set -u

status=0
# shellcheck disable=SC2013
for name in $(grep -oE '`[a-z_0-9]+\(\)`' ARCHITECTURE.md | tr -d '`()' | sort -u); do
    if ! grep -rqwE "$name" supervisord agentctl tui policy-lang audit-log --include='*.[ch]'; then
        echo "ARCHITECTURE.md: no function $name()" >&2
        status=1
    fi
done
# shellcheck disable=SC2013
for path in $(grep -oE '`[a-z][a-zA-Z0-9_./-]*\.(c|h|sh|md|policy|py|mk)`' ARCHITECTURE.md README.md CONTRIBUTING.md SECURITY.md |
    sed 's/^[^:]*://' | tr -d '`' | sort -u); do
    case $path in */*) ;; *) continue ;; esac
    if [ ! -e "$path" ]; then
        echo "documents name $path, which does not exist" >&2
        status=1
    fi
done
lines=$(wc -l <ARCHITECTURE.md)
if [ "$lines" -gt 300 ]; then
    echo "ARCHITECTURE.md has $lines lines; 300 are the limit" >&2
    status=1
fi
find supervisord agentctl tui policy-lang audit-log -name "*.[ch]" >"${TMPDIR:-/tmp}/docs-check.$$"
while read -r file; do
    n=$(wc -l <"$file")
    if [ "$n" -gt 700 ] && ! grep -q 'longer than 700 lines because' "$file"; then
        echo "$file has $n lines; 700 are the limit" >&2
        status=1
    fi
    if ! head -n 2 "$file" | grep -q 'SPDX-License-Identifier: Apache-2.0'; then
        echo "$file has no SPDX line" >&2
        status=1
    fi
done <"${TMPDIR:-/tmp}/docs-check.$$"
rm -f "${TMPDIR:-/tmp}/docs-check.$$"
exit $status
