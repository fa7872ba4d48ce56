#!/bin/bash
# emulated.sh PRELOAD KIND NAME PROGRAM [ARGUMENTS...]: runs a test program where libibverbs finds the devices that the
# program serves itself (tests/support/emulated_nics.h), whose firmware is `shared` or `isolated`, under a name of its own,
# which its report gets.
set -euo pipefail

preload=$1 kind=$2 name=$3
shift 3
folder=$(mktemp -d "${TMPDIR:-/tmp}/rdmaqos-nics.XXXXXX")
chmod 755 "$folder"
trap 'rm -rf "$folder"' EXIT
status=0
(
    export RDMAQOS_TEST_EMULATED=$kind
    export RDMA_QOS_EMULATOR=$folder/nics SYSFS_PATH=$folder/nics/sys LD_PRELOAD=$preload
    exec -a "$name" "$@"
) || status=$?
exit "$status"
