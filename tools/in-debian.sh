#!/bin/bash
# Runs a command on this work tree in a Debian of another release than this machine's, with that release's compiler, libraries
# and programs.
#
#   sudo tools/in-debian.sh RELEASE COMMAND...         e.g. tools/in-debian.sh 13 ./tools/demo.sh
#
#   --fresh        make the root file system again
#   --root NAME    in a root file system of that release for packages that the usual one is better without: root-SUITE-NAME,
#                  whose build folder is build/debian-RELEASE-NAME
#
# The root file system is made once by mmdebstrap, and kept in ${XDG_CACHE_HOME:-~/.cache}/rdma-qosd with the packages that commands
# install into it; the command runs in the folder of this project there. What is built goes to build/debian-RELEASE, which is
# `build` for the command. Network and cgroups are this machine's. RDMAQOS_ variables and CI are passed on.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
. "$project_dir/tools/debian.sh"

fresh=no
name=''
while (($# > 0)); do
    case $1 in
        --fresh) fresh=yes ;;
        --root)
            name=-${2:?--root needs a name}
            shift
            ;;
        -h | --help)
            help_of "$0"
            exit 0
            ;;
        -*) die "unknown option $1 (try --help)" ;;
        *) break ;;
    esac
    shift
done
(($# >= 2)) || die "which release, and which command? (try --help)"
release=$1
shift
suite=$(debian_suite "$release")
((EUID == 0)) || die "needs root (mounts): sudo $0"

root=$(debian_cache)/root-$suite$name
mkdir -p "$(debian_cache)"
exec {lock}>"$root.lock"
flock --shared "$lock"
if [[ $fresh == yes || ! -e $root/complete ]]; then
    flock "$lock"    # alone with it
    if [[ $fresh == yes || ! -e $root/complete ]]; then
        note "making a Debian $release in $root"
        rm -rf --one-file-system "$root"
        debian_unpack "$release" "$root"
        touch "$root/complete"
    fi
    flock --shared "$lock"
fi

build=$project_dir/build/debian-$release$name
mkdir -p "$build"
environment=(PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8)
while IFS= read -r -d '' variable; do
    environment+=("$variable")
done < <(env -0 | grep -zE '^(RDMAQOS_[A-Z_]*|CI|TERM)=' || true)
# shellcheck disable=SC2016 # expanded by that shell
debian_enter "$root" --bind "$project_dir" "$project_dir" --bind "$build" "$project_dir/build" \
    env -i "${environment[@]}" sh -c 'cd "$1" && shift && exec "$@"' - "$project_dir" "$@"
