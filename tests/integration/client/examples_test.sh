#!/bin/bash
# examples_test.sh DAEMON CTL EXAMPLES: runs the example programs of the C library below an emulator, with a daemon that dies.
set -euo pipefail

daemon=$1 ctl=$2 examples=$3
root=$(mktemp -d)
started=()
clean_up()
{
    for process in "${started[@]}"; do
        kill "$process" 2>/dev/null || true
    done
    wait
    rm -rf "$root"
}
trap clean_up EXIT

failures=0
fail()
{
    echo "FAILED: $*"
    failures=$((failures + 1))
}
# expect WHAT FILE: the file is what stdin says.
expect()
{
    diff -u --label expected --label "$1" - "$2" || fail "$1 differs"
}
# wait_until WHAT COMMAND...: for at most 20 s.
wait_until()
{
    local what=$1
    shift
    for _ in {1..400}; do
        ! "$@" 2>/dev/null || return 0
        sleep 0.05
    done
    echo "FAILED: $what; the daemon said:"
    cat "$root/log"
    exit 1
}

mkdir -p "$root/etc/rdma-qos"
cat >"$root/etc/rdma-qos/policy.yaml" <<YAML
version: 1
qos-levels:
  - {name: DEFAULT, sl: 0}
  - {name: rpc, sl: 3, dscp: 26, schedule: {share: 60}}
YAML
start_daemon()
{
    "$daemon" --root "$root" --host-devices >"$root/log" 2>&1 &
    running=$!
    started+=("$running")
    wait_until "the daemon does not answer" "$ctl" --root "$root" levels >/dev/null
}
socket=$root/run/rdma-qos/bus

# Without a daemon a program goes on without a class.
"$examples/governed" mlx5_0 rpc "$socket" </dev/null >"$root/said" || fail "governed ended with status $?"
sed -i 's/answer at .*/answer/' "$root/said"
expect "governed without a daemon" "$root/said" <<'LINES'
without a class: rdma-qosd does not answer
LINES

start_daemon
mkfifo "$root/line"
exec {line}<>"$root/line"
"$examples/governed" mlx5_0 rpc "$socket" <&"$line" >"$root/said" &
governed=$!
started+=("$governed")
wait_until "governed does not say its place" grep -q '^enforced' "$root/said"
kill -KILL "$running"
wait "$running" 2>/dev/null || true
wait_until "governed does not see the daemon's end" grep -q 'has gone' "$root/said"
start_daemon
wait_until "governed does not come back" grep -q 'is back' "$root/said"
"$ctl" --root "$root" sessions --json >"$root/sessions"
grep -q '"rpc"' "$root/sessions" || fail "there is no session in rpc: $(cat "$root/sessions")"
echo >&"$line"
wait "$governed" || fail "governed ended with status $?"
expect "governed" "$root/said" <<'LINES'
traffic class: 104
level: rpc
leaf: /rpc
enforced: yes
event: rdma-qosd has gone
event: rdma-qosd is back
LINES

"$examples/governed" mlx5_0 rcp "$socket" </dev/null >"$root/said" || fail "governed ended with status $?"
grep -q 'without a class: .*did you mean "rpc"' "$root/said" || fail "governed does not say what the daemon says: $(cat "$root/said")"

"$examples/resource_domain" mlx5_0 >"$root/said" || fail "resource_domain ended with status $?"
expect "resource_domain" "$root/said" <<'LINES'
threads: single, messages: default
thread domain: yes, own doorbell: yes, completion queue without a lock: yes
destroying the domain now: busy
destroying it after its objects: done
LINES

((failures == 0))
echo "both programs print what is expected"
