#!/bin/bash
# The part of run.sh that runs in the root file system: packages, build, unit tests, programs.
#
#   tests/arm64/inside.sh [COMMAND]        COMMAND: instead of building and testing
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../../tools/lib.sh"

"$project_dir/tests/arm64/packages.sh"
build=$project_dir/build/arm64
# Tests ask it for what cannot work there (tests/support/qemu_user.h).
export RDMAQOS_QEMU_USER=1
if (($# > 0)); then
    exec bash -c "$1"
fi

export RDMAQOS_WERROR=${RDMAQOS_WERROR:-ON}
build_preset arm64 "$project_dir/build/arm64.log" -DRDMAQOS_TESTS=ON

results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
started=$SECONDS
status=0
GTEST_OUTPUT="xml:$results/" ctest --test-dir "$build" -L '^unit$' -j "$(jobs_to_use)" --output-on-failure --timeout 3000 \
    >"$results/output" 2>&1 || status=$?
((status == 0)) || cat "$results/output"

# Sums up what the programs say of their cases, and why some did not run.
awk '
    match($0, /^<testsuites tests="[0-9]+" failures="[0-9]+"/) { split($0, part, "\""); cases += part[2]; failed += part[4] }
    /<testcase / { match($0, / name="[^"]*"/); name = substr($0, RSTART + 7, RLENGTH - 8); match($0, /classname="[^"]*"/)
                   name = substr($0, RSTART + 11, RLENGTH - 12) "." name }
    /<skipped message="/ {
        skipped++
        sub(/.*<skipped message="/, ""); sub(/^[^ ]*:[0-9]+(&#x0A;)?/, ""); sub(/".*/, "")
        print "skipped: " name ": " $0
    }
    END { printf "unit tests below qemu-user: %d passed, %d failed, %d skipped\n", cases - failed - skipped, failed, skipped }
' "$results"/*.xml
note "after $(duration $((SECONDS - started)))"
((status == 0)) || die "ctest failed"

"$project_dir/tests/arm64/programs.sh" "$build"
