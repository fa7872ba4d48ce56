#!/bin/bash
# Boots containers with systemd, D-Bus and polkit, installs the daemon in them as a package does, and tries what only a
# whole system shows: the unit and its confinement, reloads, authorization, what other programs on the host see of it.
#
#   sudo tests/e2e/run.sh BUILD [BOOT...]      BUILD: a build folder (build/release); BOOT: one of boots/ (main, reboot,
#                                              broker, bare and hang)
#
#   --packages DIRECTORY  install the daemon from the Debian packages there (tools/package.sh), not from BUILD
#   --previous DIRECTORY  packages of a lower version, which the boot `upgrade` needs as well
#   --fresh        rebuild the base root file system
#   --keep         keep what the containers wrote besides results: journals, consoles, traces (BUILD/e2e)
#   --shell BOOT   a root shell in a container that has booted, instead of its cases
#   --filter GLOB  only the cases whose names match
#
# The containers are of this system's Debian release (tools/in-debian.sh has others), the devices those of
# rdma-qos-emulator. The base root file system is made once by mmdebstrap, and kept in
# ${XDG_CACHE_HOME:-~/.cache}/rdma-qosd; each boot writes to a layer of its own in memory, and nothing of it remains. A
# boot with a file `packages` has a base of its own with those packages on top.
#
# Results: a line per case, and BUILD/e2e/results.tap; rows of tables that cases add (table_row of lib.sh) are in
# BUILD/e2e/table.txt. The exit status is 0 if no case failed, 77 if none could run.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../../tools/lib.sh"
. "$project_dir/tools/debian.sh"

here=$project_dir/tests/e2e
cache=$(debian_cache)
# A system's services, and what the cases look with; the libraries of what is installed come on top.
packages=(systemd dbus dbus-broker polkitd ibverbs-providers ibverbs-utils libcap2-bin librdmacm1 jq procps util-linux)
seconds_per_boot=${RDMAQOS_E2E_SECONDS:-6000}

fresh=no keep=no shell=no filter='*' packages_from='' previous_from=''
while (($# > 0)); do
    case $1 in
        --fresh) fresh=yes ;;
        --keep) keep=yes ;;
        --packages)
            packages_from=$(readlink -f "${2:?--packages needs a directory}")
            shift
            ;;
        --previous)
            previous_from=$(readlink -f "${2:?--previous needs a directory}")
            shift
            ;;
        --shell) shell=yes ;;
        --filter)
            filter=${2:?--filter needs a pattern}
            shift
            ;;
        -h | --help)
            help_of "$0"
            exit 0
            ;;
        -*) die "unknown option $1 (try --help)" ;;
        *) break ;;
    esac
    shift
done
(($# > 0)) || die "which build? (try --help)"
build=$(readlink -f "$1")
shift
boots=("$@")
((${#boots[@]} > 0)) || boots=(main reboot broker bare hang)
for boot in "${boots[@]}"; do
    [[ -d $here/boots/$boot ]] || die "there is no boot $boot in tests/e2e/boots"
    [[ $boot != upgrade || -n $packages_from && -n $previous_from ]] ||
        die "the boot upgrade needs --packages and --previous"
done
results=$build/e2e

((EUID == 0)) || skip "containers need root; run: sudo $0 $build"
for tool in mmdebstrap systemd-nspawn unshare; do
    command -v "$tool" >/dev/null || skip "$tool is not installed; run: sudo ./tools/install-deps.sh --e2e"
done
release=$(debian_here)
[[ -n $release ]] || skip "the container is a Debian of this system's release, and this system is not Debian"
suite=$(debian_suite "$release")
grep -qw cgroup2 /proc/filesystems || skip "this kernel has no cgroup2, which systemd needs in the container"
grep -qw overlay /proc/filesystems || modprobe overlay 2>/dev/null || skip "this kernel has no overlayfs"
# shellcheck disable=SC2016 # expanded in the namespace
unshare --mount bash -c 'mount -t cgroup2 cgroup2 /mnt' 2>/dev/null ||
    skip "cgroups cannot be mounted; is this a container without privileges?"

# ---- the root file system ----

# libraries_of PROGRAM...: the packages that have the shared libraries they need.
libraries_of()
{
    local library
    ldd "$@" | sed -n 's|.*=> \(/[^ ]*\) .*|\1|p' | sort -u | while read -r library; do
        # Which of the two a package calls it depends on when it was built.
        dpkg-query -S "/usr${library#/usr}" "${library#/usr}" 2>/dev/null || true
    done | sed 's/:.*//' | sort -u
}

for file in "$build/daemon/rdma-qosd" "$build/tests/e2e/e2e_probe" "$build/tools/rdma-qos-sample/rdma-qos-sample"; do
    [[ -x $file ]] || die "$file is not there: build the target e2e_programs first"
done
mapfile -t -O "${#packages[@]}" packages < <(libraries_of "$build"/{daemon/rdma-qosd,tools/rdma-qosctl/rdma-qosctl,tools/emulator/rdma-qos-emulator} \
    "$build"/{tests/e2e/e2e_probe,tools/rdma-qos-sample/rdma-qos-sample})

# choose_base BOOT: sets `base`, and `own_packages`, which are all that it has. One for each list of packages: a changed
# list makes a new one, and the old one goes.
choose_base()
{
    local own=$here/boots/$1/packages
    label=common own_packages=("${packages[@]}")
    if [[ -e $own ]]; then
        label=$1
        mapfile -t -O "${#own_packages[@]}" own_packages < <(sed 's/#.*//' "$own" | xargs -n 1)
    fi
    base=$cache/e2e-$suite-$label-$(printf '%s\n' "${own_packages[@]}" | cksum | cut -d ' ' -f 1)
}

has_all_bases()
{
    local boot
    for boot in "${boots[@]}"; do
        choose_base "$boot"
        [[ -d $base ]] || return
    done
}

# make_base BOOT
made=' '
make_base()
{
    choose_base "$1"
    if [[ -d $base && ($fresh == no || $made == *" $label "*) ]]; then
        return
    fi
    made+="$label "
    local started=$SECONDS log=$results/mmdebstrap.log list
    rm -rf --one-file-system "$cache/e2e-$suite-$label-"*
    mkdir -p "$cache"
    list=$(IFS=, && echo "${own_packages[*]}")
    note "making the base root file system in $cache; output in ${log#"$project_dir"/}"
    # Readable by the container's users.
    if ! (umask 022 &&
        mmdebstrap --variant=minbase --mode=root --dpkgopt=force-unsafe-io --include="$list" "$suite" "$base.new") >"$log" 2>&1; then
        rm -rf --one-file-system "$base.new"
        skip "mmdebstrap failed: $(tail -n 1 "$log")"
    fi
    mv "$base.new" "$base"
    note "made in $(duration $((SECONDS - started)))"
}

# ---- one boot ----

container=
end_container()
{
    if [[ -n $container ]] && kill -0 "$container" 2>/dev/null; then
        kill "$container" || true
        wait "$container" || true
    fi
    # The cgroup of a boot, empty now, with those that systemd left in it.
    local mounted=$results/cgroup
    mkdir -p "$mounted"
    # shellcheck disable=SC2016 # expanded in the namespace
    unshare --mount bash -c '
        mount -t cgroup2 cgroup2 "$1" && find "$1" -depth -type d -path "$1/rdma-qos-e2e-*" -exec rmdir {} + || true' \
        - "$mounted" 2>/dev/null || true
    rmdir "$mounted"
}
trap end_container EXIT

# Sets `status`.
run_boot()
{
    local boot=$1
    rm -rf --one-file-system "${results:?}/$boot"
    mkdir -p "$results/$boot"
    status=0
    export results base build packages_from previous_from filter shell seconds_per_boot
    local boot_it=(unshare --mount --propagation slave "$here/boot.sh" "$boot")
    if [[ $shell == yes ]]; then
        "${boot_it[@]}" || status=$?
        return
    fi
    "${boot_it[@]}" &
    container=$!
    wait "$container" || status=$?
    container=
}

# report BOOT STATUS: prints the boot's results. A boot that ended before all its cases did is a failed case more.
report()
{
    local boot=$1 tap=$results/$1/results.tap planned done_count
    planned=$(sed -n 's/^1\.\.\([0-9]*\)$/\1/p' "$tap" 2>/dev/null || true)
    done_count=$(grep -cE '^(not )?ok ' "$tap" 2>/dev/null || true)
    if [[ -e $tap ]]; then
        sed -E '/^1\.\.[0-9]+$/d; s/^((not )?ok) [0-9]+ - /\1 - '"$boot"': /' "$tap"
    fi
    if [[ -z $planned || $planned != "$done_count" ]]; then
        echo "not ok - $boot: the boot ends after all its cases"
        echo "# ${done_count:-0} of ${planned:-unknown} cases ended; the container ended with status $2. Its console:"
        tail -n 25 "$results/$boot/console.log" 2>/dev/null | sed 's/^/#   /'
    fi
}

mkdir -p "$results"
: >"$results/results.tap"
rm -f "$results/table.txt"
# Whoever makes a base file system removes others; whoever boots one needs it.
mkdir -p "$cache"
exec {lock}>"$cache/e2e.lock"
flock --shared "$lock"
if [[ $fresh == yes ]] || ! has_all_bases; then
    flock --unlock "$lock"
    flock --nonblock "$lock" || note "waiting for another run of these tests"
    flock "$lock"
    for boot in "${boots[@]}"; do
        make_base "$boot"
    done
    flock --shared "$lock"
fi
exec {own}>"$results/lock"
flock --nonblock "$own" || die "another run uses $results"
for boot in "${boots[@]}"; do
    started=$SECONDS
    choose_base "$boot"
    run_boot "$boot"
    if [[ $shell == yes ]]; then
        exit "$status"
    fi
    report "$boot" "$status" >"$results/boot.tap"
    cat "$results/$boot/table.txt" >>"$results/table.txt" 2>/dev/null || true
    cat "$results/boot.tap"
    note "[e2e] $boot: $(duration $((SECONDS - started)))"
    if [[ $keep == no ]] && ! grep -q '^not ok' "$results/boot.tap"; then
        rm -rf --one-file-system "${results:?}/$boot"
    fi
    cat "$results/boot.tap" >>"$results/results.tap"
    rm "$results/boot.tap"
done
! grep -q '^not ok' "$results/results.tap"
