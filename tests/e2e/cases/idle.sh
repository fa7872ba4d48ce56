# shellcheck shell=bash
# What the daemon uses when nothing happens.

# shellcheck source=../lib.sh
. ./lib.sh

# "TID NAME SWITCHES", a line for each thread: how often it has waited for something. How often it was interrupted by
# others would say something of the machine.
waits_of()
{
    local task
    for task in /proc/"$1"/task/*; do
        echo "${task##*/} $(cat "$task/comm") $(awk '/^voluntary_ctxt_switches:/ { print $2 }' "$task/status")"
    done
}

# With the settings as shipped there are two timers: a look for devices every ten seconds, and a check for drift every
# minute. A look takes 14 waits of the loop and the threads it asks; one more timer, of a second, would be ten. Ten
# seconds may have two looks in them, but not the next ten, too.
idle_wakeups()
{
    start_with base
    sleep 3    # what a start leaves to do
    local pid before after total=0 window
    pid=$(property MainPID)
    for window in first second; do
        before=$(waits_of "$pid")
        sleep 10
        after=$(waits_of "$pid")
        total=$(join <(sort <<<"$before") <(sort <<<"$after") | awk '{ sum += $NF - $3 } END { print sum + 0 }')
        echo "wake-ups in the $window 10 s: $total:" \
            "$(join <(sort <<<"$before") <(sort <<<"$after") | awk '$NF != $3 { print $2, $NF - $3 }' | xargs)"
        equal "$(cut -d ' ' -f 1 <<<"$after")" "$(cut -d ' ' -f 1 <<<"$before")" "the threads of an idle daemon"
        ((total > 20)) || return 0
    done
    fail "$total wake-ups of an idle daemon in 10 s"
}
test_case idle_wakeups "an idle daemon is not woken but by its timers"

idle_memory()
{
    start_with base
    local number pid main=0 all=0 pss
    for number in {1..10}; do
        hold "e2e-many-$number" system.slice alice --qps 2 --level rpc
    done
    for number in {1..10}; do
        eventually "session $number is there" has_attached "e2e-many-$number.service"
    done
    while read -r pid; do
        pss=$(awk '$1 == "Pss:" { print $2 }' "/proc/$pid/smaps_rollup")
        all=$((all + pss))
        [[ $pid != "$(property MainPID)" ]] || main=$pss
    done <"/sys/fs/cgroup$(property ControlGroup)/cgroup.procs"
    echo "PSS with 10 sessions: $main KiB, with its helpers $all KiB"
    ((main > 0)) || fail "the daemon's memory cannot be read"
    ((all < 16384)) || fail "$all KiB are not below 16 MiB"
}
test_case idle_memory "less than 16 MiB with ten sessions"
