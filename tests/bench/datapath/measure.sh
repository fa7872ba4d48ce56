#!/bin/sh
# What perftest gets from a NIC, and what that costs of the machine's processors: a line for each program.
#
#   measure.sh TITLE SENDER RECEIVER [OPTION...]    two devices, or the same one twice; options for all programs
#
# Rates are averages, latencies medians of half a round trip. Processors: how much of one the whole machine used meanwhile
# (/proc/stat). Needs no more than a POSIX shell, as it runs in a machine that has little else.
set -eu
title=$1 sender=$2 receiver=$3
shift 3
seconds=${RDMAQOS_BENCH_SECONDS:-5}
port=19500
server=
output=/tmp/measure.$$
trap 'kill $server 2>/dev/null || true; rm -f "$output" "$output.server"' EXIT

# Two numbers in 1/100 s: the time, and how long all processors together have computed.
now()
{
    awk '/^cpu / { print uptime * 100, $2 + $3 + $4 + $7 + $8; exit } FNR == 1 { uptime = $1 }' /proc/uptime /proc/stat
}

# show WHAT BEFORE [RESULT UNIT]: BEFORE as now() said it.
show()
{
    printf '%s %s\n' "$2" "$(now)" | awk -v title="$title" -v what="$1" -v result="${3:-}" -v unit="${4:-}" \
        '{ printf "%-10s %-24s %9s %-5s %4d %%\n", title, what, result, unit, ($4 - $2) * 100 / ($3 - $1) }'
}

# measure WHAT UNIT COLUMN PROGRAM OPTION...: COLUMN of what perftest prints.
measure()
{
    what=$1 unit=$2 column=$3 program=$4
    shift 4
    port=$((port + 1))
    "$program" -d "$receiver" -p $port -F "$@" >"$output.server" 2>&1 &
    server=$!
    until grep -qi ":$(printf '%04X' $port) 0*:0000 0A" /proc/net/tcp /proc/net/tcp6; do
        kill -0 $server 2>/dev/null || { cat "$output.server" && exit 1; }
        sleep 0.1
    done
    before=$(now)
    "$program" -d "$sender" -p $port -F "$@" 127.0.0.1 >"$output" 2>&1 || { cat "$output" && exit 1; }
    show "$what" "$before" "$(awk -v column="$column" '/^ *[0-9]+ +[0-9]+ / { print $column }' "$output")" "$unit"
    wait $server
}

rate()
{
    what=$1
    shift
    measure "$what" "MiB/s" 4 "$@" -D "$seconds"
}

# Of the least, the most and the median, the third.
latency()
{
    what=$1
    shift
    measure "$what" "us" 5 "$@" -s 8 -n 2000
}

for size in 65536 4096 256; do
    rate "write $size B" ib_write_bw -s $size "$@"
done
rate "send 4096 B" ib_send_bw -s 4096 "$@"
rate "read 65536 B" ib_read_bw -s 65536 "$@"
rate "datagrams of 1024 B" ib_send_bw -c UD -s 1024 "$@"
latency "latency of a write" ib_write_lat "$@"
latency "latency of a send" ib_send_lat "$@"
latency "the same, with events" ib_send_lat -e "$@"

# A program that has a context, and waits for its client.
ib_write_bw -d "$receiver" -p $((port + 1)) -F "$@" >/dev/null 2>&1 &
server=$!
sleep 1
before=$(now)
sleep "$seconds"
show "nothing is sent" "$before"
