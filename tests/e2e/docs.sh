#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The agent-supervisor authors
#
# What is written about the programs is what they do: help texts, manual pages, completions.
. "$(dirname "$0")/../lib/e2e.sh"

MAN=$ROOT/contrib/man
COMPLETIONS=$ROOT/contrib/completions
# shellcheck source=/dev/null
. "$COMPLETIONS/agentctl.bash"

mapfile -t verbs < <(agentctl --help | sed -n '/^agentctl VERB/q; s/^  \([a-z]\+\( [a-z]\+\)\?\)  .*/\1/p')
check 'agentctl --help names the verbs' test "${#verbs[@]}" -ge 20

# The options that a help text or a page names at the beginning of a line or in a usage line, one a line.
options_of() {
    sed -n -e 's/^usage: //p' -e 's/^Usage: //p' -e '/^ \+-/p' | sed 's/\([^ ]\)   .*/\1/' |
        grep -oE -e '(^|[][ ,|])--?[a-zA-Z][a-z-]*' | tr -d '][ ,|' | sort -u
}
plain() { # a roff source without its escapes
    sed -e 's/\\-/-/g; s/\\f[A-Z]//g; s/\\c$//; s/" *, *"/, /g; s/"//g' "$1"
}
# The part of agentctl.1 about one verb.
man_section() {
    plain "$MAN/agentctl.1" | awk -v verb="$1" '/^\.S[SH] / { on = $0 == ".SS " verb } on'
}
without() { # words of the first list that are not in the second
    comm -23 <(printf '%s\n' "$1" | tr -s ' ' '\n' | sort -u) <(printf '%s\n' "$2" | tr -s ' ' '\n' | sort -u) | xargs
}
# What bash completes at the end of a command line, given as words.
completed() {
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
    _agentctl 2>/dev/null
    printf '%s ' ${COMPREPLY[@]+"${COMPREPLY[@]}"}
}
unknown_options() { # verb, options: those that the program does not know; help is asked for, nothing is done
    local option
    for option in $2; do
        # shellcheck disable=SC2086
        case $(timeout 10 agentctl $1 "$option" --help 2>&1 </dev/null) in *'unknown option'*) echo "$option" ;; esac
    done
}
status() {
    "$@" >/dev/null 2>&1 </dev/null
    echo $?
}

# Verbs -----------------------------------------------------------------------------------------------------
for verb in "${verbs[@]}"; do
    read -ra words <<<"$verb"
    help=$(agentctl "${words[@]}" --help 2>&1)
    is "$verb --help succeeds" "$(status agentctl "${words[@]}" --help)" 0
    like "$verb --help has an example" "$help" "^  agentctl $verb( |\$)"
    section=$(man_section "$verb")
    check "$verb stands in agentctl.1" test -n "$section"
    documented=$(printf '%s\n' "$section" | grep -oE -e '(^|[][ ,|=])--?[a-zA-Z][a-z-]*' | tr -d '][ ,|=' | sort -u)
    is "every option of $verb --help stands there" "$(without "$(printf '%s\n' "$help" | options_of)" "$documented")" ''
    is "and what stands there is an option of $verb" "$(unknown_options "$verb" "$documented")" ''
    like "bash completes $verb" " $(completed agentctl "${words[@]:0:$((${#words[@]} - 1))}" '') " " ${words[-1]} "
    offered=$(completed agentctl "${words[@]}" -)
    is "bash completes every option of $verb" "$(without "$(printf '%s\n' "$help" | options_of)" "$offered")" ''
    is 'and no other' "$(unknown_options "$verb" "$offered")" ''
    check "zsh names $verb" grep -q "'${words[-1]}:" "$COMPLETIONS/_agentctl"
    check "fish names $verb" grep -qE -- "-a ${words[-1]} -d" "$COMPLETIONS/agentctl.fish"
    for option in $offered; do
        case $option in --help) continue ;; --*) ;; *) continue ;; esac
        check "zsh names $option" grep -qE -e "${option}[[}]" "$COMPLETIONS/_agentctl"
        check "fish names $option" grep -q -e "-l ${option#--} " "$COMPLETIONS/agentctl.fish"
    done
done
for words in policy log daemon; do
    is "bash completes the verbs of $words" "$(completed agentctl $words '' | xargs)" \
        "$(printf '%s\n' "${verbs[@]}" | sed -n "s/^$words //p" | xargs)"
done
is 'every subsection about a verb is about one that exists' \
    "$(plain "$MAN/agentctl.1" | sed -n '/^\.SH EXIT STATUS/q; s/^\.SS //p' | sort | xargs)" "$(printf '%s\n' "${verbs[@]}" | sort | xargs)"

# Other programs ----------------------------------------------------------------------------------------------
is 'every option of agent-supervisord --help stands in its page' \
    "$(without "$(agent-supervisord --help | options_of)" "$(plain "$MAN/agent-supervisord.8" | grep -oE -e '--[a-z]+' | xargs)")" ''
for key in 'j' 'k' 'a' 's' 'd' 'w' 'q' 'Y' 'e' 'Enter' 'Esc'; do
    check "agent-tui.1 tells what $key does" grep -qE "^\.(B|BR) ([^\"]+\"?, \"? ?)*(\"[^\"]*\" ?)*$key( |\$)" "$MAN/agent-tui.1"
done
# agent-policy.5 shows a policy: it must be one.
plain_policy=$(sed -n '/^\.nf/,/^\.fi/p' "$MAN/agent-policy.5" | sed '/^\./d; s/\\-/-/g')
printf '%s\n' "$plain_policy" >"$E2E/shown.policy"
is 'the policy in agent-policy.5 is usable' "$(status agentctl policy check "$E2E/shown.policy")" 0
# shellcheck disable=SC2016
for word in allow ask deny hide grant default set bin env use test except by port has lacks offer scope timeout until because; do
    check "agent-policy.5 names $word" grep -qE "^\.B.*(^|[ \"])$word([ \",]|\$)" "$MAN/agent-policy.5"
done
# What the page calls refused is refused, and what it calls a statement is none of these.
for word in limit dns delegate for; do
    printf 'policy "x" lang 1 layer user\n%s x\n' "$word" >"$E2E/later.policy"
    like "$word is not supported yet" "$(agentctl policy check "$E2E/later.policy")" "\"$word\" .*not supported"
done
if command -v man >/dev/null 2>&1; then
    for page in "$MAN"/*; do
        is "$(basename "$page") is formatted without a warning" "$(man --warnings -l "$page" 2>&1 >/dev/null)" ''
    done
else
    skip 'pages are formatted without a warning' 'there is no man'
fi

# Completion of values and ids ------------------------------------------------------------------------------------
is 'bash completes durations' "$(completed agentctl allow --for '' | xargs)" 'once session 10m 1h forever'
is 'also behind =' "$(completed agentctl allow --for = se | xargs)" session
is 'names of shipped policies' "$(completed agentctl run --profile '' | xargs)" core
is 'commands behind run' "$(completed agentctl run --no-ask -p x -- mkfif | xargs -n 1 | sort -u)" mkfifo
is 'no option of ours there' "$(completed agentctl run -- ls --no-a | xargs)" ''
is 'the words of policy explain' "$(completed agentctl policy explain --profile core connect '' | xargs)" 'tcp udp unix'
is 'verbs behind help' "$(completed agentctl help log '' | xargs)" 'show tail verify'
is 'without a supervisor there are no ids' "$(completed agentctl allow '' | xargs)" ''

echo secret >"$HOME/notes.txt"
# shellcheck disable=SC2016
run -- sh -c 'cat "$0"; exit 0' "$HOME/notes.txt" >"$E2E/out" 2>&1 &
e2e_pids+=($!)
if wait_for has_pending; then
    id=$(pending_id 0)
    session=$(agentctl ps --json | python3 -c 'import json,sys; print(json.load(sys.stdin)[0]["id"])')
    is 'bash completes the id of a request' "$(completed agentctl allow '' | xargs)" "$id"
    is 'and of a session' "$(completed agentctl stop '' | xargs)" "$session"
    is 'behind --session too' "$(completed agentctl log show --session '' | xargs)" "$session"
    if command -v fish >/dev/null 2>&1; then
        is 'fish completes the id of a request' \
            "$(fish -c "source $COMPLETIONS/agentctl.fish; complete -C 'agentctl deny '" 2>/dev/null | cut -f1 | xargs)" "$id"
    else
        skip 'fish completes the id of a request' 'there is no fish'
    fi
    check 'the request is denied' agentctl deny "$id"
else
    not_ok 'a request waits'
fi
wait

# Other shells ----------------------------------------------------------------------------------------------------
fish_completed() {
    fish -c "source $COMPLETIONS/agentctl.fish; complete -C '$1'" 2>&1 | cut -f1 | sort | xargs
}
if command -v fish >/dev/null 2>&1; then
    is 'fish completes verbs' "$(fish_completed 'agentctl log ')" 'show tail verify'
    is 'options' "$(fish_completed 'agentctl daemon stop --')" '--force --help'
    is 'values' "$(fish_completed 'agentctl run --profile ')" core
    is 'commands behind run' "$(fish_completed 'agentctl run --no-ask -- mkfif')" mkfifo
else
    skip 'fish completes' 'there is no fish'
fi
# zsh completes only on a terminal: one of its own, where compadd also tells what it is given.
cat >"$E2E/complete.zsh" <<'EOF'
zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z "PS1= ; unset zle_bracketed_paste; fpath=($1 \$fpath); autoload -Uz compinit; compinit -u -D
compadd() {
    local -a hits
    if [[ -z \${argv[(r)-[OAD]]} ]]; then
        builtin compadd -O hits \"\$@\"
        print -rl -- \$hits >>$2
    fi
    builtin compadd \"\$@\"
}
# Only when the line editor has the terminal is a tab a tab.
zle-line-init() { print -n READ\"Y\" }
zle -N zle-line-init"
zpty -r z x '*READY*'
zpty -n -w z "$3"$'\t'
zpty -n -w z $'\x15print DO"NE"\n'
zpty -r z x '*DONE*'
zpty -d z
EOF
zsh_completed() {
    : >"$E2E/offered"
    timeout 30 zsh -f "$E2E/complete.zsh" "$COMPLETIONS" "$E2E/offered" "$1" >/dev/null 2>&1 </dev/null
    sort -u "$E2E/offered" | xargs
}
if command -v zsh >/dev/null 2>&1; then
    is 'zsh completes verbs' "$(zsh_completed 'agentctl log ')" 'show tail verify'
    is 'verbs behind help' "$(zsh_completed 'agentctl help daemon ')" 'start status stop'
    is 'options' "$(zsh_completed 'agentctl daemon stop --')" '--force --help'
    is 'values' "$(zsh_completed 'agentctl run --profile ')" core
    is 'commands behind run' "$(zsh_completed 'agentctl run --no-ask -- mkfif')" mkfifo
    is 'the words of policy explain' "$(zsh_completed 'agentctl policy explain connect ')" 'tcp udp unix'
else
    skip 'zsh completes' 'there is no zsh'
fi
