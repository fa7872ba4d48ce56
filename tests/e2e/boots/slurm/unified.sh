#!/bin/sh
# Called as slurmd or slurmstepd: runs the program of this name. Slurm takes a host for a hybrid one, which it refuses,
# by /proc/PID/cgroup of its own process, and newer ones of process 1; and there the kernel names every hierarchy of
# cgroup v1, mounted in this container or not. Where there are such, the program finds only the line of cgroup v2. It
# runs in a mount namespace of its own.
set -eu
program=$(basename "$0")
# slurmstepd goes there before it reads the file.
system=/sys/fs/cgroup/system.slice/node_slurmstepd.scope/system
if [ "$program" = slurmstepd ] && [ -d "$system" ]; then
    echo $$ >"$system/cgroup.procs"
fi
for process in 1 $$; do
    if [ "$(head -c 2 "/proc/$process/cgroup")" != 0: ]; then
        seen=$(mktemp /run/e2e-cgroup.XXXXXX)
        grep '^0:' "/proc/$process/cgroup" >"$seen"
        mount --bind "$seen" "/proc/$process/cgroup"
        rm "$seen"
    fi
done
exec "/usr/sbin/$program" "$@"
