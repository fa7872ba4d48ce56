#!/bin/bash
# Programs are killed while data moves between them: the others go on or get an error completion, and nothing is left.
#
#   tests/bytes/kills_test.sh EMULATOR CLIENTS [USER]
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../emulator/common.sh"
need ib_write_bw ib_send_bw ib_read_bw
enter_emulator "$0" "$@"

seconds=10
end=$((SECONDS + seconds))
kills=0
port=18800
# A pair of programs that would go on for a minute.
begin_pair()
{
    local programs=(ib_write_bw ib_send_bw ib_read_bw) program
    program=${programs[RANDOM % 3]}
    port=$((port + 1))
    "$program" -d mlx5_0 -x 0 -F -q 2 -D 60 -p $port >/dev/null 2>&1 &
    running+=($!)
    sleep 0.2
    "$program" -d mlx5_0 -x 0 -F -q 2 -D 60 -p $port 127.0.0.1 >/dev/null 2>&1 &
    running+=($!)
}
running=()
for _ in 1 2 3; do
    begin_pair
done
while ((SECONDS < end)); do
    begin_pair
    sleep 0.$((RANDOM % 5))
    # One of the two of a pair: the other one finds out.
    victim=$((RANDOM % ${#running[@]}))
    kill -KILL "${running[victim]}" 2>/dev/null && kills=$((kills + 1))
    unset "running[victim]"
    running=("${running[@]}")
done
((kills > 5)) || fail "only $kills kills"
kill -KILL "${running[@]}" 2>/dev/null || true
wait
wait_until 10 nothing_is_left || fail "something is left: $(ctl state)"
# It still moves data.
ib_write_bw -d mlx5_0 -x 0 -F -n 100 -p 18799 >/dev/null 2>&1 &
sleep 1
timeout 30 ib_write_bw -d mlx5_0 -x 0 -F -n 100 -p 18799 127.0.0.1 >/dev/null || fail "no data moves any more"
echo "$kills programs were killed"
