#!/bin/bash
# emulated.sh PRELOAD NAME PROGRAM [ARGUMENTS...]: runs a test program where libibverbs finds the devices that the program
# serves itself (tests/support/emulated_nics.h), under a name of its own, which its report gets.
set -euo pipefail

preload=$1 name=$2
shift 2
folder=$(mktemp -d "${TMPDIR:-/tmp}/rdmaqos-nics.XXXXXX")
chmod 755 "$folder"
trap 'rm -rf "$folder"' EXIT
status=0
(
    export RDMAQOS_TEST_EMULATED=1
    export RDMA_QOS_EMULATOR=$folder/nics SYSFS_PATH=$folder/nics/sys LD_PRELOAD=$preload
    exec -a "$name" "$@"
) || status=$?
exit "$status"
