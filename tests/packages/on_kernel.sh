#!/bin/bash
# The daemon and the command of the packages, as apt installs them, on the kernel's own mlx5 driver: in the machine of
# tests/kernel they take the place of those of the build tree, and what tests them there is run again.
#
#   tests/packages/on_kernel.sh PACKAGES BUILD
#
# PACKAGES: the folder with the .deb files. BUILD: an optimised build with the target `kernel_programs`. Exit status 77: something that
# the machine needs is not installed.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../../tools/lib.sh"

(($# == 2)) || { help_of "$0"; exit 2; }
packages=$(readlink -f "$1")
build=$(readlink -f "$2")
machine=$build/tests/kernel/machine
results=$machine/packages
runs='kernel_isolated_ethernet kernel_host_shared'

ctest --test-dir "$build/tests/kernel" -R '^kernel_build$' --output-on-failure >"$machine.log" 2>&1 || {
    cat "$machine.log"
    die "the machine is not built"
}
if grep -q 'Skipped' "$machine.log"; then
    grep -A2 'skipped:' "$machine.log"
    exit 77
fi

build_id()
{
    readelf -n "$1" | sed -n 's/.*Build ID: //p' | grep .
}

work=$(mktemp -d "${TMPDIR:-/tmp}/rdma-qosd-on-kernel.XXXXXX")
trap 'rm -rf "$work"' EXIT
for package in rdma-qosd rdma-qos-tools; do
    dpkg-deb -x "$packages/$package"_*.deb "$work/installed"
done
for program in sbin/rdma-qosd:daemon/rdma-qosd bin/rdma-qosctl:tools/rdma-qosctl/rdma-qosctl; do
    installed=$work/installed/usr/${program%:*} built=$build/${program#*:}
    [[ -e $machine/root$built ]] || die "the machine has no $built"
    [[ $(build_id "$installed") != "$(build_id "$built")" ]] || die "$installed is that of the build tree"
    install -D "$installed" "$work/overlay$built"
done
for run in $runs; do
    grep -h "^$run " "$machine"/*.list
done >"$work/list"

RDMAQOS_KERNEL_OVERLAY=$work/overlay "$project_dir/tests/kernel/run.sh" boot "$machine" "$results" "$work/list"
failed=0
for run in $runs; do
    "$project_dir/tests/kernel/result.sh" "$results" "$run" >"$work/output" || {
        cat "$work/output"
        note "FAILED: $run with the programs of the packages"
        failed=1
    }
    grep -E '^\[  (PASSED|SKIPPED)' "$work/output" | sed "s/^/$run: /"
done
"$project_dir/tests/kernel/run.sh" check "$machine" "$results" || failed=1
exit "$failed"
