# shellcheck shell=bash
# Podman with crun, as root and rootless, and containerd with runc: the mounts that docs/clients/services.md says, and who
# the daemon takes a container's programs for.

# shellcheck source=../lib.sh
. ./lib.sh

readonly image=/srv/containers/image

# This system, in a layer of the container's own. Podman keeps what it has beside it.
make_image()
{
    ! mountpoint --quiet "$image" || return 0
    touch /etc/{hosts,resolv.conf}    # as hosts have them; containerd mounts them
    mkdir -p /srv/containers /var/lib/containers
    mount -t tmpfs tmpfs /srv/containers
    mount -t tmpfs tmpfs /var/lib/containers
    mkdir /srv/containers/{upper,work,image}
    mount -t overlay -o lowerdir=/,upperdir=/srv/containers/upper,workdir=/srv/containers/work overlay "$image"
    # What podman mounts over; root of a user namespace cannot make it.
    mkdir -p "$image"/run/{emulator,rdma-qos}
    touch "$image"/run/.containerenv "$image"/etc/{hosts,hostname,resolv.conf}
    chown -R 100000:100000 "$image/run"
}

# take_options [OPTION...] -- COMMAND...: sets `options` and `command`.
take_options()
{
    options=()
    while [[ $1 != -- ]]; do
        options+=("$1")
        shift
    done
    # shellcheck disable=SC2034    # of the caller
    command=("${@:2}")
}

# in_container NAME [OPTION...] -- COMMAND...: with the emulator, as it is on a host with NICs.
in_container()
{
    local name=$1 options command
    take_options "${@:2}"
    make_image
    # The container of these tests has no controllers of cgroups to give, and not every capability.
    podman --log-level error run --rm --name "$name" --runtime crun --network host --ulimit host --pids-limit 0 --volume /run/emulator:/run/emulator \
        --env-file /run/emulator.env "${options[@]}" --rootfs "$image" "${command[@]}"
}

podman_version()
{
    podman --version | sed 's/.* //'
}

# pid_by_ENGINE NAME: of the program in a container, for the functions below.
pid_by_podman()
{
    podman inspect --format '{{.State.Pid}}' "$1"
}

# session_in ENGINE NAME
session_in()
{
    rdma-qosctl sessions --json | jq -c --argjson pid "$("pid_by_$1" "$2")" '.sessions[] | select(.owner.pid == $pid)'
}
has_session_in()
{
    [[ -n $(session_in "$@" | jq -r '."queue-pairs"[]? | select(.leaf != null) | .leaf') ]]
}
adopted_in()
{
    rdma-qosctl qps --json | jq -e --argjson pid "$("pid_by_$1" "$2")" \
        'any(."queue-pairs"[]; .pid == $pid and .leaf == "/batch")' >/dev/null
}

# adopting [COMMAND]: the daemon adopts, until the case ends, with this command before.
adopting()
{
    printf 'version: 1\nunregistered: adopt\n' >/etc/rdma-qos/rdma-qosd.yaml
    # shellcheck disable=SC2064    # the command is known now
    trap "${1:-:}; rm -f /etc/rdma-qos/rdma-qosd.yaml; systemctl restart rdma-qosd.service" EXIT
    systemctl restart rdma-qosd.service
}

# hold_in NAME OPTION... : rdma-qos-sample, until the case ends.
hold_in()
{
    local name=$1
    shift
    in_container "$name" --detach "$@" -- "$sample" --device mlx5_0 sleep infinity >/dev/null
    eventually "the queue pair in $name is in a leaf" has_session_in podman "$name"
}

containers_registered()
{
    start_with base
    hold_in registered --cgroup-parent batch.slice --uidmap 0:100000:65536 --volume /run/rdma-qos:/run/rdma-qos:ro
    local session why
    session=$(session_in podman registered)
    why=$(rdma-qosctl why "$(jq .owner.pid <<<"$session")")
    podman kill registered >/dev/null
    contains "$(jq -r .owner.cgroup <<<"$session")" "/batch.slice/libpod-" "the cgroup of its session"
    equal "$(jq -r '."queue-pairs"[0].leaf' <<<"$session")" /batch "its leaf"
    equal "$(jq -r .owner.uid <<<"$session")" 100000 "the user that it is on the host"
    contains "$why" "/batch.slice/libpod-" "why"
    table_row podman "$(podman_version)" "registers over the mounted socket; cgroup, leaf, why" 1 0
}
test_case containers_registered "a container's program registers over the mounted socket, and its cgroup decides"

# refused_in WHO WHY OPTION...: a reload from a container.
refused_in()
{
    local who=$1 why=$2 said
    shift 2
    said=$(refused in_container administrator "$@" --volume /run/rdma-qos:/run/rdma-qos:ro -- rdma-qosctl reload)
    echo "$who: $said"
    contains "$said" "$why" "a reload by $who"
}

containers_not_administrators()
{
    start_with base
    # Without cgroups, crun need not raise a limit to set up their devices, which not every machine lets root do.
    refused_in "root in a container" "you are not the root of this host" --cgroups disabled
    refused_in "root in a user namespace" "org.rdmaqos1.reload" --uidmap 0:100000:65536
    refused_in "a user in a container" "org.rdmaqos1.reload" --cgroups disabled --user 1000
    in_container reader --cgroups disabled --user 1000 --volume /run/rdma-qos:/run/rdma-qos:ro -- rdma-qosctl status >/dev/null
    table_row podman "$(podman_version)" "reload as root and as a user in containers: refused" 3 0
}
test_case containers_not_administrators "nobody in a container is an administrator"

containers_adopted()
{
    start_with base
    adopting
    in_container adopted --detach --cgroup-parent batch.slice --uidmap 0:100000:65536 -- /usr/bin/python3 "$files/queue_pairs.py" 1 >/dev/null
    eventually "the queue pair of a user namespace is adopted" adopted_in podman adopted
    podman kill adopted >/dev/null
    table_row podman "$(podman_version)" "adoption in a user namespace, without a mount" 1 0
}
test_case containers_adopted "a program in a user namespace is adopted"

# ---- podman without root ----

# rootless UNIT [OPTION...] -- COMMAND...: a container of alice's, until the case ends. Its processes stay in the unit,
# because a container of these tests has no controllers of cgroups to delegate.
rootless()
{
    local unit=$1 options command
    take_options "${@:2}"
    make_image
    chown -R alice: "$image/run"
    install -d -o alice -g alice -m 700 /srv/containers/alice /run/e2e-alice
    echo "$unit.service" >>"$scratch/held"
    systemd-run --quiet --unit="$unit" --uid=alice --setenv=HOME=/srv/containers/alice \
        --setenv=XDG_RUNTIME_DIR=/run/e2e-alice -p StandardOutput="append:$scratch/$unit.said" -p StandardError=inherit -- \
        podman --log-level error --storage-driver vfs --cgroup-manager cgroupfs run --rm --runtime crun --network host \
        --cgroups disabled --ulimit host --volume /run/emulator:/run/emulator --env-file /run/emulator.env \
        "${options[@]}" --rootfs "$image" "${command[@]}"
}

containers_rootless()
{
    start_with base
    rootless e2e-rootless --volume /run/rdma-qos:/run/rdma-qos:ro -- "$sample" --device mlx5_0 --level bulk sleep infinity
    eventually "its queue pair is in a leaf; it said: $(cat "$scratch/e2e-rootless.said" 2>/dev/null)" has_attached e2e-rootless.service
    equal "$(session_of e2e-rootless.service | jq -r '.owner.uid')" "$(id -u alice)" "who root of the container is"
    equal "$(session_of e2e-rootless.service | jq -r '."queue-pairs"[0].leaf')" /bulk "its leaf"
    table_row podman "$(podman_version)" "rootless: registers over the mounted socket, as the user" 1 none
}
test_case containers_rootless "a program in a rootless container registers over the mounted socket"

containers_rootless_adopted()
{
    start_with base
    sed -i 's/trainer.service/e2e-rootless-adopted.service/' "$policy"
    adopting
    rootless e2e-rootless-adopted -- /usr/bin/python3 "$files/queue_pairs.py" 1
    eventually "the queue pair of a rootless container is adopted" is_adopted e2e-rootless-adopted.service /rpc
    table_row podman "$(podman_version)" "rootless: adoption, without a mount" 1 none
}
test_case containers_rootless_adopted "a program in a rootless container is adopted"

# ---- containerd with runc ----

containerd_version()
{
    dpkg-query --show --showformat '${Version}' containerd
}

# by_containerd NAME [OPTION...] -- COMMAND...: in a cgroup as the kubelet has them.
by_containerd()
{
    local name=$1 options command
    take_options "${@:2}"
    make_image
    # Without a weight, whose controller the container of these tests does not have.
    ctr run --cpu-shares 0 --net-host --cgroup "/batch.slice/cri-containerd-$name" --env-file /run/emulator.env \
        --mount type=bind,src=/run/emulator,dst=/run/emulator,options=rbind:rw "${options[@]}" --rootfs "$image" "$name" "${command[@]}"
}
readonly mounted_socket=(--mount "type=bind,src=/run/rdma-qos,dst=/run/rdma-qos,options=rbind:ro")

pid_by_containerd()
{
    ctr task ls | awk -v name="$1" '$1 == name { print $2 }'
}

has_ended_by_containerd()
{
    ! ctr task ls | grep -q "^$1 .*RUNNING"
}
end_by_containerd()
{
    ctr task kill --signal SIGKILL "$1" || true
    eventually "$1 has ended" has_ended_by_containerd "$1"
    ctr task rm "$1" || true
    ctr container rm "$1" || true
}

containerd_registered()
{
    start_with base
    trap 'end_by_containerd registered' EXIT
    by_containerd registered --detach "${mounted_socket[@]}" -- "$sample" --device mlx5_0 sleep infinity
    eventually "the queue pair of containerd's program is in a leaf" has_session_in containerd registered
    local session
    session=$(session_in containerd registered)
    equal "$(jq -r .owner.cgroup <<<"$session")" /batch.slice/cri-containerd-registered "the cgroup of its session"
    equal "$(jq -r '."queue-pairs"[0].leaf' <<<"$session")" /batch "its leaf"
    contains "$(refused by_containerd administrator --rm "${mounted_socket[@]}" -- "$(command -v rdma-qosctl)" reload)" \
        "you are not the root of this host" "a reload by its root"
    table_row containerd "$(containerd_version)" "registers over the mounted socket; reload as its root: refused" 2 0
}
test_case containerd_registered "a program of containerd registers over the mounted socket, and its root is no administrator"

containerd_adopted()
{
    start_with base
    adopting 'end_by_containerd adopted'
    by_containerd adopted --detach -- /usr/bin/python3 "$files/queue_pairs.py" 1
    eventually "the queue pair of containerd's program is adopted" adopted_in containerd adopted
    table_row containerd "$(containerd_version)" "adoption, without a mount" 1 0
}
test_case containerd_adopted "a program of containerd is adopted"
