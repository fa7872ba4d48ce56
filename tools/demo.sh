#!/bin/bash
# Shows the main job of rdma-qosd on this machine, without RDMA hardware and without touching the system: a policy becomes
# a scheduling tree on two simulated 100 Gbit/s NICs, processes join it, and the policy changes under them.
#
#   tools/demo.sh               installs what is missing, builds, runs
#   tools/demo.sh --no-build    runs what was built before
#
# Everything happens in a temporary directory that is removed at the end, and nothing is left running. Root is needed only
# to install packages that are missing.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

build=yes
for argument in "$@"; do
    case $argument in
        --no-build) build=no ;;
        -h | --help)
            help_of "$0"
            exit 0
            ;;
        *) die "unknown option $argument (try --help)" ;;
    esac
done

started=$SECONDS
if [[ $build == yes ]]; then
    heading "Packages and build"
    "$project_dir/tools/install-deps.sh" --demo
    build_preset release "$project_dir/build/release.log" -DRDMAQOS_TESTS=OFF -- rdma-qosd rdma-qosctl
    note ""
fi

root=$(mktemp -d "${TMPDIR:-/tmp}/rdma-qos-demo.XXXXXX")
daemon=
bus=
clients=()     # rdma-qosctl request
children=()    # their commands, which outlive a client that is killed

clean_up()
{
    local status=$? pid
    for pid in "${clients[@]}" "${children[@]}" $daemon $bus; do
        kill -TERM "$pid" 2>/dev/null || true
    done
    for pid in "${clients[@]}" $daemon $bus; do
        wait "$pid" 2>/dev/null || true
    done
    if ((status != 0)) && [[ -s $root/daemon.log ]]; then
        printf '\nThe demo failed. The daemon wrote:\n' >&2
        tail -n 20 "$root/daemon.log" >&2
    fi
    rm -rf "$root"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

step()
{
    printf '%s== %s%s\n' "$bold" "$*" "$plain"
}

# show COMMAND: prints a command line, runs it, and says how it ended if it failed.
show()
{
    local status=0
    shown "$1"
    bash -c "$1" 2>&1 | sed 's/^/  /' || status=${PIPESTATUS[0]}
    if ((status != 0)); then
        note "  (exit status $status)"
    fi
    note ""
}

# client COMMAND: starts a client in the background and waits until it holds its session, which is when it has started
# its own command.
client()
{
    shown "$1 &"
    # shellcheck disable=SC2086 # a command line, split on purpose
    $1 >>"$root/clients.log" 2>&1 &
    clients+=($!)
    local tries=0
    local child
    until child=$(pgrep -P "${clients[-1]}"); do
        if ! kill -0 "${clients[-1]}" 2>/dev/null || ((++tries > 200)); then
            cat "$root/clients.log" >&2
            die "the client did not get its session"
        fi
        sleep 0.05
    done
    children+=("$child")
}

wait_for()
{
    local what=$1 tries=0
    shift
    until "$@" 2>/dev/null; do
        ((++tries <= 200)) || die "$what did not start"
        sleep 0.05
    done
}

PATH=$project_dir/build/release/tools/rdma-qosctl:$project_dir/build/release/daemon:$PATH
command -v rdma-qosd >/dev/null || die "rdma-qosd is not built; run $0 without --no-build"
export DBUS_SYSTEM_BUS_ADDRESS=unix:path=$root/system_bus
# The commands below are short because they run in the demo's directory; --root keeps all of them in it.
cd "$root"

step "1. A policy"
mkdir -p etc/rdma-qos
cp "$project_dir/config/examples/demo.yaml" etc/rdma-qos/policy.yaml
cp "$project_dir/config/examples/devices.yaml" devices.yaml
note "What is written here, and what a host has in /etc/rdma-qos/policy.yaml: four classes of traffic, their shares,
and two rules that choose a class by destination."
show "cat etc/rdma-qos/policy.yaml"
note "Is it right? This needs no daemon."
show "rdma-qosctl --root . check"

step "2. The daemon"
note "On a bus of its own, with two simulated NICs instead of the host's:"
cat >bus.conf <<XML
<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
  "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>system</type>
  <listen>unix:path=$root/system_bus</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow user="*"/>
    <allow own="org.rdmaqos1"/>
    <allow send_destination="*"/>
    <allow receive_sender="*"/>
  </policy>
</busconfig>
XML
dbus-daemon --config-file="$root/bus.conf" --nofork --nopidfile --nosyslog >"$root/bus.log" 2>&1 &
bus=$!
wait_for "the bus" test -S "$root/system_bus"
shown "rdma-qosd --root . --system-bus --simulate devices.yaml &"
rdma-qosd --root . --system-bus --simulate devices.yaml >"$root/daemon.log" 2>&1 &
daemon=$!
wait_for "the daemon" test -S "$root/run/rdma-qos/bus"
show "rdma-qosctl --root . devices"
note "Programs talk to it over D-Bus, by its own socket or the system bus:"
show "dbus-send --system --print-reply=literal --dest=org.rdmaqos1 /org/rdmaqos1 org.freedesktop.DBus.Properties.Get string:org.rdmaqos1.Manager string:Features"

step "3. Processes join"
note "Each command below asks for a level and holds its queue pairs while 'sleep' runs, as an RDMA program would."
client "rdma-qosctl --root . request --device mlx5_0 --level rpc --qps 1 -- sleep 600"
client "rdma-qosctl --root . request --device mlx5_0 --level rpc --qps 100 -- sleep 600"
client "rdma-qosctl --root . request --device mlx5_0 --level training --qps 8 -- sleep 600"
client "rdma-qosctl --root . request --device mlx5_0 --level backup --qps 1 -- sleep 600"
note ""
note "The tree on the first NIC, and what each leaf gets when all of them send as much as they can. Both processes of
class rpc get the same, though one has a hundred queue pairs; nobody sends storage traffic, so its share is lent."
show "rdma-qosctl --root . tree mlx5_0 --busy"

note "Why does the process with a hundred queue pairs not get more?"
show "rdma-qosctl --root . why ${clients[1]}"

step "4. One process, two destinations, two levels"
note "A level belongs to a path, not to a process: with their own destinations, queue pairs are matched one by one."
client "rdma-qosctl --root . request --device mlx5_0 --qp auto:destination=fd00:10::7 --qp auto:destination=fd00:20::9 -- sleep 600"
show "rdma-qosctl --root . sessions --pid ${clients[-1]}"

step "5. A change, while everything runs"
show "sed -i 's/share: 60, fair-by/share: 10, fair-by/' etc/rdma-qos/policy.yaml"
note "What would that do?"
show "rdma-qosctl --root . plan"
show "rdma-qosctl --root . reload"
show "rdma-qosctl --root . tree mlx5_0 --busy"

step "6. A mistake"
revision="rdma-qosctl --root . status | grep -E '^(policy|last reload)'"
show "$revision"
show "sed -i -e 's/max-rate: 25Gbps/max-rat: 25Gbps/' -e 's/parent: apps, share: 40/parent: app, share: 40/' etc/rdma-qos/policy.yaml"
note "It is refused as a whole, with every mistake, and the old policy goes on:"
show "rdma-qosctl --root . reload"
show "$revision"
note "Mended, it is accepted. It says what the running policy said, so nothing has to be done on a NIC:"
show "sed -i -e 's/max-rat:/max-rate:/' -e 's/parent: app,/parent: apps,/' etc/rdma-qos/policy.yaml"
show "rdma-qosctl --root . reload"

step "7. A process is killed"
# Bash announces on stderr that a child was killed.
{
    show "kill -9 ${clients[1]}        # the one with a hundred queue pairs"
    wait "${clients[1]}" || true
} 2>/dev/null
note "It leaves no trace; what it had goes to the others:"
show "rdma-qosctl --root . tree mlx5_0 --busy"

step "8. Status"
show "rdma-qosctl --root . status"

step "9. The end"
note "Stopping takes every queue pair out of the tree, then takes the tree down."
shown "kill -TERM $daemon        # the daemon"
kill -TERM "$daemon"
status=0
wait "$daemon" || status=$?
daemon=
sed -n '/ending/,$s/^/  /p' "$root/daemon.log"
((status == 0)) || die "the daemon ended with status $status"

note ""
note "Done in $(duration $((SECONDS - started))). The policy format: rdma-qos-policy(5) in docs/man; on a host with NICs: docs/operations.md."
