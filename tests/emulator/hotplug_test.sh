#!/bin/bash
# hotplug_test.sh EMULATOR CLIENTS USER: libudev hears of devices that come and go, from the kernel and from udevd.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
if [[ -z ${RDMA_QOS_EMULATOR:-} ]]; then
    devices=$(mktemp)
    trap 'rm -f "$devices"' EXIT
    chmod 644 "$devices"
    cat >"$devices" <<'END'
version: 1
devices:
  - {name: mlx5_0, pci: "0000:08:00.0", netdev: eth8}
  - {name: mlx5_1}
END
    run=("$emulator" run "${emulator_options[@]}" --devices "$devices" -- "$0" "$@")
    if [[ $user == all-ordinary ]]; then
        run=("${ordinary[@]}" env HOME=/ "${run[@]}")
    fi
    status=0
    "${run[@]}" || status=$?
    exit "$status"
fi

scratch=$(mktemp -d)
pids=()
clean_up()
{
    kill "${pids[@]}" 2>/dev/null || true
    wait
    rm -rf "$scratch"
}
trap clean_up EXIT

sources=(kernel)
# Where udevd does not run and /dev is not the kernel's, libudev does not listen to it.
if [[ -e /run/udev/control ]] || grep -q ' /dev devtmpfs ' /proc/mounts; then
    sources+=(udev)
fi
mkdir -p "$scratch/machine/run/udev"
chmod -R 755 "$scratch"
[[ $("$clients/watch_devices" source "$scratch/machine") == kernel ]] || fail "without udevd the source is another"
touch "$scratch/machine/run/udev/control"
[[ $("$clients/watch_devices" source "$scratch/machine") == udev ]] || fail "with udevd the source is another"
rm -r "$scratch/machine"
for source in "${sources[@]}"; do
    for how in libudev watcher; do
        "${client[@]}" "$clients/watch_devices" "$how" "$source" >"$scratch/$how-$source" &
        pids+=($!)
    done
done
everybody_is_ready()
{
    local file
    for file in "$scratch"/*; do
        [[ $(head -n 1 "$file") == ready ]] || return 1
    done
}
wait_until everybody_is_ready || fail "somebody does not listen: $(head "$scratch"/*)"

ctl unplug mlx5_0
ctl plug mlx5_0
ctl reset mlx5_1
pci=/devices/pci0000:00/0000:08:00.0
other=/devices/pci0000:00/0000:e0
cat >"$scratch/expected" <<END
ready
remove infiniband_verbs $pci/infiniband_verbs/uverbs0 /dev/infiniband/uverbs0 NAME=- SEQNUM=1
remove infiniband $pci/infiniband/mlx5_0 - NAME=mlx5_0 SEQNUM=2
remove net $pci/net/eth8 - NAME=- SEQNUM=3
add net $pci/net/eth8 - NAME=- SEQNUM=4
add infiniband_verbs $pci/infiniband_verbs/uverbs0 /dev/infiniband/uverbs0 NAME=- SEQNUM=5
add infiniband $pci/infiniband/mlx5_0 - NAME=mlx5_0 SEQNUM=6
remove infiniband_verbs $other:01.0/infiniband_verbs/uverbs1 /dev/infiniband/uverbs1 NAME=- SEQNUM=7
remove infiniband $other:01.0/infiniband/mlx5_1 - NAME=mlx5_1 SEQNUM=8
add infiniband_verbs $other:01.0/infiniband_verbs/uverbs1 /dev/infiniband/uverbs1 NAME=- SEQNUM=9
add infiniband $other:01.0/infiniband/mlx5_1 - NAME=mlx5_1 SEQNUM=10
END
for source in "${sources[@]}"; do
    wait_until cmp -s "$scratch/expected" "$scratch/libudev-$source" ||
        fail "from $source: $(diff "$scratch/expected" "$scratch/libudev-$source")"
    wait_until grep -qx something "$scratch/watcher-$source" || fail "the watcher of $source heard nothing"
    ! grep -qv '^ready$\|^something$' "$scratch/watcher-$source" || fail "it says $(cat "$scratch/watcher-$source")"
done
lines=$(wc -l <"$scratch/watcher-kernel")
ctl event mlx5_0 port-error
sleep 0.3
(($(wc -l <"$scratch/watcher-kernel") == lines)) || fail "the watcher wakes up for something else"
ctl unplug mlx5_1
more() { (($(wc -l <"$scratch/watcher-kernel") > lines)); }
wait_until more || fail "the watcher heard nothing more"
check_nothing_is_left
