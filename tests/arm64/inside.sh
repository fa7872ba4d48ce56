#!/bin/bash
# The part of run.sh that runs in the root file system: packages, build, unit tests, programs.
#
#   tests/arm64/inside.sh [COMMAND]        COMMAND: instead of building and testing
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../../tools/lib.sh"

"$project_dir/tests/arm64/packages.sh"
build=$project_dir/build/arm64
tap=$project_dir/build/results.tap
# Tests ask it for what cannot work there (tests/support/qemu_user.h).
export RDMAQOS_QEMU_USER=1
if (($# > 0)); then
    exec bash -c "$1"
fi

export RDMAQOS_WERROR=${RDMAQOS_WERROR:-ON}
build_preset arm64 "$project_dir/build/arm64.log" -DRDMAQOS_TESTS=ON

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
started=$SECONDS
failed_tests=$build/Testing/Temporary/LastTestsFailed.log
rm -f "$failed_tests"
GTEST_OUTPUT="xml:$scratch/" ctest --test-dir "$build" -L '^unit$' -j "$(jobs_to_use)" --output-on-failure \
    >"$scratch/output" 2>&1 || cat "$scratch/output"

# cases_of FILE...: the cases in GoogleTest's XML files as TAP.
cases_of()
{
    awk '
        function say() { if (name != "") { print (failed ? "not ok - " : "ok - ") name (why != "" ? " # SKIP " why : "") } name = "" }
        /<testcase / {
            say()
            failed = 0; why = ""
            match($0, / name="[^"]*"/); name = substr($0, RSTART + 7, RLENGTH - 8)
            match($0, / classname="[^"]*"/); name = substr($0, RSTART + 12, RLENGTH - 13) "." name
        }
        /<failure / { failed = 1 }
        /<skipped message="/ { why = $0; sub(/.*<skipped message="/, "", why); sub(/^[^ ]*:[0-9]+(&#x0A;)?/, "", why); sub(/".*/, "", why) }
        END { say() }' "$@"
}

{
    cases_of "$scratch"/*.xml
    # Among them those that ended before they could write which case it was.
    if [[ -e $failed_tests ]]; then
        sed 's/^[0-9]*:/not ok - the program /' "$failed_tests"
    fi
} >"$tap"
sed -n 's/^ok - \(.*\) # SKIP/skipped: \1:/p' "$tap"
note "unit tests below qemu-user: $(grep -v '# SKIP' "$tap" | grep -c '^ok') passed, $(grep -c '^not ok' "$tap" || true) failed," \
    "$(grep -c '# SKIP' "$tap" || true) skipped after $(duration $((SECONDS - started)))"

if "$project_dir/tests/arm64/programs.sh" "$build" qemu-aarch64-static; then
    echo "ok - programs print what they print on x86-64" >>"$tap"
else
    echo "not ok - programs print what they print on x86-64" >>"$tap"
fi
! grep -q '^not ok' "$tap"
