#!/bin/bash
# examples_test.sh DAEMON CTL EXAMPLES: builds the example programs, runs them on a simulated device and compares what they print.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
examples=$3
if ! "$python" -c 'import jeepney' 2>/dev/null; then
    echo "skipped: python3-jeepney is not installed"
    exit 77
fi

read -ra flags < <(pkg-config --cflags --libs libsystemd)
limit=$root/limit_queue_pair
cc -std=c11 -Wall -Wextra -Werror "$examples/limit_queue_pair.c" -o "$limit" "${flags[@]}"
watch=("$python" -B "$examples/watch_devices.py")

write_policy <<YAML
version: 1
qos-levels:
  - {name: DEFAULT, sl: 0}
  - {name: rpc, sl: 3, schedule: {share: 60, fair-by: process}}
  - {name: storage, schedule: {share: 40, max-rate: 40Gbps, fair-by: queue-pair}}
YAML
cat >"$root/devices.yaml" <<YAML
version: 1
devices:
  - {name: mlx5_0, node-guid: 0x10, port-guid: 0x11, link-speed: 100Gbps}
YAML
start_daemon --simulate "$root/devices.yaml"

# What there is, and what is told when the device is disabled.
"${watch[@]}" --changes 7 "$bus" >"$root/changes" &
watcher=$!
started+=("$watcher")
wait_until "watch_devices.py does not list the levels" grep -q '^level storage' "$root/changes"
"$ctl" --root "$root" disable mlx5_0 >/dev/null
wait_until "watch_devices.py does not end after 7 changes" grep -q 'Tree changed' "$root/changes"
wait "$watcher" || fail "watch_devices.py ended with status $?"
expect "watch_devices.py" "$root/changes" <<'LINES'
device mlx5_0/1: ready, leaves 2 used 254 free, findings: none
level DEFAULT: share none, sessions 0
level rpc: share 60, sessions 0
level storage: share 40, sessions 0
change mlx5_0/1: State = disabled
change mlx5_0/1: Reason = `rdma-qosctl disable`: no queue pair is in the tree; `rdma-qosctl enable mlx5_0/1` attaches them again
change mlx5_0/1: ElementsUsed = 0
change mlx5_0/1: ElementsFree = 8192
change mlx5_0/1: LeavesUsed = 0
change mlx5_0/1: LeavesFree = 256
change mlx5_0/1: Tree changed
LINES
"$ctl" --root "$root" enable mlx5_0 >/dev/null

# A queue pair with a limit, and the session lives until the line comes.
start "$limit" "$bus" storage mlx5_0 17 2500
wait_until "limit_queue_pair does not list its queue pair" grep -q '^queue pair' "$root/said"
# How much levels are used is counted once a second.
in_use()
{
    "${watch[@]}" --changes 0 "$bus" >"$root/during" && grep -q 'sessions 1$' "$root/during"
}
wait_until "watch_devices.py does not see the session" in_use
next_line limit_queue_pair
expect "limit_queue_pair" "$root/said" <<'LINES'
level: storage
enforced: yes
leaf: /storage/qp:17
queue pair 17 of mlx5_0/1: 2000 kbit/s
reason: 2 Mbit/s is held, 2.5 Mbit/s was asked: caps of leaves are whole Mbit/s
LINES
expect "watch_devices.py with a session" "$root/during" <<'LINES'
device mlx5_0/1: ready, leaves 3 used 253 free, findings: none
level DEFAULT: share none, sessions 0
level rpc: share 60, sessions 0
level storage: share 40, sessions 1
LINES

# What holds is the cap of the class, if that is smaller.
run "$limit" "$bus" storage mlx5_0 17 99000000
expect "limit_queue_pair above its class" "$root/said" <<'LINES'
level: storage
enforced: yes
leaf: /storage/qp:17
queue pair 17 of mlx5_0/1: 40000000 kbit/s
LINES

# A paced queue pair has its own rate, without a leaf and in one; the device paces this type.
for level in DEFAULT storage; do
    run "$limit" "$bus" "$level" mlx5_0 18 1234567 raw-packet
    grep '^queue pair' "$root/said" >"$root/paced" || true
    expect "limit_queue_pair, paced in $level" "$root/paced" <<<"queue pair 18 of mlx5_0/1: 1234567 kbit/s"
done

# refused ERROR ARGUMENTS...: status 1, and the error's name, then its message.
refused()
{
    local error=$1 status=0
    shift
    "$@" <<<"" >/dev/null 2>"$root/error" || status=$?
    ((status == 1)) || fail "$*: status $status"
    grep -q "^$error: ." "$root/error" || fail "$*: no $error but: $(cat "$root/error")"
}
refused 'Register: org\.rdmaqos1\.Error\.UnknownLevel' "$limit" "$bus" strage mlx5_0 17 1000
refused 'Attach: org\.rdmaqos1\.Error\.UnknownDevice' "$limit" "$bus" storage mlx5_9 17 1000
refused 'SetRate: org\.freedesktop\.DBus\.Error\.NotSupported' "$limit" "$bus" rpc mlx5_0 17 1000
refused "$root/none" "$limit" "$root/none" storage mlx5_0 17 1000
refused 'watch_devices\.py' "${watch[@]}" "$root/none"

((failures == 0))
echo "both programs print what is expected"
