# shellcheck shell=bash
# A policy is tried, and whoever ends, the old one comes back.

# shellcheck source=../lib.sh
. ./lib.sh

# A copy of the host's policy with another share.
new_policy()
{
    sed 's/share: 30/share: 46/' "$policy" >"$scratch/new.yaml"
}

has_revision()
{
    [[ $(revision_in_force) == "$1" ]]
}

trial_of_daemon()
{
    rdma-qosctl status --json | jq -c '.policy.trial // empty'
}

trial_killed()
{
    start_with base
    local before pid text said
    before=$(revision_in_force)
    text=$(cat "$policy")
    new_policy
    rdma-qosctl try "$scratch/new.yaml" --timeout 1h
    [[ $(revision_in_force) != "$before" ]] || fail "the policy is not in force"
    contains "$(tree_of_device)" '"bw-share":46' "the device's tree during the trial"
    pid=$(property MainPID)
    kill -9 "$pid"
    eventually "the daemon runs again" main_pid_changed "$pid"
    eventually "the policy of the file is in force" has_revision "$before"
    equal "$(trial_of_daemon)" "" "the trial after SIGKILL"
    equal "$(cat "$policy")" "$text" "the policy file"
    said=$(refused rdma-qosctl confirm)
    contains "$said" "no policy is being tried" "confirm after SIGKILL"
}
test_case trial_killed "after SIGKILL during a trial, the policy of the file is in force"

trial_timeout()
{
    start_with base
    local before
    before=$(revision_in_force)
    new_policy
    rdma-qosctl try "$scratch/new.yaml" --timeout 10
    contains "$(tree_of_device)" '"bw-share":46' "the device's tree during the trial"
    eventually "it goes back" has_revision "$before"
    lacks "$(tree_of_device)" '"bw-share":46' "the device's tree afterwards"
}
test_case trial_timeout "a trial that nobody confirms goes back by itself"

# The unit may not write to /etc; the command can.
trial_confirmed()
{
    start_with base
    local tried
    new_policy
    rdma-qosctl try "$scratch/new.yaml" --timeout 1h
    tried=$(revision_in_force)
    mark before-confirm
    rdma-qosctl confirm
    mark after-confirm
    equal "$(commands_between before-confirm after-confirm)" "" "commands of a confirmation"
    equal "$(cat "$policy")" "$(cat "$scratch/new.yaml")" "the policy file"
    equal "$(stat -c %a "$policy")" 644 "its mode"
    systemctl restart rdma-qosd.service
    eventually "it is the policy after a restart" has_revision "$tried"
    put_policy base
}
test_case trial_confirmed "a trial that is confirmed is in the file, and survives a restart"
