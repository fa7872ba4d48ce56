#!/bin/sh
# rank.sh: one rank of a job, on the emulated devices: sends from mlx5_0 to a program of its own on mlx5_1 as much as it
# can, until it is ended. Both sleep while they wait.
set -eu
set -a
# shellcheck source=/dev/null
. /run/emulator.env
set +a
port=$((20000 + SLURM_JOB_ID % 100 * 100 + SLURM_STEP_ID % 10 * 10 + SLURM_PROCID))
send()
{
    device=$1
    shift
    exec ib_send_bw -d "$device" -x 0 -F -s 65536 -e -N -n 1000000 -p "$port" "$@"
}
send mlx5_1 >/dev/null 2>&1 &
until ss -ltnH "sport = :$port" | grep -q LISTEN; do
    sleep 0.1
done
send mlx5_0 127.0.0.1
