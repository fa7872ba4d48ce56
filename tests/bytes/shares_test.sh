#!/bin/bash
# A policy steers the traffic of programs that know nothing of it: rdma-qosd adopts them, and what ib_write_bw measures is
# what the policy says. The links are slow, so that the processors are not what holds the programs back.
#
#   tests/bytes/shares_test.sh EMULATOR DAEMON CTL
set -euo pipefail
daemon=$2 ctl=$3
set -- "$1" "$(dirname "$2")"
. "$(dirname "${BASH_SOURCE[0]}")/../emulator/common.sh"
. "$(dirname "${BASH_SOURCE[0]}")/pairs.sh"
need ib_write_bw

# Of the link's 400 Mbit/s, and how many points of it a measurement may be off.
link=400
tolerance=3

root=$(mktemp -d)
if [[ -z ${RDMA_QOS_EMULATOR:-} ]]; then
    trap 'rm -rf "$root"' EXIT
    cat >"$root/devices.yaml" <<EOF
version: 1
devices:
  - {name: mlx5_0, link-layer: ethernet, link-speed: ${link}Mbps, gids: ["fd00:20::1"]}
  - {name: mlx5_1, link-layer: ethernet, link-speed: ${link}Mbps, gids: ["fd00:21::1"]}
EOF
    # shellcheck disable=SC2034    # of common.sh
    emulator_options=(--devices "$root/devices.yaml")
    "$emulator" run "${emulator_options[@]}" -- "$0" "$1" "$daemon" "$ctl"
    exit
fi
trap 'kill $(jobs -p) 2>/dev/null; wait; rm -rf "$root"' EXIT

mkdir -p "$root/etc/rdma-qos" "$root/bin"
for name in heavy light server; do
    cp "$(command -v ib_write_bw)" "$root/bin/$name"
done
printf 'version: 1\nunregistered: adopt\n' >"$root/etc/rdma-qos/rdma-qosd.yaml"

# policy HEAVY LIGHT: what is below `schedule` of each level.
policy()
{
    cat >"$root/etc/rdma-qos/policy.yaml" <<EOF
version: 1
qos-levels:
  - {name: DEFAULT, sl: 0}
  - {name: heavy, schedule: {$1}}
  - {name: light, schedule: {$2}}
qos-match-rules:
  - {client: {command: [heavy]}, qos-level-name: heavy}
  - {client: {command: [light]}, qos-level-name: light}
EOF
}

failures=0
port=18700
# measure WHAT HEAVY LIGHT: both programs at the same time; what they get in Mbit/s.
measure()
{
    local what=$1 name got=() want=("$2" "$3") clients=() i off
    for name in heavy light; do
        port=$((port + 1))
        "$root/bin/server" -d mlx5_1 -x 0 -F -s 65536 -D 4 -f 1 -p $port >"$root/server.$name" 2>&1 &
        wait_until 10 listens $port || fail "no server"
        "$root/bin/$name" -d mlx5_0 -x 0 -F -s 65536 -D 4 -f 1 -p $port --report_gbits localhost >"$root/$name" 2>&1 &
        clients+=($!)
    done
    wait "${clients[@]}" || fail "$what: $(cat "$root/heavy" "$root/light")"
    for name in heavy light; do
        got+=("$(awk '/^ *[0-9]+ +[0-9]+ / { printf "%d", $4 * 1000 }' "$root/$name")")
    done
    for i in 0 1; do
        off=$(((got[i] - want[i]) * 100 / link))
        printf '%-24s %-6s predicted %4d, measured %4d Mbit/s (%+d points of the link)\n' \
            "$what" "$([[ $i == 0 ]] && echo heavy || echo light)" "${want[i]}" "${got[i]}" "$off"
        if ((off > tolerance || off < -tolerance)); then
            failures=$((failures + 1))
        fi
    done
}

policy 'share: 70' 'share: 30'
"$daemon" --root "$root" --host-devices >"$root/log" 2>&1 &
wait_until 20 "$ctl" --root "$root" status >/dev/null 2>&1 || fail "the daemon does not come: $(cat "$root/log")"
measure "shares 70 and 30" 280 120
policy 'share: 70, max-rate: 100Mbps' 'share: 30'
"$ctl" --root "$root" reload >/dev/null
measure "the first capped at 100" 100 300
((failures == 0)) || fail "$failures measurements are off"
