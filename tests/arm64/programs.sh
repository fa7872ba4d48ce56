#!/bin/bash
# Runs programs of a build: a policy is checked and solved, a daemon serves a simulated device, and a program of rdma-core sees
# an emulated one. What they print must be that of x86-64, in programs.txt.
#
#   tests/arm64/programs.sh BUILD [EMULATOR...]      EMULATOR: in front of each program, e.g. qemu-aarch64-static
#
#   --update       first: writes programs.txt, from a build of x86-64
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../../tools/lib.sh"

update=no
if [[ ${1:-} == --update ]]; then
    update=yes
    shift
fi
build=${1:?which build?}
shift
emulator=("$@")
way=("$@")    # to a daemon
golden=$project_dir/tests/arm64/programs.txt
examples=config/examples
scratch=$(mktemp -d)
cd "$project_dir"
export ASAN_OPTIONS=verify_asan_link_order=0    # of a build with sanitizers
started=()
# The last that was started ends first: the daemon before the devices.
end_all()
{
    local i
    for ((i = ${#started[@]} - 1; i >= 0; --i)); do
        kill "${started[i]}" 2>/dev/null || true
        wait "${started[i]}" || true
    done
    started=()
}
trap 'end_all; rm -rf "$scratch"' EXIT

# until_it COMMAND...: waits until it succeeds; false: what was started last has ended, or two minutes are over.
until_it()
{
    local deadline=$((SECONDS + 120))
    until "$@" >/dev/null 2>&1; do
        if ! kill -0 "${started[-1]}" 2>/dev/null || ((SECONDS > deadline)); then
            return 1
        fi
        sleep 0.3
    done
}

ctl()
{
    "${emulator[@]}" "$build/tools/rdma-qosctl/rdma-qosctl" "$@"
}

# said TITLE COMMAND...: what a command says, and its status if it fails.
said()
{
    local title=$1 status=0
    shift
    printf '\n$ %s\n' "$title"
    "$@" 2>&1 || status=$?
    ((status == 0)) || printf '(status %s)\n' "$status"
}

without_daemon()
{
    local policy
    for policy in demo ai-training storage two-tenants mlx5dv-sched-manual; do
        said "rdma-qosctl check --offline $policy.yaml" ctl check --offline "$examples/$policy.yaml"
        said "rdma-qosctl plan --offline $policy.yaml" ctl plan --offline "$examples/$policy.yaml"
    done
    said "rdma-qosctl simulate" ctl simulate --offline "$examples/demo.yaml" --load "rpc=inf,training=inf,backup=inf"
}

# daemon NAME OPTION...: with the example's policy, below $scratch/NAME.
daemon()
{
    local root=$scratch/$1
    shift
    mkdir -p "$root/etc/rdma-qos" "$root/run/rdma-qos"
    cp "$examples/demo.yaml" "$root/etc/rdma-qos/policy.yaml"
    # To find the mode out the daemon runs itself once more, which without binfmt_misc it cannot.
    printf 'version: 1\nattach-mode: shared\n' >"$root/etc/rdma-qos/rdma-qosd.yaml"
    "${way[@]}" "$build/daemon/rdma-qosd" --root "$root" --no-system-bus "$@" >"$root/log" 2>&1 &
    started+=($!)
    until_it ctl --root "$root" tree || cat "$root/log"
}

with_simulated_devices()
{
    daemon simulated --simulate "$examples/devices.yaml"
    said "rdma-qosctl tree, of simulated devices" ctl --root "$scratch/simulated" tree
    said "rdma-qosctl verify" ctl --root "$scratch/simulated" verify
    end_all
}

# A program with a queue pair of each type, as rdma-qos-run starts it: the launcher itself becomes the program, which without
# binfmt_misc must be of this machine's architecture. It waits a second for the daemon, which a busy machine may need below qemu-user:
# then it is run again.
in_classes()
{
    for ((try = 1; try <= 10; ++try)); do
        run_program
        if ! grep -q "does not answer\|cannot be reached" "$scratch/program"; then
            break
        fi
        touch "$scratch/end"
        wait "${started[-1]}" || true
        unset 'started[-1]'
    done
    said "a program below rdma-qos-run --level rpc" sed 's/ pid [0-9]*//; s/^qp [0-9]*/qp/' "$scratch/program"
    # Not what it is called: that is qemu-user.
    said "rdma-qosctl qps" ctl --root "$scratch/emulated" qps |
        awk '$1 == "DEVICE" { next } $2 ~ /^[0-9]/ { print $1, $3, $4, $10, $11; next } { print }' | sed "s/${started[-1]}/PID/g"
    touch "$scratch/end"
}

run_program()
{
    rm -f "$scratch/end"
    "${below[@]}" LD_PRELOAD="$build/tools/rdma-qos-run/librdma-qos-run.so:$preload" RDMA_QOS_RUN_LEVEL=rpc \
        RDMA_QOS_RUN_ROOT="$scratch/emulated" "${emulator[@]}" \
        "$build/tests/integration/run/programs/linked" types -u "$scratch/end" >"$scratch/program" 2>&1 &
    started+=($!)
    until_it grep -q ready "$scratch/program" || true
}

with_emulated_devices()
{
    preload=$build/tools/emulator/librdmaqos-emulator-preload.so
    below=(env RDMA_QOS_EMULATOR="$scratch/devices" SYSFS_PATH="$scratch/devices/sys")
    mkdir "$scratch/devices"
    "${emulator[@]}" "$build/tools/emulator/rdma-qos-emulator" serve --directory "$scratch/devices" \
        >"$scratch/devices.log" 2>&1 &
    started+=($!)
    until_it grep -q LD_PRELOAD "$scratch/devices.log" || cat "$scratch/devices.log"
    way=("${below[@]}" LD_PRELOAD="$preload" "${emulator[@]}")
    said "ibv_devinfo, below the emulator" "${way[@]}" "$(command -v ibv_devinfo)" -d mlx5_0
    daemon emulated --host-devices
    said "rdma-qosctl tree, of emulated devices" ctl --root "$scratch/emulated" tree
    in_classes
    end_all
}

{
    without_daemon
    with_simulated_devices
    with_emulated_devices
} >"$scratch/said"
if [[ $update == yes ]]; then
    cp "$scratch/said" "$golden"
    exit 0
fi
diff -u "$golden" "$scratch/said" || die "the programs say something else than those of x86-64"
note "the programs say what those of x86-64 say ($(grep -c '^\$ ' "$golden") commands)"
