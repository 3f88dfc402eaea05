#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The agent-supervisor authors
#
# Policies as people meet them: errors stop the start; explain and enforcement agree.
. "$(dirname "$0")/../lib/e2e.sh"

printf 'policy "bad" lang 1 layer user\nallow read "~/ok"\nalow read "~/x"\n' >"$E2E/bad.policy"
out=$(run --policy "$E2E/bad.policy" -- touch ran 2>&1 </dev/null)
is 'a policy with an error: exit 78, nothing started' "$?:$(ls ran 2>/dev/null)" 78:
like 'file, line and column' "$out" 'bad\.policy:3:1: '
like 'and the nearest word' "$out" 'allow'
is 'policy check says the same' "$(agentctl policy check "$E2E/bad.policy" 2>&1 | grep -cE 'bad\.policy:3:1: ')" 1
is 'and fails' "$(agentctl policy check "$E2E/bad.policy" >/dev/null 2>&1; [ $? -ne 0 ] && echo failed)" failed
printf 'policy "good" lang 1 layer user\nallow read,list "~/docs/**"\ndeny read "~/docs/private/**" because "private"\n' >"$E2E/good.policy"
check 'a good one passes' agentctl policy check "$E2E/good.policy"
printf 'policy "p" lang 1 layer project\nallow connect tcp "example.org" port 443\n' >.agent-policy
is 'a project file that widens is refused' "$(run -- touch ran 2>/dev/null </dev/null; echo $?; ls ran 2>/dev/null)" 78
printf 'policy "p" lang 1 layer project\ndeny read "$PROJECT/closed/**" because "closed"\n' >.agent-policy
mkdir closed && echo x >closed/f
is 'one that tightens is honoured' "$(run -- cat closed/f 2>&1 </dev/null | grep -c 'ermission denied')" 1
is 'and cannot be changed from inside' "$(run --no-ask -- sh -c 'echo >.agent-policy' 2>&1 </dev/null | grep -c 'ermission denied')" 1
rm .agent-policy

mkdir -p "$HOME/docs/private" && echo d >"$HOME/docs/d" && echo p >"$HOME/docs/private/p" && echo n >"$HOME/n" && mkdir -p "$HOME/.ssh" && echo k >"$HOME/.ssh/k"
verdict() { # what explain says
    agentctl policy explain --policy "$E2E/good.policy" "$@" | head -n 1 | cut -d' ' -f1
}
for path in "$HOME/docs/d" "$HOME/docs/private/p" "$HOME/n" "$HOME/.ssh/k" /etc/hostname /etc/shadow "$WS/f" /usr/bin/env; do
    echo f >"$WS/f"
    said=$(verdict read "$path")
    did=$(run --no-ask --policy "$E2E/good.policy" -- cat "$path" >/dev/null 2>&1 </dev/null && echo allow || echo refuse)
    case $said in allow) want=allow ;; *) want=refuse ;; esac
    # Unix permissions may refuse what the policy allows, never the reverse.
    [ "$want" = allow ] && [ ! -r "$path" ] && want=refuse
    is "explain and enforcement agree on reading ${path#"$E2E"} ($said)" "$did" "$want"
done
is 'explain begins with the verdict' "$(verdict read "$HOME/.ssh/k")" deny
is 'exec is explained too' "$(verdict exec /usr/bin/git push)" ask
is 'and connect' "$(verdict connect tcp 169.254.169.254 port 80)" deny
like 'explain names file and line' "$(agentctl policy explain --policy "$E2E/good.policy" read "$HOME/docs/private/p")" 'good\.policy:3'

printf 'policy "any" lang 1 layer user\ndeny read "**/.env" because "secrets"\n' >"$E2E/any.policy"
echo s >"$WS/.env"
is 'a pattern for any folder leaves programs startable' "$(run --no-ask --policy "$E2E/any.policy" -- cat f 2>&1 </dev/null)" f
is 'and names what it means' "$(run --no-ask --policy "$E2E/any.policy" -- cat .env 2>&1 </dev/null | grep -c 'ermission denied')" 1
rm "$WS/.env"

mkdir r && ln -s r l && echo k >r/key
printf 'policy "a4" lang 1 layer user\ndeny read "$PROJECT/l/key" because "one object"\n' >"$E2E/a4.policy"
ln r/key r/hard
echo other >r/other
is 'a file beside it is readable' "$(run --no-ask --policy "$E2E/a4.policy" -- cat r/other 2>&1 </dev/null)" other
for name in r/key l/key r/hard ./r/../l/key /proc/self/cwd/r/key; do
    is "one object, one verdict: $name" "$(run --no-ask --policy "$E2E/a4.policy" -- cat "$name" 2>&1 </dev/null | grep -c 'ermission denied')" 1
done
log_ok 'the log verifies'
