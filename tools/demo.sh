#!/bin/bash
# Shows the main job of rdma-qosd on this machine, without RDMA hardware and without touching the system: a policy becomes
# a scheduling tree on two 100 Gbit/s NICs, RDMA programs join it, and the policy changes under them. The NICs are emulated:
# daemon and programs use the host's own libibverbs and libmlx5 as on a machine that has them, and below these
# rdma-qos-emulator plays the kernel's driver and the firmware.
#
#   tools/demo.sh               installs what is missing, builds, runs
#   tools/demo.sh --no-build    runs what was built before
#   tools/demo.sh --isolated    on NICs whose firmware lets a process use leaves of its own only: what differs then
#
# Everything happens in a temporary directory that is removed at the end, and nothing is left running. Root is needed only
# to install packages that are missing.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

build=yes
isolated=no
for argument in "$@"; do
    case $argument in
        --no-build) build=no ;;
        --isolated) isolated=yes ;;
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
    build_preset release "$project_dir/build/release.log" -DRDMAQOS_TESTS=OFF -- rdma-qosd rdma-qosctl \
        rdma-qos-emulator rdma-qos-sample
    note ""
fi

root=$(mktemp -d "${TMPDIR:-/tmp}/rdma-qos-demo.XXXXXX")
emulator=
daemon=
bus=
# The RDMA programs: their processes, how each is called in messages, and what it writes to.
clients=()
names=()
logs=()

# wrote NAME LOG: shows the end of what a program wrote.
wrote()
{
    [[ -s $2 ]] || return 0
    printf '\n%s wrote:\n' "$1" >&2
    tail -n 20 "$2" | sed 's/^/  /' >&2
}

# After a failure: what the daemon and the other programs wrote, and which of them have ended.
explain_failure()
{
    local number state
    printf '\nThe demo failed.\n' >&2
    wrote "The daemon" "$root/daemon.log"
    wrote "The message bus" "$root/bus.log"
    for number in "${!clients[@]}"; do
        state=running
        kill -0 "${clients[number]}" 2>/dev/null || state=ended
        wrote "${names[number]} (process ${clients[number]}, $state)" "${logs[number]}"
    done
}

clean_up()
{
    local status=$? pid
    ((status == 0 || status == 130 || status == 143)) || explain_failure
    # The emulator last: the others have its devices open.
    for pid in "${clients[@]}" $daemon $bus $emulator; do
        kill -TERM "$pid" 2>/dev/null || true
        wait "$pid" 2>/dev/null || true
    done
    rm -rf "$root"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# A note that fits the firmware: by_firmware SHARED ISOLATED
by_firmware()
{
    if [[ $isolated == yes ]]; then
        note "$2"
    else
        note "$1"
    fi
}

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

# remember PID NAME LOG: a program that was started in the background
remember()
{
    clients+=("$1")
    names+=("$2")
    logs+=("$3")
}

# client COMMAND: starts a client in the background, and shows the line that it prints when it has its place.
client()
{
    local number=${#clients[@]}
    shown "$1 &"
    # shellcheck disable=SC2086 # a command line, split on purpose
    $1 >"$root/client.$number.log" 2>&1 &
    remember $! "$1" "$root/client.$number.log"
    wait_for "a client's session" joined "$number" 1
    sed 's/^/  /' "$root/client.$number.log"
}

# joined CLIENT TIMES: whether it has joined so often.
joined()
{
    (($(grep -c '^session' "$root/client.$1.log") >= $2))
}

# left PID: whether it has nothing in the tree of the first NIC.
left()
{
    ! rdma-qosctl --root . tree mlx5_0 | grep -q "pid:$1 "
}

flows=(rpc training backup)

listens()
{
    grep -qi ":$(printf '%04X' "$1") 0*:0000 0A" /proc/net/tcp /proc/net/tcp6
}

# in_tree NAME...: whether a queue pair of each program is in a leaf of the first NIC.
in_tree()
{
    local name queue_pairs
    queue_pairs=$(rdma-qosctl --root . qps)
    for name in "$@"; do
        grep -qE "^mlx5_0/1 .* $name +$name +/" <<<"$queue_pairs" || return 1
    done
}

# What each flow should get, and what it said last. Of perftest's lines the fourth word is the average, in units of 2^20
# bytes per second.
compare()
{
    local predicted flow
    predicted=$(rdma-qosctl --root . simulate --load "rpc=inf,training=inf,backup=inf" --json)
    for flow in "${flows[@]}"; do
        awk -v flow="$flow" -v RS=, '
            /"level":/ { level = $0; sub(/.*"level": "/, "", level); sub(/".*/, "", level) }
            /"gets":/ && level == flow && !done { gets = $0; sub(/.*: /, "", gets); done = 1; printf "  %-10s predicted %6.1f", flow, gets / 1000 }
        ' <<<"$predicted"
        awk '/^ *[0-9]+ +[0-9]+ /{ rate = $4 * 8.388608 } END { printf "   measured %6.1f\n", rate }' "$flow.log"
    done
}

wait_for()
{
    local what=$1 tries=0
    shift
    until "$@" 2>/dev/null; do
        ((++tries <= 200)) || die "$what did not come"
        sleep 0.05
    done
}

build_dir=$project_dir/build/${RDMAQOS_DEMO_PRESET:-release}
PATH=$build_dir/daemon:$build_dir/tools/rdma-qosctl:$build_dir/tools/emulator:$build_dir/tools/rdma-qos-sample:$PATH
command -v rdma-qosd rdma-qos-emulator rdma-qos-sample >/dev/null || die "rdma-qosd is not built; run $0 without --no-build"
export DBUS_SYSTEM_BUS_ADDRESS=unix:path=$root/system_bus
# The commands below are short because they run in the demo's directory; --root keeps all of them in it.
cd "$root"

step "1. A policy"
mkdir -p etc/rdma-qos
cp "$project_dir/config/examples/demo.yaml" etc/rdma-qos/policy.yaml
cp "$project_dir/config/examples/devices.yaml" devices.yaml
printf 'version: 1\ndrift-interval: 2s\nunregistered: adopt\n' >etc/rdma-qos/rdma-qosd.yaml
note "What is written here, and what a host has in /etc/rdma-qos/policy.yaml: four classes of traffic, their shares,
and two rules that choose a class by destination."
show "cat etc/rdma-qos/policy.yaml"
note "Is it right? This needs no daemon."
show "rdma-qosctl --root . check"

step "2. Two NICs, and the daemon"
note "On a host with ConnectX NICs there is nothing to do here. This one may have none, so two are emulated; the printed
environment leads libibverbs to them:"
shown "rdma-qos-emulator serve --directory nics --devices devices.yaml >nics.env &"
rdma-qos-emulator serve --directory nics --devices devices.yaml >nics.env &
emulator=$!
wait_for "the emulator" grep -q LD_PRELOAD nics.env
shown ". ./nics.env"
# shellcheck disable=SC1091 # the emulator has just written it
. ./nics.env
if [[ $isolated == yes ]]; then
    note ""
    note "Their firmware lets a process use leaves of its own only:"
    show "rdma-qos-emulator ctl set queue-groups isolated"
fi
note ""
note "The daemon, on a bus of its own. --root keeps its files in this directory, and --host-devices lets it take the NICs
nevertheless:"
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
shown "rdma-qosd --root . --system-bus --host-devices &"
rdma-qosd --root . --system-bus --host-devices >"$root/daemon.log" 2>&1 &
daemon=$!
wait_for "the daemon" test -S "$root/run/rdma-qos/bus"
show "rdma-qosctl --root . devices"
note "What a NIC can do, and how queue pairs get into its tree. Whether one process may use another's leaves stands in no manual:
the daemon tries it when it first sees a card, and keeps the answer."
show "rdma-qosctl --root . devices mlx5_0 | head -n 32"
note "The owner of a card that behaves otherwise can send a report; there are no names of hosts or users in it:"
show "rdma-qosctl --root . hardware-report mlx5_0 | head -n 12"
note "Programs talk to it over D-Bus, by its own socket or the system bus:"
show "dbus-send --system --print-reply=literal --dest=org.rdmaqos1 /org/rdmaqos1 org.freedesktop.DBus.Properties.Get string:org.rdmaqos1.Manager string:Features"

step "3. Processes join"
note "rdma-qos-sample is a small RDMA program (its source, in tools/, is the worked example for yours). It makes queue pairs through
libibverbs, asks for a level, and passes the daemon its open device, so that the daemon can put them into their leaf. It
holds them while 'sleep' runs, and sends nothing."
client "rdma-qos-sample --root . --device mlx5_0 --level rpc --qps 1 -- sleep 600"
client "rdma-qos-sample --root . --device mlx5_0 --level rpc --qps 100 -- sleep 600"
client "rdma-qos-sample --root . --device mlx5_0 --level training --qps 8 -- sleep 600"
client "rdma-qos-sample --root . --device mlx5_0 --level backup --qps 1 -- sleep 600"
note ""
by_firmware "The tree on the first NIC, and what each leaf gets when all of them send as much as they can. Both processes of
class rpc get the same, though one has a hundred queue pairs; nobody sends storage traffic, so its share is lent." \
    "The tree of the policy on the first NIC. This firmware lets no process use another's leaves, so each process has its own
copy of the part it needs. Caps hold in each, shares only inside one; what each leaf gets is an assumption, and says so."
show "rdma-qosctl --root . tree mlx5_0 --busy"

by_firmware "That is what the daemon believes. This is what the NIC has, as the emulator knows it (shares and rates are those of its commands;
'requester' is the leaf of a queue pair):" \
    "This is what the NIC has, as the emulator knows it: one 'tsar' without a parent for each process ('context')."
show "rdma-qos-emulator ctl state | grep -v qpn= ; rdma-qos-emulator ctl state | grep qpn= | head -n 3"

note "Why does the process with a hundred queue pairs not get more?"
show "rdma-qosctl --root . why ${clients[1]}"

step "4. One process, two destinations, two levels"
note "A level belongs to a path, not to a process: with their own destinations, queue pairs are matched one by one."
client "rdma-qos-sample --root . --device mlx5_0 --qps 2 --destination fd00:10::7 --destination fd00:20::9 -- sleep 600"
show "rdma-qosctl --root . sessions ${clients[-1]}"

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
wait_for "the end of a session" left "${clients[1]}"
note "It leaves no trace; what it had goes to the others:"
show "rdma-qosctl --root . tree mlx5_0 --busy"

step "8. Somebody else changes the NIC"
id=$(rdma-qos-emulator ctl state | sed -n 's/^ *id=\([0-9]*\) .*max-average-bw=10000 .*/\1/p' | head -n 1)
note "Another program, or a mistake of the firmware, changes the share and the cap of class backup behind the daemon's back:"
show "rdma-qos-emulator ctl drift mlx5_0 $id 77 90000        # element, share, Mbit/s"
show "rdma-qos-emulator ctl state | grep -m 1 id=$id"
note "Now and then (here every 2 seconds, by default every minute) the daemon reads every element back, and repairs what differs:"
wait_for "the repair" grep -q drifted "$root/daemon.log"
sed -n 's/ DEVICE=.*//; /drifted/s/^/  /p' "$root/daemon.log"
note ""
show "rdma-qos-emulator ctl state | grep -m 1 id=$id"
show "rdma-qosctl --root . verify"

step "9. The NIC is reset"
note "Everything on it is lost: the tree, and the queue pairs of the programs. The daemon builds the tree again, and each program makes
new queue pairs and registers again, as rdma-qos-sample does:"
show "rdma-qos-emulator ctl reset mlx5_0"
for number in 0 2 3 4; do    # 1 was killed
    wait_for "a client after the reset" joined "$number" 2
done
note "The first of them said:"
show "tail -n 2 client.0.log"
show "rdma-qosctl --root . tree mlx5_0 --busy"

step "10. Status"
show "rdma-qosctl --root . status"

step "11. Traffic"
note "What are shares worth? The NICs get slow, so that this host's processors are not what limits programs, and a policy for three programs,
which know nothing of the daemon. It adopts them (setting 'unregistered: adopt')."
for device in mlx5_0 mlx5_1; do
    show "rdma-qos-emulator ctl link-speed $device 400Mbps"
done
cat >etc/rdma-qos/policy.yaml <<'YAML'
version: 1
scheduling-nodes:
  - {name: apps, share: 70}
qos-levels:
  - {name: DEFAULT}
  - {name: rpc, schedule: {parent: apps, share: 60, fair-by: process}}
  - {name: training, schedule: {parent: apps, share: 40}}
  - {name: backup, schedule: {share: 30, max-rate: 80Mbps}}
qos-match-rules:
  - {client: {command: [rpc]}, qos-level-name: rpc}
  - {client: {command: [training]}, qos-level-name: training}
  - {client: {command: [backup]}, qos-level-name: backup}
YAML
show "cat etc/rdma-qos/policy.yaml"
show "rdma-qosctl --root . reload"
note "Each of the programs is ib_write_bw of perftest under another name. They write as much as they can, from mlx5_0 to mlx5_1:"
mkdir -p bin
ports=(18500 18501 18502)
for number in 0 1 2; do
    flow=${flows[number]}
    cp "$(command -v ib_write_bw)" "bin/$flow"
    ib_write_bw -d mlx5_1 -x 0 -F -s 65536 -p "${ports[number]}" --run_infinitely -D 1 >"$flow.server.log" 2>&1 &
    remember $! "the server of $flow" "$root/$flow.server.log"
    wait_for "a server" listens "${ports[number]}"
    shown "./bin/$flow -d mlx5_0 -x 0 -F -s 65536 -p ${ports[number]} --run_infinitely -D 1 127.0.0.1 &"
    stdbuf -oL "./bin/$flow" -d mlx5_0 -x 0 -F -s 65536 -p "${ports[number]}" --run_infinitely -D 1 127.0.0.1 >"$flow.log" 2>&1 &
    remember $! "./bin/$flow" "$root/$flow.log"
done
wait_for "the adoption of the programs" in_tree rpc training backup
sleep 4
note ""
by_firmware "Predicted from the policy, and measured by the programs, in Mbit/s:" \
    "Measured by the programs, in Mbit/s. Caps hold; shares do not, between processes, on this firmware (predicted is what they would be):"
compare
note ""
note "The policy changes, while they run:"
show "sed -i -e 's/share: 60, fair-by/share: 10, fair-by/' -e 's/max-rate: 80Mbps/max-rate: 200Mbps/' etc/rdma-qos/policy.yaml"
show "rdma-qosctl --root . reload"
sleep 4
compare
note ""

step "12. The end"
note "Stopping takes every queue pair out of the tree, then takes the tree down. The programs and their queue pairs go on,
without classes."
shown "kill -TERM $daemon        # the daemon"
kill -TERM "$daemon"
status=0
wait "$daemon" || status=$?
daemon=
sed -n '/ending/,$s/^/  /p' "$root/daemon.log"
((status == 0)) || die "the daemon ended with status $status"
note "Nothing of it is left on the NICs:"
show "rdma-qos-emulator ctl state | grep -v qpn="

note ""
note "Done in $(duration $((SECONDS - started))). The policy format: rdma-qos-policy(5) in docs/man; on a host with NICs: docs/how-to.md."
