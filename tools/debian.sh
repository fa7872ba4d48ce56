# shellcheck shell=bash
# Root file systems of Debian releases, for tests that want another system than this one. To be sourced after lib.sh.

# shellcheck disable=SC2154 # of lib.sh
: "$project_dir"

# The releases that the project supports; the first is that of the sources' own machine.
debian_releases=(12 13)

# debian_suite RELEASE: the archive's name of a release.
debian_suite()
{
    case $1 in
        12) echo bookworm ;;
        13) echo trixie ;;
        *) die "Debian $1 is not known here; there are ${debian_releases[*]}" ;;
    esac
}

# debian_here: the release of this system, or nothing if it is no Debian.
debian_here()
{
    # shellcheck disable=SC1091 # of the system
    (. /etc/os-release 2>/dev/null && [[ ${ID:-} == debian ]] && echo "${VERSION_ID:-}") || true
}

debian_cache()
{
    echo "${XDG_CACHE_HOME:-$HOME/.cache}/rdma-qosd"
}

# debian_base RELEASE: makes its base system (minbase: no compiler, no dbus, no sudo), once, and prints the archive's path.
debian_base()
{
    local suite cache base
    suite=$(debian_suite "$1")
    cache=$(debian_cache)
    base=$cache/base-$suite.tar
    if [[ ! -e $base ]]; then
        command -v mmdebstrap >/dev/null || die "needs mmdebstrap; run tools/install-deps.sh --e2e"
        mkdir -p "$cache"
        mmdebstrap --quiet --variant=minbase "$suite" "$base.$$.tar" >&2 || die "mmdebstrap failed"
        mv "$base.$$.tar" "$base"
    fi
    echo "$base"
}

# debian_unpack RELEASE ROOT: the base system into the folder ROOT, with this host's way to its mirrors: proxies always, the
# mirror itself if it is one of the same release. What belongs to packages of this host is left out: the same package, installed
# there, would ask which of the two files to keep.
debian_unpack()
{
    local base file files=()
    base=$(debian_base "$1")
    mkdir -p "$2"
    tar -C "$2" -xf "$base" --exclude='./dev/*'
    for file in /etc/apt/apt.conf.d/*; do
        dpkg-query -S "$file" >/dev/null 2>&1 || files+=("$file")
    done
    if [[ $(debian_here) == "$1" ]]; then
        for file in /etc/apt/sources.list /etc/apt/sources.list.d/debian.sources; do
            [[ ! -e $file ]] || rm -f "$2/etc/apt/sources.list"
            files+=("$file")
        done
    fi
    for file in "${files[@]}"; do
        [[ ! -f $file ]] || cp "$file" "$2$file"
    done
    cp -L /etc/resolv.conf "$2/etc/resolv.conf"
}

# debian_enter ROOT [--bind FOLDER PLACE]... COMMAND...: runs a command with ROOT as the root of a system that has its own mounts
# and process ids, and this machine's network and cgroups. Status 99: a process outlived the command.
debian_enter()
{
    unshare --mount --propagation private --pid --fork --kill-child "$project_dir/tools/debian-init.sh" "$@"
}
