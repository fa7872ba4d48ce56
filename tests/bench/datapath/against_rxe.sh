#!/bin/bash
# Compares the emulator's data path with the kernel's software RDMA device, rdma_rxe, in a virtual machine with Debian's
# kernel: perftest between two emulated devices, and over one rxe device to itself, which sends nothing through a network.
# The machine's processors are played by QEMU and are many times slower than the host's, so only ratios mean something.
#
#   tests/bench/datapath/against_rxe.sh BUILD      exit status 77: something is missing
#
# BUILD: a build folder (build/release). RDMAQOS_BENCH_SECONDS: for how long each program runs.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../../../tools/lib.sh"

build=$(realpath "$1")
here=$project_dir/tests/bench/datapath
machine=$build/tests/bench/datapath/machine
programs=()
for name in ib_write_bw ib_send_bw ib_read_bw ib_write_lat ib_send_lat; do
    programs+=("$(command -v $name)") || skip "$name is not installed; run: sudo ./tools/install-deps.sh --test"
done
export RDMAQOS_KERNEL_MODULES="rdma_rxe crc32_generic dummy" RDMAQOS_KERNEL_CPUS=2 RDMAQOS_KERNEL_SECONDS=400
mkdir -p "$machine"
# The kernel that the tests have unpacked.
for unpacked in "$build"/tests/kernel/machine/linux-*; do
    [[ ! -d $unpacked ]] || ln -sfn "$unpacked" "$machine/"
done
"$project_dir/tests/kernel/run.sh" build "$machine" "$here"/{guest,measure}.sh "${programs[@]}" \
    "$build"/tools/emulator/{rdma-qos-emulator,librdmaqos-emulator-preload.so} \
    "/usr/lib/$(uname -m)-linux-gnu"/libibverbs/librxe-rdmav*.so
echo "against_rxe module * $here/guest.sh" >"$machine/list"
"$project_dir/tests/kernel/run.sh" boot "$machine" "$machine/results" "$machine/list"
exec "$project_dir/tests/kernel/result.sh" "$machine/results" against_rxe
