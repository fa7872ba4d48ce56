#!/bin/bash
# tools_test.sh EMULATOR CLIENTS [USER]: the tools of Debian's ibverbs-utils see the devices.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
need ibv_devices ibv_devinfo
enter_emulator "$0" "$@"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# says FILE PATTERN...: each is somewhere in it.
says()
{
    local file=$1 pattern
    shift
    for pattern in "$@"; do
        grep -qE -- "$pattern" "$file" || fail "no line like \"$pattern\" in: $(cat "$file")"
    done
}

"${client[@]}" ibv_devices >"$scratch/devices" 2>&1 || fail "ibv_devices: $(cat "$scratch/devices")"
says "$scratch/devices" '^ *mlx5_0[[:space:]]+[0-9a-f]{16}$' '^ *mlx5_1[[:space:]]+[0-9a-f]{16}$'
if (($(awk '/mlx5_/ { print $2 }' "$scratch/devices" | sort -u | wc -l) != 2)); then
    fail "the devices have one GUID: $(cat "$scratch/devices")"
fi

"${client[@]}" ibv_devinfo >"$scratch/brief" 2>&1 || fail "ibv_devinfo: $(cat "$scratch/brief")"
says "$scratch/brief" '^hca_id:[[:space:]]*mlx5_0$' '^hca_id:[[:space:]]*mlx5_1$' \
    'transport:[[:space:]]*InfiniBand \(0\)' 'state:[[:space:]]*PORT_ACTIVE \(4\)' 'vendor_id:[[:space:]]*0x02c9'

"${client[@]}" ibv_devinfo -v -d mlx5_0 >"$scratch/all" 2>&1 || fail "ibv_devinfo -v: $(cat "$scratch/all")"
says "$scratch/all" 'fw_ver:' 'max_qp:[[:space:]]*[1-9]' 'max_qp_rd_atom:[[:space:]]*[1-9]' 'port:[[:space:]]*1$' \
    'GID\[ *0\]:[[:space:]]*[0-9a-f:.]+, RoCE v2' 'link_layer:[[:space:]]*Ethernet' 'packet_pacing_caps:' \
    'active_width:[[:space:]]*[^ ]* \([1-9]' 'active_speed:[[:space:]]*[0-9.]+ Gbps' 'phys_state:[[:space:]]*LINK_UP'
if grep -iE '^(warning|failed|error|couldn)' "$scratch/all"; then
    fail "ibv_devinfo -v complains"
fi
if "${client[@]}" ibv_devinfo -d mlx5_7 >"$scratch/none" 2>&1; then
    fail "there is a device mlx5_7"
fi

# Every way of looking at the device file says the same; ls and stat ask by statx.
for look in "stat -c %F,%t:%T" "ls -l"; do
    # shellcheck disable=SC2086 # words
    "${client[@]}" $look /dev/infiniband/uverbs1 >"$scratch/file" 2>&1 || fail "$look: $(cat "$scratch/file")"
    says "$scratch/file" '^character special file,e7:c1$|^crw.* 231, 193 '
done
"${client[@]}" bash -c '[[ -c /dev/infiniband/uverbs1 && ! -e /dev/infiniband/uverbs9 ]]' || fail "test -c does not see it"
check_nothing_is_left
