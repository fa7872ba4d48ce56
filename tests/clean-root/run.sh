#!/bin/bash
# Runs commands in a bare Debian 12: shows that a clean clone needs nothing but what it installs itself.
#
#   sudo tests/clean-root/run.sh                       ./tools/demo.sh (on both kinds of firmware), then ./tools/test.sh
#   sudo tests/clean-root/run.sh 'COMMAND' ...         each COMMAND (one shell word) in a root file system of its own
#
#   --work-tree    a copy of the work tree instead of a clone: also what is not committed yet
#   --as-user      COMMANDs as an unprivileged user, after tools/install-deps.sh as root
#   --keep         leave the last root file system in build/clean-root/root
#   --fresh        make the base root file system anew (it is kept in build/clean-root/base.tar)
#
# Each command gets the base system as mmdebstrap makes it (minbase: no compiler, no dbus, no sudo), its own mounts and
# its own process ids, and this machine's network and cgroups. Processes that outlive a command are reported and are a failure.
# This host's apt settings are used inside when it is a Debian 12 itself, so that proxies and mirrors work.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../../tools/lib.sh"

suite=bookworm
cache=$project_dir/build/clean-root
base=$cache/base.tar
root=$cache/root
source_kind=clone
as_user=no
keep=no

while (($# > 0)); do
    case $1 in
        --work-tree) source_kind=work-tree ;;
        --as-user) as_user=yes ;;
        --keep) keep=yes ;;
        --fresh) rm -f "$base" ;;
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

((EUID == 0)) || die "needs root (mounts): sudo $0"
for tool in mmdebstrap unshare pivot_root; do
    command -v "$tool" >/dev/null || die "needs $tool; run tools/install-deps.sh --full"
done

host_is_same_suite()
{
    [[ $(. /etc/os-release && echo "${VERSION_CODENAME:-}") == "$suite" ]]
}

make_base()
{
    [[ -e $base ]] && return
    mkdir -p "$cache"
    local started=$SECONDS
    mmdebstrap --quiet --variant=minbase "$suite" "$cache/base.new.tar" ||
        die "mmdebstrap failed"
    mv "$cache/base.new.tar" "$base"
    note "base system made in $(duration $((SECONDS - started)))"
}

use_host_apt_settings()
{
    host_is_same_suite || return 0
    local file
    for file in /etc/apt/sources.list /etc/apt/sources.list.d/debian.sources; do
        if [[ -e $file ]]; then
            rm -f "$root/etc/apt/sources.list"
        fi
    done
    for file in /etc/apt/sources.list /etc/apt/sources.list.d/debian.sources /etc/apt/apt.conf.d/*; do
        if [[ -f $file ]]; then
            cp "$file" "$root$file"
        fi
    done
}

make_root()
{
    rm -rf --one-file-system "$root"
    mkdir -p "$root"
    tar -C "$root" -xf "$base" --exclude=./dev/*
    use_host_apt_settings
    local file
    for file in /etc/resolv.conf /etc/hosts; do
        cp -L "$file" "$root$file"
    done
    if [[ $source_kind == clone ]]; then
        git -c safe.directory='*' clone -q --no-hardlinks "$project_dir" "$root/src/rdma-qosd"
    else
        mkdir -p "$root/src/rdma-qosd"
        git -C "$project_dir" -c safe.directory='*' ls-files -z --cached --others --exclude-standard |
            tar -C "$project_dir" --null --ignore-failed-read --files-from=- -cf - | tar -C "$root/src/rdma-qosd" -xf -
    fi
}

clean_up()
{
    if [[ $keep == no && -d $root ]]; then
        rm -rf --one-file-system "$root"
    fi
}
trap clean_up EXIT

make_base
failures=0
for command in "$@"; do
    make_root
    heading "bare Debian 12: $command"
    started=$SECONDS
    status=0
    unshare --mount --propagation private --pid --fork --kill-child \
        "$project_dir/tests/clean-root/inside.sh" "$root" "$command" "$as_user" || status=$?
    note "[clean-root] $command: exit $status after $(duration $((SECONDS - started)))"
    if ((status != 0)); then
        failures=$((failures + 1))
    fi
done
if ((failures > 0)); then
    die "$failures of $# commands failed in the bare system"
fi
