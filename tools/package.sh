#!/bin/bash
# Builds the Debian packages, and says how to install them.
#
#   tools/package.sh [DIRECTORY]       puts them into DIRECTORY (build/packages)
#
#   --version VERSION    as this version instead of that in debian/changelog
#
# What is compiled is kept in build/package-build, so that the next run compiles only what has changed. Symbols for debuggers
# get packages of their own, in DIRECTORY/debug. Root is needed only to install packages that are missing.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

directory=
version=
while (($# > 0)); do
    case $1 in
        --version)
            version=${2:?--version needs a version}
            shift
            ;;
        -h | --help)
            help_of "$0"
            exit 0
            ;;
        -*) die "unknown option $1 (try --help)" ;;
        *)
            [[ -z $directory ]] || die "one directory only (try --help)"
            directory=$1
            ;;
    esac
    shift
done
directory=$(realpath -m "${directory:-$project_dir/build/packages}")
work=$project_dir/build/package-build
source=$work/source
log=$work/log

started=$SECONDS
heading "Packages and build"
"$project_dir/tools/install-deps.sh" --package

# Built from a copy: dpkg-buildpackage writes into its sources and beside them. What is compiled stays there, in the obj
# folder; times are copied too, so that only what changed is compiled again.
mkdir -p "$source"
exec {lock}>"$work/lock"
flock -n "$lock" || die "another $0 is at work in $work; wait for its end"
find "$source" -mindepth 1 -maxdepth 1 ! -name 'obj-*' -exec rm -rf {} +
rm -f "$work"/*.deb "$work"/*.ddeb
tar -C "$project_dir" --exclude=./build --exclude=./.git --exclude=__pycache__ -cf - . | tar -C "$source" -xf -
if [[ -n $version ]]; then
    dpkg --validate-version "$version" || die "$version is no version of a Debian package"
    sed -i "1s/([^)]*)/($version)/" "$source/debian/changelog"
fi
version=$(dpkg-parsechangelog -l "$source/debian/changelog" -S Version)

note "building version $version ($(jobs_to_use) jobs); output in ${log#"$project_dir"/}"
if ! (
    cd "$source"
    # Whoever runs this has their own options in mind for other packages.
    export DEB_BUILD_OPTIONS
    DEB_BUILD_OPTIONS="parallel=$(jobs_to_use)"
    dpkg-buildpackage --build=binary --no-sign --no-pre-clean
) >"$log" 2>&1 </dev/null; then
    grep -A 40 '^FAILED' "$log" >&2 || tail -n 60 "$log" >&2
    die "building the packages failed; all of it is in $log"
fi
note "built in $(duration $((SECONDS - started)))"

# Others, of an earlier version, would be installed with them.
mkdir -p "$directory/debug"
rm -f "$directory"/{rdma-qosd,rdma-qos-tools,rdma-qos-emulator,librdmaqos1,librdmaqos-dev}_*.deb "$directory"/debug/*-dbgsym_*.deb
mv "$work"/*-dbgsym_*.deb "$directory/debug"
mv "$work"/*.deb "$directory"

# The way from here, if it is shorter.
shown_directory=$(realpath --relative-base="$PWD" "$directory")
[[ $shown_directory == /* ]] || shown_directory=./$shown_directory
heading "Packages of version $version in $shown_directory"
for file in "$directory"/*.deb; do
    name=${file##*/}
    note "$(printf '%-18s %s' "${name%%_*}" "$(dpkg-deb -f "$file" Description | head -n 1)")"
done
note ""
note "To install all of them:"
shown "sudo apt install $shown_directory/*.deb"
note "Only the daemon and its commands:"
shown "sudo apt install $shown_directory/rdma-qosd_*.deb $shown_directory/rdma-qos-tools_*.deb"
