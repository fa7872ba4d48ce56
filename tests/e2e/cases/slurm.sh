# shellcheck shell=bash
# Slurm, with the prolog and the epilog of config/examples/clusters/slurm-training: jobs whose ranks send between
# emulated devices (boots/slurm/rank.sh), and what each job gets, in bytes that the device has sent.

# shellcheck source=../lib.sh
. ./lib.sh

readonly rank=/usr/lib/rdma-qos-e2e/boots/slurm/rank.sh
slurm_version=$(slurmd -V | sed 's/^slurm[^ ]* //')
readonly slurm_version

# ---- Slurm ----

# submit PARTITION RANKS [COMMAND]: prints the job's number. Without a command, it has one step of that many ranks.
submit()
{
    (cd /tmp && runuser -u alice -- sbatch --parsable --partition="$1" --ntasks="$2" --output=/tmp/job-%j.said \
        --wrap="${3:-srun $rank}")
}

# state_of JOB: and why, as squeue names them; nothing when it is gone.
state_of()
{
    squeue --noheader --format='%i %T %r' | sed -n "s/^$1 //p"
}

is_running()
{
    [[ $(state_of "$1") == RUNNING* ]]
}

is_over()
{
    local state
    state=$(state_of "$1") && [[ -z $state ]]
}

is_held()
{
    [[ $(state_of "$1") == PENDING*held* ]]
}

# runs_again JOB: it has been requeued once, and runs.
runs_again()
{
    is_running "$1" && [[ $(scontrol show job "$1") == *" Restarts=1 "* ]]
}

# state_of_node: without the marks of a moment, as of one that has not answered yet.
state_of_node()
{
    sinfo --noheader --Node --nodes=node --partition=training --format=%T | tr -d '*~#!%$@^-'
}

node_is()
{
    [[ $(state_of_node) == "$1" ]]
}

no_jobs()
{
    local jobs
    jobs=$(squeue --noheader --format=%i) && [[ -z $jobs ]]
}

# end_job JOB: returns when its epilog has ended.
end_job()
{
    scancel "$1"
    eventually "job $1 is over" is_over "$1"
}

# What every case begins with: the node is idle, and the daemon has its policy and no other rule.
slurm_ready()
{
    eventually "the controller answers" no_jobs_of_earlier_cases
    eventually "the node is up" node_may_be_used
    start_with slurm
    equal "$(rules)" "" "rules that an earlier job has left"
}

no_jobs_of_earlier_cases()
{
    scancel --user=alice 2>/dev/null && no_jobs
}

node_may_be_used()
{
    node_is idle || {
        scontrol update nodename=node state=resume 2>/dev/null
        false
    }
}

# ---- what the daemon says ----

# rules: the owners of the rules there are, a line each. None may end before its job does.
rules()
{
    rdma-qosctl rule list --json | jq -r '.rules[] | .owner + if .until then " until " + .until else "" end'
}

has_rules()
{
    [[ $(rules) == "$1" ]]
}

when_written()
{
    stat --format=%y "/run/rdma-qos/policy.d/10-slurm-job-$1.yaml"
}

# sends_in LEAF RANKS: that many queue pairs of the device that sends are in the leaf.
sends_in()
{
    local count
    count=$(rdma-qosctl sessions --json | jq --arg leaf "$1" \
        '[.sessions[]."queue-pairs"[]? | select(.device == "mlx5_0/1" and .leaf == $leaf)] | length') || return
    ((count == $2))
}

# nothing_of JOB: neither a session nor a leaf.
nothing_of()
{
    local sessions tree
    sessions=$(rdma-qosctl sessions --json | jq --arg job "$1" '[.sessions[] | select(.owner."slurm-job" == $job)] | length') ||
        return
    tree=$(rdma-qosctl tree) || return
    ((sessions == 0)) && [[ $tree != *"job:$1 "* ]]
}

# ---- what the device has sent ----

# measure: sets percent[JOB].
measure()
{
    local job
    measure_by 64 moved mlx5_0 'job_\([0-9]*\)/'
    for job in "${!percent[@]}"; do
        echo "job $job sent ${percent[$job]} %"
    done
}

# gets JOB PERCENT
gets()
{
    within_tolerance "${percent[$1]}" "$2" || fail "job $1 got ${percent[$1]} % of the bytes instead of $2 %"
}

row()
{
    table_row Slurm "$slurm_version" "$1" "$2" "${3:-none}"
}

# ---- cases ----

slurm_shares()
{
    slurm_ready
    local wide narrow
    wide=$(submit training 3)
    narrow=$(submit training 1)
    eventually "three ranks send in the leaf of job $wide" sends_in "/training/job:$wide" 3
    eventually "one rank sends in the leaf of job $narrow" sends_in "/training/job:$narrow" 1
    equal "$(rules)" "" "rules for jobs whose partition needs none"
    measure
    gets "$wide" 50
    gets "$narrow" 50
    end_job "$wide"
    eventually "job $wide has left nothing" nothing_of "$wide"
    end_job "$narrow"
    eventually "job $narrow has left nothing" nothing_of "$narrow"
    row "jobs of 3 and 1 ranks, fair-by slurm-job: ${percent[$wide]} % and ${percent[$narrow]} %" 2
}
test_case slurm_shares "two jobs of Slurm get the same, however many ranks they have"

slurm_cap()
{
    slurm_ready
    local capped other
    other=$(submit training 1)
    capped=$(submit background 2)
    eventually "two ranks send in the leaf of job $capped" sends_in "/background/job:$capped" 2
    eventually "one rank sends in the leaf of job $other" sends_in "/training/job:$other" 1
    equal "$(rules)" "slurm-job-$capped" "rules"
    measure
    gets "$capped" 30
    gets "$other" 70
    end_job "$capped"
    equal "$(rules)" "" "rules after the epilog"
    eventually "job $capped has left nothing" nothing_of "$capped"
    row "a job capped at 30 % by prolog and epilog beside another: ${percent[$capped]} %" 1
}
test_case slurm_cap "a job is capped at 30 % while another runs, by prolog and epilog alone"

slurm_steps()
{
    slurm_ready
    local job other
    job=$(submit background 2 "srun --exact -n 1 $rank & srun --exact -n 1 $rank & wait")
    other=$(submit training 1)
    eventually "both steps of job $job send in its one leaf" sends_in "/background/job:$job" 2
    eventually "one rank sends in the leaf of job $other" sends_in "/training/job:$other" 1
    equal "$(squeue --steps --noheader --jobs="$job" --format=%i | grep -c "^$job\.[01]$")" 2 "steps of job $job"
    equal "$(rules)" "slurm-job-$job" "rules"
    measure
    gets "$job" 30
    # One step ends, and the job goes on with the same rule.
    scancel "$job.0"
    eventually "one step of job $job sends" sends_in "/background/job:$job" 1
    equal "$(rules)" "slurm-job-$job" "rules after a step has ended"
    measure
    gets "$job" 30
    end_job "$job"
    equal "$(rules)" "" "rules after the epilog"
    eventually "job $job has left nothing" nothing_of "$job"
    row "two steps of a job are under one cap, then one; scancel: ${percent[$job]} %" 2
}
test_case slurm_steps "all steps of a job are one principal, and scancel ends what the job had"

slurm_requeue()
{
    slurm_ready
    local job written
    job=$(submit background 1)
    eventually "a rank sends in the leaf of job $job" sends_in "/background/job:$job" 1
    written=$(when_written "$job")
    scontrol requeue "$job"
    eventually "job $job runs again" runs_again "$job"
    eventually "a rank sends in the leaf of job $job again" sends_in "/background/job:$job" 1
    equal "$(rules)" "slurm-job-$job" "rules"
    [[ $(when_written "$job") != "$written" ]] || fail "the rule of job $job was there while the job waited"
    end_job "$job"
    equal "$(rules)" "" "rules after the epilog"
    row "scontrol requeue: the rule goes, and is there again, once" 1
}
test_case slurm_requeue "a job that is requeued has its rule again, and once"

# Its jobs go on without it, and it does not stop them (KillMode= of its unit).
kill_slurmd()
{
    systemctl kill --kill-who=main -s KILL slurmd.service
    eventually "slurmd has ended" has_failed slurmd.service
    systemctl start slurmd.service
}

has_failed()
{
    [[ $(property ActiveState "$1") == failed ]]
}

slurm_restarts()
{
    slurm_ready
    local job other how
    job=$(submit background 1 "srun --exact -n 1 $rank; sleep 1000")
    other=$(submit training 1)
    eventually "a rank sends in the leaf of job $job" sends_in "/background/job:$job" 1
    eventually "a rank sends in the leaf of job $other" sends_in "/training/job:$other" 1
    for how in "systemctl restart slurmd.service" kill_slurmd "systemctl restart rdma-qosd.service"; do
        echo "$how"
        $how
        eventually "a rank sends in the leaf of job $job after: $how" sends_in "/background/job:$job" 1
        eventually "a rank sends in the leaf of job $other after: $how" sends_in "/training/job:$other" 1
        equal "$(rules)" "slurm-job-$job" "rules after: $how"
        measure
        gets "$job" 30
    done
    # A step that begins only now.
    scancel "$job.0"
    eventually "no rank of job $job sends" sends_in "/background/job:$job" 0
    (cd /tmp && exec runuser -u alice -- srun --jobid="$job" --overlap -n 1 "$rank") >/dev/null 2>&1 &
    eventually "a rank of another step sends in the leaf of job $job" sends_in "/background/job:$job" 1
    equal "$(rules)" "slurm-job-$job" "rules after another step has begun"
    # The prolog a second time, as where slurmd has lost what it knew.
    SLURM_JOB_ID=$job SLURM_JOB_PARTITION=background /etc/slurm/rdma-qos-prolog
    equal "$(rules)" "slurm-job-$job" "rules after a second prolog"
    end_job "$job"
    equal "$(rules)" "" "rules after the epilog"
    eventually "job $job has left nothing" nothing_of "$job"
    row "a job outlives restarts of slurmd (SIGKILL, too) and rdma-qosd: ${percent[$job]} %" 3
}
test_case slurm_restarts "a job keeps its class and its cap when slurmd or rdma-qosd is started again"

slurm_prolog_without_daemon()
{
    slurm_ready
    local job
    systemctl stop rdma-qosd.service
    job=$(submit background 1)
    eventually "the rule of job $job is written without the daemon" has_rules "slurm-job-$job"
    eventually "job $job runs without the daemon" is_running "$job"
    systemctl start rdma-qosd.service
    eventually "a rank sends in the leaf of job $job when the daemon is there" sends_in "/background/job:$job" 1
    systemctl stop rdma-qosd.service
    end_job "$job"
    equal "$(rules)" "" "rules after the epilog"
    eventually "the node is idle" node_is idle
    row "prolog and epilog while rdma-qosd is stopped: the rule counts once it runs" 1
}
test_case slurm_prolog_without_daemon "a job that begins while the daemon is stopped gets its rule when it is started"

slurm_prolog_broken_policy()
{
    slurm_ready
    local job said
    # An edit that is not in force yet is nothing to the prolog.
    put_policy broken
    job=$(submit background 1)
    eventually "a rank sends in the leaf of job $job" sends_in "/background/job:$job" 1
    end_job "$job"
    # The policy in force has no level for the job.
    put_policy slurm
    sed -i '/name: background/d' "$policy"
    systemctl reload rdma-qosd.service
    job=$(submit background 1)
    eventually "a rank sends in the leaf of job $job without its rule" sends_in "/training/job:$job" 1
    equal "$(rules)" "" "rules"
    journalctl --sync
    said=$(journalctl -t rdma-qos-prolog -o cat --no-pager)
    contains "$said" "job $job runs without its rule" "the journal"
    contains "$said" background "the journal names the level"
    lacks "$(state_of_node)" drain "the node of a prolog that ended with 0"
    end_job "$job"

    # With the other exit status.
    cp -p /etc/slurm/rdma-qos-prolog "$scratch"
    trap 'cp -p "$scratch/rdma-qos-prolog" /etc/slurm' EXIT
    sed -i 's/^    exit 0 .*/    exit 1/' /etc/slurm/rdma-qos-prolog
    job=$(submit background 1)
    eventually "the node of a prolog that fails is drained" node_is drained
    eventually "job $job is held" is_held "$job"
    echo "job $job: $(state_of "$job"); node: $(sinfo --noheader --format=%E --nodes=node --partition=training)"
    put_policy slurm
    systemctl reload rdma-qosd.service
    scontrol update nodename=node state=resume
    scontrol release "$job"
    eventually "a rank sends in the leaf of job $job" sends_in "/background/job:$job" 1
    equal "$(rules)" "slurm-job-$job" "rules"
    end_job "$job"
    equal "$(rules)" "" "rules after the epilog"
    row "a prolog that fails: drains the node, holds the job; ours says why and goes on" 3
}
test_case slurm_prolog_broken_policy "a rule that is refused does not stop a job, or drains the node where the prolog says so"
