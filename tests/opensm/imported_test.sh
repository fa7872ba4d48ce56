#!/bin/bash
# imported_test.sh OPENSM_CASES CASES: the YAML that import-opensm makes answers as OpenSM in every case that OpenSM
# accepts, but for exactly those of imported.txt.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
{ "$1" corpus --imported "$2" || true; } | tee /dev/stderr |
    sed -n 's/^FAIL //p' | sort |
    diff -u --label imported.txt --label "what differs" <(sed '/^#/d; /^$/d' "$here/imported.txt" | sort) -
