#!/bin/bash
# run.sh BUILD: runs every benchmark of a build tree, one after another so that none disturbs another.
set -euo pipefail

build=$1
shopt -s nullglob
programs=("$build"/tests/bench/*/*_bench)
if ((${#programs[@]} == 0)); then
    echo "no benchmark in $build; build it with the preset release" >&2
    exit 1
fi
failures=0
for program in "${programs[@]}"; do
    printf '\n-- %s\n' "${program##*/}"
    "$program" || {
        echo "FAILED: ${program##*/}"
        failures=$((failures + 1))
    }
done

# below_emulator TITLE COMMAND...
below_emulator()
{
    local title=$1
    shift
    printf '\n-- %s\n' "$title"
    "$build/tools/emulator/rdma-qos-emulator" run -- "$@" || {
        echo "FAILED: $title"
        failures=$((failures + 1))
    }
}
below_emulator "what a call costs on an emulated device" "$build/tests/emulator/clients/cost"
below_emulator "attaching on an emulated device" "$build/tests/bench/mlx5/attach_cost"
below_emulator "moving data" "$(dirname "${BASH_SOURCE[0]}")/datapath/measure.sh" emulator mlx5_0 mlx5_1 -x 0
((failures == 0))
