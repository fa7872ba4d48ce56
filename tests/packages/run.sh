#!/bin/bash
# Builds the Debian packages and lets them live in a Debian of their own, of this system's release: lintian, what is in them, installing, using, upgrading,
# removing, purging.
#
#   tests/packages/run.sh             everything
#   tests/packages/run.sh --keep      leaves packages and root file system in build/package-test
#   tests/packages/run.sh --update    writes what is in them to tests/golden/packages, to be reviewed
#   tests/packages/run.sh --fresh     rebuilds the base system (it is kept in ${XDG_CACHE_HOME:-~/.cache}/rdma-qosd)
#
# Needs root, for a root file system with mounts and process ids of its own; without it, it ends with status 77 and says so.
# The base system is made from Debian's mirror; what follows has no network.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../../tools/lib.sh"
. "$project_dir/tools/debian.sh"

here=$project_dir/tests/packages
golden=$project_dir/tests/golden/packages
cache=$(debian_cache)
update=no
keep=no
fresh=no
while (($# > 0)); do
    case $1 in
        --update) update=yes ;;
        --keep) keep=yes ;;
        --fresh) fresh=yes ;;
        -h | --help)
            help_of "$0"
            exit 0
            ;;
        *) die "unknown option $1 (try --help)" ;;
    esac
    shift
done

if ((EUID != 0)); then
    skip "the packages are installed into a root file system of their own, which needs root"
fi
for program in mmdebstrap lintian unshare chroot; do
    if ! command -v "$program" >/dev/null; then
        skip "$program is not installed (tools/install-deps.sh --package)"
    fi
done

release=$(debian_here)
[[ -n $release ]] || skip "the packages are for Debian, and this system is not"
suite=$(debian_suite "$release")

if [[ $keep == yes ]]; then
    work=$project_dir/build/package-test
    rm -rf --one-file-system "$work"
    mkdir -p "$work"
else
    work=$(mktemp -d "${TMPDIR:-/tmp}/rdma-qosd-packages.XXXXXX")
    trap 'rm -rf --one-file-system "$work"' EXIT
fi
failures=0
fail()
{
    note "FAILED: $*"
    failures=$((failures + 1))
}

# ---- two versions ----

version=$(dpkg-parsechangelog -l "$project_dir/debian/changelog" -S Version)
previous=$version~previous
"$project_dir/tools/package.sh" --version "$previous" "$work/previous" >"$work/build.log" || {
    cat "$work/build.log"
    die "the packages of version $previous are not built"
}
"$project_dir/tools/package.sh" "$work/current" >"$work/build.log" || {
    cat "$work/build.log"
    die "the packages are not built"
}
names=()
while read -r name; do
    names+=("$name")
done < <(sed -n 's/^Package: //p' "$project_dir/debian/control")
for folder in previous current; do
    found=$(cd "$work/$folder" && printf '%s\n' *.deb | sed 's/_.*//')
    [[ $found == "$(printf '%s\n' "${names[@]}" | sort)" ]] || fail "packages in $folder: ${found//$'\n'/ }"
done
for name in "${names[@]}"; do
    is=$(dpkg-deb -f "$work/current/${name}"_*.deb Version)
    [[ $is == "$version" ]] || fail "$name has version $is, not $version"
done
# What it says one may type is what there is.
read -ra typed < <(sed -n 's/^\$ sudo apt install //p' "$work/build.log" | tail -n 1)
((${#typed[@]} == 2)) || fail "tools/package.sh does not say how to install them"
grep -q 'apt install .*/\*\.deb$' "$work/build.log" || fail "tools/package.sh does not say how to install all of them"

# ---- lintian ----

# Overrides are in debian/*.lintian-overrides, each with its reason.
if ! lintian --allow-root --fail-on error,warning --tag-display-limit 0 "$work/current"/*.deb >"$work/lintian" 2>&1; then
    cat "$work/lintian"
    fail "lintian complains"
fi
# It would: a package with a mistake.
mkdir -p "$work/wrong/DEBIAN" "$work/wrong/usr/local"
printf 'Package: wrong\nVersion: 1\nArchitecture: all\nMaintainer: x\nDescription: wrong\n' >"$work/wrong/DEBIAN/control"
dpkg-deb --build "$work/wrong" "$work/wrong.deb" >/dev/null
if lintian --allow-root --fail-on error,warning "$work/wrong.deb" >/dev/null 2>&1; then
    fail "lintian finds nothing wrong with a package that is"
fi

# ---- what is in them ----

triplet=$(dpkg-architecture -qDEB_HOST_MULTIARCH)
# contents DEB: mode, owner and path of each file, links with their goals, and which files are configuration. What is in /lib on
# Debian 12 is in /usr/lib on later ones, which is the same directory.
contents()
{
    dpkg-deb --fsys-tarfile "$1" | tar -tvf - | awk '
        { start = $1 " " $2; $1 = $2 = $3 = $4 = $5 = ""; sub(/^ +/, ""); print start, $0 }' |
        sed "s|$triplet|TRIPLET|g; s| \./lib/| ./usr/lib/|; /\/\$/d" | LC_ALL=C sort -k 3
    dpkg-deb --ctrl-tarfile "$1" | tar -xOf - ./conffiles 2>/dev/null | sed 's/^/conffile /' || true
}
mkdir -p "$golden"
for name in "${names[@]}"; do
    contents "$work/current/${name}"_*.deb >"$work/$name.txt"
    if [[ $update == yes ]]; then
        cp "$work/$name.txt" "$golden/$name.txt"
    elif ! diff -u --label "golden/packages/$name.txt" --label "as built" "$golden/$name.txt" "$work/$name.txt"; then
        fail "what is in $name has changed; if it should: $0 --update"
    fi
done

# The previous version of the policy and the settings differed: so an upgrade has something to overwrite.
dpkg-deb -R "$work"/previous/rdma-qosd_*.deb "$work/older"
echo '# as shipped before' | tee -a "$work/older/etc/rdma-qos/policy.yaml" >>"$work/older/etc/rdma-qos/rdma-qosd.yaml"
(cd "$work/older" && find . -type f ! -path './DEBIAN/*' -printf '%P\0' | LC_ALL=C sort -z | xargs -0 md5sum >DEBIAN/md5sums)
dpkg-deb --root-owner-group -Znone -b "$work/older" "$(echo "$work"/previous/rdma-qosd_*.deb)" >/dev/null

# ---- a system to live in ----

# What they depend on is in the base system, so that nothing has to be downloaded later.
relations=$(for deb in "$work"/current/*.deb; do dpkg-deb -f "$deb" Depends; done |
    tr ',' '\n' | sed 's/^ *//; s/ *|.*//' | LC_ALL=C sort -u)
needed=$(awk -v own="${names[*]}" 'index(" " own " ", " " $1 " ") == 0 { print $1 }' <<<"$relations")
base=$cache/packages-$suite-$(sha256sum <<<"$relations" | cut -c 1-16).tar
[[ $fresh == no ]] || rm -f "$base"
if [[ ! -e $base ]]; then
    mkdir -p "$cache"
    mmdebstrap --quiet --variant=minbase --include="udev ${needed//$'\n'/ }" "$suite" "$work/base.tar" ||
        die "mmdebstrap failed"
    rm -f "$cache/packages-$suite-"*.tar
    mv "$work/base.tar" "$base"
fi
mkdir "$work/root"
tar -C "$work/root" -xf "$base" --exclude='./dev/*'
cp -r "$work/previous" "$work/current" "$work/root/srv"
cp "$here/inside.sh" "$here/life.sh" "$here/systemctl.sh" "$work/root/srv"
cp "$project_dir/config/policy.yaml" "$project_dir/config/examples/devices.yaml" "$work/root/srv"
unshare --mount --propagation private --pid --net --fork --kill-child "$work/root/srv/inside.sh" "$work/root" \
    /srv/life.sh "$previous" "$version" || fail "the packages in a Debian $release of their own: see above"

((failures == 0)) && note "packages of version $version: lintian, contents, install, use, upgrade, remove and purge, on Debian $release"
