#!/bin/bash
# install_test.sh CMAKE BUILD PREFIX: installs into a staging directory and looks at what is there.
set -euo pipefail

cmake=$1 build=$2 prefix=$3
stage=$(mktemp -d)
bus=
clean_up()
{
    [[ -z $bus ]] || kill "$bus" 2>/dev/null || true
    rm -rf "$stage"
}
trap clean_up EXIT

failures=0
fail()
{
    echo "FAILED: $*"
    failures=$((failures + 1))
}

DESTDIR=$stage "$cmake" --install "$build" >"$stage/log" 2>&1 || {
    cat "$stage/log"
    exit 1
}
at=$stage$prefix

# present MODE PATH...
present()
{
    local mode=$1 path
    shift
    for path in "$@"; do
        if [[ ! -s $path ]]; then
            fail "$path is missing or empty"
        elif [[ $(stat -c %a "$path") != "$mode" ]]; then
            fail "$path has mode $(stat -c %a "$path"), not $mode"
        fi
    done
}
present 755 "$at/sbin/rdma-qosd" "$at/bin/rdma-qosctl" "$at/bin/rdma-qos-emulator" "$at/bin/rdma-qos-run"
[[ -n $(find "$at" -path '*/rdma-qos/librdmaqos-emulator-preload.so') ]] || fail "the emulator's preload library is missing"
for library in librdma-qos-run.so librdma-qos-run-governor.so; do
    [[ -n $(find "$at" -path "*/rdma-qos/$library") ]] || fail "$library is missing"
done
present 644 "$at/lib/systemd/system/rdma-qosd.service" "$at/lib/systemd/catalog/rdma-qosd.catalog" \
    "$at/share/dbus-1/system.d/org.rdmaqos1.conf" \
    "$at/share/dbus-1/system-services/org.rdmaqos1.service" \
    "$at/share/polkit-1/actions/org.rdmaqos1.policy" \
    "$at/share/doc/rdma-qosd/README.md" "$at/share/doc/rdma-qosd/clients/unmodified.md" \
    "$at/share/man/man8/rdma-qosd.8" "$at/share/man/man8/rdma-qosctl.8" \
    "$at/share/bash-completion/completions/rdma-qosctl" "$at/share/bash-completion/completions/rdma-qos-run" \
    "$at/share/zsh/site-functions/_rdma-qosctl" "$at/share/man/man5/org.rdmaqos1.5" "$at/share/man/man8/rdma-qosd.service.8" \
    "$at/share/man/man1/rdma-qos-emulator.1" "$at/share/man/man1/rdma-qos-run.1" "$at/share/man/man5/rdma-qos-policy.5" \
    "$at/share/man/man5/rdma-qosd.yaml.5" "$at/share/man/man3/librdmaqos.3" "$at/include/rdmaqos.h"
# With the prefix /usr, configuration is in /etc.
etc=${prefix%/}/etc
[[ $etc != /usr/etc ]] || etc=/etc
present 644 "$stage$etc/rdma-qos/policy.yaml" "$stage$etc/rdma-qos/rdma-qosd.yaml" "$at/lib/udev/rules.d/90-rdma-qosd.rules" \
    "$at/share/doc/rdma-qosd/examples/devices.yaml" \
    "$at/share/rdma-qos/schema/rdma-qos-policy.schema.json"

# The programs a unit names are those that were installed.
while read -r program; do
    [[ -x $stage$program ]] || fail "the unit starts $program, which is not installed"
done < <(sed -n 's/^Exec[A-Za-z]*=\([^ ]*\).*/\1/p' "$at/lib/systemd/system/rdma-qosd.service")
service=$(sed -n 's/^SystemdService=//p' "$at/share/dbus-1/system-services/org.rdmaqos1.service")
[[ -e $at/lib/systemd/system/$service ]] || fail "the bus starts $service, which is not installed"

# Installed to another place than the one that was configured, everything is there and names what is there.
moved=$stage/moved
"$cmake" --install "$build" --prefix "$moved" >"$stage/log" 2>&1 || fail "cmake --install --prefix: $(cat "$stage/log")"
while read -r program; do
    [[ $program == "$moved"/* && -x $program ]] || fail "with --prefix the unit starts $program"
done < <(sed -n 's/^Exec[A-Za-z]*=\([^ ]*\).*/\1/p' "$moved/lib/systemd/system/rdma-qosd.service")
grep -q '^ExecStart=' "$moved/lib/systemd/system/rdma-qosd.service" || fail "with --prefix the unit starts nothing"
present 644 "$moved/etc/rdma-qos/policy.yaml" "$moved/etc/rdma-qos/rdma-qosd.yaml"
library=$("$moved/bin/rdma-qos-emulator" run -- printenv LD_PRELOAD) || fail "with --prefix the emulator does not run"
[[ $library == "$moved"/* && -e $library ]] || fail "with --prefix the emulator loads $library"

# No template was left unfilled, and no file tells where it was built.
if grep -rlE --exclude='*.catalog' '@[A-Z_]+@' "$at/lib/systemd" "$at/share/dbus-1"; then
    fail "a template was not filled in"
fi

# The installed command runs, and the installed default policy is a right one.
if ! "$at/bin/rdma-qosctl" check --offline "$stage$etc/rdma-qos/policy.yaml"; then
    fail "the installed default policy is refused"
fi

# A bus daemon takes the policy file.
cat >"$stage/bus.conf" <<XML
<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
  "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>system</type>
  <listen>unix:path=$stage/bus</listen>
  <auth>EXTERNAL</auth>
  <policy context="default"><deny send_type="method_call"/></policy>
  <includedir>$at/share/dbus-1/system.d</includedir>
</busconfig>
XML
dbus-daemon --config-file="$stage/bus.conf" --nofork --nopidfile --nosyslog >"$stage/bus.log" 2>&1 &
bus=$!
for _ in {1..2400}; do    # two minutes: more is a hang
    [[ ! -S $stage/bus ]] || break
    sleep 0.05
done
[[ -S $stage/bus ]] || fail "a bus daemon does not start with the installed policy: $(cat "$stage/bus.log")"
# Not about our file: whether it may raise its descriptor limit depends on the shell that runs this.
if grep -v 'Failed to set fd limit' "$stage/bus.log"; then
    fail "a bus daemon complains"
fi

if ((failures > 0)); then
    sed -n 's/^-- //p' "$stage/log"
fi
((failures == 0))
