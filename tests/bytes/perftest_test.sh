#!/bin/bash
# Stock programs move real data over the emulator's data path: every transport and operation of perftest, by polling and
# by events, and rdma-core's ping-pong, which looks at every byte.
#
#   tests/bytes/perftest_test.sh EMULATOR CLIENTS [USER]
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../emulator/common.sh"
. "$(dirname "${BASH_SOURCE[0]}")/pairs.sh"
need ib_write_bw ib_send_bw ib_read_bw ib_atomic_bw ib_write_lat ib_send_lat ib_read_lat ib_atomic_lat ibv_rc_pingpong
enter_emulator "$0" "$@"

output=$(mktemp -d)
trap 'rm -rf "$output"' EXIT
# The three users run at the same time.
declare -A first_port=([self]=18600 [ordinary]=18630 [all-ordinary]=18660)
# shellcheck disable=SC2034    # of pairs.sh
port=${first_port[$user]}

for transport in RC UC UD; do
    for program in ib_write_bw ib_write_lat ib_send_bw ib_send_lat ib_read_bw ib_read_lat ib_atomic_bw ib_atomic_lat; do
        case $transport:$program in
            UD:ib_send_*) size=1024 ;;
            RC:*_lat | UC:ib_write_lat | UC:ib_send_lat) size=64 ;;
            RC:* | UC:ib_write_bw | UC:ib_send_bw) size=8192 ;;
            *) continue ;;    # no such operation
        esac
        options=()
        [[ $program == ib_atomic_* ]] || options=(-s "$size")
        pair "$program $transport" "$program" -c "$transport" -d mlx5_0 -x 0 -F -n 200 "${options[@]}"
    done
done
pair "ib_send_bw with events" ib_send_bw -e -d mlx5_0 -x 0 -F -n 200 -s 4096
pair "ib_send_lat with events" ib_send_lat -e -d mlx5_0 -x 0 -F -n 200
pair "ib_write_bw with 16 queue pairs" ib_write_bw -q 16 -d mlx5_0 -x 0 -F -n 200
pair "ib_send_bw both ways" ib_send_bw -b -d mlx5_0 -x 0 -F -n 200
pair "ib_write_bw inlined" ib_write_bw -I 64 -s 64 -d mlx5_0 -x 0 -F -n 200
pair "ib_send_bw with a shared receive queue" ib_send_bw --use-srq -q 4 -d mlx5_0 -x 0 -F -n 200
pair "ib_write_bw between devices" ib_write_bw -d mlx5_1 -x 0 -F -n 200
pair "ibv_rc_pingpong" ibv_rc_pingpong -c -d mlx5_0 -g 0 -n 200
pair "ibv_rc_pingpong with events" ibv_rc_pingpong -c -e -d mlx5_0 -g 0 -n 200
pair "ibv_uc_pingpong" ibv_uc_pingpong -c -d mlx5_0 -g 0 -n 200
pair "ibv_ud_pingpong" ibv_ud_pingpong -c -d mlx5_0 -g 0 -n 200
pair "ibv_srq_pingpong" ibv_srq_pingpong -c -d mlx5_0 -g 0 -n 200
wait_until nothing_is_left || fail "something is left: $(ctl state)"
