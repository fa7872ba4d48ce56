#!/bin/sh
# prepare.sh ROOT: as main, with pairs of devices: the first of each sends, the second receives. Rates are compared on
# links so slow that programs that get little of a processor have enough under way; libfabric's reliable datagrams need
# the slowest. Most programs that look at their data have a quick link for themselves. qperf does not address RoCE ports.
set -eu
rm -f "$1/etc/systemd/system/dbus.service"
cat >"$1/usr/lib/rdma-qos-e2e/files/device.yaml" <<'YAML'
version: 1
devices:
  - {name: mlx5_0, netdev: ens1, link-layer: ethernet, link-speed: 50Mbps, gids: ["fd00:20::1", "::ffff:10.2.0.1"]}
  - {name: mlx5_1, netdev: ens2, link-layer: ethernet, link-speed: 50Mbps, gids: ["fd00:20::2", "::ffff:10.2.0.2"]}
  - {name: mlx5_2, link-layer: infiniband, link-speed: 20Mbps, gids: ["fe80::2"]}
  - {name: mlx5_3, link-layer: infiniband, link-speed: 20Mbps, gids: ["fe80::3"]}
  - {name: mlx5_4, netdev: ens3, link-layer: ethernet, link-speed: 10Gbps, gids: ["fd00:20::4", "::ffff:10.2.0.4"]}
  - {name: mlx5_5, netdev: ens4, link-layer: ethernet, link-speed: 10Gbps, gids: ["fd00:20::5", "::ffff:10.2.0.5"]}
YAML
echo node >"$1/etc/hostname"
echo "127.0.0.1 localhost node" >"$1/etc/hosts"
