#!/bin/bash
# Cross-builds everything for arm64 and runs the unit tests below qemu-user.
#
#   sudo tests/arm64/run.sh                 builds, runs the unit tests and the programs
#   sudo tests/arm64/run.sh 'COMMAND'       builds nothing: runs COMMAND (one shell word) where the tests run, e.g.
#                                           'ctest --test-dir build/arm64 -R base_test --output-on-failure'
#   --fresh        make the root file system again
#
# The root file system is a Debian 12 of this machine's architecture with Debian's cross compiler and the libraries of arm64,
# made once and kept in ${XDG_CACHE_HOME:-~/.cache}/rdma-qosd (tools/in-debian.sh). What is built is in
# build/debian-12-arm64/arm64, and the cases, as TAP, in build/debian-12-arm64/results.tap. Nothing is registered in binfmt_misc:
# each program has qemu-user in front of it. What qemu-user does not do is named in tests/support/qemu_user.h, and tests that
# need it are skipped.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../../tools/lib.sh"

options=(--root arm64)
while (($# > 0)); do
    case $1 in
        --fresh) options+=(--fresh) ;;
        -h | --help)
            help_of "$0"
            exit 0
            ;;
        -*) die "unknown option $1 (try --help)" ;;
        *) break ;;
    esac
    shift
done
[[ $(uname -m) == x86_64 ]] || skip "cross-building is tried on x86-64; on $(uname -m) the other groups are what counts"
((EUID == 0)) || skip "needs root (mounts): sudo $0"
command -v mmdebstrap >/dev/null || skip "needs mmdebstrap; run tools/install-deps.sh --e2e"

exec "$project_dir/tools/in-debian.sh" "${options[@]}" 12 tests/arm64/inside.sh "$@"
