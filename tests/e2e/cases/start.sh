# shellcheck shell=bash
# The unit starts, says when it is ready, and what it does then.

# shellcheck source=../lib.sh
. ./lib.sh

# The times are those that systemd saw, less what the daemon and systemd waited for a processor. What is left of other
# programs on the machine can only make a start longer, so the shortest of many is what the daemon needs: of ten, and where
# none of these is short enough, of forty.
start_in_time()
{
    local tries=0 started ready waited times=()
    {
        printf 'version: 1\nqos-levels:\n  - {name: DEFAULT}\n'
        seq -f '  - {name: level-%g, schedule: {share: 1}}' 100
    } >"$policy"
    while ((tries < 10)) || ((tries < 40 && times[0] > 100)); do
        tries=$((tries + 1))
        waited=$(ready_but_waiting 1)
        systemctl restart rdma-qosd.service
        waited=$(($(ready_but_waiting 1 "$(property MainPID)") - waited))
        started=$(property ExecMainStartTimestampMonotonic)
        ready=$(property ActiveEnterTimestampMonotonic)
        eventually "the device has the policy's 100 levels" has_tree 101
        mapfile -t times < <(printf '%s\n' "${times[@]}" "$(((ready - started) / 1000 - waited))" | grep . | sort -n)
    done
    echo "ms from start to ready, with 100 levels and a device: ${times[*]}"
    ((times[0] <= 100)) ||
        fail "ready after ${times[0]} ms at best, more than 100 ms; pressure: $(head -n 1 /proc/pressure/cpu)"
}
test_case start_in_time "ready within 100 ms of its start"

start_is_clean()
{
    local cursor
    cursor=$(journal_cursor)
    start_with base
    local said
    said=$(journal_since "$cursor")
    lacks "$said" "warning" "the journal after a start with a good policy"
    lacks "$said" "error" "the journal after a start with a good policy"
    lacks "$said" "Unknown" "what systemd makes of the unit"
    contains "$said" "ready: policy " "the journal after a start"
}
test_case start_is_clean "a start with a good policy logs no warning"

start_status_line()
{
    start_with base
    local revision shown
    revision=$(revision_in_force)
    eventually "STATUS= counts the device" status_names "1 device port"
    shown=$(systemctl status rdma-qosd.service)
    contains "$shown" "Status: \"policy $revision, 1 device port\"" "systemctl status"
}
status_names()
{
    [[ $(property StatusText) == *"$1"* ]]
}
test_case start_status_line "systemctl status names policy and devices"

start_broken()
{
    start_with base
    local cursor good said
    good=$(revision_in_force)
    put_policy broken
    cursor=$(journal_cursor)
    systemctl restart rdma-qosd.service
    equal "$(revision_in_force)" "$good" "the policy in force after a start with a broken one"
    said=$(journal_since "$cursor")
    contains "$said" "$policy:5:21: error:" "the journal"
    equal "$(grep -c "$policy:5:21: error:" <<<"$said")" 1 "lines of the diagnostic in the journal"
    contains "$(property StatusText)" "policy $good" "STATUS="
    contains "$(property StatusText)" "the newest policy is refused: $policy:5:21" "STATUS="
}
test_case start_broken "a start with a broken policy takes the last good one and says so once"
