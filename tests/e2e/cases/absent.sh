# shellcheck shell=bash
# Without a daemon: answers come at once, and say what to do.

# shellcheck source=../lib.sh
. ./lib.sh

# status_fails_at_once WHERE OPTION...: the bus would wait for a start for 25 s.
status_fails_at_once()
{
    local where=$1 said status=0 started
    shift
    started=$(milliseconds_now)
    said=$(rdma-qosctl "$@" status 2>&1) || status=$?
    local took=$(($(milliseconds_now) - started))
    echo "$where: status $status after $took ms: $said"
    equal "$status" 5 "the status of rdma-qosctl status ($where)"
    contains "$said" "systemctl start rdma-qosd" "what rdma-qosctl status says ($where)"
    ((took < 20000)) || fail "$where: rdma-qosctl status took $took ms"
}

absent_stopped()
{
    systemctl stop rdma-qosd.service
    status_fails_at_once "stopped"
    status_fails_at_once "stopped, by the bus" --system-bus
    equal "$(property ActiveState)" inactive "the unit after rdma-qosctl status: looking must not start it"
}
test_case absent_stopped "without a daemon, rdma-qosctl fails at once and says what to do"

# A unit whose program ends at once, over and over: the bus would wait for it for 25 s.
absent_failing()
{
    local folder=/run/systemd/system/rdma-qosd.service.d
    mkdir -p "$folder"
    printf '[Service]\nExecStart=\nExecStart=/bin/false\n' >"$folder/false.conf"
    systemctl daemon-reload
    systemctl stop rdma-qosd.service
    systemctl start --no-block rdma-qosd.service
    (
        status_fails_at_once "failing"
        status_fails_at_once "failing, by the bus" --system-bus
    ) || local failed=yes
    rm "$folder/false.conf"
    systemctl stop rdma-qosd.service
    systemctl daemon-reload
    [[ -z ${failed:-} ]] || exit 1
}
test_case absent_failing "with a daemon that fails to start, rdma-qosctl does not wait for it"

absent_masked()
{
    systemctl stop rdma-qosd.service
    systemctl mask --quiet --runtime rdma-qosd.service
    (status_fails_at_once "masked" --system-bus) || local failed=yes
    systemctl unmask --quiet --runtime rdma-qosd.service
    [[ -z ${failed:-} ]] || exit 1
}
test_case absent_masked "with a masked unit, rdma-qosctl fails at once"

absent_activated()
{
    systemctl stop rdma-qosd.service
    local mode
    mode=$(as_user bob busctl --system get-property org.rdmaqos1 /org/rdmaqos1 org.rdmaqos1.Manager Mode)
    equal "$mode" 's "enforce"' "the answer to a call that starts the daemon"
    equal "$(property ActiveState)" active "the unit after a call on the bus"
}
test_case absent_activated "a program's call on the bus starts the daemon"
