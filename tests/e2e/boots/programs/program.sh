#!/bin/bash
# program.sh NAME SENDER RECEIVER PORT [LAUNCHER...]: a program of the table in cases/programs.sh, which sends from the
# device SENDER to the device RECEIVER until it is ended. LAUNCHER is what comes before each process that uses them.
#
# A program that looks at its data prints "right" for each time that it was what it should be; anything that is wrong
# ends this script.
set -euo pipefail
name=$1 sender=$2 receiver=$3 port=$4
shift 4
here=$(dirname "$0")
set -a
# shellcheck source=/dev/null
. /run/emulator.env
set +a
# UCX on the emulator: docs/emulator.md.
export UCX_IB_MLX5_DEVX=n UCX_MEM_EVENTS=n UCX_TLS=rc_v,self
export HOME=/tmp OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
cd "$(mktemp -d)"

# until_somebody_listens: at the port, for the other end to connect.
until_somebody_listens()
{
    until ss -ltnH "sport = :$port" | grep -q LISTEN; do
        sleep 0.1
    done
}

# openmpi_ucx COMMAND..., openmpi_ofi, mpich: rank 0 on the device that sends, rank 1 on the other.
openmpi_ucx()
{
    mpirun.openmpi --oversubscribe --bind-to none \
        -np 1 --mca pml ucx -x UCX_NET_DEVICES="$sender:1" "${launcher[@]}" "$@" : \
        -np 1 --mca pml ucx -x UCX_NET_DEVICES="$receiver:1" "${launcher[@]}" "$@"
}
openmpi_ofi()
{
    local by=(--mca pml cm --mca mtl ofi --mca mtl_ofi_provider_include "verbs;ofi_rxd")
    mpirun.openmpi --oversubscribe --bind-to none \
        -np 1 "${by[@]}" -x FI_VERBS_DEVICE_NAME="$sender" "${launcher[@]}" "$@" : \
        -np 1 "${by[@]}" -x FI_VERBS_DEVICE_NAME="$receiver" "${launcher[@]}" "$@"
}
mpich()
{
    mpiexec.mpich \
        -np 1 -env UCX_NET_DEVICES "$sender:1" "${launcher[@]}" "$@" : \
        -np 1 -env UCX_NET_DEVICES "$receiver:1" "${launcher[@]}" "$@"
}

# again MARK WRONG COMMAND...: once after the other. Lines of what it says, or hpcc writes, must match MARK, and none WRONG.
again()
{
    local mark=$1 wrong=$2
    shift 2
    while true; do
        rm -f hpccoutf.txt
        "$@" >round 2>&1 || { tail -n 20 round && return 1; }
        cat hpccoutf.txt >>round 2>/dev/null || true
        if grep -E "$wrong" round; then
            echo "WRONG"
            return 1
        fi
        grep -qE "$mark" round || { tail -n 20 round && return 1; }
        echo "right: $(grep -cE "$mark" round)"
    done
}

fi_pingpong_once()
{
    local options=(-p "verbs;ofi_rxd" -e rdm -c -I 50) server
    "${launcher[@]}" fi_pingpong "${options[@]}" -B "$port" -d "$receiver-dgram" &
    server=$!
    until_somebody_listens
    "${launcher[@]}" fi_pingpong "${options[@]}" -P "$port" -d "$sender-dgram" 127.0.0.1 || return
    # When it has done all, it may wait for ever for a thread of its own, which waits in accept() (libfabric 1.17).
    if timeout 30 tail --pid="$server" -f /dev/null; then
        wait "$server"
    else
        kill "$server"
        wait "$server" || true
    fi
}

launcher=("$@")
case $name in
    perftest)
        send=("${launcher[@]}" ib_send_bw -x 0 -F -s 16384 -e -N -n 10000000 -p "$port")
        "${send[@]}" -d "$receiver" &
        until_somebody_listens
        "${send[@]}" -d "$sender" 127.0.0.1
        ;;
    ucx)
        UCX_NET_DEVICES=$receiver:1 "${launcher[@]}" ucx_perftest -p "$port" &
        until_somebody_listens
        UCX_NET_DEVICES=$sender:1 "${launcher[@]}" ucx_perftest -t ucp_put_bw -O 64 -s 65536 -n 10000000 -p "$port" 127.0.0.1
        ;;
    qperf)
        "${launcher[@]}" qperf -lp "$port" &
        until_somebody_listens
        "${launcher[@]}" qperf -lp "$port" -li "$sender" -ri "$receiver" -t 3600 127.0.0.1 rc_bw
        ;;
    openmpi-ucx) openmpi_ucx /usr/bin/python3 "$here/exchange.py" openmpi ;;
    openmpi-ofi) openmpi_ofi /usr/bin/python3 "$here/exchange.py" openmpi ;;
    mpich) mpich /usr/bin/python3 "$here/exchange.py" mpich ;;
    hpcc)
        # As small as it is still a test of everything.
        sed 's/^1000  *Ns/200 Ns/; s/^2  *Ps/1 Ps/' /usr/share/doc/hpcc/examples/_hpccinf.txt >hpccinf.txt
        again '^Success=1$|PASSED|\(passed\)' 'FAILED|Success=0|Errors=[1-9]' openmpi_ucx hpcc
        ;;
    netpipe-openmpi) again 'Integrity check passed' 'ntegrity check failed' openmpi_ucx NPopenmpi -i -u 100000 ;;
    netpipe-mpich) again 'Integrity check passed' 'ntegrity check failed' mpich NPmpich2 -i -u 100000 ;;
    libfabric) again '^1m' 'mismatch|corrupt' fi_pingpong_once ;;
    *)
        echo "there is no $name" >&2
        exit 2
        ;;
esac
