#!/bin/bash
# traffic_test.sh EMULATOR CLIENTS USER COMMAND...: COMMAND is a server, and with "127.0.0.1" at its end a client of it.
# Both bring a queue pair to RTS, and then wait: nothing carries data here.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
program=("${@:4}")
need "${program[0]}"
# shellcheck disable=SC2034    # of common.sh
emulator_options+=(--no-data-path)
enter_emulator "$0" "$@"

scratch=$(mktemp -d)
pids=()
clean_up()
{
    local pid
    for pid in "${pids[@]}"; do
        kill "$pid" 2>/dev/null || true
    done
    wait
    rm -rf "$scratch"
}
trap clean_up EXIT

# How many queue pairs are in RTS.
ready()
{
    local queue_pairs
    queue_pairs=$(ctl resource qp)
    (($(grep -ciE '"state": *"rts"' <<<"$queue_pairs") >= $1))
}

everybody_runs()
{
    local pid
    for pid in "${pids[@]}"; do
        kill -0 "$pid" 2>/dev/null || return 1
    done
}

failed()
{
    tail -n 40 "$scratch"/*
    fail "$*; the queue pairs: $(ctl resource qp)"
}

# PORT: server and client.
start()
{
    "${client[@]}" timeout "$program_hung" "${program[@]}" -p "$1" >"$scratch/server" 2>&1 &
    pids=($!)
    wait_until listening "$1" || return 1
    "${client[@]}" timeout "$program_hung" "${program[@]}" -p "$1" 127.0.0.1 >"$scratch/client" 2>&1 &
    pids+=($!)
}

listening()
{
    ! everybody_runs || listens "$1"
}

port=$((20000 + RANDOM % 20000))
while listens "$port"; do
    port=$((port + 1))
done
start "$port" || failed "the server does not listen"
wait_until ready 2 || failed "no two queue pairs in RTS"
sleep 1
everybody_runs || failed "one did not wait for data"
ready 2 || failed "one has left RTS"
clean_up
trap - EXIT
check_nothing_is_left
