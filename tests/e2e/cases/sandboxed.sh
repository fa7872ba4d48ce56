# shellcheck shell=bash
# What the daemon does with capabilities, descriptors and files of others, in the unit's sandbox.

# shellcheck source=../lib.sh
. ./lib.sh

readonly settings=/etc/rdma-qos/rdma-qosd.yaml
readonly textfiles=/var/lib/prometheus/node-exporter

sandboxed_adoption()
{
    printf 'version: 1\nunregistered: adopt\n' >"$settings"
    start_with base
    pingpong trainer 18515
    eventually "the server listens" listens 18515
    pingpong e2e-client 18515 127.0.0.1
    eventually "the trainer's queue pair is in its leaf: $(rdma-qosctl qps)" is_adopted trainer.service /rpc/pid:
    rm "$settings"
}
test_case sandboxed_adoption "in its sandbox the daemon adopts a program that did not register"

# The daemon gets a copy of the text from a helper, which reads the file as bob.
sandboxed_plan()
{
    start_with base
    sed 's/share: 30/share: 31/' "$files/base.yaml" >"$scratch/bobs.yaml"
    chown bob "$scratch/bobs.yaml"
    chmod 600 "$scratch/bobs.yaml"
    local said
    said=$(as_user bob rdma-qosctl plan "$scratch/bobs.yaml")
    contains "$said" "mlx5_0/1" "the plan"
    contains "$said" "1 changed" "the plan"
}
test_case sandboxed_plan "in its sandbox the daemon plans for a file of a user"

# The helper is there as long as it has something to do, and so is bob's program.
sandboxed_helper()
{
    start_with base
    hold e2e-bob system.slice bob --level bulk
    eventually "bob's queue pair is in a leaf" has_attached e2e-bob.service
    local helper
    helper=$(pgrep -u bob -P "$(property MainPID)") ||
        fail "the daemon has no child that runs as bob: $(ps -e -o user,pid,ppid,args)"
    equal "$(awk '$1 == "CapEff:" { print $2 }' "/proc/$helper/status")" 0000000000000000 "capabilities of bob's helper"
    # Stopped, it does not answer: the daemon kills it, for which it needs CAP_KILL, and serves bob by another.
    kill -STOP "$helper"
    as_user bob rdma-qosctl plan "$files/base.yaml" >/dev/null || true
    eventually "the helper that hung is gone" has_ended "$helper"
    as_user bob rdma-qosctl plan "$files/base.yaml" >/dev/null || fail "bob is not served any more"
}
has_ended()
{
    [[ ! -e /proc/$1 ]]
}
test_case sandboxed_helper "in its sandbox the daemon starts and kills helpers of other users"

sandboxed_metrics()
{
    mkdir -p "$textfiles"
    chown nobody "$textfiles"
    chmod 755 "$textfiles"
    printf 'version: 1\nmetrics: {textfile: %s/rdma-qosd.prom, interval: 1s}\n' "$textfiles" >"$settings"
    start_with base
    eventually "the metrics are written" test -s "$textfiles/rdma-qosd.prom"
    local file
    file=$(as_user nobody cat "$textfiles/rdma-qosd.prom")
    contains "$file" 'rdmaqos_sessions' "the metrics"
    rm "$settings"
}
test_case sandboxed_metrics "in its sandbox the daemon writes metrics that others can read"
