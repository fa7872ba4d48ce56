#!/bin/bash
# default_mode_test.sh OPENSM_CASES CASES: read as the daemon reads policies, exactly the cases of default-mode.txt differ
# from OpenSM.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
{ "$1" corpus --default "$2" || true; } | tee /dev/stderr |
    sed -n 's/^FAIL \([^ :]*\).*/\1/p' | sort |
    diff -u --label default-mode.txt --label "what differs" <(sed 's/#.*//; s/ *$//; /^$/d' "$here/default-mode.txt" | sort) -
