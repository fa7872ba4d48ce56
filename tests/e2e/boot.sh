#!/bin/bash
# Boots one container, again if it reboots; for run.sh, which gives it a mount namespace of its own: what is mounted
# here goes with it.
#
#   boot.sh BOOT      with the variables of run.sh that are read below in the environment
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../../tools/lib.sh"

# shellcheck disable=SC2154 # of the environment
: "$base" "$build" "$results" "$filter" "$shell" "$seconds_per_boot" "$packages_from" "$previous_from"
here=$project_dir/tests/e2e
boot=$1
name=rdma-qos-e2e-$PPID

# install_daemon ROOT: the daemon and its programs, from packages or as they put them.
install_daemon()
{
    if [[ -n $packages_from ]]; then
        local from version=current
        for from in "current $packages_from" ${previous_from:+"previous $previous_from"}; do
            mkdir -p "$1/packages/${from%% *}"
            cp "${from#* }"/*.deb "$1/packages/${from%% *}"
        done
        rm -f "$1"/packages/*/*-dev_*.deb    # needs compilers' packages
        [[ $boot != upgrade ]] || version=previous
        # What the others depend on is there, and so nothing is downloaded.
        chroot "$1" sh -c "DEBIAN_FRONTEND=noninteractive apt-get install --yes /packages/$version/*.deb" \
            >"$results/install.log" 2>&1 || {
            tail -n 20 "$results/install.log" >&2
            die "the packages cannot be installed"
        }
        return
    fi
    DESTDIR=$1 cmake --install "$build" >"$results/install.log" 2>&1 || {
        tail -n 20 "$results/install.log" >&2
        die "cmake --install failed"
    }
}

# The tests' own programs, which no package has.
install_tests()
{
    local to=$1/usr/lib/rdma-qos-e2e
    install -D -t "$to" "$build/tests/e2e/e2e_probe" "$build/tests/e2e/libe2e_umad_port.so" "$build/tools/rdma-qos-sample/rdma-qos-sample"
    cp -r "$here"/{inside.sh,lib.sh,cases,boots,files} "$to"
    cp "$project_dir/tests/integration/adopt/queue_pairs.py" "$to/files"
    cp -r "$here"/files/units/. "$1/etc/systemd/system"
    mkdir -p "$1/etc/systemd/system/multi-user.target.wants"
    ln -s ../rdma-qos-e2e.service "$1/etc/systemd/system/multi-user.target.wants/"
}

out=$results/$boot
scratch=$results/scratch
root=$scratch/root
mkdir -p "$scratch"
mount -t tmpfs -o mode=0755 tmpfs "$scratch"
mkdir "$scratch"/{upper,work,root}
mount -t overlay -o "lowerdir=$base,upperdir=$scratch/upper,workdir=$scratch/work" overlay "$root"
install_daemon "$root"
install_tests "$root"
printf 'BOOT=%s\nFILTER=%s\nSHELL_WANTED=%s\n' "$boot" "$filter" "$shell" >"$root/usr/lib/rdma-qos-e2e/boot.env"
# How much some cases do.
env | grep '^RDMAQOS_OPENSM_' >>"$root/usr/lib/rdma-qos-e2e/boot.env" || true
"$here/boots/$boot/prepare.sh" "$root"

if [[ $shell == yes ]]; then
    mkdir -p "$root/etc/systemd/system/console-getty.service.d"
    # shellcheck disable=SC2016 # the unit's own variable
    printf '[Service]\nExecStart=\nExecStart=-/sbin/agetty --autologin root --noclear --keep-baud - $TERM\n' \
        >"$root/etc/systemd/system/console-getty.service.d/autologin.conf"
fi

# systemd-nspawn keeps what it needs in /run; the host's cgroups may be of the old kind, or of both.
mount -t tmpfs tmpfs /run
umount -l /sys/fs/cgroup
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mkdir -p "/sys/fs/cgroup/$name"
echo $$ >"/sys/fs/cgroup/$name/cgroup.procs"
export SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1
# Without bpf, DeviceAllow= would silently allow everything; adoption needs pidfd_getfd. The others are calls that the
# unit must refuse, which shows only if the container does not. The cases see that all of them get through.
calls="bpf pidfd_getfd perf_event_open @keyring init_module iopl modify_ldt swapon"
nspawn=(systemd-nspawn --register=no --keep-unit --quiet --directory="$root" --machine="$name"
    --private-network --bind="$out:/out" --capability=all --system-call-filter="$calls" --boot)
if [[ $shell == yes ]]; then
    note "a container with the boot $boot; its end: systemctl poweroff"
    exec "${nspawn[@]}" systemd.show_status=false
fi
# The status of a container that wants to be booted again, with the root file system that it has now.
readonly again=133
status=$again
while ((status == again)); do
    status=0
    timeout --kill-after=10 "$seconds_per_boot" "${nspawn[@]}" --console=read-only systemd.show_status=false \
        </dev/null >>"$out/console.log" 2>&1 &
    container=$!
    trap 'kill "$container"' TERM
    wait "$container" || status=$?
done
wait "$container" || true    # it has ended, unless this process has been told to
exit "$status"
