#!/bin/bash
# Other programs than perftest's and rdma-core's move data over the emulator's data path, and perftest does with many
# queue pairs: UCX, by verbs and by its own code for mlx5, and pyverbs, which looks at every byte.
#
#   tests/bytes/programs_test.sh EMULATOR CLIENTS [USER]      with_terminal of tests/integration/run/programs is in CLIENTS
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../emulator/common.sh"
. "$(dirname "${BASH_SOURCE[0]}")/pairs.sh"
# Another python3 that comes first in the path knows nothing of Debian's packages.
python=/usr/bin/python3
enter_emulator_with "$0" "$@" <<'YAML'
version: 1
devices:
  - {name: mlx5_0, link-layer: ethernet, gids: ["fd00:20::1"]}
  - {name: mlx5_1, link-layer: ethernet, gids: ["fd00:21::1"]}
  - {name: mlx5_2, link-layer: infiniband, gids: ["fe80::2"]}
  - {name: mlx5_3, link-layer: infiniband, gids: ["fe80::3"]}
YAML

output=$(mktemp -d)
trap 'rm -rf "$output"' EXIT
# shellcheck disable=SC2034    # of pairs.sh
port=18900
skipped=()

# runs_without PACKAGE COMMAND...: COMMAND says whether the programs are there; else notes that they are not.
runs_without()
{
    local package=$1
    shift
    "$@" >/dev/null 2>&1 && return 1
    echo "skipped: $package is not installed"
    skipped+=("$package")
}

run_pyverbs()
{
    local devices
    for devices in "mlx5_0 mlx5_1" "mlx5_2 mlx5_3"; do
        # shellcheck disable=SC2086    # two words
        "${client[@]}" timeout "$program_hung" "$python" -B "$here/../bytes/pyverbs_exchange.py" $devices >"$output/client" 2>&1 ||
            fail "pyverbs_exchange.py $devices: $(tail -n 5 "$output/client")"
        echo "ok pyverbs_exchange.py $devices"
    done
}

run_perftest()
{
    local program
    for program in ib_write_bw ib_read_bw ib_send_bw; do
        pair "$program with 200 queue pairs" "$program" -q 200 -d mlx5_0 -x 0 -F -n 20 -s 4096
    done
    pair "ib_send_bw UD with 200 queue pairs" ib_send_bw -c UD -q 200 -d mlx5_0 -x 0 -F -n 20 -s 1024
    pair "ib_send_bw with 200 queue pairs and a shared receive queue" \
        ib_send_bw --use-srq -q 200 -d mlx5_0 -x 0 -F -n 256 -r 256 -s 4096
}

# Its queue pairs by verbs, not by DEVX; its hooks of mmap() would go past the emulator's.
export UCX_IB_MLX5_DEVX=n UCX_MEM_EVENTS=n UCX_LOG_LEVEL=warn

perftest_of_ucx=("$clients/with_terminal" ucx_perftest)

# uct NAME OPTIONS...: by one transport.
uct()
{
    pair "$1" "${perftest_of_ucx[@]}" -x "$transport" -d mlx5_0:1 -n 200 -w 10 "${@:2}"
}

# ucp NAME TRANSPORTS OPTIONS...: by UCX's own choice of operations, from among those of these transports.
ucp()
{
    UCX_TLS=$2 UCX_NET_DEVICES=mlx5_0:1 pair "$1, $2" "${perftest_of_ucx[@]}" -n 100 -w 10 "${@:3}"
}

run_ucx()
{
    local transport test
    for transport in rc_verbs rc_mlx5; do
        for test in am_lat put_lat put_bw add_lat fadd cswap; do
            uct "$transport $test" -t $test
        done
        uct "$transport am_bw in one piece" -t am_bw -s 64
        # A header that is in the request, and data that is not.
        uct "$transport am_bw zcopy" -t am_bw -D zcopy -s 4000
        uct "$transport put_bw zcopy" -t put_bw -D zcopy -s 65536
        uct "$transport get zcopy" -t get -D zcopy -s 65536
    done
    for transport in rc_v rc_x ud_x; do
        ucp "tag_lat" $transport -t tag_lat
        # Each message registers its memory, and some that are under way have it in common.
        ucp "tag_bw of 1 MB" $transport -t tag_bw -s 1000000 -n 20
    done
    ucp "ucp_get of 1 MB" rc_x -t ucp_get -s 1000000 -n 20
    ucp "stream_bw" rc_x -t stream_bw -s 10000
    ucp "ucp_am_lat" rc_x -t ucp_am_lat
    ucp "ucp_swap" rc_x -t ucp_swap
}

runs_without python3-pyverbs "$python" -c 'import pyverbs.device' || run_pyverbs
runs_without perftest command -v ib_write_bw ib_read_bw ib_send_bw || run_perftest
runs_without ucx-utils command -v ucx_perftest || run_ucx
((${#skipped[@]} < 3)) || skip "none of the programs is installed"
wait_until nothing_is_left || fail "something is left: $(ctl state)"
