#!/bin/busybox sh
# shellcheck shell=dash disable=SC3040,SC2086,SC1091 # parameters are words

# The first process of the machine that run.sh boots: runs what /list names (run.sh says how), and sends the folder
# /results through the second serial port. The first one has the kernel's messages and the programs' output.
export PATH=/bin:/sbin:/usr/bin:/usr/sbin HOME=/tmp LANG=C.UTF-8
/bin/busybox --install -s /bin
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev
mkdir -p /dev/shm /dev/pts /results /run
mount -t tmpfs none /dev/shm
chmod 1777 /tmp /dev/shm
ip link set lo up
exec >/dev/console 2>&1

# plug KIND PARAMETER...: two devices. Sets `firmware`, the process that plays their firmware.
plug()
{
    kind=$1
    shift
    insmod /modules/fake_mlx5.ko plugged=0 "$@" && insmod /modules/fake_mlx5_1.ko plugged=0 "$@" || return 1
    rm -f /run/environment
    rdma-qos-emulator firmware --directory /run/firmware --module fake_mlx5 --module fake_mlx5_1 --plug --queue-groups "$kind" \
        >/run/environment &
    firmware=$!
    until [ -s /run/environment ]; do
        kill -0 $firmware || return 1
        sleep 0.1
    done
    . /run/environment
    addresses
    # However often a device fails, the driver recovers it; by itself it does so once a minute.
    devlink health set pci/1f00:00:00.0 reporter fw_fatal grace_period 0
}

# On Ethernet the kernel resolves whom a queue pair is connected to. Each device has an address; behind the first
# one are those that programs of tests/integration/run connect to.
addresses()
{
    for interface in /sys/bus/pci/devices/1f0[01]:00:00.0/net/*; do
        [ -e "$interface" ] || return 0
        name_of=${interface##*/}
        /usr/bin/ip link set "$name_of" up
        case $interface in
            */1f00:*)
                /usr/bin/ip address add 10.2.0.1/24 dev "$name_of"
                /usr/bin/ip -6 route add fd00::/16 dev "$name_of"
                for address in fd00:20::1 fd00:98::1 fd00:99::1; do
                    /usr/bin/ip -6 neighbour add $address lladdr 02:00:00:00:00:99 nud permanent dev "$name_of"
                done
                ;;
            *) /usr/bin/ip address add 10.2.1.1/24 dev "$name_of" ;;
        esac
    done
}

unplug()
{
    echo unplug >/proc/fake_mlx5
    echo unplug >/proc/fake_mlx5_1
    while [ -e /sys/bus/pci/devices/1f00:00:00.0 ] || [ -e /sys/bus/pci/devices/1f01:00:00.0 ]; do
        sleep 0.1
    done
    kill $firmware
    wait $firmware
    for module in fake_mlx5 fake_mlx5_1; do
        cat /proc/$module >>/results/firmware.log
        rmmod $module
    done
}

run()
{
    GTEST_OUTPUT="xml:/results/$name.xml" GTEST_FILTER=$filter "$program" 2>&1 | tee "/results/$name.log"
}

while read -r module parameters; do
    insmod "/modules/$module" $parameters || echo "insmod $module fails"
done </modules/list

# What is on it stays when the machine is reset.
if grep -qw disk /proc/cmdline; then
    while read -r module; do
        insmod "/modules/$module" || echo "insmod $module fails"
    done </modules/disk
    mkdir /disk
    mount -t ext4 /dev/vda /disk
fi

set -o pipefail
sed 's/^declare -x/export/' /environment >/tmp/environment
. /tmp/environment
while read -r name kind filter program parameters; do
    echo "== $name"
    if [ "$kind" = module ]; then
        run
        status=$?
    elif plug "$kind" $parameters; then
        RDMAQOS_TEST_KERNEL=1 run
        status=$?
        unplug
    else
        echo "no device" | tee "/results/$name.log"
        status=1
    fi </dev/null
    echo $status >"/results/$name.status"
done </list

if [ -e /proc/fake_mlx5 ]; then
    cat /proc/fake_mlx5 >>/results/firmware.log
    rmmod fake_mlx5
fi
dmesg >/results/dmesg.log
stty -F /dev/ttyS1 raw -echo
tar -c -z -C /results . >/dev/ttyS1
sync
poweroff -f
