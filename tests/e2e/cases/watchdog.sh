# shellcheck shell=bash
# The daemon hangs, and systemd starts it again.

# shellcheck source=../lib.sh
. ./lib.sh

watchdog_in_force()
{
    start_with base
    equal "$(property WatchdogUSec)" 30s "WatchdogSec= of the unit"
    [[ $(property WatchdogTimestampMonotonic) != 0 ]] || fail "systemd has never heard of the daemon's watchdog"
}
test_case watchdog_in_force "systemd's watchdog watches the daemon"

watchdog_bites()
{
    quick_watchdog
    start_with base
    hold e2e-keeper system.slice alice --level payroll
    eventually "the queue pair is in a leaf" has_attached e2e-keeper.service
    local revision pid restarts cursor
    revision=$(revision_in_force)
    put_policy broken
    pid=$(property MainPID)
    restarts=$(property NRestarts)
    sleep 5    # more than twice as long as it takes to bite
    equal "$(property MainPID)" "$pid" "the process of a daemon that lives"
    cursor=$(journal_cursor)
    kill -STOP "$pid"
    eventually "systemd has started the daemon again" main_pid_changed "$pid"
    eventually "the queue pair is in a leaf again" has_attached e2e-keeper.service
    equal "$(property NRestarts)" $((restarts + 1)) "restarts by systemd"
    equal "$(revision_in_force)" "$revision" "the policy after the restart: the last good one"
    contains "$(journal_since "$cursor")" "Failed with result 'watchdog'" "the journal"
    put_policy base
}
test_case watchdog_bites "a daemon that hangs is started again with the last good policy"
