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
    "$at"/share/doc/rdma-qosd/examples/clusters/slurm-training/{prolog,epilog}.sh \
    "$at/share/rdma-qos/schema/rdma-qos-policy.schema.json"

# The programs a unit names are those that were installed.
while read -r program; do
    [[ -x $stage$program ]] || fail "the unit starts $program, which is not installed"
done < <(sed -n 's/^Exec[A-Za-z]*=\([^ ]*\).*/\1/p' "$at/lib/systemd/system/rdma-qosd.service")
service=$(sed -n 's/^SystemdService=//p' "$at/share/dbus-1/system-services/org.rdmaqos1.service")
[[ -e $at/lib/systemd/system/$service ]] || fail "the bus starts $service, which is not installed"

# ---- prefixes ----

. "$(dirname "${BASH_SOURCE[0]}")/../../packages/lists.sh"
for package in $(debian_packages); do
    debian_files "$package"
done | LC_ALL=C sort >"$stage/packaged"

# places NAME: where those who look for this file look.
places()
{
    case $1 in
        rdma-qosd.service) echo /etc/systemd/system /usr/local/lib/systemd/system /usr/lib/systemd/system ;;
        rdma-qosd.catalog) echo /usr/local/lib/systemd/catalog /usr/lib/systemd/catalog ;;
        90-rdma-qosd.rules) echo /etc/udev/rules.d /usr/local/lib/udev/rules.d /usr/lib/udev/rules.d ;;
        org.rdmaqos1.conf) echo /etc/dbus-1/system.d /usr/share/dbus-1/system.d ;;
        org.rdmaqos1.service) echo /usr/local/share/dbus-1/system-services /usr/share/dbus-1/system-services ;;
        org.rdmaqos1.policy) echo /usr/share/polkit-1/actions ;;
        policy.yaml | rdma-qosd.yaml) echo /etc/rdma-qos ;;
    esac
}

# named STAGE PREFIX: files of ours below a prefix that installed files name, wherever they are. /usr/lib/rdma-qos has drop-ins of
# others, whatever the prefix is.
named()
{
    find "$1" -type f ! -path '*/share/doc/*' -exec grep -Iq . {} \; -print0 | xargs -0 sed 's/\\-/-/g' |
        grep -oE '(/[A-Za-z0-9_.*@-]+){2,}' | grep -E "^(/usr|$2)/.*rdma" | sed 's/\.$//' |
        grep -vE '^/usr/lib/rdma-qos(/|$)' | LC_ALL=C sort -u
}

# try_prefix PREFIX: everything that the packages have is there, names what is there, and is found.
try_prefix()
{
    local prefix=$1 root=$stage/prefix$1 path name place found
    mkdir -p "$root"
    DESTDIR=$root "$cmake" --install "$build" --prefix "$prefix" >"$root.log" 2>&1 || fail "--prefix $prefix: $(cat "$root.log")"
    installed_files "$root" "$prefix" >"$stage/is"
    diff -u --label packages --label "--prefix $prefix" "$stage/packaged" "$stage/is" ||
        fail "with the prefix $prefix there is not what the packages have"

    named "$root" "$prefix" >"$stage/named"
    (($(wc -l <"$stage/named") >= 8)) || fail "with the prefix $prefix files name only $(cat "$stage/named")"
    while read -r path; do
        compgen -G "$root$path" >/dev/null || fail "with the prefix $prefix a file names $path"
    done <"$stage/named"
    found=$(PKG_CONFIG_PATH=$(dirname "$(find "$root" -name librdmaqos.pc)") pkg-config --variable=includedir librdmaqos)
    [[ -e $found/rdmaqos.h ]] || fail "with the prefix $prefix pkg-config names $found"

    # Where the system does not look, the install says how it finds them.
    sed -n "/^  \(mkdir\|ln\) /s| /| $root/|gp" "$root.log" >"$stage/links"
    sh -e "$stage/links" || fail "with the prefix $prefix these do not run: $(cat "$stage/links")"
    for name in rdma-qosd.service rdma-qosd.catalog 90-rdma-qosd.rules org.rdmaqos1.{conf,service,policy} policy.yaml rdma-qosd.yaml; do
        found=
        for place in $(places "$name"); do
            [[ ! -s $root$place/$name ]] || found+=" $place"
        done
        [[ $found == ' '* && $found != ' '*' '* ]] || fail "with the prefix $prefix $name is found in${found:- no place}"
    done
    [[ $prefix != /usr || ! -s $stage/links ]] || fail "with the prefix /usr there are links: $(cat "$stage/links")"
    "$root$prefix/bin/rdma-qosctl" --root "$root" check >"$stage/said" 2>&1 || fail "rdma-qosctl check: $(cat "$stage/said")"
}
try_prefix /usr
try_prefix /usr/local
try_prefix /opt/rdma-qosd

# Installed to where it is, what starts and loads something finds it.
moved=$stage/moved
"$cmake" --install "$build" --prefix "$moved" >"$stage/log" 2>&1 || fail "cmake --install --prefix: $(cat "$stage/log")"
while read -r program; do
    [[ $program == "$moved"/* && -x $program ]] || fail "with --prefix the unit starts $program"
done < <(sed -n 's/^Exec[A-Za-z]*=\([^ ]*\).*/\1/p' "$moved/lib/systemd/system/rdma-qosd.service")
grep -q '^ExecStart=' "$moved/lib/systemd/system/rdma-qosd.service" || fail "with --prefix the unit starts nothing"
present 644 "$moved/etc/rdma-qos/policy.yaml" "$moved/etc/rdma-qos/rdma-qosd.yaml"
for launcher in 'rdma-qos-emulator run' rdma-qos-run; do
    # shellcheck disable=SC2086 # two words
    library=$("$moved/bin/"$launcher -- printenv LD_PRELOAD) || fail "with --prefix $launcher does not run"
    [[ $library == "$moved"/* && -e $library ]] || fail "with --prefix $launcher loads $library"
done
# The governor is loaded from the folder of the library that loads it.
[[ -e $(dirname "$library")/librdma-qos-run-governor.so ]] || fail "with --prefix the governor is not in the folder of $library"
# An edited file stays, and so does a link to it.
echo '# edited' >>"$moved/etc/rdma-qos/policy.yaml"
"$cmake" --install "$build" --prefix "$moved" >"$stage/log" 2>&1 || fail "installed again: $(cat "$stage/log")"
grep -q '^# edited' "$moved/etc/rdma-qos/policy.yaml" || fail "an edited policy is overwritten"

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
