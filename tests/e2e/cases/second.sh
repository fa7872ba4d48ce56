# shellcheck shell=bash
# Two daemons on one host: the second finds out, and leaves the devices alone.

# shellcheck source=../lib.sh
. ./lib.sh

readonly status_devices_taken=69

# run_second UNIT COMMAND...: a daemon by hand, in a unit of that name, by whatever COMMAND runs it (env, unshare ...).
# Prints what it said; fails unless it ends because the devices are taken.
run_second()
{
    local unit=$1 root said status=0
    shift
    root=$(mktemp -d "$scratch/second.XXXXXX")
    said=$(systemd-run --quiet --wait --pipe --collect --unit="$unit" -p EnvironmentFile=/run/emulator.env \
        -p RuntimeMaxSec=20 -- "$@" /usr/sbin/rdma-qosd --root "$root" --host-devices 2>&1) || status=$?
    equal "$status" "$status_devices_taken" "the exit status of a second daemon ($*): $said"
    printf '%s\n' "$said"
}

second_by_hand()
{
    start_with base
    hold e2e-keeper system.slice alice --level payroll
    eventually "the queue pair is in a leaf" has_attached e2e-keeper.service
    local pid said tree
    pid=$(property MainPID)
    tree=$(tree_of_device)
    mark before-second
    said=$(run_second e2e-second env)
    contains "$said" "mlx5_0 is managed by another rdma-qosd, process $pid of rdma-qosd.service" "a daemon by hand"
    # A file system of its own, as in a chroot or a container that is not confined otherwise.
    said=$(run_second e2e-second unshare --mount)
    contains "$said" "process $pid of rdma-qosd.service" "a daemon in a mount namespace of its own"
    said=$(run_second e2e-second unshare --net)
    contains "$said" "process $pid of rdma-qosd.service" "a daemon in a network namespace of its own"
    # It does not see the other's process, and is refused all the same.
    said=$(run_second e2e-second unshare --pid --fork --mount-proc)
    contains "$said" "a process that is not visible from here" "a daemon in a process namespace of its own"
    mark after-second
    said=$(sed -n '/mark.*before-second/,/mark.*after-second/p' "$scratch/trace" | grep -v "pid $pid\b" | grep -v ' mark ' ||
        true)
    equal "$said" "" "calls to devices by others than the daemon"
    equal "$(tree_of_device)" "$tree" "the device's tree"
    equal "$(property MainPID)" "$pid" "the process of the first daemon"
    has_attached e2e-keeper.service || fail "the queue pair is in no leaf any more"
}
test_case second_by_hand "a second daemon ends before it touches a device, and names the first"

second_is_the_unit()
{
    systemctl stop rdma-qosd.service
    local root said restarts
    root=$(mktemp -d "$scratch/first.XXXXXX")
    echo e2e-first.service >>"$scratch/held"
    systemd-run --quiet --unit=e2e-first -p EnvironmentFile=/run/emulator.env -p StandardOutput="append:$root/said" \
        -p StandardError=inherit -- /usr/sbin/rdma-qosd --root "$root" --host-devices
    eventually "the daemon by hand is ready" grep -q 'ready: ' "$root/said"
    restarts=$(property NRestarts)
    refused systemctl start rdma-qosd.service >/dev/null
    equal "$(property ExecMainStatus)" "$status_devices_taken" "what the unit's daemon ended with"
    sleep 3    # RestartSec= is one second
    equal "$(property NRestarts)" "$restarts" "restarts by systemd"
    equal "$(property ActiveState)" failed "the unit"
    said=$(systemctl status rdma-qosd.service || true)
    contains "$said" "mlx5_0 is managed by another rdma-qosd, process $(property MainPID e2e-first.service)" \
        "systemctl status"
    # However the first ends.
    kill -9 "$(property MainPID e2e-first.service)"
    systemctl reset-failed rdma-qosd.service
    start_with base
}
test_case second_is_the_unit "the unit does not try again and again while another daemon has the devices"

# What daemons lock is root's.
second_not_by_users()
{
    start_with base
    local file=/run/emulator/sys/class/infiniband/mlx5_0/device/resource0
    contains "$(refused as_user bob flock --nonblock "$file" true)" "ermission denied" "a lock on $file"
    # A program of theirs that has the device open, and the daemon's name.
    cp "$sample" "$scratch/rdma-qosd"
    chmod 755 "$scratch/rdma-qosd"
    systemctl stop rdma-qosd.service
    echo e2e-name.service >>"$scratch/held"
    systemd-run --quiet --collect --unit=e2e-name --uid=bob -p EnvironmentFile=/run/emulator.env -- \
        "$scratch/rdma-qosd" --device mlx5_0 -- sleep infinity
    start_with base
}
test_case second_not_by_users "users cannot keep the daemon from a device"
