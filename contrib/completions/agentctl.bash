# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The agent-supervisor authors
#
# Completion of agentctl for bash: verbs, options, ids of requests and sessions, commands behind run.

_agentctl_ids() { # verb: the first column of its JSON list
    agentctl "$1" --json 2>/dev/null | grep -o '"id":"[^"]*"' | cut -d'"' -f4
}

_agentctl_options() {
    case $1 in
    run) echo --policy --profile --workspace --no-ask --timeout --allow-reduced --verbose --help ;;
    plan | 'policy explain') echo --json --policy --profile --workspace --no-ask --timeout --allow-reduced --help ;;
    allow) echo --for --scope --help ;;
    deny) echo --note --help ;;
    stop) echo --reason --help ;;
    why) echo --json --lines --help ;;
    'policy check') echo --json --layer --help ;;
    'log show') echo --json --session --type --help ;;
    'log tail') echo --follow --lines --json --help ;;
    'log verify') echo --json --vkey --checkpoint --help ;;
    'daemon stop') echo --force --help ;;
    ps | pending | approve | doctor | version | 'daemon status') echo --json --help ;;
    *) echo --help ;;
    esac
}

# The value of an option. False when PREVIOUS takes none.
_agentctl_value() { # previous word, current word
    case $1 in
    --policy | -p | --checkpoint) mapfile -t COMPREPLY < <(compgen -f -- "$2") ;;
    --workspace | -w) mapfile -t COMPREPLY < <(compgen -d -- "$2") ;;
    --profile) mapfile -t COMPREPLY < <(compgen -W 'core' -- "$2") ;;
    --allow-reduced) mapfile -t COMPREPLY < <(compgen -W 'userns' -- "$2") ;;
    --for | -f) mapfile -t COMPREPLY < <(compgen -W 'once session 10m 1h forever' -- "$2") ;;
    --scope) mapfile -t COMPREPLY < <(compgen -W 'exact dir subcommand program host' -- "$2") ;;
    --layer) mapfile -t COMPREPLY < <(compgen -W 'builtin org user project' -- "$2") ;;
    --session) mapfile -t COMPREPLY < <(compgen -W "$(_agentctl_ids ps)" -- "$2") ;;
    --timeout | -t | --note | -n | --lines | --reason | -r | --type | --vkey) COMPREPLY=() ;;
    *) return 1 ;;
    esac
}

_agentctl() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} verb=${COMP_WORDS[1]:-} i words=''
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        words='run ps stop pending approve tui allow deny why policy plan log daemon doctor version help'
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
        return
    fi
    case $verb in
    policy) words='check explain' ;;
    log) words='show tail verify' ;;
    daemon) words='start stop status' ;;
    esac
    if [ -n "$words" ]; then
        if [ "$COMP_CWORD" -eq 2 ]; then
            mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
            return
        fi
        verb="$verb ${COMP_WORDS[2]}"
    fi
    if [ "$verb" = run ] || [ "$verb" = plan ]; then
        # Behind "--" stands another command: complete that one.
        for ((i = 2; i < COMP_CWORD; i++)); do
            if [ "${COMP_WORDS[i]}" = -- ]; then
                if declare -F _command_offset >/dev/null; then
                    _command_offset $((i + 1))
                elif [ $((i + 1)) -eq "$COMP_CWORD" ]; then
                    mapfile -t COMPREPLY < <(compgen -c -- "$current")
                else
                    mapfile -t COMPREPLY < <(compgen -f -- "$current")
                fi
                return
            fi
        done
    fi
    _agentctl_value "$previous" "$current" && return
    if [[ $current == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_agentctl_options "$verb")" -- "$current")
        return
    fi
    case $verb in
    allow | deny) words=$(_agentctl_ids pending) ;;
    stop) words=$(_agentctl_ids ps) ;;
    why) words="last $(_agentctl_ids ps)" ;;
    'policy explain') words='read write create delete rename link chmod list exec connect listen signal env' ;;
    'policy check')
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
        return
        ;;
    'log verify')
        mapfile -t COMPREPLY < <(compgen -d -- "$current")
        return
        ;;
    run | plan)
        mapfile -t COMPREPLY < <(compgen -c -- "$current")
        return
        ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}
complete -o filenames -F _agentctl agentctl
