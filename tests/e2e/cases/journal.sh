# shellcheck shell=bash
# The events in the journal: each is found by its id, with its fields, and `journalctl -x` explains it.

# shellcheck source=../lib.sh
. ./lib.sh

# id_of EVENT: as the manual page has it, which a package compresses.
id_of()
{
    zcat -f /usr/share/man/man8/rdma-qosd.service.8* | grep -F "BR ${1//-/\\-} " | grep -oE '[0-9a-f]{32}'
}

# As journalctl's --since takes it. Its cursors are not for this: systemd 252 skips the first entry behind one that matches.
now()
{
    echo "@${EPOCHREALTIME/,/.}"
}

# events EVENT SINCE [FIELD=VALUE...]: the messages since then.
events()
{
    local id
    id=$(id_of "$1")
    [[ -n $id ]] || fail "rdma-qosd.service(8) has no id of $1"
    journalctl --sync
    journalctl --since="$2" -o cat --no-pager -q "MESSAGE_ID=$id" "${@:3}"
}

has_event()
{
    [[ -n $(events "$@") ]]
}

journal_policy()
{
    start_with base
    local start
    start=$(now)
    systemctl reload rdma-qosd.service
    contains "$(events policy-applied "$start" "RDMAQOS_REVISION=$(revision_in_force)")" "is in force" "the reload"
    start=$(now)
    put_policy broken
    refused systemctl reload rdma-qosd.service >/dev/null
    contains "$(events policy-rejected "$start" PRIORITY=3)" "$policy:5:21: error:" "the refused reload"
    equal "$(events policy-applied "$start")" "" "applied policies, when one was refused"
}
test_case journal_policy "policies that are taken and refused are found by their ids"

journal_clients()
{
    start_with base
    local start said
    start=$(now)
    hold e2e-payroll system.slice alice --level payroll
    eventually "alice's program is logged" has_event client-attached "$start" RDMAQOS_LEVEL=payroll \
        RDMAQOS_UNIT=e2e-payroll.service "RDMAQOS_UID=$(id -u alice)"
    # The journal has found the client's unit by its pid.
    contains "$(journalctl --since="$start" -u e2e-payroll.service -o cat -q)" "has session" \
        "the journal of the client's own unit"
    systemctl stop e2e-payroll.service
    eventually "its end is logged" has_event client-gone "$start" RDMAQOS_UNIT=e2e-payroll.service
    refused as_user bob "$sample" --device mlx5_0 --level payroll -- true >/dev/null
    said=$(events client-refused "$start" "RDMAQOS_UID=$(id -u bob)" PRIORITY=4)
    contains "$said" "is refused a session in level payroll: " "the refusal"
    contains "$said" "allows group payroll" "the refusal"
}
test_case journal_clients "clients that come, go and are refused are found by their ids, and by their units"

journal_flood()
{
    start_with base
    local start said
    start=$(now)
    local begin=$SECONDS allowed
    # shellcheck disable=SC2016 # expanded by the user's shell
    as_user bob bash -c 'for i in {1..300}; do busctl --system call org.rdmaqos1 /org/rdmaqos1 \
        org.rdmaqos1.Manager Register "a{sv}" 1 level s "none-$i"; done; true' >/dev/null 2>&1
    refused as_user carol "$sample" --device mlx5_0 --level payroll -- true >/dev/null
    said=$(events client-refused "$start" "RDMAQOS_UID=$(id -u bob)")
    echo "$said"
    [[ -n $said ]] || fail "no refusal of bob's is logged"
    # One in ten seconds.
    allowed=$(((SECONDS - begin) / 10 + 3))
    (($(grep -c . <<<"$said") <= allowed)) || fail "the flood is in the journal"
    equal "$(events client-refused "$start" "RDMAQOS_UID=$(id -u carol)" | grep -c .)" 1 "lines of carol's one refusal"
}
test_case journal_flood "a user who is refused again and again has few lines, and hides none of others"

journal_device()
{
    start_with base
    local start
    start=$(now)
    ctl_emulator reset mlx5_0
    eventually "the loss is logged" has_event device-lost "$start" RDMAQOS_DEVICE=mlx5_0/1
    eventually "the return is logged" has_event device-present "$start" RDMAQOS_DEVICE=mlx5_0/1
    start=$(now)
    ctl_emulator link-speed mlx5_0 50Gbps
    eventually "the link is logged" has_event link-changed "$start" "RDMAQOS_LINK=50 Gbit/s"
    ctl_emulator link-speed mlx5_0 100Gbps
}
test_case journal_device "a device that is lost, comes back and has another link is found by the ids"

journal_drift()
{
    start_with base
    local start element
    element=$(ctl_emulator state | sed -n 's/^ *id=\([0-9]*\) .*bw-share=30 .*/\1/p' | head -n 1)
    [[ -n $element ]] || fail "no element of share 30: $(ctl_emulator state)"
    start=$(now)
    ctl_emulator drift mlx5_0 "$element" 77 90000
    sed -i.before 's/^version: 1$/version: 1\ndrift-interval: 1s/' /etc/rdma-qos/rdma-qosd.yaml
    systemctl reload rdma-qosd.service
    eventually "the repair is logged" has_event drift-repaired "$start" RDMAQOS_DEVICE=mlx5_0/1 RDMAQOS_COUNT=1 \
        RDMAQOS_PATH=/bulk
    mv /etc/rdma-qos/rdma-qosd.yaml.before /etc/rdma-qos/rdma-qosd.yaml
    systemctl reload rdma-qosd.service
}
test_case journal_drift "drift that was repaired is found by its id"

journal_guarantee()
{
    start_with base
    local start
    sed -i 's/{name: bulk, schedule: {share: 30}}/{name: bulk, schedule: {min-rate: 40Gbps}}/' "$policy"
    systemctl reload rdma-qosd.service
    start=$(now)
    ctl_emulator link-speed mlx5_0 25Gbps
    eventually "a warning says that the guarantee is broken" has_event link-guarantees "$start" PRIORITY=4 \
        "RDMAQOS_LINK=25 Gbit/s"
    # That the link was down in between may be news of its own.
    equal "$(events link-changed "$start" "RDMAQOS_LINK=25 Gbit/s")" "" "the same as news"
    ctl_emulator link-speed mlx5_0 100Gbps
    eventually "it is news when it is kept again" has_event link-changed "$start" PRIORITY=5
}
test_case journal_guarantee "a link with which a guarantee cannot be kept is a warning"

journal_self_test()
{
    local said
    said=$(journalctl -o cat -q "MESSAGE_ID=$(id_of self-test)" RDMAQOS_DEVICE=mlx5_0/1)
    contains "$said" "the self-test finds attach mode" "the self-test since the boot"
}
test_case journal_self_test "the result of the self-test is found by its id"

journal_catalogue()
{
    start_with base
    # The package has it done by systemd's trigger.
    journalctl --update-catalog
    local said
    said=$(journalctl -x -n 1 -q --no-pager "MESSAGE_ID=$(id_of policy-applied)")
    echo "$said"
    contains "$said" "Subject: The RDMA QoS policy $(revision_in_force) is in force" "journalctl -x"
    contains "$said" "What to do:" "journalctl -x"
}
test_case journal_catalogue "journalctl -x explains an event"
