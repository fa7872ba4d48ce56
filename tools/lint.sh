#!/bin/bash
# Runs clang-tidy over the sources (not the tests) with the checks of .clang-tidy. Every finding is an error, but
# for the length of a function, which is a hint.
#
#   tools/lint.sh             everything
#   tools/lint.sh FILE...     these sources
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

case ${1:-} in
    -h | --help)
        help_of "$0"
        exit 0
        ;;
    -*) die "unknown option $1 (try --help)" ;;
esac

command -v clang-tidy >/dev/null || die "needs clang-tidy; run tools/install-deps.sh --full"

cd "$project_dir"
# A configured build tree says how each file is compiled; nothing has to be built.
database=build/lint
cmake -G Ninja -S . -B "$database" -DCMAKE_BUILD_TYPE=Debug -DRDMAQOS_TESTS=OFF >/dev/null

if (($# > 0)); then
    sources=("$@")
else
    mapfile -t sources < <(find lib policy daemon tools -name '*.cpp' | sort)
fi
note "clang-tidy: ${#sources[@]} files"
started=$SECONDS
status=0
printf '%s\0' "${sources[@]}" |
    xargs -0 -n 4 -P "$(jobs_to_use)" clang-tidy --quiet -p "$database" 2>/dev/null || status=1
note "clang-tidy took $(duration $((SECONDS - started)))"
exit "$status"
