#!/bin/sh
# prepare.sh ROOT: as main, with two devices of a slow link, Slurm on this one host, and the prolog and epilog of the
# examples, where the documents tell an administrator to put them.
set -eu
here=$(dirname "$0")
there=/usr/lib/rdma-qos-e2e/boots/slurm
rm -f "$1/etc/systemd/system/dbus.service"
cat >"$1/usr/lib/rdma-qos-e2e/files/device.yaml" <<'YAML'
version: 1
devices:
  - {name: mlx5_0, netdev: ens1, link-layer: ethernet, link-speed: 200Mbps, gids: ["fd00:20::1", "::ffff:10.2.0.1"]}
  - {name: mlx5_1, netdev: ens2, link-layer: ethernet, link-speed: 200Mbps, gids: ["fd00:20::2", "::ffff:10.2.0.2"]}
YAML
printf 'version: 1\nunregistered: adopt\n' >"$1/etc/rdma-qos/rdma-qosd.yaml"
echo node >"$1/etc/hostname"
echo "127.0.0.1 localhost node" >"$1/etc/hosts"
cp "$here/slurm.conf" "$here/cgroup.conf" "$1/etc/slurm"
for script in prolog epilog; do
    install -m 755 "$1/usr/share/doc/rdma-qosd/examples/clusters/slurm-training/$script.sh" "$1/etc/slurm/rdma-qos-$script"
done

units=$1/etc/systemd/system
mkdir -p "$units/slurmd.service.d" "$units/slurmd.service.wants" "$units/slurmctld.service.wants" "$1/usr/lib/unified"
for program in slurmd slurmstepd; do
    ln -s "$there/unified.sh" "$1/usr/lib/unified/$program"
done
cat >"$units/slurmd.service.d/e2e.conf" <<'UNIT'
[Service]
# Debian 13 has notify.
Type=exec
PrivateMounts=yes
ExecStart=
ExecStart=/usr/lib/unified/slurmd -D -s -d /usr/lib/unified/slurmstepd
UNIT
# The resolver gives no IPv4 address on a host that has none but 127.0.0.1.
cat >"$units/e2e-address.service" <<'UNIT'
[Unit]
Before=slurmctld.service slurmd.service

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=ip address replace 127.0.0.2/32 dev lo
UNIT
for unit in slurmd slurmctld; do
    ln -s ../e2e-address.service "$units/$unit.service.wants/"
done
