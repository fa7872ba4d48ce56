#!/bin/sh
# Process 1 of the namespaces that run.sh makes: makes ROOT the root of a system with what every one has mounted, runs
# COMMAND there, then looks for processes that outlived it.
#
#   inside.sh ROOT COMMAND yes|no
set -eu
root=$1 command=$2 as_user=$3

mount --bind "$root" "$root"
mount --rbind /dev "$root/dev"
mount --rbind /sys "$root/sys"
mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mount -t tmpfs -o mode=0755 tmpfs "$root/run"
# A chroot would not do: no process in one can make a user namespace.
cd "$root"
mkdir -p run/outside
pivot_root . run/outside
umount -l /run/outside
rmdir /run/outside

run()
{
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root CI=true "$@" </dev/null
}

# Every other process of this namespace, by its command line, into /run/survivors.
survivors()
{
    for process in /proc/[0-9]*; do
        if [ "${process##*/}" -ne 1 ]; then
            line=$(tr '\0' ' ' <"$process/cmdline" 2>/dev/null) && echo "$line"
        fi
    done >/run/survivors
}

status=0
if [ "$as_user" = yes ]; then
    run sh -c "cd /src/rdma-qosd && ./tools/install-deps.sh && useradd -m tester && chown -R tester: ."
    run setpriv --reuid tester --regid tester --init-groups --reset-env sh -c "cd /src/rdma-qosd && $command" ||
        status=$?
else
    run sh -c "cd /src/rdma-qosd && $command" || status=$?
fi
survivors
if grep -q . /run/survivors; then
    echo "left running:"
    grep . /run/survivors
    exit 99
fi
exit "$status"
