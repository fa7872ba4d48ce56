#!/bin/bash
# Installs what cross-building for arm64 and its tests need: the packages of tools/install-deps.sh, of arm64 what is linked into
# programs or loaded by them, of this machine's architecture what runs. For the root file system of run.sh.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../../tools/lib.sh"

log=$project_dir/build/packages.log
installed=/var/lib/rdma-qosd-arm64
mapfile -t wanted < <("$project_dir/tools/install-deps.sh" --test --list)
if [[ "${wanted[*]}" == "$(cat "$installed" 2>/dev/null)" ]]; then
    exit 0
fi

started=$SECONDS
note "installing the packages of arm64"
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
dpkg --add-architecture arm64
: >"$log"
apt()
{
    apt-get -q -o Dpkg::Use-Pty=0 "$@" >>"$log" 2>&1 </dev/null || {
        tail -n 40 "$log" >&2
        die "apt-get failed; all of it is in $log"
    }
}
apt update
# Headers alone have no architecture. Those of a package whose dependencies would be of this machine's architecture, and would
# displace arm64's, are unpacked without them.
declare -A architecture foreign
while read -r package of is_foreign; do
    architecture[$package]=$of foreign[$package]=$is_foreign
done < <(apt-cache show --no-all-versions "${wanted[@]}" | awk '
    /^Package: / { package = $2 } /^Architecture: / { of = $2 } /^Multi-Arch: / { foreign = $2 == "foreign" }
    /^$/ { print package, of, foreign + 0; foreign = 0 }')
packages=(crossbuild-essential-arm64 qemu-user-static)
headers=()
for package in "${wanted[@]}"; do
    case $package in
        *-dev | ibverbs-*)
            if [[ ${architecture[$package]} != all ]]; then
                package+=:arm64
            elif ((!foreign[$package])); then
                headers+=("$package")
                continue
            fi
            ;;
    esac
    packages+=("$package")
done
apt install -y --no-install-recommends "${packages[@]}"
cd "$(mktemp -d)"
apt download "${headers[@]}"
for package in *.deb; do
    dpkg-deb -x "$package" /
done
echo "${wanted[*]}" >"$installed"
note "installed in $(duration $((SECONDS - started)))"
