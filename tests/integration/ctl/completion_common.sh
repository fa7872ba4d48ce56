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
PATH=$root/bin:${ctl%/*}:${run%/*}:$PATH
# In the place of the one that gives a command a second.
mkdir "$root/bin"
cp "$(dirname "${BASH_SOURCE[0]}")/limit.py" "$root/bin/timeout"
export WAITED=$root/waited
# As in tests/support/process.cpp.
export SYSTEMD_BUS_TIMEOUT=600

failures=0
complain()
{
    echo "FAILED: $*"
    failures=$((failures + 1))
}

# Without a daemon there are no names, and nobody waits for them: not longer than a command that asks nobody.
expect_no_names()
{
    local control waited
    "$root/bin/timeout" 1 rdma-qosctl --version >/dev/null
    control=$(<"$WAITED")
    rm "$WAITED"
    complete_to '' rdma-qosctl --root "$root" tree ''
    waited=$(sort -n "$WAITED" | tail -n 1)
    ((waited <= control + 500)) || complain "names of a daemon that is not there are waited for: $waited ms, for $control"
}

start_daemon()
{
    # shellcheck disable=SC2154
    "$daemon" --root "$root" --simulate "$sources/config/examples/devices.yaml" >"$root/log" 2>&1 &
    process=$!
    local hung=$((SECONDS + 120))
    until [[ $("$ctl" --root "$root" names devices) =~ mlx5_1 ]]; do
        ((SECONDS < hung)) || { complain "the daemon does not come"; break; }
        sleep 0.1
    done
}
