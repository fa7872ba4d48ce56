#!/bin/bash
# A command below the emulator starts whatever the emulator's threads do at that moment.
#
#   tests/emulator/start_test.sh EMULATOR CLIENTS
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# started EXPECTED COMMAND...
started()
{
    local status=0
    LD_PRELOAD=$clients/held_lock.so "$emulator" run -- "${@:2}" || status=$?
    ((status == $1)) || fail "status $status of: run -- ${*:2}"
}

started 0 true
started 7 bash -c 'exit 7'
started 137 bash -c 'kill -9 $$'
said=$(started 127 /nowhere/program 2>&1)
[[ $said == *"/nowhere/program: No such file or directory"* ]] || fail "of a program that is not there: $said"
# No pipe: that would be fork().
# shellcheck disable=SC2016    # for the inner shell
seen=$(LD_PRELOAD=$clients/held_lock.so RDMA_QOS_EMULATOR=/nowhere OTHER=kept "$emulator" run -- bash -c '
    echo "$OTHER $LD_PRELOAD"
    [[ -S $RDMA_QOS_EMULATOR/control.sock ]] && echo "$RDMA_QOS_EMULATOR is there"
    while IFS= read -r -d "" entry; do
        [[ $entry != RDMA_QOS_EMULATOR=* ]] || echo "one ${entry#*=}"
    done </proc/$$/environ')
[[ $seen =~ ^"kept $clients/held_lock.so:"[^:]*preload.so$'\n'(.*)" is there"$'\n'"one "(.*)$ &&
    ${BASH_REMATCH[1]} == "${BASH_REMATCH[2]}" ]] || fail "the command's environment: $seen"
