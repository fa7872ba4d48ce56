#!/bin/bash
# One program's part of what run.sh brought back: its output and exit status, and its XML to where GTEST_OUTPUT says.
#
#   tests/kernel/result.sh RESULTS NAME
set -euo pipefail

results=$1
name=$2
if [[ ! -e $results/$name.status ]]; then
    echo "skipped: the machine did not run $name"
    exit 77
fi
cat "$results/$name.log"
if [[ ${GTEST_OUTPUT:-} == xml:*/ && -e $results/$name.xml ]]; then
    cp "$results/$name.xml" "${GTEST_OUTPUT#xml:}"
fi
exit "$(cat "$results/$name.status")"
