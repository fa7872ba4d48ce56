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

# below_emulator TITLE PROGRAM
below_emulator()
{
    printf '\n-- %s\n' "$1"
    "$build/tools/emulator/rdma-qos-emulator" run -- "$2" || {
        echo "FAILED: $1"
        failures=$((failures + 1))
    }
}
below_emulator "what a call costs on an emulated device" "$build/tests/emulator/clients/cost"
below_emulator "attaching on an emulated device" "$build/tests/bench/mlx5/attach_cost"
((failures == 0))
