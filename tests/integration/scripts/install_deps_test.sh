#!/bin/bash
# tools/install-deps.sh with the real apt-get, on an archive and locks of its own: it waits for a lock that another program
# holds, says so, and goes on; it gives up after RDMAQOS_APT_SECONDS.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../../../tools/lib.sh"

((EUID == 0)) || skip "installing packages needs root, and so does apt-get"
for tool in apt-get dpkg-deb python3; do
    command -v "$tool" >/dev/null || skip "$tool is not installed"
done

work=$(mktemp -d "${TMPDIR:-/tmp}/rdma-qosd-apt.XXXXXX")
chmod 755 "$work"    # apt reads archives as a user of its own
holder=
clean_up()
{
    [[ -z $holder ]] || kill "$holder" 2>/dev/null || true
    rm -rf "$work"
}
trap clean_up EXIT

# ---- a system on which nothing is installed, and an archive with everything that is wanted ----

mkdir -p "$work"/{archive,build,etc/{apt.conf.d,preferences.d,trusted.gpg.d},cache/archives/partial,state/lists/partial,dpkg/updates,package/DEBIAN}
touch "$work/dpkg/status" "$work/dpkg/available"
printf 'Package: any\nVersion: 1\nArchitecture: all\nMaintainer: x\nDescription: x\n' >"$work/package/DEBIAN/control"
dpkg-deb --build "$work/package" "$work/archive/any.deb" >/dev/null
for package in $("$project_dir/tools/install-deps.sh" --list); do
    printf 'Package: %s\nVersion: 1\nArchitecture: all\nFilename: ./any.deb\nSize: %s\nSHA256: %s\n\n' "$package" \
        "$(stat -c %s "$work/archive/any.deb")" "$(sha256sum <"$work/archive/any.deb" | cut -d ' ' -f 1)"
done >"$work/archive/Packages"
echo "deb [trusted=yes] file:$work/archive ./" >"$work/etc/sources.list"
cat >"$work/apt.conf" <<CONF
Dir::Etc "$work/etc";
Dir::Etc::SourceList "$work/etc/sources.list";
Dir::Etc::SourceParts "/nonexistent";
Dir::Cache "$work/cache";
Dir::State "$work/state";
Dir::State::status "$work/dpkg/status";
Dir::Bin::dpkg "/bin/true";
CONF
cat >"$work/environment" <<CONF
export APT_CONFIG=$work/apt.conf DPKG_ADMINDIR=$work/dpkg
CONF

# install [VARIABLE=VALUE]...: the script, as it is in a checkout of its own.
mkdir -p "$work/checkout"
cp -r "$project_dir/tools" "$work/checkout"
install()
{
    # shellcheck disable=SC1091 # written above
    (. "$work/environment" && env "$@" "$work/checkout/tools/install-deps.sh") >"$work/output" 2>&1
}

# hold LOCK: another program holds it, until it is killed.
hold()
{
    python3 - "$1" "$work/held" <<'PYTHON' &
import fcntl, signal, sys
lock = open(sys.argv[1], "w")
fcntl.lockf(lock, fcntl.LOCK_EX)
open(sys.argv[2], "w").close()
signal.pause()
PYTHON
    holder=$!
    until [[ -e $work/held ]]; do
        sleep 0.05
    done
    rm "$work/held"
}

release()
{
    kill "$holder"
    wait "$holder" || true
    holder=
}

fail()
{
    cat "$work/output"
    die "$*"
}

# ---- the tests ----

install || fail "without a lock it does not install"
grep -q 'installed in' "$work/output" || fail "it does not say that it has installed"
! grep -q 'waiting' "$work/output" || fail "it waits although nobody holds a lock"

for lock in "$work/state/lists/lock" "$work/dpkg/lock-frontend"; do
    hold "$lock"
    install &
    installing=$!
    until grep -q "waiting: process $holder .* holds $lock" "$work/output"; do
        kill -0 "$installing" 2>/dev/null || fail "it does not wait for $lock, or does not say so"
        sleep 0.05
    done
    release
    wait "$installing" || fail "it does not go on after $lock is free"
    (($(grep -c 'waiting' "$work/output") == 1)) || fail "it says more than once that it waits"
done

hold "$work/dpkg/lock-frontend"
! install RDMAQOS_APT_SECONDS=1 || fail "it says that it has installed while another program holds the lock"
grep -q "process $holder .* holds $work/dpkg/lock-frontend, still after" "$work/output" || fail "it does not say what it waited for"
release
