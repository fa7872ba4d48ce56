#!/bin/bash
# Programs are killed while data moves between them: the others go on or get an error completion, and nothing is left.
#
#   tests/bytes/kills_test.sh EMULATOR CLIENTS [USER]
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../emulator/common.sh"
need ib_write_bw ib_send_bw ib_read_bw
enter_emulator "$0" "$@"

kills_wanted=15
kills=0
port=18800
# A pair of programs that would go on for ten minutes.
begin_pair()
{
    local programs=(ib_write_bw ib_send_bw ib_read_bw) program
    program=${programs[RANDOM % 3]}
    port=$((port + 1))
    "$program" -d mlx5_0 -x 0 -F -q 2 -D 600 -p $port >/dev/null 2>&1 &
    running+=($!)
    wait_until listens "$port" || fail "the server does not come"
    "$program" -d mlx5_0 -x 0 -F -q 2 -D 600 -p $port 127.0.0.1 >/dev/null 2>&1 &
    running+=($!)
}
running=()
for _ in 1 2 3; do
    begin_pair
done
while ((kills < kills_wanted)); do
    begin_pair
    sleep 0.$((RANDOM % 5))
    # One of the two of a pair: the other one finds out.
    victim=$((RANDOM % ${#running[@]}))
    kill -KILL "${running[victim]}" 2>/dev/null && kills=$((kills + 1))
    unset "running[victim]"
    running=("${running[@]}")
done
kill -KILL "${running[@]}" 2>/dev/null || true
wait
wait_until nothing_is_left || fail "something is left: $(ctl state)"
# It still moves data.
ib_write_bw -d mlx5_0 -x 0 -F -n 100 -p 18799 >/dev/null 2>&1 &
wait_until listens 18799 || fail "the server does not come"
timeout "$program_hung" ib_write_bw -d mlx5_0 -x 0 -F -n 100 -p 18799 127.0.0.1 >/dev/null || fail "no data moves any more"
echo "$kills programs were killed"
