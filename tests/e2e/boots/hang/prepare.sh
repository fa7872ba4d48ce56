#!/bin/sh
# prepare.sh ROOT: as main, with two devices, of which one will hang.
set -eu
rm -f "$1/etc/systemd/system/dbus.service"
cat >>"$1/usr/lib/rdma-qos-e2e/files/device.yaml" <<'END'
  - name: mlx5_1
    netdev: ens2
    link-layer: ethernet
    link-speed: 100Gbps
    gids: ["fd00:20::2", "::ffff:10.2.0.2"]
END
