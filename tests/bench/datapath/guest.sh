#!/bin/sh
# In the machine that against_rxe.sh boots: measures the kernel's software RDMA device, then the emulator.
set -eu
while read -r module; do
    insmod "/modules/$module" 2>/dev/null || true    # it is there
done </modules/more
ip address add 10.9.0.1/24 dev dummy0    # which the module has made
ip link set dummy0 up
echo "driver rxe" >/etc/libibverbs.d/rxe.driver
rdma link add rxe0 type rxe netdev dummy0
measure.sh rxe rxe0 rxe0 -x 1
rdma-qos-emulator run -- "$(command -v measure.sh)" emulator mlx5_0 mlx5_1 -x 0
