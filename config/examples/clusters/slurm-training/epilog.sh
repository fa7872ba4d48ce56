#!/bin/sh
# Epilog= of slurm.conf: takes away what prolog.sh has added for the job. It is no error if that is nothing. It ends with
# 0 in any case, because Slurm drains the node of an epilog that fails.
PATH=/usr/sbin:/usr/bin:/sbin:/bin
if ! said=$(rdma-qosctl rule remove --owner "slurm-job-$SLURM_JOB_ID" 2>&1); then
    logger -t rdma-qos-epilog -p daemon.err "a rule of job $SLURM_JOB_ID may be left: $said"
fi
exit 0
