# shellcheck shell=bash
# What the tests of both shells' completion begin with. Of the caller: `daemon`, `ctl`, `run`, `sources`, and complete_to().
# `root` has a policy, and no daemon yet.

root=$(mktemp -d)
process=
clean_up()
{
    [[ -z $process ]] || kill "$process" 2>/dev/null || true
    wait
    rm -rf "$root"
}
trap clean_up EXIT
mkdir -p "$root/etc/rdma-qos"
# shellcheck disable=SC2154 # the caller's
cp "$sources/config/examples/demo.yaml" "$root/etc/rdma-qos/policy.yaml"
# shellcheck disable=SC2154
PATH=${ctl%/*}:${run%/*}:$PATH

failures=0
complain()
{
    echo "FAILED: $*"
    failures=$((failures + 1))
}

# Without a daemon there are no names, at once.
expect_no_names()
{
    local started took
    started=$(date +%s%N)
    complete_to '' rdma-qosctl --root "$root" tree ''
    took=$((($(date +%s%N) - started) / 1000000))
    ((took <= 2000)) || complain "names of a daemon that is not there take $took ms"
}

start_daemon()
{
    # shellcheck disable=SC2154
    "$daemon" --root "$root" --simulate "$sources/config/examples/devices.yaml" >"$root/log" 2>&1 &
    process=$!
    local i
    for ((i = 0; i < 200; ++i)); do
        [[ ! $("$ctl" --root "$root" names devices) =~ mlx5_1 ]] || break
        sleep 0.1
    done
}
