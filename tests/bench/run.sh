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

printf '\n-- what a call costs on an emulated device\n'
"$build/tools/emulator/rdma-qos-emulator" run -- "$build/tests/emulator/clients/cost" || {
    echo "FAILED: cost"
    failures=$((failures + 1))
}
((failures == 0))
