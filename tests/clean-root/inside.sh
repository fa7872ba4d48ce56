#!/bin/sh
# Process 1 of the namespaces that run.sh makes: mounts what a system has, runs COMMAND in ROOT, then looks for
# processes that outlived it.
#
#   inside.sh ROOT COMMAND yes|no
set -eu
root=$1 command=$2 as_user=$3

mount --rbind /dev "$root/dev"
mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mount -t tmpfs -o mode=0755 tmpfs "$root/run"

in_root()
{
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root CI=true chroot "$root" "$@" </dev/null
}

# Every other process of this namespace, by its command line, into ROOT/run/survivors.
survivors()
{
    for process in "$root"/proc/[0-9]*; do
        if [ "${process##*/}" -ne 1 ]; then
            line=$(tr '\0' ' ' <"$process/cmdline" 2>/dev/null) && echo "$line"
        fi
    done >"$root/run/survivors"
}

status=0
if [ "$as_user" = yes ]; then
    in_root sh -c "cd /src/rdma-qosd && ./tools/install-deps.sh && useradd -m tester && chown -R tester: ."
    in_root setpriv --reuid tester --regid tester --init-groups --reset-env sh -c "cd /src/rdma-qosd && $command" ||
        status=$?
else
    in_root sh -c "cd /src/rdma-qosd && $command" || status=$?
fi
survivors
if grep -q . "$root/run/survivors"; then
    echo "left running:"
    grep . "$root/run/survivors"
    exit 99
fi
exit "$status"
