# shellcheck shell=bash
# What the tests of example programs share. To be sourced; expects `set -euo pipefail`, and these arguments of the script:
#
#   DAEMON CTL
#
# Gives them names, and `root`, a directory for a daemon of the test's own, which goes when the script ends.

daemon=$1 ctl=$2
# Another python3 that comes first in the path knows nothing of Debian's packages.
# shellcheck disable=SC2034    # for the scripts that source this
python=/usr/bin/python3
root=$(mktemp -d)
# shellcheck disable=SC2034    # likewise
bus=$root/run/rdma-qos/bus
started=()
clean_up()
{
    for process in "${started[@]}"; do
        kill "$process" 2>/dev/null || true
    done
    wait
    rm -rf "$root"
}
trap clean_up EXIT

failures=0
fail()
{
    echo "FAILED: $*"
    failures=$((failures + 1))
}

# expect WHAT FILE: the file is what stdin says.
expect()
{
    diff -u --label expected --label "$1" - "$2" || fail "$1 differs"
}

# wait_until WHAT COMMAND...: for two minutes; more is a hang.
wait_until()
{
    local what=$1
    shift
    for _ in {1..2400}; do
        ! "$@" 2>/dev/null || return 0
        sleep 0.05
    done
    echo "FAILED: $what; the daemon said:"
    cat "$root/log"
    exit 1
}

# The policy is what stdin says.
write_policy()
{
    mkdir -p "$root/etc/rdma-qos"
    cat >"$root/etc/rdma-qos/policy.yaml"
}

# start_daemon OPTIONS...: with the policy; it is the process `running`.
start_daemon()
{
    "$daemon" --root "$root" "$@" >"$root/log" 2>&1 &
    running=$!
    started+=("$running")
    wait_until "the daemon does not answer" "$ctl" --root "$root" levels >/dev/null
}

# start PROGRAM...: in the background, until next_line; what it says is in the file `said`, and it is the process `program`.
start()
{
    [[ -p $root/line ]] || mkfifo "$root/line"
    exec {line}<>"$root/line"
    : >"$root/said"    # here, not in the background: nobody takes for its words what another program said
    "$@" <&"$line" >"$root/said" &
    program=$!
    started+=("$program")
}

# It reads a line, and should end without an error.
next_line()
{
    echo >&"$line"
    wait "$program" || fail "$1 ended with status $?"
}

# run PROGRAM...: to its end, with nothing to read.
run()
{
    "$@" </dev/null >"$root/said" || fail "${1##*/} ended with status $?"
}
