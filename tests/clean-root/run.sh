#!/bin/bash
# Runs commands in a bare Debian: shows that a clean clone needs nothing but what it installs itself.
#
#   sudo tests/clean-root/run.sh                       ./tools/demo.sh (on both kinds of firmware), then ./tools/test.sh
#   sudo tests/clean-root/run.sh 'COMMAND' ...         each COMMAND (one shell word) in a root file system of its own
#
#   --debian N     of this release, 12 or 13; may be given more than once (all of them)
#   --work-tree    a copy of the work tree instead of a clone: also what is not committed yet
#   --as-user      COMMANDs as an unprivileged user, after tools/install-deps.sh as root
#   --keep         leave the last root file system in build/clean-root/root
#   --fresh        make the base root file systems again (they are kept in ${XDG_CACHE_HOME:-~/.cache}/rdma-qosd)
#
# Each command gets the base system as mmdebstrap makes it (minbase: no compiler, no dbus, no sudo), its own mounts and
# its own process ids, and this machine's network and cgroups. Processes that outlive a command are reported and are a failure.
# This host's settings of apt are used inside, so that proxies and mirrors work.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../../tools/lib.sh"

. "$project_dir/tools/debian.sh"

releases=()
root=$project_dir/build/clean-root/root
source_kind=clone
as_user=no
keep=no

while (($# > 0)); do
    case $1 in
        --work-tree) source_kind=work-tree ;;
        --as-user) as_user=yes ;;
        --keep) keep=yes ;;
        --debian)
            releases+=("${2:?--debian needs a release}")
            shift
            ;;
        --fresh) rm -f "$(debian_cache)"/base-*.tar ;;
        -h | --help)
            help_of "$0"
            exit 0
            ;;
        -*) die "unknown option $1 (try --help)" ;;
        *) break ;;
    esac
    shift
done
if (($# == 0)); then
    set -- './tools/demo.sh && ./tools/demo.sh --no-build --isolated' ./tools/test.sh
fi

((${#releases[@]} > 0)) || releases=("${debian_releases[@]}")

((EUID == 0)) || die "needs root (mounts): sudo $0"
for tool in mmdebstrap unshare pivot_root; do
    command -v "$tool" >/dev/null || die "needs $tool; run tools/install-deps.sh --full"
done

# make_root RELEASE
make_root()
{
    rm -rf --one-file-system "$root"
    debian_unpack "$1" "$root"
    if [[ $source_kind == clone ]]; then
        git -c safe.directory='*' clone -q --no-hardlinks "$project_dir" "$root/src/rdma-qosd"
    else
        mkdir -p "$root/src/rdma-qosd"
        git -C "$project_dir" -c safe.directory='*' ls-files -z --cached --others --exclude-standard |
            tar -C "$project_dir" --null --ignore-failed-read --files-from=- -cf - | tar -C "$root/src/rdma-qosd" -xf -
    fi
}

# inside COMMAND...: in the root file system, with the environment of a login.
inside()
{
    debian_enter "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root CI=true "$@"
}

# run_in_it COMMAND: as the options say.
run_in_it()
{
    if [[ $as_user == yes ]]; then
        inside sh -c 'cd /src/rdma-qosd && ./tools/install-deps.sh && useradd -m tester && chown -R tester: .'
        inside setpriv --reuid tester --regid tester --init-groups --reset-env sh -c "cd /src/rdma-qosd && $1"
    else
        inside sh -c "cd /src/rdma-qosd && $1"
    fi
}

clean_up()
{
    if [[ $keep == no && -d $root ]]; then
        rm -rf --one-file-system "$root"
    fi
}
trap clean_up EXIT

failures=0
runs=0
for release in "${releases[@]}"; do
    for command in "$@"; do
        make_root "$release"
        heading "bare Debian $release: $command"
        started=$SECONDS
        status=0
        run_in_it "$command" || status=$?
        note "[clean-root] Debian $release: $command: exit $status after $(duration $((SECONDS - started)))"
        runs=$((runs + 1))
        ((status == 0)) || failures=$((failures + 1))
    done
done
if ((failures > 0)); then
    die "$failures of $runs commands failed in the bare systems"
fi
