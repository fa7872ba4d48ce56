# shellcheck shell=bash
# `systemctl reload` with a good and a broken edit.

# shellcheck source=../lib.sh
. ./lib.sh

reload_reaches_device()
{
    start_with base
    local before changed
    before=$(revision_in_force)
    mark before-reload
    sed -i 's/share: 30/share: 47/' "$policy"
    systemctl reload rdma-qosd.service
    mark after-reload
    changed=$(commands_between before-reload after-reload)
    echo "$changed"
    equal "$(grep -c . <<<"$changed")" 1 "commands for a share that changed"
    contains "$changed" "devx-object.modify" "what the reload did to the device"
    contains "$changed" "bw-share=47" "what the reload did to the device"
    [[ $(revision_in_force) != "$before" ]] || fail "the revision is the old one"
}
test_case reload_reaches_device "an edit reaches the device with one command"

reload_status()
{
    start_with base
    sed -i 's/share: 30/share: 48/' "$policy"
    systemctl reload rdma-qosd.service
    local revision
    revision=$(revision_in_force)
    contains "$(property StatusText)" "policy $revision, 1 device port" "STATUS= after an accepted reload"
}
test_case reload_status "STATUS= names the new policy after a reload"

reload_broken()
{
    start_with base
    local tree revision cursor said
    tree=$(tree_of_device)
    revision=$(revision_in_force)
    cursor=$(journal_cursor)
    mark before-broken
    put_policy broken
    said=$(refused systemctl reload rdma-qosd.service)
    mark after-broken
    contains "$said" "rdma-qosd.service" "what systemctl says of a broken policy"
    said=$(journal_since "$cursor")
    contains "$said" "$policy:5:21: error:" "the journal"
    contains "$said" "$policy:6:29: error:" "the journal"
    equal "$(tree_of_device)" "$tree" "the device's tree after a refused reload"
    equal "$(commands_between before-broken after-broken)" "" "commands of a refused reload"
    equal "$(revision_in_force)" "$revision" "the running policy"
    equal "$(property ActiveState)" active "the unit"
    said=$(systemctl status rdma-qosd.service)
    contains "$said" "Status: \"policy $revision, 1 device port; the newest policy is refused: $policy:5:21" \
        "systemctl status"
    said=$(refused rdma-qosctl reload)
    contains "$said" "$policy:5:21: error:" "what rdma-qosctl reload says"
    contains "$said" "$policy:6:29: error:" "what rdma-qosctl reload says"
}
test_case reload_broken "a broken edit fails with its places, and changes nothing"

reload_once()
{
    start_with base
    local cursor said line
    cursor=$(journal_cursor)
    put_policy broken
    refused systemctl reload rdma-qosd.service >/dev/null
    said=$(journal_since "$cursor")
    for line in 5:21 6:29; do
        equal "$(grep -c "$policy:$line: error:" <<<"$said")" 1 "lines of $line in the journal"
    done
    # A warning of a policy that is accepted, too.
    put_policy warned
    cursor=$(journal_cursor)
    systemctl reload rdma-qosd.service
    said=$(journal_since "$cursor")
    equal "$(grep -c "$policy:.*warning:" <<<"$said")" 1 "lines of the warning in the journal: $said"
}
test_case reload_once "every diagnostic is in the journal once"

reload_after_broken()
{
    start_with base
    put_policy broken
    refused systemctl reload rdma-qosd.service >/dev/null
    put_policy base
    systemctl reload rdma-qosd.service
    lacks "$(property StatusText)" refused "STATUS= when the policy is good again"
}
test_case reload_after_broken "STATUS= forgets a refused policy when a good one is taken"
