#!/bin/bash
# unit_file_test.sh UNIT: systemd-analyze finds nothing to say about the unit, or the template of it.
set -euo pipefail

unit=$1
if ! command -v systemd-analyze >/dev/null; then
    echo "skipped: systemd-analyze is not installed"
    exit 77
fi

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
sed 's|^\(Exec[A-Za-z]*=\)[^ ]*|\1/bin/true|' "$unit" >"$scratch/rdma-qosd.service"
systemd-analyze verify --man=no "$scratch/rdma-qosd.service" 2>&1 | tee "$scratch/said"
if [[ -s $scratch/said ]]; then
    echo "FAILED: systemd-analyze verify complains"
    exit 1
fi
