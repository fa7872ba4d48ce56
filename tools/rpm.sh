#!/bin/bash
# Builds packages for RHEL, Rocky and SLES, and their source package, with rpmbuild.
#
#   tools/rpm.sh [DIRECTORY]       puts them into DIRECTORY (build/rpms)
#
#   --source             only the source package: `rpmbuild --rebuild` makes the others of it
#   --version VERSION    as this version instead of that in debian/changelog
#
# What they need depends on the system that they are built on. Those for use are built on the system they are for; on
# Debian, which has rpmbuild too, they are for tests.
#
# What is compiled is kept in build/rpm-build, so that the next run compiles only what has changed. The source package is in
# DIRECTORY/source, symbols for debuggers are in DIRECTORY/debug. Root is needed only to install packages that are missing.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
. "$project_dir/tools/packaging.sh"

directory=
version=
parts=all
while (($# > 0)); do
    case $1 in
        --source) parts=source ;;
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
directory=$(realpath -m "${directory:-$project_dir/build/rpms}")
work=$project_dir/build/rpm-build
source=$work/source
top=$work/rpmbuild
log=$work/log

started=$SECONDS
heading "Packages and build"
options=()
if command -v dpkg-query >/dev/null; then
    "$project_dir/tools/install-deps.sh" --rpm
    # rpmbuild looks for them in rpm's database, where Debian's packages are not.
    options=(--nodeps)
elif ! command -v rpmbuild >/dev/null; then
    die "rpmbuild is not installed; install the package rpm-build"
fi

# changelog: that of Debian as rpm writes it.
changelog()
{
    awk '
        /^[^ ]/ { version = substr($2, 2, length($2) - 2); text = "" }
        /^  \* / { text = text "- " substr($0, 5) "\n" }
        /^    / { text = text "  " substr($0, 5) "\n" }
        /^ -- / {
            split(substr($0, 5), part, "  ")
            split(part[2], date, /[ ,]+/)
            printf "* %s %s %s %s %s - %s-1\n%s\n", date[1], date[3], date[2], date[4], part[1], version, text
        }' "$source/debian/changelog" | sed 's/%/%%/g'
}

copy_to_build "$work" obj-rpm
if [[ -n $version ]]; then
    [[ $version =~ ^[0-9][A-Za-z0-9.~^_+]*$ ]] || die "$version is no version of an RPM package"
    set_version "$source" "$version"
fi
version=$(version_in "$source")
rm -rf "$top"
mkdir -p "$top/SOURCES" "$directory/debug" "$directory/source"
tar -C "$source" --exclude=./obj-rpm --owner=0 --group=0 --transform "s,^\.,rdma-qosd-$version," -czf "$top/SOURCES/rdma-qosd-$version.tar.gz" .
spec=$top/rdma-qosd.spec
{
    echo "%global rdmaqos_version $version"
    cat "$source/rpm/rdma-qosd.spec"
    printf '\n%%changelog\n'
    changelog
} >"$spec"

# In a shell of its own, because it goes elsewhere. What rpmbuild unpacks would be compiled from the start each time.
build()
(
    cd "$source"
    rpmbuild "${options[@]}" --define "_topdir $top" --define '_rpmfilename %%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm' "$@" "$spec"
)
: >"$log"
logged_build "$log" build -bs
if [[ $parts == all ]]; then
    note "building version $version ($(jobs_to_use) jobs); output in ${log#"$project_dir"/}"
    logged_build "$log" build -bb --build-in-place
    note "built in $(duration $((SECONDS - started)))"
fi

# Others, of an earlier version, would be installed with them.
rm -f "$directory"/{,debug/,source/}{rdma-qosd,rdma-qos-tools,rdma-qos-emulator,librdmaqos,librdmaqos1,librdmaqos-devel}-*.rpm
mv "$top"/SRPMS/*.src.rpm "$directory/source"
shown_directory=$(shown_path "$directory")
source_package=$(echo "$directory"/source/*.src.rpm)
if [[ $parts == all ]]; then
    for file in "$top"/RPMS/*-debug*.rpm; do
        [[ ! -e $file ]] || mv "$file" "$directory/debug"
    done
    mv "$top"/RPMS/*.rpm "$directory"
    heading "Packages of version $version in $shown_directory"
    for file in "$directory"/*.rpm; do
        note "$(rpm -qp --qf '%{NAME} %{SUMMARY}' "$file" | awk '{ name = $1; sub(/^[^ ]* /, ""); printf "%-18s %s", name, $0 }')"
    done
    note ""
fi
if ((${#options[@]} == 0)) && [[ $parts == all ]]; then
    note "To install all of them (zypper for dnf on SLES):"
    shown "sudo dnf install $shown_directory/*.rpm"
else
    note "To build them on the system that they are for (it says which packages it lacks):"
    shown "rpmbuild --rebuild ${source_package##*/}"
    note "The source package is in $shown_directory/source."
fi
