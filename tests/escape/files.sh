#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The agent-supervisor authors
#
# Ways round the rules for files, in a real session: argument races, links, /proc, moved folders, handles.
. "$(dirname "$0")/../lib/e2e.sh"

# Prints a program's "ok TEXT" and "not ok TEXT" lines as this script's.
results() {
    local line n=0
    while IFS= read -r line; do
        case $line in
        "ok "*) ok "${line#ok }" && n=$((n + 1)) ;;
        "not ok "*) not_ok "${line#not ok }" && n=$((n + 1)) ;;
        esac
    done <"$1"
    [ "$n" -gt 0 ] || not_ok "the program ran" "$(head -5 "$1")"
}

mkdir plain .plain secret repo repo/t planted planted/hooks "$HOME/outside"
echo free >plain/f
echo free >.plain/f
echo free >f
echo "not to be written" >unwritable
echo secret >secret/f
echo outside >"$HOME/outside/f"
chmod 600 "$HOME/outside/f"
echo evil >planted/hooks/pre-commit
ln -s secret/f tosecret
ln -s plain link1
ln -s secret link2
cp "$TOOLS/escape/race_files" "$TOOLS/escape/path_tricks" .
cat >"$E2E/races.policy" <<END
policy "races" lang 1 layer user
deny read,write,create,delete,rename,link,chmod "$WS/secret/**" because "a test"
deny write,chmod,delete,rename "$WS/unwritable" because "a test"
END

for race in open:100000 how:20000 create:20000 cwd:20000 fd:20000 exchange:10000 plant:20000 move:3000; do
    run --policy "$E2E/races.policy" --no-ask -- ./race_files "${race%:*}" "${race#*:}" >"$E2E/out" 2>&1
    results "$E2E/out"
done
is "the guarded file is as it was" "$(cat secret/f)" secret
is "nothing was made beside it" "$(ls secret)" f

rm -rf repo && git init -q repo && echo x >repo/.git/x
run --policy "$E2E/races.policy" --no-ask -- ./path_tricks "$HOME/outside/f" >"$E2E/out" 2>&1
results "$E2E/out"
is "the file outside is as it was" "$(cat "$HOME/outside/f") $(stat -c %a "$HOME/outside/f")" "outside 600"

check "no name was stolen" test ! -e stolen -a ! -e free
log_ok "the log verifies"

# The same without user namespaces: there everything rests on the broker and Landlock.
without_userns() {
    unshare -Ur sh -c 'echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"' sh "$@"
}
if without_userns true 2>/dev/null; then
    agentctl daemon stop --force >/dev/null 2>&1 # one of that namespace takes its place
    without_userns agentctl run --workspace "$WS" --policy "$E2E/races.policy" --no-ask --allow-reduced userns -- \
        ./path_tricks "$HOME/outside/f" </dev/null 2>&1 | sed 's/^\(not \)\?ok /&reduced: /' >"$E2E/out"
    results "$E2E/out"
    is "reduced: the file outside is as it was" "$(cat "$HOME/outside/f") $(stat -c %a "$HOME/outside/f")" "outside 600"
else
    skip "reduced mode" "no user namespace can be limited here"
fi
