# shellcheck shell=bash
# The daemon goes, and comes back.

# shellcheck source=../lib.sh
. ./lib.sh

restart_sessions()
{
    start_with base
    hold e2e-keeper system.slice alice --level payroll
    eventually "the queue pair is in a leaf" has_attached e2e-keeper.service
    systemctl restart rdma-qosd.service
    eventually "the queue pair is in a leaf after the restart" has_attached e2e-keeper.service
}
test_case restart_sessions "a program's queue pairs are back in their leaf after a restart"

restart_stop()
{
    start_with base
    hold e2e-keeper system.slice alice --level payroll
    eventually "the queue pair is in a leaf" has_attached e2e-keeper.service
    systemctl stop rdma-qosd.service
    equal "$(property Result)" success "how the daemon ended"
    equal "$(tree_of_device)" "[]" "elements after the daemon has ended"
    [[ ! -e /run/rdma-qos/bus ]] || fail "the socket is still there"
}
test_case restart_stop "it takes its elements away when it is stopped"

restart_killed()
{
    start_with base
    hold e2e-keeper system.slice alice --level payroll
    eventually "the queue pair is in a leaf" has_attached e2e-keeper.service
    local revision pid restarts tree missing started
    revision=$(revision_in_force)
    tree=$(tree_of_device | jq -c 'map({share: ."bw-share", cap: ."max-average-bw"})')
    put_policy broken
    pid=$(property MainPID)
    restarts=$(property NRestarts)
    started=$(milliseconds_now)
    kill -9 "$pid"
    eventually "the daemon runs again" main_pid_changed "$pid"
    eventually "the queue pair is in a leaf again" has_attached e2e-keeper.service
    echo "ms from SIGKILL to a queue pair in its leaf: $(($(milliseconds_now) - started))"
    equal "$(property NRestarts)" $((restarts + 1)) "restarts by systemd"
    equal "$(revision_in_force)" "$revision" "the policy after SIGKILL: the last good one"
    # All of the tree is there again. The leaf that was in use stays too, with the root: firmware does not destroy it
    # when the kernel closes the file of a daemon that was killed.
    missing=$(tree_of_device |
        jq -c --argjson wanted "$tree" '$wanted - map({share: ."bw-share", cap: ."max-average-bw"})')
    equal "$missing" "[]" "elements that are missing in the device"
    put_policy base
}
test_case restart_killed "after SIGKILL it is back with the last good policy"

# Eight times in less than ten seconds are more than systemd takes by default.
restart_always()
{
    start_with base
    local tries pid
    for ((tries = 0; tries < 8; tries++)); do
        pid=$(property MainPID)
        kill -9 "$pid"
        eventually "the daemon runs again after SIGKILL $((tries + 1))" main_pid_changed "$pid"
    done
}
test_case restart_always "it is started again however often it fails"
