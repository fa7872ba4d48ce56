#!/bin/bash
# Installs the packages of Debian 12 or 13 that are missing, and nothing else. Does nothing, and needs no rights, when all are
# there. While another program holds the locks of apt or dpkg, as unattended-upgrades does on a new machine, it waits for
# RDMAQOS_APT_SECONDS (600) seconds.
#
#   tools/install-deps.sh            what building and testing needs
#   tools/install-deps.sh --demo     what building and the demo need
#   tools/install-deps.sh --test     the default
#   tools/install-deps.sh --package  what tools/package.sh and tools/rpm.sh need, and the tests of the packages
#   tools/install-deps.sh --rpm      what tools/rpm.sh needs, and the test of its packages
#   tools/install-deps.sh --kernel   also what `tools/test.sh kernel` needs: QEMU, busybox, the kernel's headers
#   tools/install-deps.sh --e2e      also what `tools/test.sh e2e` needs: mmdebstrap and systemd-nspawn
#   tools/install-deps.sh --format   also what `tools/test.sh format` needs: clang-format-14, on Debian 12
#   tools/install-deps.sh --full     also what `tools/test.sh --full` needs: those, clang with its libFuzzer, clang-tidy,
#                                    Chromium, promtool, shellcheck
#   tools/install-deps.sh --list     prints the packages of the set (give the set first) and ends
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
. "$project_dir/tools/debian.sh"

build_packages=(
    g++ cmake ninja-build pkg-config
    libexpected-dev libfmt-dev libspdlog-dev nlohmann-json3-dev libcli11-dev libyaml-cpp-dev
    libsystemd-dev libudev-dev libibverbs-dev librdmacm-dev
)
# The daemon is tried on a bus of its own, on emulated NICs below the host's libmlx5, with traffic of perftest; ps and
# kill, setsid and flock.
run_packages=(dbus ibverbs-providers perftest procps util-linux)
# From ibverbs-utils on: programs that know nothing of the emulator and run below it, dcb of iproute2 among them; busctl
# and systemd-analyze of systemd; zsh for its completion.
test_packages=(
    libgtest-dev libgmock-dev librapidcheck-dev libbenchmark-dev libvalijson-dev
    ibverbs-utils iproute2 python3-jeepney python3-pyverbs systemd ucx-utils valgrind xz-utils zsh
)
# From lintian on for the test of the packages, which installs them into a root of its own.
# The version that .clang-format is written for; other releases have another.
format_packages=()
[[ $(debian_here) != 12 ]] || format_packages=(clang-format-14)
package_packages=(debhelper dpkg-dev lintian mmdebstrap)
# debugedit and elfutils for the symbols; rpmlint for the test.
rpm_packages=(rpm debugedit elfutils rpmlint)
kernel_packages=(qemu-system-x86 busybox-static cpio e2fsprogs kmod make linux-headers-amd64)
e2e_packages=(mmdebstrap systemd-container)
# The virtual machines of that group are of x86-64; elsewhere it is skipped.
[[ $(uname -m) == x86_64 ]] || kernel_packages=()
full_packages=(clang clang-tidy libclang-rt-dev llvm shellcheck git chromium libxml2-utils prometheus)

option=--test
packages=()
select_set()
{
    option=$1
    packages=("${build_packages[@]}" "${run_packages[@]}")
    case $1 in
        --demo) ;;
        --test) packages+=("${test_packages[@]}") ;;
        --package) packages+=("${package_packages[@]}" "${rpm_packages[@]}") ;;
        --rpm) packages+=("${rpm_packages[@]}") ;;
        --kernel) packages+=("${test_packages[@]}" "${kernel_packages[@]}") ;;
        --format) packages+=("${test_packages[@]}" "${format_packages[@]}") ;;
        --e2e) packages+=("${test_packages[@]}" "${e2e_packages[@]}") ;;
        --full)
            packages+=("${test_packages[@]}" "${package_packages[@]}" "${rpm_packages[@]}" "${kernel_packages[@]}" "${e2e_packages[@]}"
                "${format_packages[@]}" "${full_packages[@]}")
            ;;
    esac
}

select_set --test
for argument in "$@"; do
    case $argument in
        --demo | --test | --package | --rpm | --kernel | --e2e | --format | --full) select_set "$argument" ;;
        --list)
            printf '%s\n' "${packages[@]}"
            exit 0
            ;;
        -h | --help)
            help_of "$0"
            exit 0
            ;;
        *) die "unknown option $argument (try --help)" ;;
    esac
done

command -v dpkg-query >/dev/null ||
    die "this is not a Debian system; install these yourself: ${packages[*]}"

# One word per missing package. A package that was removed but not purged is known to dpkg and yet missing.
missing=()
while read -r package; do
    missing+=("$package")
done < <(
    dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${packages[@]}" 2>/dev/null |
        awk -v wanted="${packages[*]}" '
            $1 == "installed" { have[$2] = 1 }
            END { n = split(wanted, name, " "); for (i = 1; i <= n; i++) if (!(name[i] in have)) print name[i] }'
)

if ((${#missing[@]} == 0)); then
    note "all ${#packages[@]} packages are installed"
    exit 0
fi
if ((EUID != 0)); then
    warn "missing packages: ${missing[*]}"
    die "installing them needs root; run: sudo $project_dir/tools/install-deps.sh $option"
fi

log=$project_dir/build/install-deps.log
mkdir -p "$project_dir/build"
note "installing ${#missing[@]} packages: ${missing[*]}"
started=$SECONDS
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8

# apt ARGUMENT...: apt-get, once the locks that it needs are free. Its own option for that leaves out the one of the lists.
apt()
{
    local holder said=''
    while ! apt-get -q -o Dpkg::Use-Pty=0 "$@" >"$log.part" 2>&1 </dev/null; do
        holder=$(sed -n 's/^E: Could not get lock \([^ ]*\)\. It is held by \(process .*\)$/\2 holds \1/p; t
            s/^E: Could not get lock \([^ ]*\).*/another program holds \1/p' "$log.part" | head -n 1)
        [[ -n $holder ]] || return 1
        if ((SECONDS - started >= ${RDMAQOS_APT_SECONDS:-600})); then
            warn "$holder, still after $(duration $((SECONDS - started))); try again when it has ended"
            return 1
        fi
        if [[ $holder != "$said" ]]; then
            note "waiting: $holder"
            said=$holder
        fi
        sleep 1
    done
    cat "$log.part" >>"$log"
}

: >"$log"
if ! { apt update && apt install -y --no-install-recommends "${missing[@]}"; }; then
    cat "$log.part" >>"$log"
    rm -f "$log.part"
    tail -n 40 "$log" >&2
    die "apt-get failed; all of it is in $log"
fi
rm -f "$log.part"
note "installed in $(duration $((SECONDS - started)))"
