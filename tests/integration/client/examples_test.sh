#!/bin/bash
# examples_test.sh DAEMON CTL EXAMPLES: runs the example programs of the C library below an emulator, with a daemon that dies.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/../examples/common.sh"
examples=$3

write_policy <<YAML
version: 1
qos-levels:
  - {name: DEFAULT, sl: 0}
  - {name: rpc, sl: 3, dscp: 26, schedule: {share: 60}}
YAML

# Without a daemon a program goes on without a class.
run "$examples/governed" mlx5_0 rpc "$bus"
sed -i 's/answer at .*/answer/' "$root/said"
expect "governed without a daemon" "$root/said" <<'LINES'
without a class: rdma-qosd does not answer
LINES

start_daemon --host-devices
start "$examples/governed" mlx5_0 rpc "$bus"
wait_until "governed does not say its place" grep -q '^enforced' "$root/said"
kill -KILL "$running"
wait "$running" 2>/dev/null || true
wait_until "governed does not see the daemon's end" grep -q 'has gone' "$root/said"
start_daemon --host-devices
wait_until "governed does not come back" grep -q 'is back' "$root/said"
"$ctl" --root "$root" sessions --json >"$root/sessions"
grep -q '"rpc"' "$root/sessions" || fail "there is no session in rpc: $(cat "$root/sessions")"
next_line governed
# It may be back before the daemon has found the device, and then the grant changes when it does.
sed -i '/^event: the grant has changed$/d' "$root/said"
expect "governed" "$root/said" <<'LINES'
traffic class: 104
level: rpc
leaf: /rpc
enforced: yes
event: rdma-qosd has gone
event: rdma-qosd is back
LINES

run "$examples/governed" mlx5_0 rcp "$bus"
grep -q 'without a class: .*did you mean "rpc"' "$root/said" || fail "governed does not say what the daemon says: $(cat "$root/said")"

run "$examples/resource_domain" mlx5_0
expect "resource_domain" "$root/said" <<'LINES'
threads: single, messages: default
thread domain: yes, own doorbell: yes, completion queue without a lock: yes
destroying the domain now: busy
destroying it after its objects: done
LINES

((failures == 0))
echo "both programs print what is expected"
