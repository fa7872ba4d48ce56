# shellcheck shell=bash
# The clients of D-Bus that Debian has, at the system bus and at the daemon's own socket.

# shellcheck source=../lib.sh
. ./lib.sh

readonly bus_files=$files/bus
readonly bus_clients=(busctl gdbus dbus-send dbus-python jeepney dbus-next dbus-fast glib sdbus-c++)

# client NAME TRANSPORT ACTION...: as an ordinary user, who has not opened a device yet.
client()
{
    as_user alice "$bus_files/bus_client.py" "$@"
}

client_version()
{
    "$bus_files/bus_client.py" "$1" version
}

# can_be_tried NAME: makes its program, where it is one.
can_be_tried()
{
    local version program=$scratch/sdbus_client
    [[ $1 == sdbus-c++ && ! -x $program ]] || return 0
    version=$(client_version sdbus-c++)
    g++ -std=c++20 -DSDBUS_MAJOR="${version%%.*}" "$bus_files/sdbus_client.cpp" -o "$program" -lsdbus-c++
}

# There is one that lives through all cases, whose session is read, and who notices what others do.
keeper()
{
    ! has_attached e2e-keeper.service 2>/dev/null || return 0
    start_with warned
    systemd-run --quiet --collect --unit=e2e-keeper --uid=alice -p EnvironmentFile=/run/emulator.env \
        -p StandardOutput="append:$scratch/e2e-keeper.said" -p StandardError=inherit -- \
        "$sample" --device mlx5_0 --level rpc -- sleep infinity
    eventually "the keeper's queue pair is in a leaf" has_attached e2e-keeper.service
}

# ---- reading ----

# reads NAME: every property of every object, in each way there is, as busctl has it.
reads()
{
    local name=$1 transport read=$scratch/read compared differences all=0 wrong=0 status by=()
    can_be_tried "$name"
    keeper
    for transport in system socket socket-hello; do
        client busctl system glance >"$read.before"
        status=0
        client "$name" "$transport" read >"$read.$name" 2>&1 || status=$?
        if ((status == 3)); then
            echo "$name, $transport: $(cat "$read.$name")"
            continue
        fi
        ((status == 0)) || fail "$name, $transport: $(cat "$read.$name")"
        client busctl system glance >"$read.after"
        "$bus_files/same_values.py" "$read.before" "$read.$name" "$read.after" >"$read.said"
        sed '$d' "$read.said"
        read -r compared differences < <(tail -n 1 "$read.said")
        echo "$name, $transport: $compared values, $differences differences"
        ((compared > 100)) || fail "$name, $transport: only $compared values"
        all=$((all + compared)) wrong=$((wrong + differences))
        by+=("$transport")
    done
    table_row "$name" "$(client_version "$name")" "reads every property: ${by[*]}" "$all" "$wrong"
    equal "$wrong" 0 "differences"
}
for each in "${bus_clients[@]}"; do
    eval "reads_$each() { reads $each; }"
    test_case "reads_$each" "$each reads every property as busctl does"
done

# ---- registering ----

# A unit of alice's that runs a client until the case ends; what it says is in $scratch/NAME.said.
start_client()
{
    local unit=$1 user=$2
    shift 2
    echo "$unit.service" >>"$scratch/held"
    rm -f "$scratch/$unit.said"
    systemd-run --quiet --collect --unit="$unit" --uid="$user" -p EnvironmentFile=/run/emulator.env \
        -p StandardOutput="append:$scratch/$unit.said" -p StandardError=inherit -- "$bus_files/bus_client.py" "$@"
}

# has_said NAME: that it has come so far; or it has ended.
has_said()
{
    grep -qE '^(watching$|\{)' "$scratch/$1.said" 2>/dev/null || ! systemctl --quiet is-active "$1.service"
}

session_is_gone()
{
    ! has_session "$1"
}

# What others have of the device, and the keeper of its session.
others()
{
    tree_and_places
    session_of e2e-keeper.service | jq -cS 'del(.grant?)'
    wc -l <"$scratch/e2e-keeper.said"
    property MainPID
}

# in_its_leaf FILTER FILE: all answers to the client about these queue pairs say so.
in_its_leaf()
{
    equal "$(jq -c "[$1 | .level, (.leaf | startswith(\"/rpc/pid:\")), .enforced]" "$2")" '["rpc",true,true]' "$1"
}

# registers NAME: with the descriptor of its device, in Register and in Attach. Then it is killed.
registers()
{
    local name=$1 unit=e2e-client-${1//+/p} said before cursor transport cases=0 status
    can_be_tried "$name"
    keeper
    for transport in socket socket-hello; do
        before=$(others)
        cursor=$(journal_cursor)
        start_client "$unit" alice "$name" "$transport" hold rpc
        eventually "$name says what it got" has_said "$unit"
        said=$scratch/$unit.said
        if grep -qE '^(begins with|has (neither|no) |passes a)' "$said"; then
            echo "$name, $transport: $(cat "$said")"
            continue
        fi
        jq -e . "$said" >/dev/null 2>&1 || fail "$name, $transport: $(cat "$said")"
        in_its_leaf '.attached[0]' "$said"
        eventually "both queue pairs of $name are listed" jq_says 2 session_of "$unit.service" \
            '[."queue-pairs"[] | select(.leaf != null)] | length'
        equal "$(session_of "$unit.service" | jq -r .owner.user)" alice "the owner of its session"
        systemctl kill --signal=KILL "$unit.service"
        in_its_leaf '.grant' "$said"
        in_its_leaf '.grant."queue-pairs"[0]' "$said"
        eventually "the session of $name is gone" session_is_gone "$unit.service"
        eventually "nobody else has noticed" says "$before" others
        equal "$(journal_since "$cursor" | grep -ciE 'warning|error' || true)" 0 "warnings when $name was killed"
        cases=$((cases + 1))
        echo "$name, $transport: registered, attached, killed"
    done
    if ((cases == 0)); then
        table_row "$name" "$(client_version "$name")" "registers with a descriptor: $(cat "$scratch/$unit.said")" 0 0
        unable "$name $(cat "$scratch/$unit.said")"
    fi
    table_row "$name" "$(client_version "$name")" "registers with a descriptor, is killed" "$cases" 0
}
says()
{
    local wanted=$1
    shift
    [[ $("$@") == "$wanted" ]]
}
# jq_says TEXT FUNCTION ARGUMENT FILTER
jq_says()
{
    [[ $("$2" "$3" | jq -c "$4") == "$1" ]]
}
for each in "${bus_clients[@]}"; do
    eval "registers_$each() { registers $each; }"
    test_case "registers_$each" "$each registers with a descriptor over the socket, and is killed"
done

# A descriptor that is an argument of its own, which more clients can pass.
checks()
{
    local name transport report cases=0 status
    keeper
    for name in "${bus_clients[@]}"; do
        can_be_tried "$name"
        for transport in socket socket-hello; do
            status=0
            report=$(client "$name" "$transport" check "$files/base.yaml" 2>&1) || status=$?
            if ((status == 3)); then
                echo "$name, $transport: $report"
                continue
            fi
            ((status == 0)) || fail "$name, $transport: $report"
            equal "$(jq -r .accepted <<<"$report")" true "$name, $transport: whether the policy would be taken"
            cases=$((cases + 1))
        done
    done
    table_row "all of these" - "Check of a policy by its descriptor" "$cases" 0
}
test_case checks "clients pass the descriptor of a policy"

# The first call with a descriptor before the daemon has answered anything.
pipelines()
{
    local how said
    keeper
    for how in separate split; do
        said=$(as_user alice "$bus_files/pipelined.py" "$how" 2>&1) || fail "$how: $said"
        echo "$how: $said"
        equal "$said" "method return, accepted true" "$how"
    done
    # A descriptor belongs to the message with whose bytes it comes.
    said=$(as_user alice "$bus_files/pipelined.py" together 2>&1) || fail "together: $said"
    echo "together: $said"
    equal "$said" "closed" "a descriptor that comes with the authentication"
    table_row "jeepney" "$(client_version jeepney)" "authentication and a call with a descriptor, pipelined" 3 0
}
test_case pipelines "the first call with a descriptor need not wait for the authentication"

# ---- signals ----

# follows NAME: it receives the signals of a reload.
follows()
{
    local name=$1 unit=e2e-watch-${1//+/p} transport said user cases=0 device=/org/rdmaqos1/device/mlx5_5f0_2f1
    can_be_tried "$name"
    keeper
    for transport in system socket socket-hello; do
        user=alice
        [[ $name != busctl ]] || user=root    # who monitors a bus
        start_client "$unit" "$user" "$name" "$transport" watch
        eventually "$name watches" has_said "$unit"
        said=$scratch/$unit.said
        if ! grep -qx watching "$said"; then
            grep -qE '^(begins with|monitors|dbus-monitor)' "$said" || fail "$name, $transport: $(cat "$said")"
            echo "$name, $transport: $(cat "$said")"
            continue
        fi
        put_policy base
        rdma-qosctl reload >/dev/null
        eventually "$name, $transport, hears of the policy" grep -q "^/org/rdmaqos1 PolicyChanged" "$said"
        eventually "$name, $transport, hears of the device" grep -q "^$device PropertiesChanged" "$said"
        put_policy warned
        rdma-qosctl reload >/dev/null
        eventually "$name, $transport, hears of the second reload" says 2 grep -c "^/org/rdmaqos1 PolicyChanged" "$said"
        systemctl kill --signal=KILL "$unit.service"
        echo "$name, $transport: $(grep -c '^/' "$said") signals"
        cases=$((cases + 1))
    done
    table_row "$name" "$(client_version "$name")" "receives the signals of two reloads" "$cases" 0
}
for each in "${bus_clients[@]}"; do
    eval "follows_$each() { follows $each; }"
    test_case "follows_$each" "$each receives the signals of a reload"
done

table_of_absent()
{
    table_row "dbus-next (node)" - "not tried: Debian has no package of it" 0 0
}
test_case table_of_absent "node's dbus-next is not packaged"
