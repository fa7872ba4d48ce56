# shellcheck shell=bash
# The unit's restrictions: each of them refuses what it should, by itself and all together; and without them nothing
# does, so that it is not the container that refuses.

# shellcheck source=../lib.sh
. ./lib.sh

# check, what it is refused with, and the lines of the unit that refuse it.
restrictions='
write-usr            EROFS        ProtectSystem
write-etc            EROFS        ProtectSystem
write-var            EROFS        ProtectSystem
write-run            EROFS        ReadOnlyPaths
see-home             ENOENT       ProtectHome
see-tmp              ENOENT       PrivateTmp
write-cgroup         EROFS        ProtectControlGroups
write-kernel-tunable EROFS        ProtectKernelTunables
read-kernel-log      EPERM        ProtectKernelLogs
load-module          EPERM        ProtectKernelModules
set-clock            EPERM        ProtectClock
set-host-name        EPERM        ProtectHostname
personality          EPERM        LockPersonality
map-writable-code    EPERM        MemoryDenyWriteExecute
make-data-executable EPERM        MemoryDenyWriteExecute
inet                 EAFNOSUPPORT RestrictAddressFamilies
inet6                EAFNOSUPPORT RestrictAddressFamilies
packet               EAFNOSUPPORT RestrictAddressFamilies
new-namespace        EPERM        RestrictNamespaces
new-user-namespace   EPERM        RestrictNamespaces
real-time            EPERM        RestrictRealtime
set-uid-file         EPERM        RestrictSUIDSGID
other-architecture   killed       SystemCallArchitectures
gain-privileges      EPERM        NoNewPrivileges
own-net-admin        EPERM        CapabilityBoundingSet
mount                EPERM        SystemCallFilter
unmount              EPERM        SystemCallFilter
reboot               EPERM        SystemCallFilter
swap                 EPERM        SystemCallFilter
raw-io               EPERM        SystemCallFilter
modify-ldt           EPERM        SystemCallFilter
trace                EPERM        SystemCallFilter
bpf                  EPERM        SystemCallFilter
add-key              EPERM        SystemCallFilter
'
# What other machines than those of x86-64 do not have, and some of these.
not_tried=
if [[ $(uname -m) != x86_64 ]]; then
    restrictions=$(grep -vE '^(raw-io|modify-ldt|other-architecture) ' <<<"$restrictions")
    not_tried="not tried: raw-io, modify-ldt and other-architecture: there are none on $(uname -m)"
elif [[ $("$probe" other-architecture) != 'other-architecture allowed' ]]; then
    restrictions=$(grep -v '^other-architecture ' <<<"$restrictions")
    not_tried="not tried: other-architecture: on this machine a 32-bit system call kills any program"
fi
# systemd asks kernels that can for it, instead of filtering system calls; the kernel has an errno of its own.
if (($(systemctl --version | sed -n '1s/^systemd \([0-9]*\).*/\1/p') >= 253)) && [[ $(printf '%s\n' 6.3 "$(uname -r)" | sort -V | head -n 1) == 6.3 ]]; then
    # shellcheck disable=SC2001 # a regular expression
    restrictions=$(sed 's/EPERM\( *MemoryDenyWriteExecute\)/EACCES\1/' <<<"$restrictions")
fi
readonly restrictions not_tried
# What the daemon needs, in the same sandbox.
readonly freedoms='netlink unix write-own-run write-own-state write-node-exporter'

# lines_of_unit [NAME]: the restrictions of the installed unit, or those with this name; and with SystemCallFilter=
# what a refused call returns.
lines_of_unit()
{
    local name=${1:-[A-Za-z]*}
    [[ $name != SystemCallFilter ]] || name='SystemCall(Filter|ErrorNumber)'
    sed -n '/^\[Service\]/,/^\[Install\]/p' /usr/lib/systemd/system/rdma-qosd.service |
        grep -E "^$name=" |
        grep -vE '^(Type|BusName|Exec[A-Za-z]*|Restart[A-Za-z]*|WatchdogSec|TimeoutStopSec|KillMode|RuntimeDirectoryP[a-z]*)=' ||
        true
}

# in_sandbox NAME COMMAND...: with the unit's lines of this name, as root; `all`: with all of them; `none`: with none.
in_sandbox()
{
    local name=$1 line options=()
    shift
    case $name in
        none) ;;
        all) mapfile -t options < <(lines_of_unit) ;;
        *)
            mapfile -t options < <(lines_of_unit "$name")
            ((${#options[@]} > 0)) || fail "the unit has no $name="
            ;;
    esac
    local arguments=()
    for line in "${options[@]}"; do
        arguments+=(-p "$line")
    done
    systemd-run --quiet --wait --pipe --collect "${arguments[@]}" -- "$@"
}

# The sandbox has directories of the daemon's, which go with it.
without_daemon()
{
    systemctl stop rdma-qosd.service
    mkdir -p /run/rdma-qos /var/lib/rdma-qos /var/lib/prometheus/node-exporter
}

confined_together()
{
    without_daemon
    local names said check expected directive wrong=no
    names=$(awk 'NF { print $1 }' <<<"$restrictions")
    # shellcheck disable=SC2086 # words
    said=$(in_sandbox all "$probe" $names $freedoms)
    while read -r check expected directive; do
        [[ -n $check ]] || continue
        if ! grep -qx "$check $expected" <<<"$said"; then
            echo "$check: $(sed -n "s/^$check //p" <<<"$said") instead of $expected ($directive=)"
            wrong=yes
        fi
    done <<<"$restrictions"
    for check in $freedoms; do
        if ! grep -qx "$check allowed" <<<"$said"; then
            echo "$check: $(sed -n "s/^$check //p" <<<"$said"), but the daemon needs it"
            wrong=yes
        fi
    done
    [[ $wrong == no ]] || fail "the unit's sandbox is not what it should be"
    echo "$(grep -vc allowed <<<"$said") refused, $(grep -c allowed <<<"$said") allowed"
}
test_case confined_together "the unit's sandbox refuses what it should"

confined_alone()
{
    without_daemon
    local directive names said check expected of wrong=no
    while read -r directive; do
        names=$(awk -v directive="$directive" '$3 == directive { print $1 }' <<<"$restrictions")
        # shellcheck disable=SC2086 # words
        said=$(in_sandbox "$directive" "$probe" $names)
        while read -r check expected of; do
            [[ $of == "$directive" ]] || continue
            if ! grep -qx "$check $expected" <<<"$said"; then
                echo "with $directive= alone, $check: $(sed -n "s/^$check //p" <<<"$said") instead of $expected"
                wrong=yes
            fi
        done <<<"$restrictions"
    done < <(awk 'NF { print $3 }' <<<"$restrictions" | sort -u)
    [[ $wrong == no ]] || fail "a restriction does not bite by itself"
}
test_case confined_alone "each restriction bites by itself"

confined_control()
{
    without_daemon
    local names said
    names=$(awk 'NF { print $1 }' <<<"$restrictions")
    # shellcheck disable=SC2086 # words
    said=$(in_sandbox none "$probe" $names | grep -v ' allowed$' || true)
    [[ -z $said ]] || fail "refused without any restriction, so that the other cases say nothing of it:"$'\n'"$said"
    [[ -z $not_tried ]] || echo "$not_tried"
}
test_case confined_control "without the restrictions all of it is allowed"

# ---- devices ----

confined_devices()
{
    local node=/dev/e2e-kmsg lines='Device[A-Z][a-z]*'
    rm -f "$node"
    mknod "$node" c 1 11
    equal "$(in_sandbox none "$probe" open "$node")" "$node allowed" "a device node without DeviceAllow="
    equal "$(in_sandbox "$lines" "$probe" open "$node")" "$node EPERM" "a device node that DeviceAllow= does not name"
    equal "$(in_sandbox "$lines" "$probe" open /dev/null)" "/dev/null allowed" "a harmless device node"
    rm -f "$node"
    local major
    major=$(awk '$2 == "infiniband_verbs" { print $1 }' /proc/devices)
    if [[ -n $major ]]; then
        mknod /dev/e2e-verbs c "$major" 255
        local said
        said=$(in_sandbox "$lines" "$probe" open /dev/e2e-verbs)
        rm -f /dev/e2e-verbs
        lacks "$said" EPERM "a device node of verbs"
    else
        echo "not tried: that nodes of verbs are allowed. This kernel has not loaded ib_uverbs, and the emulator's" \
            "devices are sockets"
    fi
}
test_case confined_devices "device nodes other than those of verbs are refused"

# ---- the daemon itself ----

# capabilities_of KIND STATUS: "cap_kill ...", of a process by its /proc/PID/status.
capabilities_of()
{
    capsh --decode="$(awk -v kind="$1:" '$1 == kind { print $2 }' "$2")" | sed 's/.*=//' | tr , '\n' | sort | xargs
}

confined_daemon()
{
    start_with base
    local status kind
    status=/proc/$(property MainPID)/status
    local documented="cap_dac_override cap_kill cap_net_raw cap_setgid cap_setuid cap_sys_ptrace cap_sys_rawio"
    for kind in CapBnd CapPrm CapEff; do
        equal "$(capabilities_of "$kind" "$status")" "$documented" "the daemon's $kind"
    done
    # systemd 257 starts root's services with the bounding set as inheritable, 252 with none: to a program of root's that
    # makes no difference.
    local inheritable
    inheritable=$(capabilities_of CapInh "$status")
    [[ -z $inheritable ]] || equal "$inheritable" "$documented" "the daemon's CapInh"
    equal "$(awk '$1 == "CapAmb:" { print $2 }' "$status")" 0000000000000000 "the daemon's CapAmb"
    equal "$(awk '$1 == "NoNewPrivs:" { print $2 }' "$status")" 1 "NoNewPrivs of the daemon"
    equal "$(awk '$1 == "Seccomp:" { print $2 }' "$status")" 2 "Seccomp of the daemon (2: a filter)"
    equal "$(awk '$1 == "Umask:" { print $2 }' "$status")" 0077 "the daemon's umask"
    local capability
    for capability in $documented; do
        zcat -f /usr/share/doc/rdma-qosd/security.md* | grep "${capability^^}" >/dev/null ||
            fail "security.md does not explain ${capability^^}"
    done
}
test_case confined_daemon "the daemon has the documented capabilities and no others"

# An executable in a home directory, which the daemon does not see, and its name, which it must.
confined_executable()
{
    start_with base
    mkdir -p /home/bob
    cp "$sample" /home/bob/trainer
    chmod 755 /home/bob /home/bob/trainer
    systemd-run --quiet --collect --unit=e2e-home --uid=bob -p EnvironmentFile=/run/emulator.env -- \
        /home/bob/trainer --device mlx5_0 -- sleep infinity
    echo e2e-home.service >>"$scratch/held"
    eventually "the program is registered" has_session e2e-home.service
    equal "$(session_of e2e-home.service | jq -r .owner.executable)" /home/bob/trainer "the executable"
    equal "$(session_of e2e-home.service | jq -r .level)" bulk "the level of its rule"
}
test_case confined_executable "rules by executable hold for programs in home directories"

confined_score()
{
    local said
    said=$(systemd-analyze security rdma-qosd.service --no-pager | grep -o 'Overall exposure level.*') || true
    echo "$said"
    [[ -n $said ]] || fail "systemd-analyze security says nothing of the unit"
    systemd-analyze security --threshold=30 rdma-qosd.service >/dev/null || fail "more than 3.0: $said"
}
test_case confined_score "systemd-analyze security is at most 3.0"
