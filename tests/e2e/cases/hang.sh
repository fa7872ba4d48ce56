# shellcheck shell=bash
# One NIC stops answering; another keeps working. The last three cases depend on each other: mlx5_1 hangs in all of them.

# shellcheck source=../lib.sh
. ./lib.sh

# hang_mlx5_1 [MILLISECONDS]: its commands take so long from now on; without a number, longer than everything here.
hang_mlx5_1()
{
    ctl_emulator delay any "${1:-900000}" mlx5_1
    # It has something to hang at.
    rdma-qosctl reconcile mlx5_1 >/dev/null 2>&1 &
}

# state_of DEVICE STATE
state_of()
{
    [[ $(rdma-qosctl devices "$1/1" --json 2>/dev/null | jq -r '.devices[0].state') == "$2" ]]
}

seconds_of()
{
    local started
    started=$(milliseconds_now)
    "$@"
    echo $((($(milliseconds_now) - started) / 1000))
}

hang_watchdog()
{
    quick_watchdog
    start_with base
    eventually "both devices are ready" state_of mlx5_1 ready
    local pid
    pid=$(property MainPID)
    hang_mlx5_1 12000
    sleep 7
    equal "$(property MainPID)" "$pid" "the process of a daemon with a device that hangs"
    hold e2e-other system.slice alice --level payroll
    eventually "a queue pair of the other device is in a leaf" has_attached e2e-other.service
    ctl_emulator clear
}
test_case hang_watchdog "a device that hangs does not wake the watchdog, and the other is served"

hang_reload()
{
    local cursor took said
    start_with base
    eventually "both devices are ready" state_of mlx5_1 ready
    hang_mlx5_1
    cursor=$(journal_cursor)
    sed -i 's/share: 30/share: 44/' "$policy"
    took=$(seconds_of systemctl reload rdma-qosd.service)
    echo "seconds that a reload took: $took"
    ((took < hung)) || fail "$took s, though a device is waited for for 15 s"
    contains "$(tree_of_device)" '"bw-share":44' "the tree of the device that answers"
    said=$(journal_since "$cursor")
    contains "$said" "mlx5_1/1 has not answered for 15 s; what it was told is done when it answers" "the journal"
    contains "$(rdma-qosctl status)" "mlx5_1/1" "rdma-qosctl status"
    eventually "the state of the device that hangs is told" state_of mlx5_1 degraded
}
test_case hang_reload "a reload reaches the other device, and names the one that it does not reach"

hang_stop()
{
    local cursor took said
    cursor=$(journal_cursor)
    took=$(seconds_of systemctl stop rdma-qosd.service)
    echo "seconds that stopping took: $took"
    said=$(journal_since "$cursor")
    contains "$said" "stopping although mlx5_1/1 does not answer" "the journal"
    lacks "$said" "timed out" "the journal"
    lacks "$said" "Killing process" "the journal"
    equal "$(property ExecMainCode)" 1 "how the daemon ended (1: by itself)"
    equal "$(tree_of_device)" "[]" "elements of the device that answers"
    [[ ! -e /run/rdma-qos/bus ]] || fail "the socket is still there"
}
test_case hang_stop "stopping ends in time, empties the other device, and names the one that hangs"

hang_start()
{
    local cursor took
    rm -rf /var/lib/rdma-qos/self-test    # so that opening it takes commands, which hang
    cursor=$(journal_cursor)
    took=$(seconds_of systemctl start rdma-qosd.service)
    echo "seconds that a start took: $took"
    ((took < hung)) || fail "$took s, though devices are waited for for 10 s at the start"
    has_tree "$(rdma-qosctl check --offline --json | jq '.devices[0].elements')" ||
        fail "the device that answers has no tree: $(rdma-qosctl devices)"
    contains "$(journal_since "$cursor")" "mlx5_1 does not answer" "the journal"
    ctl_emulator clear
}
test_case hang_start "a start does not wait for a device that hangs"
