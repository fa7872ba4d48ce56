#!/bin/sh
# Process 1 of the namespaces that debian_enter of debian.sh makes: makes ROOT the root of a system with what every one has
# mounted, runs COMMAND there, then looks for processes that outlived it.
#
#   debian-init.sh ROOT [--bind FOLDER PLACE]... COMMAND...
set -eu
root=$1
shift

mount --bind "$root" "$root"
mount --rbind /dev "$root/dev"
mount --rbind /sys "$root/sys"
mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mount -t tmpfs -o mode=0755 tmpfs "$root/run"
while [ "$1" = --bind ]; do
    mkdir -p "$root$3"
    mount --bind "$2" "$root$3"
    shift 3
done
# A chroot would not do: no process in one can make a user namespace.
cd "$root"
mkdir -p run/outside
pivot_root . run/outside
umount -l /run/outside
rmdir /run/outside

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
"$@" </dev/null || status=$?
survivors
if grep -q . /run/survivors; then
    echo "left running:"
    grep . /run/survivors
    exit 99
fi
exit "$status"
