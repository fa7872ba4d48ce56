# shellcheck shell=bash
# Programs that use RDMA, as Debian has them (boots/programs/program.sh), adopted and below rdma-qos-run, while the
# daemon reloads, has overrides, loses the device and is killed: those that send all the time get what `simulate` and
# `why` say, and those that look at their data find it as it was sent.

# shellcheck source=../lib.sh
. ./lib.sh

readonly program=/usr/lib/rdma-qos-e2e/boots/programs/program.sh
readonly settings=/etc/rdma-qos/rdma-qosd.yaml
readonly unit_of_process='\(e2e-[a-z-]*\)\.service'
# How much of what a device sends is measured: a second or two of its link.
declare -Ar mib_of=([mlx5_0]=8 [mlx5_2]=4)

# ---- the programs ----

# begin NAME UNIT HOW SENDER RECEIVER PORT: until the case ends. HOW is `adopted` or `launched`.
begin()
{
    local name=$1 unit=$2 how=$3 launcher=()
    shift 3
    [[ $how == adopted ]] || launcher=(rdma-qos-run --)
    echo "$unit.service" >>"$scratch/held"
    rm -f "$scratch/$unit.said"
    systemd-run --quiet --unit="$unit" --uid=alice -p StandardOutput="append:$scratch/$unit.said" \
        -p StandardError=inherit -- "$program" "$name" "$@" "${launcher[@]}"
}

# The daemon with its policy, for programs that are adopted, or for those that are launched and nobody else.
ready_for()
{
    local how=$1 unregistered=adopt
    [[ $how == adopted ]] || unregistered=ignore
    printf 'version: 1\nunregistered: %s\n' "$unregistered" >"$settings"
    systemctl reset-failed 'e2e-*' 2>/dev/null || true
    write_policy 30
    systemctl restart rdma-qosd.service
}

# write_policy SHARE [NODE]: of 100, for the level of the programs, or for the node that it is below.
write_policy()
{
    local own="share: $1" node=''
    if (($# > 1)); then
        own="parent: $2"
        node="scheduling-nodes: [{name: $2, share: $1}]"
    fi
    cat >"$policy" <<YAML
version: 1
$node
qos-levels:
  - {name: DEFAULT}
  - {name: program, traffic-class: 104, schedule: {$own}}
  - {name: rival, schedule: {share: $((100 - $1))}}
qos-match-rules:
  - {client: {unit: ["e2e-program-*.service"]}, qos-level-name: program}
  - {client: {unit: [e2e-rival.service]}, qos-level-name: rival}
YAML
}

elements_of()
{
    ctl_emulator state --json | jq --arg device "$1" '.devices[] | select(.name == $device) | .tree | length'
}

# is_in_place UNIT DEVICE LEAF: it has queue pairs there, and all of them are in the leaf.
is_in_place()
{
    local leaves
    leaves=$(rdma-qosctl qps --json | jq -r --arg unit "$1.service" --arg device "$2/1" \
        '[."queue-pairs"[] | select(.unit == $unit and .device == $device) | .leaf // "none"] | unique | .[]') || return
    [[ $leaves == "$3" ]]
}

# in_place DEVICE LEAF UNIT...: and rivals in theirs.
in_place()
{
    local device=$1 leaf=$2 unit
    shift 2
    for unit in "$@"; do
        [[ $unit != e2e-rival ]] || leaf=/rival
        eventually "all queue pairs of $unit on $device are in $leaf" is_in_place "$unit" "$device" "$leaf"
    done
}

# Nobody's data was wrong, and nobody has ended.
all_go_on()
{
    local unit
    for unit in "$@"; do
        equal "$(property ActiveState "$unit.service")" active "$unit; it said: $(tail -n 5 "$scratch/$unit.said")"
        lacks "$(tail -n 1000 "$scratch/$unit.said")" WRONG "$unit"
    done
}

# sessions_are HOW UNIT: how the daemon knows the programs of the unit.
sessions_are()
{
    local adopted
    adopted=$(rdma-qosctl sessions --json | jq -c --arg unit "$2.service" \
        '[.sessions[] | select(.owner.unit == $unit) | .adopted // false] | unique')
    case $1 in
        adopted) equal "$adopted" "[true]" "whether sessions of $2 are adopted" ;;
        launched) equal "$adopted" "[false]" "whether sessions of $2 are adopted" ;;
    esac
}

# ---- what happens meanwhile ----

# each_event DEVICE CHECK UNIT...: what may happen while programs run; CHECK WHAT after each. Ends where it began.
each_event()
{
    local device=$1 check=$2 pid restarts unit
    shift 2
    $check "from the start"

    write_policy 60
    systemctl reload rdma-qosd.service
    in_place "$device" /program "$@"
    $check "after a reload"

    rdma-qosctl override program --max-rate 25% --for 1h >/dev/null
    $check "with an override"
    rdma-qosctl override clear program >/dev/null
    $check "after the override"

    write_policy 45 apart
    systemctl reload rdma-qosd.service
    in_place "$device" /apart/program "$@"
    $check "with the level elsewhere"

    rdma-qosctl release "$device" >/dev/null
    equal "$(elements_of "$device")" 0 "elements of the released device"
    rdma-qosctl enable "$device" >/dev/null
    in_place "$device" /apart/program "$@"
    $check "after release and enable"

    rdma-qosctl disable "$device" >/dev/null
    for unit in "$@"; do
        eventually "nothing of $unit on $device is in a leaf" is_in_place "$unit" "$device" none
    done
    rdma-qosctl enable "$device" >/dev/null
    in_place "$device" /apart/program "$@"
    $check "after disable and enable"

    pid=$(property MainPID) restarts=$(property NRestarts)
    kill -9 "$pid"
    eventually "systemd starts the daemon again" main_pid_changed "$pid"
    equal "$(property NRestarts)" $((restarts + 1)) "restarts by systemd"
    in_place "$device" /apart/program "$@"
    $check "after SIGKILL"
}

# ---- those that send all the time ----

# sent_from_leaves DEVICE: "UNIT BYTES": what the leaves have sent in which it has queue pairs, also what others read.
sent_from_leaves()
{
    {
        rdma-qosctl qps --json | jq -r --arg device "$1/1" \
            '."queue-pairs"[] | select(.device == $device) | "of \(.number) \(.unit)"'
        ctl_emulator state --json | jq -r --arg device "$1" '.devices[] | select(.name == $device) |
            (."queue-pairs"[] | "in \(.qpn) \(.requester)"), (.tree[] | "sent \(.id) \(.bytes)")'
    } | awk '
        $1 == "of" { of[$2] = $3; sub(/\.service$/, "", of[$2]) }
        $1 == "in" && $2 in of { in_leaf[of[$2] " " $3] }
        $1 == "sent" { sent[$2] = $3 }
        END {
            for (each in in_leaf) {
                split(each, pair)
                bytes[pair[1]] += sent[pair[2]]
            }
            for (unit in bytes) printf "%s %.0f\n", unit, bytes[unit]
        }'
}

# has_sent UNIT DEVICE BYTES
has_sent()
{
    (($(sum_of "$(sent_from_leaves "$2" | grep "^$1 ")") >= $3))
}

# predicted DEVICE UNIT: percent of the link that both say.
predicted()
{
    local simulated why
    simulated=$(rdma-qosctl simulate --device "$1" --load program=inf,rival=inf --json |
        jq '.devices[0] | .["link-speed"] as $link | .steps[0].levels[] | select(.level == "program") | 100 * .gets / $link')
    why=$(rdma-qosctl why "$2.service" --interval 0 --json | jq --arg device "$1/1" \
        '[.sessions[].leaves[] | select(.device == $device) | 100 * .busy / ."link-speed"] | add')
    echo "$simulated $why"
}

# compare WHAT: the program of this case with what is predicted. One that has no processor for too long on a busy machine
# has nothing to send then, and is measured again; a tree that is wrong is wrong each time.
compare()
{
    local simulated why measured tries
    read -r simulated why < <(predicted "$sender" "$sending")
    within_tolerance "$why" "$simulated" || fail "$1: simulate says $simulated %, but why $why %"
    for ((tries = 0; tries < 12; tries++)); do
        measure_by "${mib_of[$sender]}" sent_from_leaves "$sender"
        measured=${percent[$sending]}
        echo "$1: simulate $simulated %, why $why %, measured $measured %"
        if within_tolerance "$measured" "$simulated"; then
            compared=$((compared + 1)) again=$((again + tries))
            off=$(awk -v off="$off" -v a="$measured" -v b="$simulated" \
                'BEGIN { now = (a > b) ? a - b : b - a; printf "%.1f", (now > off) ? now : off }')
            return
        fi
    done
    fail "$1: measured $measured %, but simulate says $simulated %"
}

# gets_its_part NAME HOW SENDER RECEIVER
gets_its_part()
{
    local name=$1 how=$2 sender=$3 receiver=$4 sending=e2e-program-$1 compared=0 again=0 off=0 right
    ready_for "$how"
    begin perftest e2e-rival "$how" "$sender" "$receiver" 20000
    begin "$name" "$sending" "$how" "$sender" "$receiver" 20001
    in_place "$sender" /program "$sending" e2e-rival
    sessions_are "$how" "$sending"
    # It has queue pairs before it begins.
    eventually "$sending sends" has_sent "$sending" "$sender" $((1 << 20))
    each_event "$sender" compare "$sending" e2e-rival
    all_go_on "$sending" e2e-rival
    right=$(grep -c '^right' "$scratch/$sending.said" || true)
    ((right > 0)) || [[ $name != *mpi* ]] || fail "$name has looked at no data"
    row_of "$name" "$how, $compared rates: at most $off points off, measured again $again times" "$compared"
}

# ---- those that look at their data ----

# That which takes longest comes last, and is alone in the end.
readonly checkers=(libfabric netpipe-mpich netpipe-openmpi hpcc)

right_of()
{
    grep -c '^right' "$scratch/e2e-program-$1.said" 2>/dev/null || true
}
has_more_right()
{
    (($(right_of "$1") > $2))
}
has_moved_on()
{
    [[ $(moved mlx5_4 "$unit_of_process" | grep "^$1 " || true) != "$2" ]]
}

is_right_or_moves_on()
{
    has_more_right "$1" "$2" || has_moved_on "e2e-program-$1" "$3"
}

# finds_more_right NAME: however long that takes, if it only moves on.
finds_more_right()
{
    local before
    before=$(right_of "$1")
    until has_more_right "$1" "$before"; do
        eventually "$1 moves on" is_right_or_moves_on "$1" "$before" \
            "$(moved mlx5_4 "$unit_of_process" | grep "^e2e-program-$1 " || true)"
        all_go_on "e2e-program-$1"
        sleep 1
    done
}

# goes_on WHAT: all of them.
goes_on()
{
    local name before
    before=$(moved mlx5_4 "$unit_of_process")
    for name in "${checkers[@]}"; do
        eventually "$name goes on $1" has_moved_on "e2e-program-$name" "$(grep "^e2e-program-$name " <<<"$before" || true)"
    done
    all_go_on "${checkers[@]/#/e2e-program-}"
    echo "$1: all go on"
}

# finds_its_data HOW
finds_its_data()
{
    local how=$1 name port=20100 before
    ready_for "$how"
    for name in "${checkers[@]}"; do
        begin "$name" "e2e-program-$name" "$how" mlx5_4 mlx5_5 $((port++))
    done
    in_place mlx5_4 /program "${checkers[@]/#/e2e-program-}"
    each_event mlx5_4 goes_on "${checkers[@]/#/e2e-program-}"
    for name in "${checkers[@]}"; do
        finds_more_right "$name"
        row_of "$name" "$how, looks at its data: right" "$(right_of "$name")"
        all_go_on "e2e-program-$name"
        systemctl stop "e2e-program-$name.service"
    done
}

# ---- the table ----

declare -Ar package_of=([perftest]=perftest [ucx]=ucx-utils [qperf]=qperf [openmpi-ucx]=openmpi-bin
    [openmpi-ofi]=openmpi-bin [mpich]=mpich [hpcc]=hpcc [netpipe-openmpi]=netpipe-openmpi
    [netpipe-mpich]=netpipe-mpich2 [libfabric]=libfabric-bin [mpi4py]=python3-mpi4py)

# row_of NAME WHAT CASES [DIFFERENCES]
row_of()
{
    # shellcheck disable=SC2016 # dpkg's own
    table_row "$1" "$(dpkg-query --show --showformat='${Version}' "${package_of[$1]}")" "$2" "$3" "${4:-none}"
}

# ---- cases ----

for each in perftest ucx qperf openmpi-ucx openmpi-ofi mpich; do
    devices="mlx5_0 mlx5_1"
    [[ $each != qperf && $each != openmpi-ofi ]] || devices="mlx5_2 mlx5_3"
    for how in adopted launched; do
        function=${each//-/_}_$how
        eval "$function() { gets_its_part $each $how $devices; }"
        test_case "$function" "$each, $how, gets what is predicted, whatever happens meanwhile"
    done
done
for how in adopted launched; do
    eval "data_$how() { finds_its_data $how; }"
    test_case "data_$how" "programs that look at their data find it right, $how"
done

programs_absent()
{
    table_row fabtests - "not tried: Debian has no package of it" 0 none
    table_row "MPICH by libfabric" - "not tried: Debian's is built for UCX" 0 none
    row_of libfabric "connected endpoints not tried: they need rdma_cm, which the emulator does not have" 0
    row_of qperf "RoCE not tried: it connects without a GID, which is refused there" 0
}
test_case programs_absent "what is not packaged, or does not run on the emulator, is named"
