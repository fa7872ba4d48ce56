# shellcheck shell=bash
# `port-classes: manage` and the drop-in that gives the daemon the capability for it, as the documents install it.

# shellcheck source=../lib.sh
. ./lib.sh

readonly manage_settings=/etc/rdma-qos/rdma-qosd.yaml
readonly drop_in=/etc/systemd/system/rdma-qosd.service.d/port-classes.conf

without_manage()
{
    rm -f "$drop_in"
    mv -f "$manage_settings.before" "$manage_settings"
    systemctl daemon-reload
    systemctl restart rdma-qosd.service
}

port_of_device()
{
    rdma-qosctl devices mlx5_0/1 --json | jq -c '.devices[0]."port-classes" | {classes, applications}'
}
port_is()
{
    [[ $(port_of_device) == "$1" ]]
}
is_read()
{
    [[ $(rdma-qosctl devices mlx5_0/1 --json | jq -r '.devices[0]."port-classes".state') == read ]]
}
is_kept()
{
    [[ $(rdma-qosctl devices mlx5_0/1 --json | jq -r '.devices[0]."port-classes".management.state') == kept ]]
}

port_classes_managed()
{
    cp "$manage_settings" "$manage_settings.before"
    trap without_manage EXIT
    start_with classes
    local before said pid
    eventually "the port is read" is_read
    before=$(port_of_device)
    # The emulated firmware shares elements; where the tree divides, the port is left alone.
    printf 'version: 1\nattach-mode: per-process\nport-classes: manage\n' >"$manage_settings"
    said=$(refused rdma-qosctl reload)
    echo "$said"
    contains "$said" CAP_NET_ADMIN "a reload with manage"
    contains "$said" "install -D -m 644 /usr/share/rdma-qos/port-classes.conf $drop_in" "what it says to do"
    equal "$(port_of_device)" "$before" "the port after a refused reload"
    # A start goes on, and reports.
    systemctl restart rdma-qosd.service
    equal "$(property ActiveState)" active "the unit that starts without the capability"
    eventually "the port is as it was, without the capability" port_is "$before"

    # Word for word what it said.
    install -D -m 644 /usr/share/rdma-qos/port-classes.conf "$drop_in" && systemctl daemon-reload &&
        systemctl restart rdma-qosd.service
    pid=$(property MainPID)
    contains "$(capsh --decode="$(awk '$1 == "CapEff:" { print $2 }' "/proc/$pid/status")")" cap_net_admin \
        "the capabilities of the daemon with the drop-in"
    eventually "the port is as the policy asks" is_kept
    port_is "$before" && fail "the port has no classes: $before"
    systemctl stop rdma-qosd.service
    rm -f "$drop_in"
    cp "$manage_settings.before" "$manage_settings"
    systemctl daemon-reload
    systemctl start rdma-qosd.service
    eventually "the port is as it was before the daemon set it" port_is "$before"
}
test_case port_classes_managed "port-classes: manage needs its drop-in, and sets and puts back the port with it"
