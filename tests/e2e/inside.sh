#!/bin/bash
# Process of rdma-qos-e2e.service, in the container: runs the cases of this boot and writes them to /out/results.tap.
#
# BOOT, FILTER and SHELL_WANTED are in the environment (boot.env).
set -euo pipefail
cd "$(dirname "$0")"
. ./lib.sh

set_up
if [[ $SHELL_WANTED == yes ]]; then
    systemctl start rdma-qosd.service
    sleep infinity
fi
while read -r file; do
    # shellcheck source=/dev/null
    . "./cases/$file.sh"
done <"boots/$BOOT/cases"
run_cases "$FILTER"
