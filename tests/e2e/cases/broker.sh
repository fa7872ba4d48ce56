# shellcheck shell=bash
# With dbus-broker in the place of dbus-daemon.

# shellcheck source=../lib.sh
. ./lib.sh

broker_runs()
{
    contains "$(tr '\0' ' ' <"/proc/$(property MainPID dbus.service)/cmdline")" dbus-broker "the system bus"
}
test_case broker_runs "the system bus is dbus-broker"

broker_identity()
{
    start_with base
    # A level that only alice's group may use, by the bus: who she is, dbus-broker has told.
    local said register=(busctl --system call org.rdmaqos1 /org/rdmaqos1 org.rdmaqos1.Manager Register 'a{sv}')
    said=$(as_user alice "${register[@]}" 1 level s payroll)
    contains "$said" '"level" s "payroll"' "alice's grant"
    said=$(refused as_user bob "${register[@]}" 1 level s payroll)
    contains "$said" "allows group payroll" "bob's refusal"
    said=$(systemd-run --quiet --wait --pipe --collect --unit=trainer.service --uid=bob -- "${register[@]}" 0)
    contains "$said" '"level" s "rpc"' "the grant of trainer.service"
}
test_case broker_identity "callers on dbus-broker are who they are"

broker_dynamic_user()
{
    local said
    said=$(systemd-run --quiet --wait --pipe --collect -p DynamicUser=yes -- \
        busctl --system call org.rdmaqos1 /org/rdmaqos1 org.rdmaqos1.Manager Register 'a{sv}' 1 level s bulk)
    contains "$said" '"level" s "bulk"' "the grant of a unit with DynamicUser="
}
test_case broker_dynamic_user "a unit with DynamicUser= reaches the daemon by dbus-broker"

broker_status()
{
    start_with base
    sed -i 's/share: 30/share: 48/' "$policy"
    systemctl reload rdma-qosd.service
    contains "$(property StatusText)" "policy $(revision_in_force), 1 device port" "STATUS= after a reload"
    contains "$(rdma-qosctl --system-bus status)" "$(revision_in_force)" "rdma-qosctl status by the bus"
}
test_case broker_status "reload and status work by dbus-broker"
