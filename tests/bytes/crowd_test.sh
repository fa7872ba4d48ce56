#!/bin/bash
# Many programs with four queue pairs each move data between them, look at every byte of it, and are killed and started
# all the time: no byte is wrong, nobody waits for ever, and the emulator has nothing left of them.
#
#   tests/bytes/crowd_test.sh EMULATOR CLIENTS [USER]
#
# RDMAQOS_CROWD_PROCESSES (100) for RDMAQOS_CROWD_SECONDS (60).
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../emulator/common.sh"
# shellcheck disable=SC2034    # of common.sh
emulator_options+=(--devices "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/crowd.yaml")
enter_emulator "$0" "$@"
processes=${RDMAQOS_CROWD_PROCESSES:-100}
seconds=${RDMAQOS_CROWD_SECONDS:-60}

crowd()
{
    "${client[@]}" "$clients/crowd" --processes "$1" --seconds "$2"
}

descriptors()
{
    local all=(/proc/"$PPID"/fd/*)
    echo ${#all[@]}
}

resident_kb()
{
    awk '/^VmRSS/ { print $2 }' /proc/"$PPID"/status
}

[[ $(readlink "/proc/$PPID/exe") == $(readlink -f "$emulator") ]] || fail "process $PPID is not the emulator"
# So that all threads are there, and what they keep.
crowd "$processes" 5 >/dev/null || fail "the first crowd fails"
check_nothing_is_left
descriptors_before=$(descriptors)
resident_before=$(resident_kb)

crowd "$processes" "$seconds" || fail "see above"
check_nothing_is_left

few_descriptors()
{
    (($(descriptors) <= descriptors_before + 2))
}
wait_until few_descriptors || fail "$(descriptors) descriptors instead of $descriptors_before: $(ls -l "/proc/$PPID/fd")"
resident_after=$(resident_kb)
echo "the emulator has $(descriptors) descriptors (before: $descriptors_before), $resident_after kB ($resident_before)"
# Less than what all the queue pairs of a minute would take. Sanitizers keep what was freed.
if ! grep -qE 'lib[at]san' "/proc/$PPID/maps"; then
    ((resident_after <= resident_before + 10240)) || fail "the emulator has grown too much"
fi
# It still moves data.
crowd 4 1 >/dev/null || fail "no data moves any more"
check_nothing_is_left
