#!/bin/sh
# Prolog= of slurm.conf: root runs it on each node of a job, before the job has a process there. Jobs of these partitions
# get a level of their own; all others have what the match rules of the policy say.
#
# It ends with 0 in any case, because Slurm drains the node of a prolog that fails.
PATH=/usr/sbin:/usr/bin:/sbin:/bin
case $SLURM_JOB_PARTITION in
    background) level=background ;;
    *) exit 0 ;;
esac
owner=slurm-job-$SLURM_JOB_ID
# A job that was requeued keeps its number, and where a node failed no epilog has run.
rdma-qosctl rule remove --owner "$owner" >/dev/null 2>&1
# Without --for: the rule must last as long as the job, and no rule is left when the node has restarted.
if ! said=$(rdma-qosctl rule add --level "$level" --slurm-job "$SLURM_JOB_ID" --owner "$owner" 2>&1); then
    logger -t rdma-qos-prolog -p daemon.err "job $SLURM_JOB_ID runs without its rule: $said"
    exit 0    # 1: a job must not run without its rule
fi
