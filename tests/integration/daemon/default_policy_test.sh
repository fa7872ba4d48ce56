#!/bin/bash
# default_policy_test.sh EMULATOR DAEMON SOURCE: what the daemon does to devices with the policy and settings as shipped, as their trace has it.
# The first time it sees a card, it runs the self-test, on elements and queue pairs of its own, of which nothing stays. Otherwise it
# asks and changes nothing. Queue pairs of others are left alone in either case.
set -euo pipefail

if [[ -z ${RDMA_QOS_EMULATOR:-} ]]; then
    exec "$1" run -- "$0" "$@"
fi
emulator=$1 daemon=$2 source=$3
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

wait_for()
{
    local what=$1 tries=0
    shift
    until "$@" 2>/dev/null; do
        ((++tries <= 400)) || {
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

# start_and_stop NAME: runs the daemon until it is ready, and its trace into NAME.
start_and_stop()
{
    local pid
    "$emulator" ctl mark "begin-$1"
    "$daemon" --root "$root" --host-devices >"$root/$1.log" 2>&1 &
    pid=$!
    children+=("$pid")
    wait_for "the daemon" grep -q 'ready: ' "$root/$1.log"
    grep -q 'ready: .* 2 device port' "$root/$1.log" || fail "the daemon does not manage both devices: $(cat "$root/$1.log")"
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
start_and_stop first
grep -q 'command=create-general-object' "$root/first" || fail "the self-test is not in the trace, so that nothing would be"
start_and_stop second
grep -q 'command=query-hca-cap' "$root/second" || fail "the daemon does not even ask the devices"
if grep -E "$changes" "$root/second"; then
    fail "with the policy as shipped the daemon changes devices"
fi
for start in first second; do
    if grep ' mlx5_0 ' "$root/$start" | grep -w "$stranger"; then
        fail "with the policy as shipped the daemon touches a queue pair of another program"
    fi
    if grep -w tsar "$root/$start.state"; then
        fail "elements are on the devices while the daemon runs with the policy as shipped"
    fi
done

# What would be seen: the same with a class.
sed 's/^  - name: DEFAULT$/  - {name: rpc, schedule: {share: 60}}\n&/' "$source/config/policy.yaml" >"$root/etc/rdma-qos/policy.yaml"
start_and_stop third
grep -qw tsar "$root/third.state" || fail "elements would not be seen"
grep -Eq "$changes" "$root/third" || fail "changes of a policy with a class would not be seen"

((failures == 0)) || exit 1
