# shellcheck shell=bash
# What the tests of the emulator share. To be sourced; expects `set -euo pipefail` and these arguments of the script:
#
#   EMULATOR CLIENTS [USER]
#
# the emulator's program, the folder with the clients, and who they run as: `self` (the default), `ordinary` (a user
# without rights below the emulator of root) or `all-ordinary` (the emulator is that user's as well).
#
# The script begins anew inside the emulator, which ends it with another status if an element leaked.

emulator=$1 clients=$2 user=${3:-self}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export here

skip()
{
    echo "skipped: $*"
    exit 77
}

fail()
{
    echo "FAILED: $*"
    exit 1
}

need()
{
    local program
    for program in "$@"; do
        command -v "$program" >/dev/null || skip "$program is not installed"
    done
}

# A sanitized program's runtime comes after the preload library.
export ASAN_OPTIONS=verify_asan_link_order=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}
ordinary=(setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all --bounding-set=-all --no-new-privs)

if [[ $user != self ]]; then
    ((EUID == 0)) || [[ -n ${RDMA_QOS_EMULATOR:-} ]] || skip "only root can become another user"
    need setpriv
    if ((EUID == 0)) && ! "${ordinary[@]}" test -x "$clients" -a -r "$here" -a -x "$emulator"; then
        skip "an ordinary user cannot reach $clients"
    fi
fi

# More options of `run`, for scripts that want some.
emulator_options=()
if [[ $user == ordinary ]]; then
    emulator_options=(--any-user)
fi

# enter_emulator SCRIPT ARGUMENTS...: runs the script once more, inside an emulator of its own.
enter_emulator()
{
    if [[ -n ${RDMA_QOS_EMULATOR:-} ]]; then
        return
    fi
    if [[ $user == all-ordinary ]]; then
        exec "${ordinary[@]}" env HOME=/ "$emulator" run "${emulator_options[@]}" -- "$@"
    fi
    exec "$emulator" run "${emulator_options[@]}" -- "$@"
}

# enter_emulator_with SCRIPT ARGUMENTS...: the same, with the devices that stdin describes.
enter_emulator_with()
{
    local devices status=0
    [[ -z ${RDMA_QOS_EMULATOR:-} ]] || return 0
    devices=$(mktemp)
    cat >"$devices"
    chmod a+r "$devices"
    emulator_options+=(--devices "$devices")
    (enter_emulator "$@") || status=$?
    rm -f "$devices"
    exit "$status"
}

# PORT: somebody waits for connections there.
listens()
{
    grep -qi ":$(printf '%04X' "$1") 0*:0000 0A" /proc/net/tcp /proc/net/tcp6
}

# Before a command: as the user in question.
# shellcheck disable=SC2034    # for the scripts that source this
client=()
if [[ $user == ordinary ]]; then
    # shellcheck disable=SC2034
    client=("${ordinary[@]}")
fi

ctl()
{
    "$emulator" ctl "$@"
}

# How long something may take, in seconds: on an idle machine it takes milliseconds, and a program that moves data a second.
# What takes longer hangs (docs/testing.md: no test judges by the wall clock).
readonly hung=120
# shellcheck disable=SC2034    # for the scripts that source this
readonly program_hung=1200
# As in tests/support/process.cpp.
export SYSTEMD_BUS_TIMEOUT=$((5 * hung)) RDMA_QOS_RUN_PATIENCE_MS=$((1000 * hung))

# wait_until COMMAND...: false: it hangs.
wait_until()
{
    local end=$((SECONDS + hung))
    until "$@"; do
        ((SECONDS < end)) || return 1
        sleep 0.1
    done
}

# What clients leave behind goes with their last descriptor, soon after.
nothing_is_left()
{
    local state
    state=$(ctl state --json) || return 1
    ! grep -qE '"(files|elements|leaves|leaked)": *[1-9]' <<<"$state"
}

check_nothing_is_left()
{
    wait_until nothing_is_left || fail "something is left: $(ctl state --json)"
}
