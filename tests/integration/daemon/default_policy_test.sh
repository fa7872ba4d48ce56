#!/bin/bash
# default_policy_test.sh EMULATOR DAEMON CTL SOURCE: what the daemon does to devices with the policy and settings as shipped, as their
# trace has it: it asks, and changes nothing, also the first time it sees a card. It does when a policy has a class.
set -euo pipefail

if [[ -z ${RDMA_QOS_EMULATOR:-} ]]; then
    exec "$1" run -- "$0" "$@"
fi
emulator=$1 daemon=$2 ctl=$3 source=$4
root=$(mktemp -d)
children=()
clean_up()
{
    local pid
    for pid in "${children[@]}"; do
        kill "$pid" 2>/dev/null || true
        wait "$pid" || true
    done
    rm -rf "$root"
}
trap clean_up EXIT
failures=0
fail()
{
    echo "FAILED: $*"
    failures=$((failures + 1))
}

# For two minutes; more is a hang.
wait_for()
{
    local what=$1 tries=0
    shift
    until "$@" 2>/dev/null; do
        ((++tries <= 2400)) || {
            echo "FAILED: $what did not come"
            cat "$root"/*.log
            exit 1
        }
        sleep 0.05
    done
}

# since MARK: the trace from there to now.
since()
{
    "$emulator" ctl mark "end-of-$1"
    wait_for "the mark in the trace" grep -q "text=end-of-$1" "$root/trace"
    sed -n "/text=begin-$1/,/text=end-of-$1/p" "$root/trace" | grep -v ' mark '
}

# start_and_stop NAME [COMMAND]: runs the daemon until it is ready, and COMMAND; its trace into NAME, its devices into NAME.state.
start_and_stop()
{
    local pid
    "$emulator" ctl mark "begin-$1"
    "$daemon" --root "$root" --host-devices >"$root/$1.log" 2>&1 &
    pid=$!
    children+=("$pid")
    wait_for "the daemon" grep -q 'ready: ' "$root/$1.log"
    grep -q 'ready: .* 2 device port' "$root/$1.log" || fail "the daemon does not manage both devices: $(cat "$root/$1.log")"
    ${2:-true}
    sleep 1    # whatever it would do by itself
    "$emulator" ctl state >"$root/$1.state"
    since "$1" >"$root/$1"
    kill "$pid"
    wait "$pid" || fail "the daemon ends with status $?"
}

mkdir -p "$root/etc/rdma-qos"
cp "$source/config/policy.yaml" "$source/config/rdma-qosd.yaml" "$root/etc/rdma-qos"
"$emulator" trace >"$root/trace" &
children+=($!)
trace_is_heard()
{
    "$emulator" ctl mark listening
    grep -q text=listening "$root/trace"
}
wait_for "the trace" trace_is_heard

# Somebody else's queue pair, which waits for a partner.
ibv_rc_pingpong -d mlx5_0 -g 0 -p $((20000 + $$ % 10000)) >"$root/stranger.log" 2>&1 &
children+=($!)
find_stranger()
{
    stranger=$("$emulator" ctl state | sed -n 's/.*\(qpn=[0-9]*\).*/\1/p')
    [[ -n $stranger ]]
}
wait_for "a queue pair of a program" find_stranger

changes='devx-object|queue-pair\.|create|modify|destroy'
# expect_untouched NAME: the daemon asked the devices, and that is all.
expect_untouched()
{
    grep -q 'command=query-hca-cap' "$root/$1" || fail "$1: the daemon does not even ask the devices"
    if grep -E "$changes" "$root/$1"; then
        fail "$1: the daemon changes devices"
    fi
    if grep ' mlx5_0 ' "$root/$1" | grep -w "$stranger"; then
        fail "$1: the daemon touches a queue pair of another program"
    fi
    if grep -w tsar "$root/$1.state"; then
        fail "$1: elements are on the devices"
    fi
}
start_and_stop shipped
expect_untouched shipped
grep -q 'attach mode not tested yet' "$root/shipped.log" || fail "it is not said that the devices were not tested"

with_class="$root/with-class.yaml"
sed 's/^  - name: DEFAULT$/  - {name: rpc, schedule: {share: 60}}\n&/' "$source/config/policy.yaml" >"$with_class"

# A daemon that only watches leaves them alone, whatever the policy.
cp "$with_class" "$root/etc/rdma-qos/policy.yaml"
printf 'version: 1\nmode: monitor\n' >"$root/etc/rdma-qos/rdma-qosd.yaml"
start_and_stop watching
expect_untouched watching
cp "$source/config/rdma-qosd.yaml" "$root/etc/rdma-qos"

# The first class, while the daemon runs: the devices are tested, then they get it.
cp "$source/config/policy.yaml" "$root/etc/rdma-qos"
while_it_runs()
{
    cp "$with_class" "$root/etc/rdma-qos/policy.yaml"
    "$ctl" --root "$root" reload || fail "a policy with a class is refused"
    "$ctl" --root "$root" devices mlx5_0 >"$root/tested.devices"
}
start_and_stop tested while_it_runs
grep -q 'the self-test finds attach mode' "$root/tested.log" || fail "the self-test did not run before the first class"
if grep -q 'not tested yet' "$root/tested.devices"; then
    fail "what the self-test found is not told"
fi
grep -qw tsar "$root/tested.state" || fail "the class was not built: elements would not be seen"
grep -Eq "$changes" "$root/tested" || fail "changes of a policy with a class would not be seen"

# What was found is kept.
start_and_stop again
if grep -q 'the self-test finds' "$root/again.log"; then
    fail "the self-test runs twice"
fi

((failures == 0)) || exit 1
