#!/bin/bash
# rdma-core's own Python tests, on the emulator's data path: on an Ethernet device and on an InfiniBand device. The
# tests that fail must be those of rdma_core_expected.txt, which has the reasons.
#
#   RDMAQOS_RDMA_CORE=DIR tests/bytes/rdma_core_tests.sh EMULATOR CLIENTS [USER]
#
# DIR is a checkout of rdma-core 44.0, whose `tests` belong to the pyverbs of Debian 12. Root gets raw packet queue
# pairs, too. What the tests print comes on stderr when something is wrong.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../emulator/common.sh"
[[ -n ${RDMAQOS_RDMA_CORE:-} ]] || skip "RDMAQOS_RDMA_CORE is not set: the folder of rdma-core 44.0"
[[ -f $RDMAQOS_RDMA_CORE/tests/run_tests.py ]] || skip "$RDMAQOS_RDMA_CORE has no tests/run_tests.py"
# Another python3 that comes first in the path knows nothing of Debian's packages.
python=/usr/bin/python3
"$python" -c 'import pyverbs.device' 2>/dev/null || skip "python3-pyverbs is not installed"

folder=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
enter_emulator_with "$0" "$@" <<'YAML'
version: 1
devices:
  - {name: mlx5_0, link-layer: ethernet, gids: ["fe80::1", "::ffff:10.2.0.1"]}
  - {name: mlx5_1, link-layer: infiniband, gids: ["fe80::2"]}
YAML

# So many pass at least, on either device and without root; else the tests have found nothing to run on.
least=100
output=$(mktemp -d)
trap 'rm -rf "$output"' EXIT
expected=$output/expected
reasons=$output/reasons
sed -n 's/^\(tests\.[^ ]*\)  *\(.*\)/\1\t\2/p' "$folder/rdma_core_expected.txt" | sort >"$reasons"
cut -f 1 "$reasons" >"$expected"

# report HEADING FILE: how many, and which.
report()
{
    [[ -s $2 ]] || return 0
    echo "$1: $(wc -l <"$2")"
    sed 's/^/    /' "$2"
}

bad=0
for device in mlx5_0 mlx5_1; do
    status=0
    timeout "$program_hung" "${client[@]}" "$python" -B "$folder/rdma_core_runner.py" "$RDMAQOS_RDMA_CORE/tests" "$device" \
        >"$output/outcomes" 2>"$output/log" || status=$?
    for outcome in passed skipped failed; do
        sed -n "s/^$outcome\t//p" "$output/outcomes" | sort >"$output/$outcome"
        cut -f 1 "$output/$outcome" >"$output/$outcome.names"
    done
    comm -23 "$output/failed.names" "$expected" >"$output/unexpected"
    comm -12 "$output/passed.names" "$expected" >"$output/repaired"
    passed=$(wc -l <"$output/passed")
    failed=$(wc -l <"$output/failed")
    echo "$device: $passed passed, $failed failed, $(wc -l <"$output/skipped") skipped"
    join -t $'\t' "$output/failed.names" "$reasons" | cut -f 2 | sort | uniq -c | sed 's/^ */    not played: /'
    join -t $'\t' "$output/unexpected" "$output/failed" >"$output/failures"
    report "  failed, and should not" "$output/failures"
    report "  passed, and is listed in rdma_core_expected.txt" "$output/repaired"
    if ((status != 0)); then
        echo "  the run ended with $status, in $(grep '^===' "$output/log" | tail -n 1)"
        tail -n 20 "$output/log"
    fi
    ((passed >= least)) || echo "  fewer than $least passed"
    if ((status != 0 || passed < least)) || [[ -s $output/unexpected || -s $output/repaired ]]; then
        bad=1
        cat "$output/log" >&2
    fi
done
((bad == 0)) || fail "the failures are not those of rdma_core_expected.txt"
wait_until nothing_is_left || fail "something is left: $(ctl state)"
