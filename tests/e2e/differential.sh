#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The agent-supervisor authors
#
# Some five hundred file calls, in every form and with every error: their outcome under supervision is what the
# kernel gives without. As root the bare run drops its capabilities, as the session does.
. "$(dirname "$0")/../lib/e2e.sh"

cat >"$E2E/all.policy" <<END
policy "differential" lang 1 layer user
allow read,write,create,delete,rename,link,chmod,list "$WS/**" "/tmp/**" "/dev/null" "/dev/zero" "/dev/shm/**"
END

bare=()
if [ "$(id -u)" -eq 0 ]; then
    bare=(setpriv --bounding-set=-all --inh-caps=-all --)
fi

# Fresh folders: on the disk, and on the private /tmp.
mkdir "$WS/bare" "$WS/under"
cp "$TOOLS/fixtures/diff_files" "$WS/diff_files"
"${bare[@]}" "$WS/diff_files" "$WS/bare" >"$E2E/bare.txt" 2>&1
run --policy "$E2E/all.policy" --no-ask -- "$WS/diff_files" "$WS/under" >"$E2E/under.txt" 2>"$E2E/under.err"
is "the supervised run ends like the bare one" "$?" 0
check "hundreds of calls were made" test "$(wc -l <"$E2E/bare.txt")" -gt 400
is "every call gives what the kernel gives" "$(diff "$E2E/bare.txt" "$E2E/under.txt" | head -40)" ""
log_ok "the log verifies"
