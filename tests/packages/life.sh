#!/bin/bash
# life.sh PREVIOUS VERSION: the life of the packages in a bare Debian 12, from their installation to the last purge. Runs in it, as root.
set -euo pipefail

previous=$1 version=$2
trap 'echo "FAILED: line $LINENO: $BASH_COMMAND"' ERR
failures=0
fail()
{
    echo "FAILED: $*"
    failures=$((failures + 1))
}

# quietly COMMAND...: what it says is shown only if it fails.
quietly()
{
    if ! "$@" >/tmp/said 2>&1; then
        cat /tmp/said
        fail "$*"
    fi
}

# What an unattended upgrade does where a file of the administrator's and a new one differ.
apt()
{
    quietly apt-get -q -y --no-install-recommends -o Dpkg::Use-Pty=0 -o Dpkg::Options::=--force-confold "$@"
}

# wanted WHAT...: what maintainer scripts wanted of systemctl concerning the service, since the last time.
wanted()
{
    local got
    got=$(sed -n 's/^\(.* \)\?\(stop\|start\|restart\) rdma-qosd.service.*/\2/p' /srv/systemctl.log | tr '\n' ' ')
    [[ $got == "${*:+$* }" ]] || fail "systemctl is told \"$got\" instead of \"$*\" ($(caller))"
    : >/srv/systemctl.log
}

# everything: files, links and folders of the system, without what apt, dpkg and this test write.
everything()
{
    find / -xdev \( -path /srv -o -path /var/cache -o -path /var/lib/apt -o -path /var/lib/dpkg -o -path /var/log -o -path /tmp \) -prune -o \
        -printf '%M %p %l\n' | grep -v ' /etc/ld.so.cache' | LC_ALL=C sort
}

# report VERSION: the programs report it.
report()
{
    local got
    got="$(rdma-qosd --version) $(rdma-qosctl --version) $(rdma-qos-run --version)"
    [[ $got == "rdma-qosd $1 rdma-qosctl $1 $1" ]] || fail "the programs of version $1 report \"$got\""
}

present()
{
    local path
    for path in "$@"; do
        [[ -e $path ]] || fail "$path is missing ($(caller))"
    done
}
absent()
{
    local path
    for path in "$@"; do
        [[ ! -e $path && ! -L $path ]] || fail "$path is there ($(caller))"
    done
}

# The maintainer scripts think that systemd runs.
mkdir -p /run/systemd/system
# Where apt lets maintainer scripts look; the base system has none.
ln -s /srv/systemctl.sh /usr/bin/systemctl
: >/srv/systemctl.log
everything >/srv/before
all=(rdma-qosd rdma-qos-tools rdma-qos-emulator librdmaqos1 librdmaqos-dev)
etc=/etc/rdma-qos
link=/etc/systemd/system/multi-user.target.wants/rdma-qosd.service

echo "-- install version $previous"
apt install /srv/previous/*.deb
wanted start
present $link $etc/policy.yaml $etc/rdma-qosd.yaml
[[ $(dpkg-query -W -f '${Version}' rdma-qosd) == "$previous" ]] || fail "the version is not $previous"
report "$previous"

echo "-- upgrade to version $version"
# An administrator at work, a daemon that ran, and files that no package knows.
sed -i 's/^  - name: DEFAULT$/  - {name: mine, schedule: {share: 7}}\n&/' $etc/policy.yaml
mkdir -p $etc/policy.d /var/lib/rdma-qos/self-test
echo '{version: 1}' | tee $etc/policy.d/60-mine.yaml >/var/lib/rdma-qos/last-good
md5sum $etc/policy.yaml $etc/policy.d/60-mine.yaml >/srv/mine
apt install /srv/current/*.deb
wanted restart
quietly md5sum -c /srv/mine
present $link /var/lib/rdma-qos/last-good
if grep -q 'as shipped before' $etc/rdma-qosd.yaml; then
    fail "settings that nobody has edited are not those of the new version"
fi
cmp -s $etc/policy.yaml.dpkg-dist /srv/policy.yaml || fail "the new version's policy is not beside the edited one"
rm -f $etc/policy.yaml.dpkg-dist

echo "-- what was disabled and stopped is not started by an upgrade"
rm $link /srv/running
apt install --reinstall /srv/current/*.deb
wanted
absent $link
ln -s /lib/systemd/system/rdma-qosd.service $link

echo "-- use"
quietly rdma-qosctl check
report "$version"
mkdir -p /tmp/try/etc/rdma-qos
cp /srv/policy.yaml /tmp/try/etc/rdma-qos
cat >/tmp/try/session <<'SESSION'
rdma-qosd --root /tmp/try --host-devices >/tmp/try/log 2>&1 &
daemon=$!
for _ in $(seq 200); do
    [ ! -S /tmp/try/run/rdma-qos/bus ] || break
    sleep 0.05
done
rdma-qosctl --root /tmp/try devices
kill $daemon
wait $daemon
SESSION
devices=$(cd /tmp/try && rdma-qos-emulator run --devices /srv/devices.yaml -- sh -e session) || fail "a daemon on emulated devices: $(cat /tmp/try/log)"
[[ $devices == *mlx5_0* && $devices == *mlx5_1* ]] || fail "the daemon does not find emulated devices: $devices"
# Programs name a file of a package in what they pass on.
[[ $(rdma-qos-emulator run -- printenv LD_PRELOAD) == /usr/lib/*/rdma-qos/*.so ]] || fail "the emulator's library is not found"

echo "-- udev"
# What the rule does with a device, tried with one that there is: starts the service, if that is enabled.
rule=/lib/udev/rules.d/90-rdma-qosd.rules
tried=/run/udev/rules.d/90-tried.rules
mkdir -p /run/udev/rules.d
sed 's/SUBSYSTEM!="infiniband"/SUBSYSTEM!="net"/' $rule >$tried
# started_by ACTION: what the rules have systemd start.
started_by()
{
    rm -rf /run/udev/data    # what was found of the device before
    udevadm test --action="$1" /devices/virtual/net/lo 2>&1 | tee /tmp/udev | sed -n 's/^SYSTEMD_WANTS=//p'
}
[[ $(started_by add) == *rdma-qosd.service* ]] || fail "a device does not start the service: $(cat /tmp/udev)"
if grep -E 'rdma-qosd\.rules:|90-tried\.rules:[0-9]+ *(Invalid|Unknown|Failed)' /tmp/udev; then
    fail "udev does not understand the rule"
fi
[[ $(started_by remove) != *rdma-qosd.service* ]] || fail "a device that goes starts the service"
mv $link /srv/link
[[ $(started_by add) != *rdma-qosd.service* ]] || fail "a device starts the service although it is disabled"
mv /srv/link $link
rm $tried
[[ $(started_by add) != *rdma-qosd.service* ]] || fail "a device that is not RDMA starts the service"

echo "-- remove, and install again"
apt remove "${all[@]}"
wanted stop
quietly md5sum -c /srv/mine
present /var/lib/rdma-qos/last-good
absent /usr/sbin/rdma-qosd /usr/bin/rdma-qosctl /lib/systemd/system/rdma-qosd.service $rule
apt install /srv/current/*.deb
wanted restart    # which starts what does not run
quietly md5sum -c /srv/mine

echo "-- purge"
mkdir -p /run/rdma-qos/policy.d
touch /run/rdma-qos/policy.d/90-override-bulk.yaml
apt purge "${all[@]}"
wanted stop
absent $etc/policy.yaml $etc/rdma-qosd.yaml /var/lib/rdma-qos /run/rdma-qos
present $etc/policy.d/60-mine.yaml
rm -r $etc/policy.d
rmdir $etc || fail "purge leaves files in $etc: $(ls $etc)"
everything >/srv/after
diff /srv/before /srv/after || fail "purge leaves something, or takes something that was there before"

echo "-- beside a policy of OpenSM"
mkdir $etc
printf 'qos-ulps\n    default : 0\nend-qos-ulps\n' >$etc/policy.conf
apt install /srv/current/rdma-qosd_*.deb /srv/current/rdma-qos-tools_*.deb
absent $etc/policy.yaml
quietly rdma-qosctl check
apt install --reinstall /srv/current/rdma-qosd_*.deb /srv/current/rdma-qos-tools_*.deb
absent $etc/policy.yaml
apt purge rdma-qosd rdma-qos-tools
present $etc/policy.conf

((failures == 0)) || exit 1
