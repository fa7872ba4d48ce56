#!/bin/bash
# completion_test.sh DAEMON CTL RUN SOURCES: what bash completes, with a daemon on simulated devices and without one.
# shellcheck disable=SC1091 # its path is a parameter
set -euo pipefail

daemon=$1 ctl=$2 run=$3 sources=$4
root=$(mktemp -d)
process=
clean_up()
{
    [[ -z $process ]] || kill "$process" 2>/dev/null || true
    wait
    rm -rf "$root"
}
trap clean_up EXIT
mkdir -p "$root/etc/rdma-qos"
cp "$sources/config/examples/demo.yaml" "$root/etc/rdma-qos/policy.yaml"
PATH=${ctl%/*}:${run%/*}:$PATH
. "$sources/tools/completion/rdma-qosctl.bash"

failures=0
# complete_to EXPECTED WORD...: what is offered for the last word, in the order of letters.
complete_to()
{
    local expected=$1 offered
    shift
    COMP_WORDS=("$@")
    COMP_CWORD=$(($# - 1))
    _rdma_qos
    offered=$(printf '%s\n' "${COMPREPLY[@]}" | LC_ALL=C sort -u | paste -sd ' ')
    if [[ $offered != "$expected" ]]; then
        echo "FAILED: '$*' completes to '$offered' instead of '$expected'"
        failures=$((failures + 1))
    fi
}

# Without a daemon there are no names, at once.
started=$(date +%s%N)
complete_to '' rdma-qosctl --root "$root" tree ''
took=$((($(date +%s%N) - started) / 1000000))
if ((took > 2000)); then
    echo "FAILED: names of a daemon that is not there take $took ms"
    failures=$((failures + 1))
fi

"$daemon" --root "$root" --simulate "$sources/config/examples/devices.yaml" >"$root/log" 2>&1 &
process=$!
for ((i = 0; i < 200; ++i)); do
    [[ ! $("$ctl" --root "$root" names devices) =~ mlx5_1 ]] || break
    sleep 0.1
done

complete_to 'reconcile release reload request' rdma-qosctl re
complete_to 'mlx5_0/1 mlx5_1/1' rdma-qosctl --root "$root" tree ''
complete_to 'mlx5_1/1' rdma-qosctl --root "$root" tree mlx5_1
complete_to 'always auto never' rdma-qosctl --color ''
complete_to '--help' rdma-qosctl reload --he
complete_to '--level' rdma-qos-run --le
complete_to 'DEFAULT backup rpc storage training' rdma-qos-run --root "$root" --level ''
complete_to 'rpc' rdma-qos-run --root "$root" --level r
complete_to 'rdma-qosctl' rdma-qos-run --level rpc -- rdma-qosct
COMP_WORDS=(rdma-qosctl '') COMP_CWORD=1
_rdma_qos
if [[ " ${COMPREPLY[*]} " == *' names '* ]]; then
    echo "FAILED: the command for completions is offered"
    failures=$((failures + 1))
fi
((failures == 0)) || { cat "$root/log"; exit 1; }
