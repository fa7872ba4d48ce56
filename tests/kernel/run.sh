#!/bin/bash
# Boots a virtual machine with the kernel's own mlx5 driver on devices made of memory (module/), runs test programs in
# it, and brings back their results. Needs neither root, nor KVM, nor a network once the kernel has been downloaded.
#
#   tests/kernel/run.sh build DIRECTORY FILE...
#   tests/kernel/run.sh boot DIRECTORY RESULTS LIST
#   tests/kernel/run.sh check DIRECTORY RESULTS
#
# `build` makes the modules and a root file system, in DIRECTORY; the FILEs are in the machine at the paths they have
# here, with the libraries they need, and programs in its PATH. `boot` runs what LIST names, a line for each:
#
#   NAME FIRMWARE FILTER PROGRAM [PARAMETER...]
#
# FIRMWARE: `module`: the program loads the module itself. `shared`, `isolated`...: it finds two devices, mlx5_0, mlx5_1,
# of modules with these PARAMETERs, whose firmware `rdma-qos-emulator firmware` plays: --queue-groups. FILTER: of
# GoogleTest.
#
# RESULTS, a folder, gets NAME.xml of GoogleTest, NAME.log and NAME.status of each, the kernel's messages (console.log,
# dmesg.log) and the firmware's log (firmware.log).
#
# `check` fails if the kernel complained.
#
# Exit status of `boot`: 0: the machine ran (the programs may have failed); 77: something is not installed. Environment:
# RDMAQOS_KERNEL_SECONDS (6600), the time limit; RDMAQOS_KERNEL_FILTER, a filter of GoogleTest for all; RDMAQOS_KERNEL_CPUS (1),
# processors of the machine; RDMAQOS_KERNEL_OVERLAY, a folder with files that are in the machine instead of those that `build` put
# there; RDMAQOS_KERNEL_DISK (none), the size of a disk, /disk in the machine, empty at first. A program may then reset the
# machine, which boots again and runs LIST from its beginning. The programs get RDMAQOS_SOAK_..., and
# RDMAQOS_FAULT_STRIDE (61). For `build`: RDMAQOS_KERNEL_MODULES (none), more of the kernel's modules; /modules/more names
# their files in the order in which they can be loaded.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../../tools/lib.sh"

here=$project_dir/tests/kernel

# The newest kernel that modules can be built for.
kernel_version()
{
    find /usr/src -maxdepth 1 -name 'linux-headers-*-amd64' -printf '%f\n' 2>/dev/null |
        sed 's/^linux-headers-//' | sort -V | tail -n 1
}

check_tools()
{
    local tool
    for tool in qemu-system-x86_64 busybox cpio modprobe mke2fs make gcc xz; do
        PATH=$PATH:/usr/sbin:/sbin command -v "$tool" >/dev/null ||
            skip "$tool is not installed; run: sudo ./tools/install-deps.sh --kernel"
    done
    [[ -n $kernel ]] || skip "no linux-headers are installed; run: sudo ./tools/install-deps.sh --kernel"
}

# Sets `image` and `modules`: the running system's, or its package unpacked, which is kept.
find_kernel()
{
    image=/boot/vmlinuz-$kernel
    modules=/
    if [[ -r $image && -d /lib/modules/$kernel/kernel ]]; then
        return
    fi
    modules=$work/linux-$kernel
    image=$modules/boot/vmlinuz-$kernel
    if [[ -e $modules/complete ]]; then
        return
    fi
    note "downloading and unpacking linux-image-$kernel (not installing it)"
    rm -rf "$modules"
    mkdir -p "$modules/package"
    (cd "$modules/package" && apt-get -q download "linux-image-$kernel") >"$work/download.log" 2>&1 ||
        skip "linux-image-$kernel cannot be downloaded; try apt-get update: $(tail -n 1 "$work/download.log")"
    dpkg -x "$modules"/package/*.deb "$modules"
    # From Debian 13 on the package has them below usr.
    [[ ! -d $modules/usr/lib/modules ]] || mv "$modules/usr/lib" "$modules/lib"
    rm -rf "${modules:?}/package" "${modules:?}/usr"
    PATH=$PATH:/sbin:/usr/sbin depmod -b "$modules" "$kernel"
    touch "$modules/complete"
}

# build_module NAME NUMBER: one device each.
build_module()
{
    local name=$1 to=$work/$1
    mkdir -p "$to"
    cp -u "$here/module"/* "$to"
    make -s -C "/usr/src/linux-headers-$kernel" M="$to" FM5_NAME="$name" FM5_NUMBER="$2" modules \
        >"$work/$name.log" 2>&1 || {
        cat "$work/$name.log" >&2
        die "the module does not build for $kernel"
    }
}

# put FILE...: into the machine, at the same path, with its libraries.
put()
{
    local file library
    for file in "$@"; do
        [[ ! -e $root$file ]] || continue
        install -D "$(readlink -f "$file")" "$root$file"
        [[ ! -x $file ]] || ln -sf "$file" "$root/bin/"
        strip --strip-debug "$root$file" 2>/dev/null || true
        while read -r library; do
            [[ -e $root$library ]] || install -D "$(readlink -f "$library")" "$root$library"
        done < <(ldd "$file" 2>/dev/null | grep -o '/[^ )]*' || true)
    done
}

# lldpad is in the machine, but not installed here, where it would take care of the network interfaces.
put_lldpad()
{
    local from=$work/lldpad libconfig package library
    if [[ ! -e $from/complete ]]; then
        rm -rf "$from"
        mkdir -p "$from/package"
        libconfig=$(apt-cache depends lldpad 2>/dev/null | sed -n 's/^ *Depends: \(libconfig[0-9a-z]*\)$/\1/p')
        (cd "$from/package" && apt-get -q download lldpad "$libconfig") >"$work/lldpad.log" 2>&1 || {
            note "lldpad cannot be downloaded, and its test is skipped: $(tail -n 1 "$work/lldpad.log")"
            return 0
        }
        for package in "$from"/package/*.deb; do
            dpkg -x "$package" "$from"
        done
        touch "$from/complete"
    fi
    cp "$from"/usr/sbin/lldp* "$root/bin/"
    cp -a "$from"/usr/lib/x86_64-linux-gnu/lib*.so* "$root/usr/lib/x86_64-linux-gnu/"
    while read -r library; do
        [[ -e $root$library ]] || install -D "$(readlink -f "$library")" "$root$library"
    done < <(ldd "$root/bin/lldpad" | grep -o '/[^ )]*')
}

# modules_for NAME...: their files, and those that they need, in the order in which they can be loaded.
modules_for()
{
    local module
    for module in "$@"; do
        PATH=$PATH:/sbin:/usr/sbin modprobe -d "$modules" -S "$kernel" -D "$module" | awk '/^insmod/ { print $2 }'
    done | awk '!seen[$0]++'
}

# put_modules NAME...: into the machine; prints the names of the files as modules_for() does. Debian 13 has them compressed, and
# not every insmod or finit_module(2) takes them so.
put_modules()
{
    local file name
    while read -r file; do
        name=${file##*/}
        name=${name%.ko*}.ko
        case $file in
            *.ko) cp "$file" "$root/modules/$name" ;;
            *.ko.xz) xz -dc "$file" >"$root/modules/$name" ;;
            *) die "$file: this kind of compression is not known here" ;;
        esac
        echo "$name"
    done < <(modules_for "$@")
}

make_root()
{
    root=$work/root
    rm -rf "$root"
    mkdir -p "$root"/{bin,dev,etc,modules,proc,run,sys,tmp}
    cp "$(command -v busybox)" "$root/bin/busybox"
    install -m 755 "$here/init.sh" "$root/init"
    printf 'root:x:0:0:root:/tmp:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n' >"$root/etc/passwd"
    printf 'root:x:0:\nnogroup:x:65534:\n' >"$root/etc/group"

    # mlx5_core without a cache of memory keys: it takes seconds to fill.
    put_modules mlx5_ib sch_mqprio sch_htb | sed 's/^mlx5_core\.ko$/& prof_sel=0/' >"$root/modules/list"
    put_modules virtio_pci virtio_blk ext4 >"$root/modules/disk"
    local more=()
    read -r -a more <<<"${RDMAQOS_KERNEL_MODULES:-}"
    put_modules "${more[@]}" >"$root/modules/more"
    cp "$work"/fake_mlx5*/fake_mlx5*.ko "$root/modules/"

    # Beside busybox, which is linked statically, what a preload library goes into.
    put "$@" /usr/lib/x86_64-linux-gnu/libibverbs/libmlx5-rdmav*.so /usr/bin/rdma /usr/bin/ip /usr/sbin/{dcb,devlink,tc} \
        /usr/bin/{dash,cat,echo,env,nm,sleep,true}
    ln -s dash "$root/bin/sh"
    put_lldpad
    mkdir -p "$root/etc/libibverbs.d"
    cp /etc/libibverbs.d/mlx5.driver "$root/etc/libibverbs.d/"
    pack "$root" >"$work/root.img"
}

# pack DIRECTORY: as an initial RAM disk. Several, one behind the other, are one.
pack()
{
    (cd "$1" && find . | cpio -o -H newc -R 0:0 --quiet | gzip -1)
}

# With one processor, whose clock counts instructions: what a test measures does not depend on what else the host does,
# and waiting takes no time. That cannot be had with more.
processor()
{
    local count=${RDMAQOS_KERNEL_CPUS:-1}
    if ((count == 1)); then
        echo -accel tcg,thread=single,tb-size=512 -icount shift=1,sleep=off -smp 1
    else
        echo -accel tcg,thread=multi,tb-size=512 -smp "$count"
    fi
}

boot()
{
    local list=$1 seconds=${RDMAQOS_KERNEL_SECONDS:-6600} status=0 processor disk=(-no-reboot) words=
    rm -rf "$results"    # those of an earlier run are not this one's
    mkdir -p "$results/run"
    awk -v filter="${RDMAQOS_KERNEL_FILTER:-}" 'NF { if (filter != "") $3 = filter; print }' "$list" >"$results/run/list"
    export RDMAQOS_FAULT_STRIDE=${RDMAQOS_FAULT_STRIDE:-61}    # all of them would take a day
    export -p | grep -E ' RDMAQOS_(SOAK|FAULT)_' >"$results/run/environment" || true
    {
        cat "$work/root.img"
        [[ -z ${RDMAQOS_KERNEL_OVERLAY:-} ]] || pack "$RDMAQOS_KERNEL_OVERLAY"
        pack "$results/run"
    } >"$results/initrd.img"
    read -r -a processor < <(processor)
    if [[ -n ${RDMAQOS_KERNEL_DISK:-} ]]; then
        PATH=$PATH:/sbin:/usr/sbin mke2fs -q -t ext4 "$results/disk.img" "$RDMAQOS_KERNEL_DISK"
        disk=(-drive "file=$results/disk.img,format=raw,if=virtio")
        words=disk
    fi
    # Twice 64 MiB from 256 MiB on are the devices'.
    timeout --foreground "$seconds" qemu-system-x86_64 "${processor[@]}" -machine q35 -cpu max -m 1536 \
        -nodefaults -no-user-config "${disk[@]}" -display none -kernel "$image" -initrd "$results/initrd.img" \
        -append "console=ttyS0 loglevel=7 panic=-1 memmap=128M\$0x10000000 tsc=reliable nowatchdog mitigations=off $words" \
        -serial "file:$results/console.log" -serial "file:$results.tar.gz" || status=$?
    if ((status == 124)); then
        tail -n 30 "$results/console.log" >&2
        die "the machine did not end within $seconds s; its messages are in $results/console.log"
    fi
    ((status == 0)) || die "qemu ends with status $status"
    tar -xzf "$results.tar.gz" -C "$results" || {
        tail -n 30 "$results/console.log" >&2
        die "the machine sent no results; its messages are in $results/console.log"
    }
}

# A kernel that warns has found a mistake, ours or its own. KnownComplaints of tests/support/emulated.h says which are neither news
# nor ours.
check_kernel_log()
{
    local complaints
    complaints=$(awk '
        /kernel suite: complaints are known from here on/ { known = 1 }
        /kernel suite: no complaint is known from here on/ { known = 0 }
        known { next }
        /^\[ *[0-9.]+\] .*(WARNING:|BUG:|Oops|general protection|refcount_t:|soft lockup|blocked for more|after timeout)/
    ' "$results/console.log")
    if [[ -n $complaints ]]; then
        printf '%s\n' "$complaints" >&2
        die "the kernel complained; its messages are in $results/console.log"
    fi
}

(($# >= 3)) || { help_of "$0"; exit 2; }
verb=$1
mkdir -p "$2"
work=$(cd "$2" && pwd)
kernel=$(kernel_version)
check_tools
find_kernel
case $verb in
    build)
        build_module fake_mlx5 0
        build_module fake_mlx5_1 1
        make_root "${@:3}"
        ;;
    boot)
        results=$(realpath -m "$3")
        started=$SECONDS
        boot "$4"
        note "Linux $kernel ran $(wc -l <"$results/run/list") program(s) in $(duration $((SECONDS - started)))"
        ;;
    check)
        results=$(realpath -m "$3")
        [[ -e $results/console.log ]] || skip "the machine did not run"
        check_kernel_log
        ;;
    *)
        help_of "$0"
        exit 2
        ;;
esac
