# shellcheck shell=bash
# Who may do what, by users, units and slices.

# shellcheck source=../lib.sh
. ./lib.sh

rights_allowed()
{
    start_with base
    hold e2e-payroll system.slice alice --level payroll
    eventually "alice's queue pair is in a leaf" has_attached e2e-payroll.service
    local session
    session=$(session_of e2e-payroll.service)
    equal "$(jq -r .level <<<"$session")" payroll "alice's level"
    equal "$(jq -r .owner.user <<<"$session")" alice "the owner of the session"
    equal "$(jq -r '."queue-pairs"[0].leaf' <<<"$session")" /payroll "the leaf of alice's queue pair"
}
test_case rights_allowed "a user without rights registers in a level that allows it"

rights_forbidden()
{
    local said
    said=$(refused as_user bob "$sample" --device mlx5_0 --level payroll -- true)
    echo "$said"
    contains "$said" payroll "the refusal names the level"
    contains "$said" "allows group payroll" "the refusal says why"
}
test_case rights_forbidden "a level that does not allow a user is refused to him"

rights_foreign_session()
{
    hold e2e-victim system.slice alice --level payroll
    eventually "alice's queue pair is in a leaf" has_attached e2e-victim.service
    local number said method
    number=$(session_of e2e-victim.service | jq .session)
    said=$(refused as_user bob "$probe" attach mlx5_0 "$number" 1)
    echo "$said"
    contains "$said" NotOwner "Attach to alice's session"
    for method in Release "Detach su mlx5_0 1"; do
        # shellcheck disable=SC2086 # a method and its arguments
        said=$(refused as_user bob busctl --system call org.rdmaqos1 "/org/rdmaqos1/session/$number" \
            org.rdmaqos1.Session $method)
        echo "$said"
        contains "$said" "session" "$method of alice's session"
    done
    has_attached e2e-victim.service || fail "alice's session has no queue pair any more"
}
test_case rights_foreign_session "somebody else's session cannot be touched"

rights_foreign_queue_pair()
{
    hold e2e-victim system.slice alice --level payroll
    eventually "alice's queue pair is in a leaf" has_attached e2e-victim.service
    local number said
    number=$(session_of e2e-victim.service | jq '."queue-pairs"[0].number')
    said=$(refused as_user bob "$probe" attach mlx5_0 - "$number")
    echo "$said"
    grep -qE 'NotOwner|BadQueuePair' <<<"$said" || fail "another refusal than expected: $said"
    equal "$(session_of e2e-victim.service | jq -r '."queue-pairs"[0].leaf')" /payroll "where alice's queue pair is"
}
test_case rights_foreign_queue_pair "a queue pair in somebody else's session cannot be attached"

# Of a program that has not registered: nobody has attached its queue pair, and nobody else may.
rights_unregistered_queue_pair()
{
    systemd-run --quiet --collect --unit=e2e-pingpong --uid=alice -p EnvironmentFile=/run/emulator.env -- \
        ibv_rc_pingpong -d mlx5_0 -g 0
    echo e2e-pingpong.service >>"$scratch/held"
    eventually "the program's queue pair is listed" lists_unit e2e-pingpong.service
    local number said
    number=$(queue_pairs_of_unit e2e-pingpong.service | jq .number)
    said=$(refused as_user bob "$probe" attach mlx5_0 - "$number")
    echo "$said"
    contains "$said" NotOwner "Attach of a queue pair of alice's program, with a file of bob's"
    equal "$(queue_pairs_of_unit e2e-pingpong.service | jq -r '.leaf // "none"')" none "the leaf of that queue pair"
}
queue_pairs_of_unit()
{
    rdma-qosctl qps --json | jq -c --arg unit "$1" '."queue-pairs"[] | select(.unit == $unit)'
}
lists_unit()
{
    [[ -n $(queue_pairs_of_unit "$1") ]]
}
test_case rights_unregistered_queue_pair "a queue pair that nobody has attached can be attached by its owner alone"

rights_reload()
{
    start_with base
    cat >/etc/polkit-1/rules.d/50-e2e.rules <<'RULE'
polkit.addRule(function (action, subject) {
    if (action.id == "org.rdmaqos1.reload" && subject.user == "carol") {
        return polkit.Result.YES;
    }
});
RULE
    chmod 644 /etc/polkit-1/rules.d/50-e2e.rules
    systemctl restart polkit.service
    local said status=0
    local transport
    for transport in '' --system-bus; do
        status=0
        # shellcheck disable=SC2086  # none, or one option
        said=$(as_user bob rdma-qosctl $transport reload 2>&1) || status=$?
        echo "bob${transport:+, $transport}: $said"
        equal "$status" 4 "the exit status of a reload that bob may not do"
        contains "$said" "org.rdmaqos1.reload needs authentication" "the refusal"
        # shellcheck disable=SC2086
        said=$(as_user carol rdma-qosctl $transport reload 2>&1) || fail "carol may not reload: $said"
        echo "carol${transport:+, $transport}: $said"
        contains "$said" "is running" "carol's reload"
        # shellcheck disable=SC2086
        said=$(refused as_user carol rdma-qosctl $transport disable mlx5_0)
        contains "$said" "org.rdmaqos1.manage" "carol may reload, and nothing else"
    done
}
test_case rights_reload "reloads need authorization by polkit"

# type_password PASSWORD FILE: when FILE asks for it; not if the command is over (FILE.over).
type_password()
{
    until grep -q 'assword:' "$2"; do
        [[ ! -e $2.over ]] || return 0
        sleep 0.05
    done
    printf '%s\n' "$1"
}
# run_in_terminal USER COMMAND FILE: the file has what it says; FILE.over says that this is all.
run_in_terminal()
{
    local status=0
    as_user "$1" script -qec "$2" /dev/null >"$3" 2>&1 || status=$?
    touch "$3.over"
    return "$status"
}
# in_terminal USER PASSWORD COMMAND: in a terminal in which somebody types the password when asked for one.
in_terminal()
{
    local said=$scratch/terminal status=0
    : >"$said"
    rm -f "$said.over"
    # shellcheck disable=SC2094  # what is typed depends on what is said
    type_password "$2" "$said" | run_in_terminal "$1" "$3" "$said" || status=$?
    tr -d '\r' <"$said"
    return "$status"
}

rights_password()
{
    start_with base
    echo root:e2e-secret | chpasswd
    local said transport
    for transport in '' --system-bus; do
        said=$(in_terminal bob e2e-secret "rdma-qosctl $transport reload") || fail "bob may not reload, with the password: $said"
        echo "$said"
        contains "$said" "AUTHENTICATING" "polkit's agent asks"
        contains "$said" "is running" "the reload"
        said=$(refused in_terminal bob wrong "rdma-qosctl $transport reload")
        contains "$said" "AUTHENTICATION FAILED" "a wrong password"
        contains "$said" "org.rdmaqos1.reload" "what may not be done"
    done
    said=$(refused in_terminal bob e2e-secret "rdma-qosctl --no-ask-password reload")
    contains "$said" "needs authentication" "whoever is not to be asked"
}
test_case rights_password "polkit's agent asks for the password in a terminal"

rights_matching()
{
    start_with base
    hold trainer system.slice bob
    hold job-7 batch.slice bob
    hold stranger system.slice bob
    local unit
    for unit in trainer job-7 stranger; do
        eventually "$unit is registered" has_session "$unit.service"
    done
    eventually "the trainer's queue pair is in a leaf" has_attached trainer.service
    eventually "the job's queue pair is in a leaf" has_attached job-7.service
    local levels
    levels=$(for unit in trainer job-7 stranger; do session_of "$unit.service" | jq -r .level; done | xargs)
    local leaf
    leaf=$(session_of trainer.service | jq -r '."queue-pairs"[0].leaf')
    local cgroup
    cgroup=$(session_of job-7.service | jq -r .owner.cgroup)
    equal "$levels" "rpc batch DEFAULT" "levels of a unit, of a slice and of neither"
    contains "$leaf" "/rpc/pid:" "the trainer's leaf"
    equal "$cgroup" /batch.slice/job-7.service "the job's cgroup"
}
test_case rights_matching "units and slices get the levels of their rules"

rights_dynamic_user()
{
    local said
    said=$(systemd-run --quiet --wait --pipe --collect -p DynamicUser=yes -p EnvironmentFile=/run/emulator.env -- \
        "$sample" --device mlx5_0 --level bulk -- true 2>&1) || fail "$said"
    contains "$said" "level bulk" "a unit with DynamicUser= at the direct socket"
}
test_case rights_dynamic_user "a unit with DynamicUser= registers at the direct socket"
