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
    local revision pid restarts tree started
    revision=$(revision_in_force)
    tree=$(tree_of_device)
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
    equal "$(tree_of_device)" "$tree" "elements of the device"
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

# untouched_by HOW COMMAND...: what brings another daemon changes nothing on the device but the place of the queue pair of
# the program that registers again, which is written as it was.
untouched_by()
{
    local how=$1 before pid
    shift
    start_with base
    hold e2e-keeper system.slice alice --level payroll
    eventually "the queue pair is in a leaf" has_attached e2e-keeper.service
    before=$(tree_and_places)
    pid=$(property MainPID)
    mark "before-$how"
    "$@"
    eventually "another daemon runs" main_pid_changed "$pid"
    equal "$(tree_and_places)" "$before" "what the device has when the daemon is ready"
    eventually "the queue pair is in a leaf again" has_attached e2e-keeper.service
    mark "after-$how"
    equal "$(tree_and_places)" "$before" "what the device has when the program has registered again"
    equal "$(commands_between "before-$how" "after-$how" | grep -c general-object || true)" 0 "writes to elements"
}

restart_untouched()
{
    untouched_by restart systemctl restart rdma-qosd.service
}
test_case restart_untouched "a restart changes nothing on the device"

restart_kill_untouched()
{
    untouched_by kill systemctl kill --kill-who=main -s KILL rdma-qosd.service
    [[ $(property NFileDescriptorStore) -ge 2 ]] || fail "systemd keeps $(property NFileDescriptorStore) descriptors"
}
test_case restart_kill_untouched "SIGKILL changes nothing on the device"

# Of the watchdog, which ends it with SIGABRT; and a new unit file.
restart_reexec_untouched()
{
    untouched_by abort systemctl kill --kill-who=main -s ABRT rdma-qosd.service
    local before
    before=$(tree_and_places)
    systemctl daemon-reexec
    systemctl restart rdma-qosd.service
    equal "$(tree_and_places)" "$before" "what the device has after systemd was executed anew"
}
test_case restart_reexec_untouched "SIGABRT, and a new systemd, change nothing on the device"

# RestartSec= comes before. Other programs can only make it longer, as in start_in_time: the shortest of some counts, less
# what the daemon and systemd wait for a processor. Where nearly always somebody waits for one, what they do takes longer,
# too.
restart_in_time()
{
    start_with base
    hold_crowd 50
    local before tries pid started ready waited pressure limit=100 times=()
    before=$(tree_and_places)
    for ((tries = 0; tries < 5 || (tries < 15 && times[0] > limit); tries++)); do
        pid=$(property MainPID)
        waited=$(ready_but_waiting 1)
        kill -9 "$pid"
        eventually "the daemon runs again" main_pid_changed "$pid"
        waited=$(($(ready_but_waiting 1 "$(property MainPID)") - waited))
        equal "$(tree_and_places)" "$before" "what the device has when the daemon is ready"
        started=$(property ExecMainStartTimestampMonotonic)
        ready=$(property ActiveEnterTimestampMonotonic)
        eventually "all programs have registered again" has_crowd 50
        mapfile -t times < <(printf '%s\n' "${times[@]}" "$(((ready - started) / 1000 - waited))" | grep . | sort -n)
    done
    pressure=$(sed -n 's/^some avg10=\([0-9]*\).*/\1/p' /proc/pressure/cpu)
    ((pressure < 75)) || limit=250
    echo "ms from start to ready, after SIGKILL, with 50 programs' queue pairs: ${times[*]}; pressure: $pressure %"
    ((times[0] <= limit)) || fail "ready after ${times[0]} ms at best, more than $limit ms"
}
test_case restart_in_time "after SIGKILL it is ready within 100 ms of its start, with 50 programs"

restart_stop_start()
{
    start_with base
    systemctl stop rdma-qosd.service
    equal "$(tree_of_device)" "[]" "elements after the daemon has been stopped"
    equal "$(property NFileDescriptorStore)" 0 "descriptors that systemd keeps"
    equal "$(ctl_emulator state --json | jq '.devices[0].files')" 0 "open files of the device"
    systemctl start rdma-qosd.service
    eventually "the device has its tree" has_tree "$(rdma-qosctl check --offline --json | jq '.devices[0].elements')"
}
test_case restart_stop_start "a stop closes what systemd keeps"

restart_release()
{
    start_with base
    rdma-qosctl release mlx5_0
    equal "$(ctl_emulator state --json | jq '.devices[] | select(.name == "mlx5_0") | .files')" 0 "open files of the device"
    systemctl restart rdma-qosd.service
    equal "$(rdma-qosctl status --json | jq -c '.["released-devices"] // .released')" '["mlx5_0/1"]' "released devices"
    rdma-qosctl enable mlx5_0
}
test_case restart_release "a released device is closed by systemd, too, and stays released"
