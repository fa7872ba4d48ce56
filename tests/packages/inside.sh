#!/bin/sh
# Process 1 of the namespaces that run.sh makes: mounts what a system has, and runs a command in it.
#
#   inside.sh ROOT COMMAND ARGUMENT...
set -eu
root=$1
shift

mount --rbind /dev "$root/dev"
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mount -t tmpfs -o mode=0755 tmpfs "$root/run"
ip link set lo up 2>/dev/null || true
exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
    DEBIAN_FRONTEND=noninteractive chroot "$root" "$@" </dev/null
