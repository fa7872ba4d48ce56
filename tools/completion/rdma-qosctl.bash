# shellcheck shell=bash
# Completion of rdma-qosctl and rdma-qos-run for bash. Commands, options and what each takes are read from what --help prints, so
# that they are those of the program; names of levels, devices and sessions come from the running daemon. One that is
# away costs nothing; one that hangs, a second.

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

# _rdma_qos_offer [WORD...], or lines of stdin up to a tab: those that begin as the word that is being completed.
_rdma_qos_offer()
{
    local name offered=("$@")
    if (($# == 0)); then
        mapfile -t offered
    fi
    for name in "${offered[@]%%$'\t'*}"; do
        if [[ $name == "$current"* || $(printf %q "$name") == "$current"* ]]; then
            COMPREPLY+=("$(printf %q "$name")")
        fi
    done
}

# _rdma_qos_value TYPE: what is called so in --help.
_rdma_qos_value()
{
    local words
    case $1 in
        LEVEL) _rdma_qos_offer < <(timeout 1 "${asked[@]}" names levels 2>/dev/null) ;;
        DEVICE) _rdma_qos_offer < <(timeout 1 "${asked[@]}" names devices 2>/dev/null) ;;
        PID*) _rdma_qos_offer < <(timeout 1 "${asked[@]}" names sessions 2>/dev/null) ;;
        FILE* | PATH | POLICY) mapfile -t COMPREPLY < <(compgen -f -- "$current") && compopt -o filenames ;;
        DIR) mapfile -t COMPREPLY < <(compgen -d -- "$current") && compopt -o filenames ;;
        "NAME|UID") mapfile -t COMPREPLY < <(compgen -u -- "$current") ;;
        "NAME|GID") mapfile -t COMPREPLY < <(compgen -g -- "$current") ;;
        *':{'*'}') # WHEN:{auto,always,never}
            words=${1#*':{'}
            IFS=, read -ra words <<<"${words%\}}"
            _rdma_qos_offer "${words[@]}"
            ;;
        [a-z]*'|'*) # tcp|udp
            IFS='|' read -ra words <<<"$1"
            _rdma_qos_offer "${words[@]}"
            ;;
    esac
} 2>/dev/null # compopt complains where no completion is under way, as in a test

# _rdma_qos_program INDEX: the word there begins another program's command line.
_rdma_qos_program()
{
    if declare -F _command_offset >/dev/null; then
        _command_offset "$1"
    elif ((COMP_CWORD == $1)); then
        mapfile -t COMPREPLY < <(compgen -c -- "$current")
    else
        _rdma_qos_value FILE
    fi
}

_rdma_qos()
{
    local program=${COMP_WORDS[0]} current=${COMP_WORDS[COMP_CWORD]} command='' part='' option='' i word kind name type
    local -A takes=() asked_for=()
    local asked positionals=() names=() parts=() count=0 is_launcher=no
    COMPREPLY=()
    [[ ${program##*/} != rdma-qos-run ]] || is_launcher=yes
    asked=("$program")
    if [[ $is_launcher == yes ]]; then
        asked=(rdma-qosctl)
        # One that was not installed asks its neighbour.
        [[ $program != */* || ! -x ${program%/*}/rdma-qosctl ]] || asked=("${program%/*}/rdma-qosctl")
    fi
    while read -r kind name type; do
        case $kind in
            subcommands) names+=("$name") ;;
            options) takes[$name]=$type ;;
        esac
    done < <(_rdma_qos_help "$program")

    # The words before: the command and its options, and which option waits for a value. In bash, = is a word.
    for ((i = 1; i < COMP_CWORD; ++i)); do
        word=${COMP_WORDS[i]}
        if [[ $word == = ]]; then
            continue
        elif [[ -n $option ]]; then
            [[ $option != --root ]] || asked+=(--root "$word")
            option=
        elif [[ $word == -- ]]; then
            _rdma_qos_program $((i + 1))
            return
        elif [[ $word == -* ]]; then
            asked_for[$word]=yes
            [[ -z ${takes[$word]:-} ]] || option=$word
        elif [[ $is_launcher == yes ]]; then
            _rdma_qos_program "$i"
            return
        elif [[ -z $command ]]; then
            command=$word
            while read -r kind name type; do
                case $kind in
                    positionals) positionals+=("$name") ;;
                    subcommands) parts+=("$name") ;;
                    options) takes[$name]=$type ;;
                esac
            done < <(_rdma_qos_help "$program" "$command")
        elif [[ -z $part && ${#parts[@]} -gt 0 ]]; then
            part=$word
            while read -r kind name type; do
                case $kind in
                    positionals) positionals+=("$name") ;;
                    options) takes[$name]=$type ;;
                esac
            done < <(_rdma_qos_help "$program" "$command" "$part")
        else
            ((++count))
        fi
    done
    [[ $current != = ]] || current=

    if [[ -n $option ]]; then
        _rdma_qos_value "${takes[$option]}"
    elif [[ $current == -* ]]; then
        # Those that were not given yet; some can be given more than once, but few.
        for name in "${!takes[@]}"; do
            [[ -n ${asked_for[$name]:-} || $name != --* ]] || _rdma_qos_offer "$name"
        done
    elif [[ $is_launcher == yes ]]; then
        _rdma_qos_program "$COMP_CWORD"
    elif [[ -z $command ]]; then
        _rdma_qos_offer "${names[@]}"
    elif [[ -z $part && ${#parts[@]} -gt 0 ]]; then
        _rdma_qos_offer "${parts[@]}"
        # `override LEVEL` has parts, too.
        ((${#positionals[@]} == 0)) || _rdma_qos_value "${positionals[0]}"
    elif ((${#positionals[@]} > 0)); then
        # The last of them may be a list.
        ((count < ${#positionals[@]})) || count=$((${#positionals[@]} - 1))
        _rdma_qos_value "${positionals[count]}"
    fi
}

complete -F _rdma_qos rdma-qosctl rdma-qos-run
