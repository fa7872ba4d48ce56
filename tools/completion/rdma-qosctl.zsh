#compdef rdma-qosctl rdma-qos-run
# Completion of rdma-qosctl and rdma-qos-run for zsh, which looks for it under the name _rdma-qosctl. As that for bash: commands,
# options and what each takes are read from what --help prints; names of levels, devices and sessions come from the
# running daemon. One that is away costs nothing; one that hangs, a second.

# _rdma_qos_help PROGRAM [COMMAND [PART]]: a line for each thing that --help lists: section, name, and the word for its value.
_rdma_qos_help()
{
    "$@" --help 2>/dev/null | awk '
        /^[A-Z][a-z]+:$/ { section = tolower(substr($0, 1, length($0) - 1)); next }
        (section == "options" || section == "positionals" || section == "subcommands") && /^  [^ ]/ {
            left = substr($0, 3)
            sub(/  .*/, "", left)
            split(left, part, " ")
            count = split(part[1], name, ",")
            for (i = 1; i <= count; i++) {
                print section, name[i], part[2]
            }
        }'
}

# _rdma_qos_names KIND: of the daemon that the command line is about.
_rdma_qos_names()
{
    compadd -- ${${(f)"$(timeout 1 "${asked[@]}" names $1 2>/dev/null)"}%%$'\t'*}
}

# _rdma_qos_value TYPE: what is called so in --help.
_rdma_qos_value()
{
    case $1 in
        LEVEL) _rdma_qos_names levels ;;
        DEVICE) _rdma_qos_names devices ;;
        PID*) _rdma_qos_names sessions ;;
        FILE* | PATH | POLICY) _files ;;
        DIR) _files -/ ;;
        'NAME|UID') _users ;;
        'NAME|GID') _groups ;;
        *:{*}) compadd -- ${(s:,:)${${1#*:\{}%\}}} ;; # WHEN:{auto,always,never}
        [a-z]*'|'*) compadd -- ${(s:|:)1} ;; # tcp|udp
    esac
}

# _rdma_qos_program INDEX: the word there begins another program's command line.
_rdma_qos_program()
{
    words=("${(@)words[$1,-1]}")
    ((CURRENT -= $1 - 1))
    _normal
}

_rdma_qos()
{
    emulate -L zsh
    setopt extended_glob
    local program=$words[1] command='' part='' option='' word kind name type
    local -A takes asked_for
    local -a asked positionals names parts
    local -i i count=0 is_launcher=0
    [[ ${program:t} != rdma-qos-run ]] || is_launcher=1
    asked=($program)
    if ((is_launcher)); then
        asked=(rdma-qosctl)
        # One that was not installed asks its neighbour.
        [[ $program != */* || ! -x ${program:h}/rdma-qosctl ]] || asked=(${program:h}/rdma-qosctl)
    fi
    _rdma_qos_help $program | while read -r kind name type; do
        case $kind in
            subcommands) names+=($name) ;;
            options) takes[$name]=$type ;;
        esac
    done

    # The words before: the command and its options, and which option waits for a value.
    for ((i = 2; i < CURRENT; ++i)); do
        word=$words[i]
        if [[ -n $option ]]; then
            [[ $option != --root ]] || asked+=(--root $word)
            option=
        elif [[ $word == -- ]]; then
            _rdma_qos_program $((i + 1))
            return
        elif [[ $word == -*=* ]]; then
            asked_for[${word%%=*}]=yes
            [[ $word != --root=* ]] || asked+=($word)
        elif [[ $word == -* ]]; then
            asked_for[$word]=yes
            [[ -z ${takes[$word]:-} ]] || option=$word
        elif ((is_launcher)); then
            _rdma_qos_program $i
            return
        elif [[ -z $command ]]; then
            command=$word
            _rdma_qos_help $program $command | while read -r kind name type; do
                case $kind in
                    positionals) positionals+=($name) ;;
                    subcommands) parts+=($name) ;;
                    options) takes[$name]=$type ;;
                esac
            done
        elif [[ -z $part ]] && (($#parts > 0)); then
            part=$word
            _rdma_qos_help $program $command $part | while read -r kind name type; do
                case $kind in
                    positionals) positionals+=($name) ;;
                    options) takes[$name]=$type ;;
                esac
            done
        else
            ((++count))
        fi
    done

    if [[ -z $option && $PREFIX == --*=* ]]; then
        option=${PREFIX%%=*}
        compset -P 1 '*='
    fi
    if [[ -n $option ]]; then
        _rdma_qos_value "${takes[$option]:-}"
    elif [[ $PREFIX == -* ]]; then
        # Those that were not given yet; some can be given more than once, but few.
        for name in ${(k)takes}; do
            [[ -n ${asked_for[$name]:-} || $name != --* ]] || compadd -- $name
        done
    elif ((is_launcher)); then
        _rdma_qos_program $CURRENT
    elif [[ -z $command ]]; then
        compadd -- $names
    elif [[ -z $part ]] && (($#parts > 0)); then
        compadd -- $parts
        # `override LEVEL` has parts, too.
        (($#positionals == 0)) || _rdma_qos_value $positionals[1]
    elif (($#positionals > 0)); then
        # The last of them may be a list.
        ((count < $#positionals)) || count=$(($#positionals - 1))
        _rdma_qos_value $positionals[count+1]
    fi
}

# zsh loads this file as the function _rdma-qosctl, and calls that for the first completion too.
[[ $funcstack[1] != _rdma-qosctl ]] || _rdma_qos "$@"
