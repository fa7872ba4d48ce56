#!/bin/bash
# trace_test.sh EMULATOR CLIENTS [USER]: the trace shows the calls of a stock program and the last close of its file.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
need ibv_devinfo
enter_emulator "$0" "$@"

scratch=$(mktemp -d)
"$emulator" trace >"$scratch/text" &
text=$!
"$emulator" trace --json >"$scratch/json" &
json=$!
trap 'kill $text $json; wait; rm -rf "$scratch"' EXIT

closes()
{
    grep -c '"method":"last-close"' "$scratch/json" || true
}

# Until both watch, from a program's first call on: what nobody watched is not shown.
one_more()
{
    ibv_devinfo -d mlx5_0 >"$scratch/info" & program=$!
    wait "$program"
    grep -q "\"pid\":$program,.*\"method\":\"device.get-context\"" "$scratch/json" &&
        grep -q "\"pid\":$program,\"method\":\"last-close\"" "$scratch/json" &&
        grep -q "pid $program last-close" "$scratch/text"
}
wait_until one_more || fail "no last close of the program: $(cat "$scratch/json" "$scratch/text")"

time='[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\.[0-9]{6}Z'
for line in "\"time\":\"$time\",\"monotonic\":[0-9.]+,\"device\":\"mlx5_0\",\"file\":[0-9]+,\"pid\":$program,\"thread\":$program,\"method\":\"device.get-context\"" \
    "\"time\":\"$time\",\"monotonic\":[0-9.]+,\"device\":\"mlx5_0\",\"file\":[0-9]+,\"pid\":$program,\"method\":\"last-close\",\"fields\":\{\"objects\":[0-9]+,.*\"leaked\":0\}"; do
    grep -qE "^\{$line" "$scratch/json" || fail "no line like $line in: $(cat "$scratch/json")"
done
grep -qE "^$time mlx5_0 file [0-9]+ pid $program last-close objects=[0-9]+ .*-> ok, [0-9]+ us$" "$scratch/text" ||
    fail "the text has no such line: $(cat "$scratch/text")"
before=$(closes)
bash -c 'exec 7</dev/infiniband/uverbs1; exec 8<&7; exec 7<&-; exec 8<&-' || fail "a shell cannot open it"
closed() { (($(closes) > before)); }
wait_until closed || fail "a file of two descriptors had no last close"
sleep 0.2
(($(closes) == before + 1)) || fail "two descriptors of one file had $(($(closes) - before)) last closes"
check_nothing_is_left
