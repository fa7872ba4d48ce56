# shellcheck shell=bash
# The machine goes down and comes back: with a policy that nobody has confirmed, and with one that cannot be used. Below
# /run everything is gone then, and the device is new.

# shellcheck source=../lib.sh
. ./lib.sh

# No unit is stopped, and nothing is told to end.
readonly abruptly=(--force --force)

# try_another: base is in force and in the file, and a policy with another share is tried.
try_another()
{
    start_with base
    revision_in_force >"$kept/revision"
    sed 's/share: 30/share: 46/' "$policy" >"$kept/tried.yaml"
    rdma-qosctl try "$kept/tried.yaml" --timeout 1h
    [[ $(revision_in_force) != "$(<"$kept/revision")" ]] || fail "the policy is not in force"
    contains "$(tree_of_device)" '"bw-share":46' "the device's tree during the trial"
    cp "$policy" "$kept/policy.yaml"
    : >"$scratch/before"
}

# The trial is over, and the policy from before it is in force, on the device as well. The daemon has been started by
# the boot.
trial_is_over()
{
    local said
    [[ ! -e $scratch/before ]] || fail "the machine was not booted"
    eventually "the daemon runs" is_active
    equal "$(property NRestarts)" 0 "failures of the daemon since the boot"
    eventually "the device has its tree" has_tree "$(rdma-qosctl check --offline --json "$kept/policy.yaml" |
        jq '.devices[0].elements')"
    equal "$(revision_in_force)" "$(<"$kept/revision")" "the policy in force after the boot"
    equal "$(rdma-qosctl status --json | jq -c '.policy.trial // empty')" "" "the trial after the boot"
    contains "$(tree_of_device)" '"bw-share":30' "the device's tree after the boot"
    lacks "$(tree_of_device)" '"bw-share":46' "the device's tree after the boot"
    said=$(refused rdma-qosctl confirm)
    contains "$said" "no policy is being tried" "confirm after the boot"
}

is_active()
{
    [[ $(property ActiveState) == active ]]
}

file_is_in_force()
{
    trial_is_over
    cmp "$policy" "$kept/policy.yaml" || fail "the policy file is another"
    lacks "$(property StatusText)" refused "STATUS= after the boot"
}

reboot_trial()
{
    try_another
    reboot_then file_is_in_force
}
test_case reboot_trial "after a reboot during a trial, the policy of the file is in force"

reboot_trial_abrupt()
{
    try_another
    reboot_then file_is_in_force "${abruptly[@]}"
}
test_case reboot_trial_abrupt "after an abrupt reboot during a trial, too"

# With a file that cannot be used, the last good policy is that from before the trial, and not the one that was tried.
reboot_broken()
{
    try_another
    put_policy broken
    reboot_then last_good_is_in_force "${abruptly[@]}"
}
last_good_is_in_force()
{
    trial_is_over
    cmp "$policy" "$files/broken.yaml" || fail "the policy file is another"
    local said
    said=$(journalctl -b -u rdma-qosd.service -p err -o cat --no-pager -q)
    contains "$said" "$policy:5:21: error:" "errors in the journal of this boot"
    contains "$(property StatusText)" "the newest policy is refused: $policy:5:21" "STATUS="
    said=$(refused rdma-qosctl status --check)
    contains "$said" "$policy:5:21" "rdma-qosctl status --check"
    printf '%s\n' "$said"
    put_policy base
    rdma-qosctl reload
    rdma-qosctl status --check
}
test_case reboot_broken "a boot with a broken policy takes the last good one, and says so"
