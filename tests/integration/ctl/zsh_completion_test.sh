#!/bin/bash
# zsh_completion_test.sh DAEMON CTL RUN SOURCES: what zsh completes, with a daemon on simulated devices and without one.
set -euo pipefail

daemon=$1 ctl=$2 run=$3 sources=$4
if ! command -v zsh >/dev/null; then
    echo "skipped: zsh is not installed (tools/install-deps.sh)"
    exit 77
fi
# shellcheck source=completion_common.sh
. "$(dirname "$0")/completion_common.sh"
mkdir -p "$root/functions"
cp "$sources/tools/completion/rdma-qosctl.zsh" "$root/functions/_rdma-qosctl"

# Completes its arguments as a command line, and prints what is offered for the last word, in the order of letters. Outside
# of an editor nobody collects what is offered: so compadd is a function here, and what others offer is named.
cat >"$root/complete.zsh" <<'ZSH'
compadd()
{
    shift ${@[(i)--]}
    offered+=(${(M)@:#$PREFIX*})
}
compset() { PREFIX=${PREFIX#*=} }
_files() { offered+=("files $*") }
_users() { offered+=(users) }
_groups() { offered+=(groups) }
_normal() { offered+=("the command line $words, word $CURRENT") }
fpath=($FUNCTIONS $fpath)
autoload -Uz _rdma-qosctl
typeset -a words=("$@") offered=()
integer CURRENT=$#
PREFIX=$words[-1]
_rdma-qosctl
print -r -- ${(ou)offered}
ZSH
export FUNCTIONS=$root/functions

complete_to()
{
    local expected=$1 offered
    shift
    offered=$(LC_ALL=C zsh -f "$root/complete.zsh" "$@" 2>&1) || true
    [[ $offered == "$expected" ]] || complain "'$*' completes to '$offered' instead of '$expected'"
}

# zsh finds the function for both programs.
# shellcheck disable=SC2016 # zsh's variables
found=$(zsh -f -c 'fpath=($FUNCTIONS $fpath); autoload -Uz compinit; compinit -D -u
    print $_comps[rdma-qosctl] $_comps[rdma-qos-run]')
[[ $found == "_rdma-qosctl _rdma-qosctl" ]] || complain "zsh finds '$found'"

expect_no_names
start_daemon

complete_to 'reconcile release reload request revert' rdma-qosctl re
complete_to 'mlx5_0/1 mlx5_1/1' rdma-qosctl --root "$root" tree ''
complete_to 'mlx5_0/1 mlx5_1/1' rdma-qosctl "--root=$root" tree ''
complete_to 'mlx5_1/1' rdma-qosctl --root "$root" tree mlx5_1
complete_to 'always auto never' rdma-qosctl --color ''
complete_to 'always auto' rdma-qosctl --color=a
complete_to '--help' rdma-qosctl reload --he
complete_to 'add list remove' rdma-qosctl rule ''
complete_to '--cgroup --cgroup-pattern' rdma-qosctl rule add --cg
complete_to 'clear' rdma-qosctl override c
complete_to 'rpc' rdma-qosctl --root "$root" override r
complete_to 'rpc' rdma-qosctl --root "$root" override clear r
complete_to '--max-rate' rdma-qosctl override rpc --ma
complete_to 'rpc' rdma-qosctl --root "$root" rule add --level r
complete_to 'files ' rdma-qosctl check ''
complete_to 'files -/' rdma-qosctl --root ''
complete_to '--level' rdma-qos-run --le
complete_to 'DEFAULT backup rpc storage training' rdma-qos-run --root "$root" --level ''
complete_to 'rpc' rdma-qos-run --root "$root" --level r
complete_to 'the command line ib_write_bw --qp, word 2' rdma-qos-run --level rpc -- ib_write_bw --qp
complete_to 'the command line ib_wr, word 1' rdma-qos-run --level rpc ib_wr
offered=$(zsh -f "$root/complete.zsh" rdma-qosctl '')
[[ " $offered " != *' names '* ]] || complain "the command for completions is offered"
((failures == 0)) || { cat "$root/log"; exit 1; }
