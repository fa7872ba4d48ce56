#!/bin/bash
# emulated_test.sh DAEMON CTL EXAMPLES EMULATOR LINK-LAYER: runs the example with pyverbs below an emulator (which this
# script runs in), and looks where its queue pair is and how it is marked.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
examples=$3 emulator=$4 link_layer=$5
if ! "$python" -c 'import jeepney, pyverbs.qp' 2>/dev/null; then
    echo "skipped: python3-jeepney or python3-pyverbs is not installed"
    exit 77
fi
attach=("$python" -B "$examples/attach_queue_pair.py" --socket "$bus")

write_policy <<YAML
version: 1
qos-levels:
  - {name: DEFAULT, sl: 0}
  - {name: rpc, sl: 3, dscp: 26, schedule: {share: 60}}
  - {name: bulk, sl: 5, sl-source: host, schedule: {share: 40}}
qos-match-rules:
  - {device: [mlx5_1], qos-level-name: bulk}
YAML

# Without a daemon a program goes on without a class.
run "${attach[@]}" mlx5_0
expect "attach_queue_pair.py without a daemon" "$root/said" <<'LINES'
without a class: [Errno 2] No such file or directory
LINES

start_daemon --host-devices
# Devices are found while it serves already.
has_devices()
{
    [[ $("$ctl" --root "$root" devices | grep -c 'mlx5_[01]/1') -ge 2 ]]
}
wait_until "the daemon has not found both devices" has_devices
"$emulator" trace >"$root/trace" &
started+=($!)
# The trace has what happens from now on.
traced()
{
    "$ctl" --root "$root" verify >/dev/null && [[ -s $root/trace ]]
}
wait_until "the emulator traces nothing" traced

# in_leaf DEVICE/PORT NUMBER PROCESS LEAF: so rdma-qosctl lists it; the kernel is asked once a second at most.
in_leaf()
{
    "$ctl" --root "$root" qps --json | "$python" -c '
import json, sys
keys = ("device", "number", "pid", "leaf")
found = [[str(each.get(key)) for key in keys] for each in json.load(sys.stdin)["queue-pairs"]]
sys.exit(sys.argv[1:] not in found)' "$@"
}

# attached DEVICE LEVEL OPTIONS...: the example runs, its queue pair is in the leaf of the level, and what it says is compared
# with stdin, where N stands for the queue pair's number. `marks` is how it was marked on its way to RTR.
attached()
{
    local device=$1 level=$2 number
    shift 2
    start "${attach[@]}" "$@" "$device"
    wait_until "attach_queue_pair.py does not say its place" grep -q '^queue pair' "$root/said"
    number=$(sed -n 's/^queue pair \([0-9]*\):.*/\1/p' "$root/said")
    wait_until "queue pair $number of $device is not in /$level" in_leaf "$device/1" "$number" "$program" "/$level"
    next_line attach_queue_pair.py
    sed "s/^queue pair $number:/queue pair N:/" "$root/said" >"$root/without-number"
    expect "attach_queue_pair.py on $device" "$root/without-number"
    marks_came()
    {
        marks=$(grep -E "qpn=$number( |$)" "$root/trace" | grep -oE '(^| )(sl|traffic-class)=[0-9]+' | tr -d '\n')
        [[ -n $marks ]]
    }
    wait_until "the trace does not show queue pair $number" marks_came
}

attached mlx5_0 rpc --level rpc <<'LINES'
grant: level rpc, rule requested by name, sl 3, traffic-class 104, share 60, max-rate-now 100000000, enforced True
queue pair N: leaf /rpc, enforced True
LINES
wanted=" sl=3 traffic-class=104"
if [[ $link_layer == infiniband ]]; then
    wanted=" sl=0 traffic-class=0"    # the subnet manager's
fi
[[ $marks == "$wanted" ]] || fail "marked as$marks instead of$wanted"

# Without a level the rules decide; this one's service level counts on InfiniBand, too.
layer_in_words=Ethernet
[[ $link_layer == infiniband ]] && layer_in_words=InfiniBand
attached mlx5_1 bulk <<LINES
grant: level bulk, rule match rule 1 (/etc/rdma-qos/policy.yaml:7:5): device mlx5_1/1, 0000:e0:01.0, $layer_in_words, 100 Gbit/s (claimed), sl 5, share 40, max-rate-now 100000000, enforced True
queue pair N: leaf /bulk, enforced True
LINES
[[ $marks == " sl=5 traffic-class=0" ]] || fail "marked as$marks instead of sl=5"

run "${attach[@]}" --level rcp mlx5_0
expect "attach_queue_pair.py with an unknown level" "$root/said" <<'LINES'
without a class: org.rdmaqos1.Error.UnknownLevel: the policy has no level "rcp"; did you mean "rpc"?
LINES

# A daemon that goes takes nothing with it but the class.
start "${attach[@]}" mlx5_1
wait_until "attach_queue_pair.py does not say its place" grep -q '^queue pair' "$root/said"
kill -KILL "$running"
wait "$running" 2>/dev/null || true
next_line attach_queue_pair.py
grep -q '^the daemon has gone' "$root/said" || fail "it does not notice that the daemon has gone: $(cat "$root/said")"

((failures == 0))
echo "the program prints what is expected"
