# shellcheck shell=bash
# What the scripts of this project share. To be sourced; expects `set -euo pipefail`.

project_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export project_dir

if [[ -t 1 && -z ${NO_COLOR:-} && ${TERM:-dumb} != dumb ]]; then
    bold=$'\e[1m' dim=$'\e[2m' plain=$'\e[0m'
else
    bold='' dim='' plain=''
fi

# heading TEXT: the start of a step, with an empty line before it.
heading()
{
    printf '\n%s== %s%s\n' "$bold" "$*" "$plain"
}

note()
{
    printf '%s\n' "$*"
}

# shown COMMAND...: prints a command the way one would type it.
shown()
{
    printf '%s$ %s%s\n' "$dim" "$*" "$plain"
}

warn()
{
    printf '%s: %s\n' "${0##*/}" "$*" >&2
}

die()
{
    warn "$*"
    exit 1
}

# skip REASON: ends a test that cannot run here.
skip()
{
    note "skipped: $*"
    exit 77
}

# Prints the leading comment of a script: its --help.
help_of()
{
    sed -n '2,/^[^#]/{/^#/!d; s/^# \{0,1\}//; p}' "$1"
}

jobs_to_use()
{
    nproc 2>/dev/null || echo 2
}

# duration SECONDS: "3 min 20 s"
duration()
{
    if (($1 >= 60)); then
        printf '%d min %d s' $(($1 / 60)) $(($1 % 60))
    else
        printf '%d s' "$1"
    fi
}

# build_preset PRESET LOG [CMAKE_OPTION...] [-- TARGET...]: configures and builds into build/PRESET. The output goes to
# LOG and is shown only if something fails; on a terminal one line shows how far it is. A warning of the compiler is an error
# only with RDMAQOS_WERROR=ON in the environment: users have other compilers than we do.
build_preset()
{
    local preset=$1 log=$2
    shift 2
    local options=() started=$SECONDS
    while (($# > 0)) && [[ $1 != -- ]]; do
        options+=("$1")
        shift
    done
    (($# == 0)) || shift
    local targets=()
    if (($# > 0)); then
        targets=(--target "$@")
    fi
    mkdir -p "$(dirname "$log")"
    note "building ($preset, $(jobs_to_use) jobs); output in ${log#"$project_dir"/}"
    if ! (cd "$project_dir" && cmake --preset "$preset" -DRDMAQOS_WERROR="${RDMAQOS_WERROR:-OFF}" "${options[@]}") >"$log" 2>&1; then
        cat "$log" >&2
        die "configuring the preset $preset failed"
    fi
    if [[ -t 1 ]]; then
        (cd "$project_dir" && cmake --build --preset "$preset" -j "$(jobs_to_use)" "${targets[@]}" 2>&1) |
            tee -a "$log" | sed -un 's/^\(\[[0-9]*\/[0-9]*\]\).*/\1/p' | while read -r progress; do
            printf '\r  %s ' "$progress"
        done || { printf '\n'; show_build_failure "$preset" "$log"; }
        printf '\r                    \r'
    else
        (cd "$project_dir" && cmake --build --preset "$preset" -j "$(jobs_to_use)" "${targets[@]}") >>"$log" 2>&1 ||
            show_build_failure "$preset" "$log"
    fi
    note "built in $(duration $((SECONDS - started)))"
}

show_build_failure()
{
    grep -A 40 '^FAILED' "$2" >&2 || tail -n 60 "$2" >&2
    die "building the preset $1 failed; all of it is in $2"
}
