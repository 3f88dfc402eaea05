# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The agent-supervisor authors
#
# Completion of agentctl for fish: verbs, options, ids of requests and sessions, commands behind run.

# The first column of the table of pending or ps, when it is a plain word.
function __agentctl_ids
    agentctl $argv[1] 2>/dev/null | awk 'NR > 1 && $1 ~ /^[A-Za-z0-9_-]+$/ { print $1 }'
end

# A name that does not exist makes agentctl list those that do.
function __agentctl_profiles
    agentctl plan --profile '' 2>&1 | string replace -rf '.*there are: ' '' | string split ' '
end

# Is the verb just this one ("ps", "log show"), and complete?
function __agentctl_verb
    set -l tokens (commandline -opc)
    set -e tokens[1]
    set -l n (count $argv)
    test (count $tokens) -ge $n; and test "$tokens[1..$n]" = "$argv"
end

# The words behind the options of run, plan and policy explain; false when the command has not begun.
function __agentctl_operands
    set -l tokens (commandline -opc)
    set -e tokens[1]
    test "$tokens[1]" = policy; and set -e tokens[1]
    set -e tokens[1]
    while set -q tokens[1]
        switch $tokens[1]
            case --
                set -e tokens[1]
                break
            case -p --policy --profile -w --workspace -t --timeout --allow-reduced
                set -e tokens[1]
                set -q tokens[1]; and set -e tokens[1]
            case '-*'
                set -e tokens[1]
            case '*'
                break
        end
    end
    string join \n -- $tokens
end
function __agentctl_command
    set -l tokens (__agentctl_operands)
    set -l current (commandline -ct)
    # "-..." in the place of the command's name is an option of ours.
    if set -q tokens[1]; or not string match -q -- '-*' $current
        complete --do-complete=(string join ' ' -- (string escape -- $tokens) $current | string collect)
    end
end
function __agentctl_in_options
    test -z "$(__agentctl_operands)"
end
function __agentctl_request
    set -l tokens (__agentctl_operands)
    switch "$tokens[1]":(count $tokens)
        case ':*'
            string join \n read write create delete rename link chmod list exec connect listen env
        case connect:1 listen:1
            string join \n tcp udp unix
        case connect:3 listen:3
            echo port
        case env:1
            set -xn
        case 'connect:*' 'listen:*' 'env:*'
        case '*'
            __fish_complete_path (commandline -ct)
    end
end
# No option is completed behind the first operand of these.
function __agentctl_run
    __agentctl_verb $argv; and __agentctl_in_options
end

complete -c agentctl -f
function __agentctl_no_verb
    set -l tokens (commandline -opc)
    test (count $tokens) -eq 1; or test "$tokens[2..]" = help
end
set -l none __agentctl_no_verb
complete -c agentctl -n $none -a run -d 'run a command under supervision'
complete -c agentctl -n $none -a ps -d 'list the sessions that run'
complete -c agentctl -n $none -a stop -d 'end a session'
complete -c agentctl -n $none -a pending -d 'list the requests that wait for an answer'
complete -c agentctl -n $none -a approve -d 'answer requests one after another'
complete -c agentctl -n $none -a tui -d 'answer requests on a full screen'
complete -c agentctl -n $none -a allow -d 'allow a pending request'
complete -c agentctl -n $none -a deny -d 'deny a pending request'
complete -c agentctl -n $none -a why -d 'tell why something was denied'
complete -c agentctl -n $none -a policy -d 'check and explain policies'
complete -c agentctl -n $none -a plan -d 'show what a run would enforce, and where'
complete -c agentctl -n $none -a log -d 'print and check the audit log'
complete -c agentctl -n $none -a daemon -d 'start and stop the supervisor'
complete -c agentctl -n $none -a doctor -d 'find out whether sessions can run here'
complete -c agentctl -n $none -a version -d 'print the version'
complete -c agentctl -n $none -a help -d 'show the help of a verb'

function __agentctl_group # policy, log, daemon: the second word is missing
    set -l tokens (commandline -opc)
    set -e tokens[1]
    test "$tokens[1]" = help; and set -e tokens[1]
    test "$tokens" = $argv[1]
end
complete -c agentctl -n '__agentctl_group policy' -a check -d 'check policy files'
complete -c agentctl -n '__agentctl_group policy' -a explain -d 'say what the policies answer to a request'
complete -c agentctl -n '__agentctl_group log' -a show -d 'print the audit log'
complete -c agentctl -n '__agentctl_group log' -a tail -d 'print the last records, and follow'
complete -c agentctl -n '__agentctl_group log' -a verify -d 'check the audit log'
complete -c agentctl -n '__agentctl_group daemon' -a start -d 'start the supervisor'
complete -c agentctl -n '__agentctl_group daemon' -a stop -d 'stop the supervisor'
complete -c agentctl -n '__agentctl_group daemon' -a status -d 'say whether the supervisor runs'

for verb in run plan 'policy explain'
    set -l in "__agentctl_run $verb"
    complete -c agentctl -n $in -s p -l policy -rF -d 'add a policy of yours'
    complete -c agentctl -n $in -l profile -x -a '(__agentctl_profiles)' -d 'the shipped policy to start from'
    complete -c agentctl -n $in -s w -l workspace -x -a '(__fish_complete_directories)' -d 'the folder that counts as the project'
    complete -c agentctl -n $in -l no-ask -d 'deny at once whatever would be asked'
    complete -c agentctl -n $in -s t -l timeout -x -a '10m 30m 1h 2h' -d 'end the session after this time'
    complete -c agentctl -n $in -l allow-reduced -x -a userns -d 'go on without a layer of protection'
    complete -c agentctl -n $in -s v -l verbose -d 'show what was denied'
    complete -c agentctl -n $in -s h -l help -d 'show the help of this verb'
end
complete -c agentctl -n '__agentctl_verb run; or __agentctl_verb plan' -a '(__agentctl_command)'
complete -c agentctl -n '__agentctl_verb policy explain' -a '(__agentctl_request)'
for verb in plan 'policy explain'
    complete -c agentctl -n "__agentctl_run $verb" -l json -d 'print JSON'
end

for verb in ps pending approve why 'policy check' 'log show' 'log tail' 'log verify' 'daemon status' doctor version
    complete -c agentctl -n "__agentctl_verb $verb" -l json -d 'print JSON'
end
for verb in ps stop pending approve tui allow deny why 'policy check' 'log show' 'log tail' 'log verify' \
        'daemon start' 'daemon stop' 'daemon status' doctor version
    complete -c agentctl -n "__agentctl_verb $verb" -s h -l help -d 'show the help of this verb'
end
complete -c agentctl -n '__agentctl_verb allow; or __agentctl_verb deny' -a '(__agentctl_ids pending)' -d request
complete -c agentctl -n '__agentctl_verb allow' -s f -l for -x -a 'once session 10m 1h forever' -d 'how long'
complete -c agentctl -n '__agentctl_verb allow' -s s -l scope -x -a 'exact dir subcommand program host' -d 'how much'
complete -c agentctl -n '__agentctl_verb deny' -s n -l note -x -d 'for the agent and the log'
complete -c agentctl -n '__agentctl_verb stop; or __agentctl_verb why' -a '(__agentctl_ids ps)' -d session
complete -c agentctl -n '__agentctl_verb stop' -s r -l reason -x -d 'for the log'
complete -c agentctl -n '__agentctl_verb why' -a last -d 'the last denial'
complete -c agentctl -n '__agentctl_verb why' -s n -l lines -x -d 'so many denials'
complete -c agentctl -n '__agentctl_verb policy check' -F
complete -c agentctl -n '__agentctl_verb policy check' -l layer -x -a 'builtin org user project' -d 'where they would stand'
complete -c agentctl -n '__agentctl_verb log show' -s s -l session -x -a '(__agentctl_ids ps)' -d 'only of one session'
complete -c agentctl -n '__agentctl_verb log show' -s t -l type -x -a 'session decision ask grant daemon log' -d 'only this type'
complete -c agentctl -n '__agentctl_verb log tail' -s f -l follow -d 'go on with every new record'
complete -c agentctl -n '__agentctl_verb log tail' -s n -l lines -x -d 'start with the last ones'
complete -c agentctl -n '__agentctl_verb log verify' -a '(__fish_complete_directories)'
complete -c agentctl -n '__agentctl_verb log verify' -l vkey -x -d 'the key that must have signed'
complete -c agentctl -n '__agentctl_verb log verify' -l checkpoint -rF -d 'a checkpoint that the log must continue'
complete -c agentctl -n '__agentctl_verb daemon stop' -l force -d 'also while sessions run'
