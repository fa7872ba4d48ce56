# shellcheck shell=bash
# What systemd lets the daemon use.

# shellcheck source=../lib.sh
. ./lib.sh

# They have no effect in a container like this, which has no such controllers; that systemd understands them shows.
limits_in_force()
{
    start_with base
    equal "$(property MemoryMax)" $((2 * 1024 * 1024 * 1024)) "MemoryMax="
    equal "$(property TasksMax)" 2048 "TasksMax="
    local tasks
    tasks=$(find "/proc/$(property MainPID)/task" -mindepth 1 -maxdepth 1 | wc -l)
    echo "threads of the daemon with a device: $tasks"
    ((tasks < 64)) || fail "$tasks threads"
}
test_case limits_in_force "memory and tasks of the unit are limited"

readonly few_files=/run/systemd/system/rdma-qosd.service.d/e2e-files.conf

descriptors_of_daemon()
{
    local open=("/proc/$(property MainPID)/fd"/*)
    echo ${#open[@]}
}

has_few_descriptors()
{
    (($(descriptors_of_daemon) <= $1))
}

# One connection of alice, with a device file for each queue pair: they count, and enough is left for bob and for root.
device_files_count()
{
    mkdir -p "${few_files%/*}"
    printf '[Service]\nLimitNOFILE=400\n' >"$few_files"
    trap 'rm -f "$few_files"; systemctl daemon-reload' EXIT
    systemctl daemon-reload
    start_with base
    local before held attached
    before=$(descriptors_of_daemon)
    echo e2e-files.service >>"$scratch/held"
    systemd-run --quiet --collect --unit=e2e-files --uid=alice -p LimitNOFILE=4096 -p EnvironmentFile=/run/emulator.env \
        -p StandardOutput="append:$scratch/e2e-files.said" -p StandardError=inherit -- \
        "$probe" attach-files mlx5_0 500
    eventually "500 were tried" grep -qs '^attached' "$scratch/e2e-files.said"
    cat "$scratch/e2e-files.said"
    held=$(descriptors_of_daemon)
    attached=$(sed -n 's/^attached //p' "$scratch/e2e-files.said")
    echo "descriptors of the daemon: $before, with the files of alice $held, of 400"
    ((attached > 50 && attached < 200)) || fail "alice has $attached of 400"
    contains "$(sed -n 2p "$scratch/e2e-files.said")" org.freedesktop.DBus.Error.LimitsExceeded "the refusal"

    hold e2e-bob system.slice bob --level bulk
    eventually "bob has his place" grep -qs "queue pair" "$scratch/e2e-bob.said"
    contains "$(<"$scratch/e2e-bob.said")" "level bulk" "the grant of bob"
    contains "$(rdma-qosctl status)" mlx5_0 "what root sees"
    rdma-qosctl reload

    systemctl stop e2e-files.service e2e-bob.service
    eventually "the descriptors of both are closed" has_few_descriptors $((before + 4))
}
test_case device_files_count "a user's device files count as the descriptors that they are"
