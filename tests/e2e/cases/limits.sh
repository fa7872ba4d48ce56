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
