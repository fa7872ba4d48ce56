#!/bin/bash
# stress_test.sh EMULATOR CLIENTS USER PROCESSES THREADS [SECONDS]: random verbs from many threads while commands fail,
# wait and find things in use, and processes are killed. SECONDS are those of RDMAQOS_SOAK_SECONDS (60) if not given.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
processes=$4 threads=$5 seconds=${6:-${RDMAQOS_SOAK_SECONDS:-60}}
enter_emulator "$0" "$@"

scratch=$(mktemp -d)
disturber=
clean_up()
{
    [[ -z $disturber ]] || kill "$disturber" 2>/dev/null || true
    wait
    rm -rf "$scratch"
}
trap clean_up EXIT

disturb()
{
    local kind
    while true; do
        for kind in create modify query destroy attach; do
            ctl fail "$kind" $((1 + RANDOM % 40)) || return
            ctl fail "$kind" $((1 + RANDOM % 40)) errno-only || return
        done
        ctl busy destroy 3
        ctl busy modify 2
        ctl delay query 2
        sleep 0.3
        ctl clear
    done
}
disturb >"$scratch/disturber" 2>&1 &
disturber=$!

"${client[@]}" "$clients/stress" --processes "$processes" --threads "$threads" --seconds "$seconds" --faults --kills |
    tee "$scratch/stress" || fail "see above"
kill -0 "$disturber" || fail "no more faults could be ordered: $(cat "$scratch/disturber")"
kill "$disturber"
wait "$disturber" || true
disturber=
tail -n 1 "$scratch/stress" | grep -q ' operations, 0 wrong$' || fail "the last line is another"
if grep -q '^0 refused by order' "$scratch/stress"; then
    fail "no fault ever happened"
fi
ctl clear
check_nothing_is_left
