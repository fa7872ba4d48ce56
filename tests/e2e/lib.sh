# shellcheck shell=bash
# What the cases share. To be sourced, in the container.

[[ -z ${scratch:-} ]] || return 0

readonly policy=/etc/rdma-qos/policy.yaml
readonly files=/usr/lib/rdma-qos-e2e/files
# shellcheck disable=SC2034 # for the cases
readonly probe=/usr/lib/rdma-qos-e2e/e2e_probe
readonly sample=/usr/lib/rdma-qos-e2e/rdma-qos-sample
# For the cases alone; nothing of it is the daemon's.
readonly scratch=/tmp/rdma-qos-e2e
# What of it is still there after a reboot.
readonly kept=/var/lib/rdma-qos-e2e

# What the host of the cases has: users, a device, a daemon, and a record of what happens to the device.
set_up()
{
    mkdir -p "$scratch" "$kept"
    chmod 755 "$scratch"
    systemctl start rdma-qos-emulator.service
    systemd-run --quiet --unit=e2e-trace -p StandardOutput="append:$scratch/trace" -- \
        rdma-qos-emulator trace --directory /run/emulator
    # After a reboot, everything else is as the case left it.
    [[ ! -e $kept/case ]] || return 0
    make_user alice payroll
    make_user bob
    make_user carol
    put_policy base
    systemctl enable --quiet rdma-qosd.service
}

# ---- cases ----

case_functions=()
declare -A case_titles=()

# test_case FUNCTION TITLE: a case. The function runs in a shell of its own with `set -e`; what it prints stands below
# the case's line.
test_case()
{
    case_functions+=("$1")
    case_titles[$1]=$2
}

# fail TEXT: ends the case. The text is not for whoever catches the output of a function.
fail()
{
    printf 'FAILED: %s\n' "$*" >&2
    exit 1
}

# unable TEXT: ends a case that cannot be tried here.
unable()
{
    printf '%s\n' "$*" >"$scratch/unable"
    exit 77
}

# table_row NEIGHBOUR VERSION WHAT CASES DIFFERENCES: a row of the table of the group `neighbours`.
table_row()
{
    local IFS='|'
    printf '%s\n' "$*" >>/out/table.txt
}

# reboot_then FUNCTION [OPTION...]: ends the case, reboots with these options of systemctl, and goes on with the
# function. What the case is to find again it keeps in "$kept".
reboot_then()
{
    printf '%s\n' "$@" >"$kept/then"
    exit 78
}

# run_cases GLOB: those with this name or title. Writes TAP. After a reboot, goes on with the case that wanted it.
run_cases()
{
    local glob=$1 function number=0 first=1 part options status chosen=()
    for function in "${case_functions[@]}"; do
        # shellcheck disable=SC2053 # a pattern on purpose
        if [[ $function == $glob || ${case_titles[$function]} == $glob ]]; then
            chosen+=("$function")
        fi
    done
    if [[ -e $kept/case ]]; then
        first=$(<"$kept/case")
    else
        echo "1..${#chosen[@]}" >/out/results.tap
    fi
    for function in "${chosen[@]}"; do
        number=$((number + 1))
        ((number >= first)) || continue
        part=$function
        if [[ -e $kept/case ]]; then
            part=$(head -n 1 "$kept/then")
            mv "$kept/said" "$scratch/said"
            rm "$kept"/{case,then}
        else
            : >"$scratch/said"
        fi
        rm -f "$scratch"/{unable,held}
        set +e
        (
            set -euo pipefail
            "$part"
        ) >>"$scratch/said" 2>&1 </dev/null
        status=$?
        set -e
        if ((status == 78)); then
            mapfile -t -s 1 options <"$kept/then"
            cp "$scratch/said" "$kept/said"
            echo "$number" >"$kept/case"
            systemctl reboot "${options[@]}"
            sleep infinity
        fi
        {
            case $status in
                0) echo "ok $number - ${case_titles[$function]}" ;;
                77) echo "ok $number - ${case_titles[$function]} # SKIP $(cat "$scratch/unable")" ;;
                *) echo "not ok $number - ${case_titles[$function]}" ;;
            esac
            sed 's/^/# /' "$scratch/said"
            if ((status != 0 && status != 77)); then
                echo "# case $function ended with status $status; the journal's last lines:"
                journalctl -n 25 --no-pager -o short-precise 2>&1 | sed 's/^/#   /'
            fi
        } >>/out/results.tap
        if [[ -e $scratch/held ]]; then
            xargs systemctl stop <"$scratch/held" 2>/dev/null || true
        fi
    done
    journalctl --no-pager -o short-precise >/out/journal.log 2>&1 || true
}

# ---- what cases say and wait for ----

# contains TEXT PART WHAT: fails if the text does not have the part.
contains()
{
    [[ $1 == *"$2"* ]] || fail "$3: \"$2\" is not in:"$'\n'"$1"
}

lacks()
{
    [[ $1 != *"$2"* ]] || fail "$3: \"$2\" is in:"$'\n'"$1"
}

# equal ACTUAL EXPECTED WHAT
equal()
{
    [[ $1 == "$2" ]] || fail "$3: \"$1\" instead of \"$2\""
}

# In seconds: what takes longer hangs. No case judges by the wall clock (docs/testing.md).
readonly hung=120

# eventually WHAT COMMAND...: the waits are for other processes, and the machine may be busy.
eventually()
{
    local what=$1 end=$((SECONDS + hung))
    shift
    until "$@"; do
        ((SECONDS < end)) || fail "not within $hung s: $what"
        sleep 0.05
    done
}

# refused COMMAND...: runs it, fails if it succeeds, and prints what it said.
refused()
{
    local said
    if said=$("$@" 2>&1); then
        fail "succeeded, but should not: $*: $said"
    fi
    printf '%s\n' "$said"
}

milliseconds_now()
{
    local now=${EPOCHREALTIME/[^0-9]/}
    echo $((now / 1000))
}

# PID...: how many ms these have been ready to run, and had no processor.
ready_but_waiting()
{
    local pid
    for pid in "$@"; do
        cat "/proc/$pid/schedstat"
    done | awk '{ sum += $2 } END { print int(sum / 1000000) }'
}

# property NAME [UNIT]
property()
{
    systemctl show --value -p "$1" "${2:-rdma-qosd.service}"
}

# Lines of the daemon's unit in the journal since the cursor that `journal_cursor` printed: by the daemon, by the
# programs of ExecReload=, and by systemd about it.
journal_cursor()
{
    journalctl --sync
    journalctl -n 0 --show-cursor -q | sed -n 's/^-- cursor: //p'
}

journal_since()
{
    journalctl --sync
    journalctl --after-cursor="$1" -u rdma-qosd.service -o cat --no-pager -q
}

# ---- the daemon and its device ----

# put_policy NAME: one of files/, as the host's policy.
put_policy()
{
    install -m 644 "$files/$1.yaml" "$policy"
}

# has_tree ELEMENTS: the device is ready and uses that many elements.
has_tree()
{
    local said
    said=$(rdma-qosctl devices mlx5_0/1 --json 2>/dev/null | jq -r '.devices[0] | .state, .elements.used' | xargs) || true
    [[ $said == "ready $1" ]]
}

# start_with POLICY: restarts the daemon with it, and waits until the device has its tree.
start_with()
{
    put_policy "$1"
    local elements
    elements=$(rdma-qosctl check --offline --json | jq '.devices[0].elements')
    systemctl restart rdma-qosd.service
    eventually "the device is ready, with $elements elements" has_tree "$elements"
}

# main_pid_changed PID: the daemon runs, and is another process than this.
main_pid_changed()
{
    [[ $(property MainPID) != "$1" && $(property ActiveState) == active ]]
}

readonly watchdog_drop_in=/run/systemd/system/rdma-qosd.service.d/e2e-watchdog.conf

# The unit's watchdog bites after two seconds, until the case ends; the daemon has to be started again for it.
quick_watchdog()
{
    mkdir -p "${watchdog_drop_in%/*}"
    printf '[Service]\nWatchdogSec=2s\n' >"$watchdog_drop_in"
    trap 'rm -f "$watchdog_drop_in"; systemctl daemon-reload' EXIT
    systemctl daemon-reload
}

# Of the policy.
revision_in_force()
{
    rdma-qosctl status --json | jq -r .policy.revision
}

ctl_emulator()
{
    rdma-qos-emulator ctl --directory /run/emulator "$@"
}

# The device's elements, as the firmware has them: share, cap and parent of each.
tree_of_device()
{
    ctl_emulator state --json | jq -c '.devices[] | select(.name == "mlx5_0") | .tree'
}

# tree_and_places: what the firmware has, but for counters: each element, and the leaf of each queue pair.
tree_and_places()
{
    ctl_emulator state --json | jq -cS '.devices[] | select(.name == "mlx5_0") |
        {tree, places: [."queue-pairs"[] | {qpn, requester}] | sort}'
}

# mark NAME: a line in the trace, behind all that has happened.
mark()
{
    ctl_emulator mark "$1"
    eventually "$1 is in the trace" grep -q "mark.*$1" "$scratch/trace"
}

# commands_between FROM TO: calls between two marks that make, change or destroy objects of the device, elements among
# them.
commands_between()
{
    sed -n "/mark.*$1/,/mark.*$2/p" "$scratch/trace" | grep -E 'devx-object\.(create|modify|destroy)' || true
}

# ---- what a device has sent ----

# moved DEVICE PLACE: "WHO BYTES", a line for each. Whose a queue pair is: its process by the emulator, and of the cgroup
# by the kernel what the first group of the pattern PLACE matches, for sed, behind some "/".
moved()
{
    local device=$1 place=$2 state
    state=$(ctl_emulator state --json)
    {
        ctl_emulator resource qp | jq -r --arg device "$device" 'select(.device == $device) | "\(.qpn) \(.pid)"' |
            while read -r number pid; do
                sed -n "s|^0:.*/$place.*|who $number \1|p" "/proc/$pid/cgroup" 2>/dev/null || true    # it may have ended
            done
        jq -r --arg device "$device" \
            '.devices[] | select(.name == $device) | ."queue-pairs"[] | "sent \(.qpn) \(.bytes)"' <<<"$state"
    } | awk '
        $1 == "who" { who[$2] = $3 }
        $1 == "sent" && $2 in who { bytes[who[$2]] += $3 }
        END { for (each in bytes) printf "%s %.0f\n", each, bytes[each] }'    # mawk rounds what it prints above 2^31
}

sum_of()
{
    awk '{ sum += $2 } END { printf "%.0f\n", sum }' <<<"$1"
}

# have_moved BYTES COMMAND...
have_moved()
{
    local bytes=$1
    shift
    (($(sum_of "$("$@")") >= bytes))
}

# measure_by MIB COMMAND...: sets percent[WHO], of the next MIB that are sent; the first quarter is from before all had
# begun. COMMAND prints "WHO BYTES", a line for each, as `moved` does.
declare -A percent
measure_by()
{
    local bytes_wanted=$(($1 << 20)) before after who bytes
    shift
    eventually "they send" have_moved $(($(sum_of "$("$@")") + bytes_wanted / 4)) "$@"
    before=$("$@")
    eventually "they send" have_moved $(($(sum_of "$before") + bytes_wanted)) "$@"
    after=$("$@")
    percent=()
    while read -r who bytes; do
        # shellcheck disable=SC2034 # for the cases
        percent[$who]=$bytes
    done < <(awk '
        NR == FNR { before[$1] = $2; next }
        { grown[$1] = $2 - before[$1]; sum += grown[$1] }
        END { for (who in grown) printf "%s %.1f\n", who, 100 * grown[who] / sum }' <(echo "$before") <(echo "$after"))
}

# What is measured may be so far off, in points of the link.
readonly tolerance=3

# within_tolerance MEASURED EXPECTED
within_tolerance()
{
    awk -v measured="$1" -v expected="$2" -v most="$tolerance" \
        'BEGIN { off = measured - expected; exit !(off <= most && off >= -most) }'
}

# ---- programs ----

# as_user USER COMMAND...: outside of every unit but one of its own.
as_user()
{
    local user=$1
    shift
    systemd-run --quiet --wait --pipe --collect --uid="$user" -p EnvironmentFile=-/run/emulator.env -- "$@"
}

# hold UNIT SLICE USER ARGUMENTS...: a program with queue pairs in a unit of its own, until the case ends.
hold()
{
    local unit=$1 slice=$2 user=$3
    shift 3
    echo "$unit.service" >>"$scratch/held"
    systemd-run --quiet --collect --unit="$unit" --slice="$slice" --uid="$user" -p EnvironmentFile=/run/emulator.env \
        -p StandardOutput="append:$scratch/$unit.said" -p StandardError=inherit -- \
        "$sample" --device mlx5_0 "$@" -- sleep infinity
}

# hold_crowd COUNT: COUNT programs, each with a queue pair, until the case ends: half of them in a leaf of their own,
# half together.
hold_crowd()
{
    echo e2e-crowd.service >>"$scratch/held"
    # shellcheck disable=SC2016 # expanded by the other shell
    systemd-run --quiet --collect --unit=e2e-crowd --uid=alice -p EnvironmentFile=/run/emulator.env \
        -p StandardOutput="append:$scratch/e2e-crowd.said" -p StandardError=inherit -- \
        bash -c 'for ((i = 0; i < $2; i += 2)); do
            "$1" --device mlx5_0 --level rpc -- sleep infinity &
            "$1" --device mlx5_0 --level payroll -- sleep infinity &
        done; wait' - "$sample" "$1"
    eventually "$1 programs have their queue pairs in leaves" has_crowd "$1"
}

# has_crowd COUNT: COUNT of its programs are registered, each with its queue pair in a leaf.
has_crowd()
{
    local count
    count=$(rdma-qosctl sessions --json | jq '[.sessions[] | select(.owner.unit == "e2e-crowd.service") |
        ."queue-pairs"[]? | select(.leaf != null)] | length') || return
    ((count == $1))
}

# session_of UNIT: what the daemon has of the session of its program, in JSON; nothing if there is none.
session_of()
{
    rdma-qosctl sessions --json | jq -c --arg unit "$1" '.sessions[] | select(.owner.unit == $unit)'
}

has_session()
{
    [[ -n $(session_of "$1") ]]
}

has_attached()
{
    [[ -n $(session_of "$1" | jq -r '."queue-pairs"[]? | select(.leaf != null) | .leaf') ]]
}

# pingpong UNIT PORT [HOST]: a packaged program that knows nothing of the daemon. It does not end by itself.
pingpong()
{
    local unit=$1
    shift
    systemd-run --quiet --collect --unit="$unit" --uid=bob -p EnvironmentFile=/run/emulator.env -- \
        ibv_rc_pingpong -d mlx5_0 -g 0 -n 1000000000 -p "$@"
    echo "$unit.service" >>"$scratch/held"
}

leaf_of_unit()
{
    rdma-qosctl qps --json | jq -r --arg unit "$1" '."queue-pairs"[] | select(.unit == $unit) | .leaf // empty'
}

# is_adopted UNIT LEAF: LEAF is how the leaf's path begins.
is_adopted()
{
    [[ $(leaf_of_unit "$1") == "$2"* ]]
}

# listens PORT: state 0A of the kernel's table.
listens()
{
    grep -q ":$(printf %04X "$1") .* 0A " /proc/net/tcp /proc/net/tcp6
}

# make_user NAME [GROUP...]
make_user()
{
    local name=$1 group
    shift
    for group in "$@"; do
        getent group "$group" >/dev/null || groupadd "$group"
    done
    id "$name" >/dev/null 2>&1 || useradd --no-create-home "$name"
    for group in "$@"; do
        usermod -a -G "$group" "$name"
    done
}
