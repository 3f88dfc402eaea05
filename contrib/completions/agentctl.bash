# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The agent-supervisor authors
#
# Completion of agentctl for bash: verbs, options, ids of requests and sessions, commands behind run.

_agentctl_ids() { # pending or ps: the first column of the table, when it is a plain word
    agentctl "$1" 2>/dev/null | awk 'NR > 1 && $1 ~ /^[A-Za-z0-9_-]+$/ { print $1 }'
}

_agentctl_profiles() { # a name that does not exist makes agentctl list those that do
    agentctl plan --profile '' 2>&1 | sed -n 's/^agentctl: there is no shipped policy "".*there are: //p'
}

_agentctl_options() { # verb
    local run='-p --policy --profile -w --workspace --no-ask -t --timeout --allow-reduced -v --verbose'
    case $1 in
    run) echo "$run --help" ;;
    plan | 'policy explain') echo "$run --json --help" ;;
    allow) echo '-f --for -s --scope --help' ;;
    deny) echo '-n --note --help' ;;
    stop) echo '-r --reason --help' ;;
    why) echo '-n --lines --json --help' ;;
    'policy check') echo '--layer --json --help' ;;
    'log show') echo '-s --session -t --type --json --help' ;;
    'log tail') echo '-f --follow -n --lines --json --help' ;;
    'log verify') echo '--vkey --checkpoint --json --help' ;;
    'daemon stop') echo '--force --help' ;;
    ps | pending | approve | doctor | version | 'daemon status') echo '--json --help' ;;
    *) echo '--help' ;;
    esac
}

# What an option's value is, on standard output. False when the option takes none.
_agentctl_value() { # verb, option
    case $1:$2 in
    run:-[ptw] | plan:-[ptw] | 'policy explain':-[ptw]) ;;
    allow:-[fs] | deny:-n | stop:-r | why:-n | 'log show':-[st] | 'log tail':-n) ;;
    *:--*) ;;
    *) return 1 ;;
    esac
    case $1:$2 in
    *:--policy | *:-p | *:--checkpoint) echo files ;;
    *:--workspace | *:-w) echo folders ;;
    *:--profile) echo "words $(_agentctl_profiles)" ;;
    *:--allow-reduced) echo 'words userns' ;;
    *:--timeout | run:-t | plan:-t | 'policy explain':-t) echo 'words 10m 30m 1h 2h' ;;
    allow:--for | allow:-f) echo 'words once session 10m 1h forever' ;;
    allow:--scope | allow:-s) echo 'words exact dir subcommand program host' ;;
    *:--layer) echo 'words builtin org user project' ;;
    'log show':--session | 'log show':-s) echo "words $(_agentctl_ids ps)" ;;
    'log show':--type | 'log show':-t) echo 'words session decision ask grant daemon log' ;;
    *:--note | *:-n | *:--lines | *:--reason | *:-r | *:--vkey) echo words ;;
    *) return 1 ;;
    esac
}

_agentctl_reply() { # kind and words, current word
    case $1 in
    files) mapfile -t COMPREPLY < <(compgen -f -- "$2") ;;
    folders) mapfile -t COMPREPLY < <(compgen -d -- "$2") ;;
    commands) mapfile -t COMPREPLY < <(compgen -c -- "$2") ;;
    *) mapfile -t COMPREPLY < <(compgen -W "${1#words}" -- "$2") ;;
    esac
    case $1 in words*) compopt +o filenames 2>/dev/null ;; esac
}

# The index of the first word behind a verb's options, where options end at the first operand.
_agentctl_operand() { # verb, index to start from
    local i=$2
    while [ "$i" -lt "$COMP_CWORD" ]; do
        case ${COMP_WORDS[i]} in
        --)
            echo $((i + 1))
            return
            ;;
        -*)
            # "--name=VALUE" comes as three words
            if [ "${COMP_WORDS[i + 1]:-}" = = ]; then
                i=$((i + 3))
            elif _agentctl_value "$1" "${COMP_WORDS[i]}" >/dev/null; then
                i=$((i + 2))
            else
                i=$((i + 1))
            fi
            ;;
        *) break ;;
        esac
    done
    echo "$i"
}

_agentctl_command() { # index of the command's name, current word
    if declare -F _command_offset >/dev/null; then
        _command_offset "$1"
    elif [ "$1" -eq "$COMP_CWORD" ]; then
        _agentctl_reply commands "$2"
    else
        _agentctl_reply files "$2"
    fi
}

_agentctl_request() { # index of the operation, current word: the words of "policy explain"
    local operation=${COMP_WORDS[$1]:-}
    if [ "$1" -eq "$COMP_CWORD" ]; then
        _agentctl_reply 'words read write create delete rename link chmod list exec connect listen env' "$2"
        return
    fi
    case $operation:$((COMP_CWORD - $1)) in
    exec:1) _agentctl_reply files "$2" ;;
    connect:1 | listen:1) _agentctl_reply 'words tcp udp unix' "$2" ;;
    connect:3 | listen:3) _agentctl_reply 'words port' "$2" ;;
    env:1) mapfile -t COMPREPLY < <(compgen -e -- "$2") ;;
    connect:* | listen:* | env:*) ;;
    *) _agentctl_reply files "$2" ;;
    esac
}

_agentctl_operands() { # verb, current word
    case $1 in
    allow | deny) _agentctl_reply "words $(_agentctl_ids pending)" "$2" ;;
    stop) _agentctl_reply "words $(_agentctl_ids ps)" "$2" ;;
    why) _agentctl_reply "words last $(_agentctl_ids ps)" "$2" ;;
    'policy check') _agentctl_reply files "$2" ;;
    'log verify') _agentctl_reply folders "$2" ;;
    esac
}

_agentctl() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} verb=${COMP_WORDS[1]:-}
    local at=1 first=2 words='' kind
    COMPREPLY=()
    if [ "$verb" = help ] && [ "$COMP_CWORD" -gt 1 ]; then
        verb=${COMP_WORDS[2]:-} at=2
    fi
    if [ "$COMP_CWORD" -eq "$at" ]; then
        _agentctl_reply 'words run ps stop pending approve tui allow deny why policy plan log daemon doctor version help' "$current"
        return
    fi
    case $verb in
    policy) words='check explain' ;;
    log) words='show tail verify' ;;
    daemon) words='start stop status' ;;
    esac
    if [ -n "$words" ]; then
        if [ "$COMP_CWORD" -eq $((at + 1)) ]; then
            _agentctl_reply "words $words" "$current"
            return
        fi
        verb="$verb ${COMP_WORDS[at + 1]}" first=3
    fi
    [ "$at" -eq 1 ] || return
    case $verb in
    run | plan | 'policy explain')
        at=$(_agentctl_operand "$verb" "$first")
        if [ "$at" -lt "$COMP_CWORD" ] || { [ "$at" -eq "$COMP_CWORD" ] && [ "$previous" = -- ]; }; then
            if [ "$verb" = 'policy explain' ]; then
                _agentctl_request "$at" "$current"
            else
                _agentctl_command "$at" "$current"
            fi
            return
        fi
        ;;
    esac
    if [ "$current" = = ]; then
        current=''
    elif [ "$previous" = = ]; then
        previous=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    if kind=$(_agentctl_value "$verb" "$previous"); then
        _agentctl_reply "$kind" "$current"
    elif [[ $current == -* ]]; then
        _agentctl_reply "words $(_agentctl_options "$verb")" "$current"
    elif [ "$verb" = run ] || [ "$verb" = plan ]; then
        _agentctl_command "$COMP_CWORD" "$current"
    elif [ "$verb" = 'policy explain' ]; then
        _agentctl_request "$COMP_CWORD" "$current"
    else
        _agentctl_operands "$verb" "$current"
    fi
}
complete -o filenames -F _agentctl agentctl
