#!/bin/bash
# Builds the RPM packages in two versions and lets them live in an empty root: what is in them, compared with the Debian packages;
# what they require and provide; rpmlint; installing, using, upgrading, erasing.
#
#   tests/packages/rpm.sh             everything
#   tests/packages/rpm.sh --keep      leaves packages and root in build/rpm-test
#
# Root is not needed where a user may have a user namespace. Exit status 77: rpmbuild is not installed. What this system
# cannot show: whether BuildRequires and Requires name what RHEL, Rocky and SLES have, and their macros.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../../tools/lib.sh"
. "$project_dir/tests/packages/lists.sh"

keep=no
while (($# > 0)); do
    case $1 in
        --keep) keep=yes ;;
        -h | --help)
            help_of "$0"
            exit 0
            ;;
        *) die "unknown option $1 (try --help)" ;;
    esac
    shift
done
for program in rpm rpmbuild find-debuginfo eu-strip; do
    command -v "$program" >/dev/null || skip "$program is not installed (tools/install-deps.sh --rpm)"
done

if [[ $keep == yes ]]; then
    work=$project_dir/build/rpm-test
    rm -rf --one-file-system "$work"
    mkdir -p "$work"
else
    work=$(mktemp -d "${TMPDIR:-/tmp}/rdma-qosd-rpm.XXXXXX")
    trap 'rm -rf --one-file-system "$work"' EXIT
fi
failures=0
fail()
{
    note "FAILED: $*"
    failures=$((failures + 1))
}

# Debian's name and RPM's: RHEL names a library without its soname, and what developers need "-devel".
names='rdma-qosd rdma-qosd
rdma-qos-tools rdma-qos-tools
rdma-qos-emulator rdma-qos-emulator
librdmaqos1 librdmaqos
librdmaqos-dev librdmaqos-devel'

# What RPM packages have otherwise on purpose: a change to each line of their lists, and the reason.
#   LIBDIR, EXAMPLES, ZSH     names of folders that differ (lists.sh)
#   licenses                  rpm marks the license and has it in a folder of its own; Debian's is `copyright`, which lists.sh omits
#   -rwxr-xr-x                rpm strips, and finds what they need, of libraries that may be executed only
#   .build-id                 rpm links each program to its symbols
#   .gz                       rpm compresses manual pages, but Debian's rpm, whose brp-compress wants bash for sh, does not
differences='
s,/usr/lib64/(librdmaqos\.|rdma-qos/|cmake/|pkgconfig/),LIBDIR/\1,
s,^-rwxr-xr-x (.* LIBDIR/.*\.so[0-9.]*)$,-rw-r--r-- \1,
s,/usr/share/doc/librdmaqos-devel/examples,EXAMPLES,
s,/usr/share/zsh/site-functions,ZSH,
\,^-rw-r--r-- root/root /usr/share/licenses/[a-z0-9.-]+/LICENSE$,d
\,/usr/lib/\.build-id/,d
s,(/usr/share/man/.*)\.gz$,\1,
s,(rdmaqos-targets-)[a-z]+(\.cmake),\1TYPE\2,'

# ---- two versions ----

version=$(sed -n '1s/.*(\([^)]*\)).*/\1/p' "$project_dir/debian/changelog")
previous=$version~previous
for built in "$previous previous" "$version current"; do
    "$project_dir/tools/rpm.sh" --version "${built% *}" "$work/${built#* }" >"$work/build.log" || {
        cat "$work/build.log"
        die "the packages of version ${built% *} are not built"
    }
done

# package NAME [FOLDER]: its file.
package()
{
    echo "$work/${2:-current}/$1"-[0-9]*.rpm
}

# asked PACKAGE FORMAT
asked()
{
    rpm -qp --qf "$2" "$(package "$1")"
}

found=$(rpm -qp --qf '%{NAME}\n' "$work"/current/*.rpm | LC_ALL=C sort)
[[ $found == "$(cut -d ' ' -f 2 <<<"$names" | LC_ALL=C sort)" ]] || fail "the packages are ${found//$'\n'/ }"
[[ $(rpm -qp --qf '%{NAME} ' "$work"/current/debug/*.rpm) == rdma-qosd-debug* ]] || fail "there are no symbols for debuggers"

# ---- what is in them ----

# rpm_files PACKAGE
rpm_files()
{
    asked "$1" '[%{FILEMODES:perms} %{FILEUSERNAME}/%{FILEGROUPNAME} %{FILENAMES} -> %{FILELINKTOS}\n]' |
        sed -E "/^d/d; s/ -> \$//$differences" | LC_ALL=C sort
}
while read -r debian name; do
    debian_files "$debian" >"$work/debian.txt"
    rpm_files "$name" >"$work/$name.txt"
    diff -u --label "$debian of Debian" --label "$name" "$work/debian.txt" "$work/$name.txt" ||
        fail "$name has not the files of $debian"
    # "cn": configuration that is not replaced.
    is=$(asked "$name" '[%{FILEFLAGS:fflags} %{FILENAMES}\n]' | sed -n 's/^[a-z]*c[a-z]* //p' | LC_ALL=C sort)
    [[ $is == "$(debian_configuration "$debian")" ]] || fail "the configuration of $name is: ${is//$'\n'/ }"
    is=$(asked "$name" '[%{FILEFLAGS:fflags} %{FILENAMES}\n]' | sed -n 's/^cn //p' | LC_ALL=C sort)
    [[ $is == "$(debian_configuration "$debian")" ]] || fail "what $name does not replace is: ${is//$'\n'/ }"
    # The texts are written once more in the spec, as those who read it expect.
    is=$(asked "$name" '%{SUMMARY}\n%{DESCRIPTION}\n')
    wanted=$(awk -v name="$debian" '
        /^Package: / { mine = $2 == name }
        !/^ / { text = 0 }
        mine && /^Description: / { text = 1; sub(/^Description: /, ""); print; next }
        mine && text { sub(/^ \.?/, ""); print }' "$project_dir/debian/control")
    # Debian's begin with a small letter, RPM's with a capital.
    [[ ${is^} == "${wanted^}" ]] || fail "$name is described otherwise than $debian: $(diff <(echo "$wanted") <(echo "$is"))"
    [[ $(asked "$name" '%{VERSION} %{LICENSE}') == "$version MIT" ]] || fail "$name is $(asked "$name" '%{VERSION} %{LICENSE}')"
done <<<"$names"
(($(cat "$work"/*.txt | wc -l) > 90)) || fail "the lists are too short"

# ---- what they need of others ----

architecture=$(asked rdma-qosd '%{ARCH}')
isa=$(rpm --eval '%{?_isa}')
# needs PACKAGE KIND WANTED...: what it requires or provides, without the libraries that rpmbuild finds by itself.
needs()
{
    local name=$1 kind=$2 is
    shift 2
    is=$(rpm -qp "--$kind" "$(package "$name")" | grep -vE '^(rpmlib\(|lib.*\.so[.0-9]*\(|ld-linux|rtld\(|/bin/sh|/sbin/ldconfig)' | sort -u || true)
    [[ $is == "$(printf '%s\n' "$@" | sort -u)" ]] || fail "$name $kind: $is"
}
same="= $version-1"
needs rdma-qosd requires dbus "config(rdma-qosd) $same" "rdma-qos-tools$isa $same"
needs rdma-qosd recommends polkit
needs rdma-qosd suggests rdma-core
needs rdma-qos-tools requires
needs rdma-qos-emulator recommends libibverbs
needs librdmaqos requires
needs librdmaqos-devel requires "librdmaqos$isa $same" /usr/bin/pkg-config 'pkgconfig(libibverbs)' 'pkgconfig(libsystemd)'
needs librdmaqos-devel provides "librdmaqos-devel $same" "librdmaqos-devel$isa $same" 'pkgconfig(librdmaqos) = 1.0.0'
rpm -qp --provides "$(package librdmaqos)" | grep -q '^librdmaqos\.so\.1(RDMAQOS_1\.0)' || fail "librdmaqos provides no symbols"
# What is loaded from a folder of ours is nobody else's.
for name in rdma-qos-tools rdma-qos-emulator; do
    needs "$name" provides "$name $same" "$name$isa $same"
    rpm -qp --provides "$(package "$name")" | grep '\.so' && fail "$name provides libraries"
done

if command -v rpmlint >/dev/null; then
    # Of the filters, its version on one Debian needs this one and that on another that one.
    rpmlint --ignore-unused-rpmlintrc --rpmlintrc "$project_dir/rpm/rdma-qosd.rpmlintrc" "$work"/current/*.rpm >"$work/rpmlint" 2>&1 || {
        cat "$work/rpmlint"
        fail "rpmlint complains"
    }
    grep -E ' [WE]: ' "$work/rpmlint" && fail "rpmlint warns"
    grep -q '^ *5 packages' "$work/rpmlint" || fail "rpmlint has not looked at five packages: $(cat "$work/rpmlint")"
else
    note "skipped: rpmlint is not installed (tools/install-deps.sh --rpm)"
fi

# ---- the source package, and other systems ----

sources=$work/current/source/rdma-qosd-$version-1.src.rpm
mkdir "$work/unpacked"
rpm --define "_topdir $work/unpacked" -i "$sources" 2>/dev/null || fail "the source package is not unpacked"
tar -tf "$work/unpacked/SOURCES/rdma-qosd-$version.tar.gz" | sed -n "s,^rdma-qosd-$version/\(.*[^/]\)\$,\1,p" | LC_ALL=C sort >"$work/in-it"
(cd "$project_dir" && find . -type f ! -path './build/*' ! -path './.git/*' ! -path './.git' ! -path '*/__pycache__/*' -printf '%P\n') |
    LC_ALL=C sort | diff -u - "$work/in-it" || fail "the source package has not the files of the work tree"
spec=$work/unpacked/SPECS/rdma-qosd.spec
# spec_of OPTION...: what the spec says on another system.
spec_of()
{
    (cd / && rpmspec "$@" --define "_topdir $work/unpacked" "$spec" 2>&1)
}
[[ $(spec_of -q --qf '%{NAME} ' --define 'suse_version 1500') == *librdmaqos1\ librdmaqos-devel\ * ]] || fail "SLES: the library is not librdmaqos1"
[[ $(spec_of -q --buildrequires --define 'suse_version 1500') == *gcc13-c++*ninja* ]] || fail "SLES: no compiler"
[[ $(spec_of -q --buildrequires --define 'rhel 9') == *gcc-toolset-13-gcc-c++*ninja-build* ]] || fail "RHEL 9: no compiler"
[[ $(spec_of -q --buildrequires --define 'rhel 10') == *gcc-c++\ \>=* ]] || fail "RHEL 10: no compiler"
# Their own macros are used where they have them.
for macros in 'systemd_post systemd_preun systemd_postun_with_restart' 'service_add_pre service_add_post service_del_preun service_del_postun'; do
    defined=()
    for macro in $macros; do
        defined+=(--define "$macro() of the system: $macro %{1}")
    done
    is=$(spec_of -P "${defined[@]}" | sed -n 's/^of the system: \(.*\) rdma-qosd\.service *$/\1/p' | LC_ALL=C sort | tr '\n' ' ')
    [[ $is == "$(tr ' ' '\n' <<<"$macros" | LC_ALL=C sort | tr '\n' ' ')" ]] || fail "of the macros $macros these are used: $is"
done
spec_of -P --define '_unitdir /units' --define '_udevrulesdir /rules' | grep -c '^/units/\|^/rules/' | grep -qx 2 || fail "folders of the system are not used"

# ---- life ----

if ((EUID != 0)) && ! unshare --user --map-root-user true 2>/dev/null; then
    note "skipped: installing them needs root or a user namespace"
else
    in_root=()
    ((EUID == 0)) || in_root=(unshare --user --map-root-user)
    "${in_root[@]}" "$project_dir/tests/packages/rpm_life.sh" "$work" "$previous" "$version" ||
        fail "the packages in a root of their own: see above"
fi

if ((failures > 0)); then
    exit 1
fi
note "RPM packages of version $version ($architecture): contents, requirements, source package, install, use, upgrade and erase"
