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
. "$project_dir/tools/packaging.sh"

directory=
version=
while (($# > 0)); do
    case $1 in
        --version)
            version=$(packaging_value "$@")
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

copy_to_build "$work" 'obj-*'
rm -f "$work"/*.deb "$work"/*.ddeb
if [[ -n $version ]]; then
    dpkg --validate-version "$version" || die "$version is no version of a Debian package"
    set_version "$source" "$version"
fi
version=$(version_in "$source")

# In a shell of its own, because it goes elsewhere.
build()
(
    cd "$source"
    # Whoever runs this has their own options in mind for other packages.
    export DEB_BUILD_OPTIONS
    DEB_BUILD_OPTIONS="parallel=$(jobs_to_use)"
    dpkg-buildpackage --build=binary --no-sign --no-pre-clean
)
note "building version $version ($(jobs_to_use) jobs); output in ${log#"$project_dir"/}"
: >"$log"
logged_build "$log" build
note "built in $(duration $((SECONDS - started)))"

# Others, of an earlier version, would be installed with them.
mkdir -p "$directory/debug"
rm -f "$directory"/{rdma-qosd,rdma-qos-tools,rdma-qos-emulator,librdmaqos1,librdmaqos-dev}_*.deb "$directory"/debug/*-dbgsym_*.deb
mv "$work"/*-dbgsym_*.deb "$directory/debug"
mv "$work"/*.deb "$directory"

shown_directory=$(shown_path "$directory")
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
