#!/bin/bash
# completion_test.sh DAEMON CTL RUN SOURCES: what bash completes, with a daemon on simulated devices and without one.
# shellcheck disable=SC1091 # its path is a parameter
set -euo pipefail

daemon=$1 ctl=$2 run=$3 sources=$4
. "$(dirname "$0")/completion_common.sh"
. "$sources/tools/completion/rdma-qosctl.bash"

# complete_to EXPECTED WORD...: what is offered for the last word, in the order of letters.
complete_to()
{
    local expected=$1 offered
    shift
    COMP_WORDS=("$@")
    COMP_CWORD=$(($# - 1))
    _rdma_qos
    offered=$(printf '%s\n' "${COMPREPLY[@]}" | LC_ALL=C sort -u | paste -sd ' ')
    [[ $offered == "$expected" ]] || complain "'$*' completes to '$offered' instead of '$expected'"
}

expect_no_names
start_daemon

complete_to 'reconcile release reload request revert' rdma-qosctl re
complete_to 'mlx5_0/1 mlx5_1/1' rdma-qosctl --root "$root" tree ''
complete_to 'mlx5_1/1' rdma-qosctl --root "$root" tree mlx5_1
complete_to 'always auto never' rdma-qosctl --color ''
complete_to '--help' rdma-qosctl reload --he
complete_to 'add list remove' rdma-qosctl rule ''
complete_to '--cgroup --cgroup-pattern' rdma-qosctl rule add --cg
complete_to 'clear' rdma-qosctl override c
complete_to 'rpc' rdma-qosctl --root "$root" override r
complete_to 'rpc' rdma-qosctl --root "$root" override clear r
complete_to '--max-rate' rdma-qosctl override rpc --ma
complete_to 'rpc' rdma-qosctl --root "$root" rule add --level r
complete_to '--level' rdma-qos-run --le
complete_to 'DEFAULT backup rpc storage training' rdma-qos-run --root "$root" --level ''
complete_to 'rpc' rdma-qos-run --root "$root" --level r
complete_to 'rdma-qosctl' rdma-qos-run --level rpc -- rdma-qosct
COMP_WORDS=(rdma-qosctl '') COMP_CWORD=1
_rdma_qos
[[ " ${COMPREPLY[*]} " != *' names '* ]] || complain "the command for completions is offered"
((failures == 0)) || { cat "$root/log"; exit 1; }
