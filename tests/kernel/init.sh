#!/bin/busybox sh
# shellcheck shell=dash disable=SC3040

# The first process of the machine that run.sh boots: runs the programs named in /programs, and sends the folder /results
# through the second serial port. The first one has the kernel's messages and the programs' output.
export PATH=/bin:/sbin:/usr/bin:/usr/sbin HOME=/tmp LANG=C.UTF-8
/bin/busybox --install -s /bin
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev
mkdir -p /dev/shm /results
mount -t tmpfs none /dev/shm
chmod 1777 /tmp /dev/shm
ip link set lo up
exec >/dev/console 2>&1

while read -r module parameters; do
    # shellcheck disable=SC2086
    insmod "/modules/$module" $parameters || echo "insmod $module fails"
done </modules/list

while read -r program; do
    name=${program##*/}
    echo "== $name"
    set -o pipefail
    GTEST_OUTPUT="xml:/results/$name.xml" GTEST_FILTER="$(cat /filter)" "$program" 2>&1 | tee "/results/$name.log"
    echo $? >"/results/$name.status"
done </programs

if [ -e /proc/fake_mlx5 ]; then
    cat /proc/fake_mlx5 >/results/firmware.log
    rmmod fake_mlx5
fi
dmesg >/results/dmesg.log
stty -F /dev/ttyS1 raw -echo
tar -c -z -C /results . >/dev/ttyS1
sync
poweroff -f
