#!/usr/bin/python3
"""Makes a queue pair with pyverbs and attaches it to a class of rdma-qosd.

It shows how a program in Python uses the D-Bus API (docs/dbus.md) with a real device: Register, the service level and the traffic class of
the grant, Attach with the descriptor of the open device, Detach. The session ends with the connection, so the program waits for a line on
stdin before it ends. Without rdma-qosd it says so, and goes on without a class: a program should.

Needs pyverbs and jeepney (Debian: python3-pyverbs, python3-jeepney), and peer.py next to it.

    ./attach_queue_pair.py [--level LEVEL] [--socket SOCKET] DEVICE

For example: ./attach_queue_pair.py --level rpc mlx5_0

The queue pair is connected to itself, so no other program is needed. Nothing is sent.
"""

import argparse
import array
import errno
import fcntl
import struct
import sys
import time

import pyverbs.enums as e
from jeepney import DBusAddress
from peer import MANAGER, NAME, SOCKET, CallFailed, Connection, plain
from pyverbs.addr import AHAttr, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsError, PyverbsRDMAError
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr

PORT = 1
DEPTH = 16


def queue_pair_handles(descriptor):
    """The handles of all queue pairs of an open device, as the kernel lists them (rdma/ib_user_ioctl_cmds.h, Linux 5.0)."""
    rdma_verbs_ioctl, driver_mlx5 = 0xC0181B01, 1
    object_device, object_qp, method_info_handles = 0, 4, 1
    info_object, info_total, info_list = 0, 1, 2
    mandatory, output = 1, 2

    total, handles = array.array("I", [0]), array.array("I", bytes(4 * 4096))
    attributes = (
        struct.pack("=HHHHQ", info_object, 8, mandatory, 0, object_qp)
        + struct.pack("=HHHHQ", info_total, 4, mandatory | output, 0, total.buffer_info()[0])
        + struct.pack("=HHHHQ", info_list, 4 * len(handles), mandatory | output, 0, handles.buffer_info()[0])
    )
    header = struct.pack("=HHHHQII", 24 + len(attributes), object_device, method_info_handles, 3, 0, driver_mlx5, 0)
    fcntl.ioctl(descriptor, rdma_verbs_ioctl, bytearray(header + attributes))
    return set(handles[: total[0]])


def make_queue_pair(context, pd, cq):
    """A queue pair and its handle. pyverbs does not tell ibv_qp.handle: it is the one that was not there before."""
    before = queue_pair_handles(context.cmd_fd)
    cap = QPCap(max_send_wr=DEPTH, max_recv_wr=DEPTH, max_send_sge=1, max_recv_sge=1)
    qp = QP(pd, QPInitAttr(qp_type=e.IBV_QPT_RC, scq=cq, rcq=cq, cap=cap))
    (handle,) = queue_pair_handles(context.cmd_fd) - before
    return qp, handle


def connect_to_itself(context, qp, grant):
    """To RTS. A real program has the number and the address of its peer from a handshake."""
    port = context.query_port(PORT)
    ethernet = port.link_layer == e.IBV_LINK_LAYER_ETHERNET
    # On InfiniBand, routes may depend on the SL that the subnet manager chose.
    sl = grant.get("sl", 0) if ethernet or grant.get("sl-source") == "host" else 0
    attr = QPAttr(port_num=PORT)
    if ethernet:
        route = GlobalRoute(dgid=context.query_gid(PORT, 0), sgid_index=0, traffic_class=grant.get("traffic-class", 0))
        attr.ah_attr = AHAttr(gr=route, is_global=1, port_num=PORT, sl=sl)
    else:
        attr.ah_attr = AHAttr(dlid=port.lid, port_num=PORT, sl=sl)
    attr.path_mtu = e.IBV_MTU_1024
    attr.dest_qp_num = qp.qp_num
    attr.timeout = 14
    attr.retry_cnt = attr.rnr_retry = 7
    qp.to_rts(attr)


def register(connection, request):
    path, grant = connection.call(MANAGER, "Register", "a{sv}", (request,))
    return DBusAddress(path, NAME, "org.rdmaqos1.Session"), plain(grant)


def attach(connection, session, device, context, qp, handle):
    """Its place. The daemon uses the descriptor for what concerns this queue pair, and checks all the rest."""
    queue_pair = {
        "device": ("s", device),
        "number": ("u", qp.qp_num),
        "type": ("s", "rc"),
        "handle": ("u", handle),
        "uverbs": ("h", context.cmd_fd),
    }
    (results,) = connection.call(session, "Attach", "aa{sv}", ([queue_pair],))
    place = plain(results[0])
    # The call succeeds although a queue pair is refused: its own result says so.
    if "error" in place:
        raise CallFailed(f"{place['error']}: {place['message']}")
    return place


def destroy(qp):
    """rdma-qosd may be moving it at this moment: then the kernel says EBUSY, and it is tried again."""
    until = time.monotonic() + 0.05
    while True:
        try:
            return qp.close()
        except PyverbsRDMAError as error:
            if error.error_code != errno.EBUSY or time.monotonic() > until:
                raise
        time.sleep(0.0001)


def say(title, dictionary, *keys):
    print(f"{title}: " + ", ".join(f"{key} {dictionary[key]}" for key in keys if key in dictionary), flush=True)


def run(options):
    request = {"device": ("s", options.device)}
    if options.level:
        request["level"] = ("s", options.level)
    with Context(name=options.device) as context, PD(context) as pd, CQ(context, 2 * DEPTH) as cq:
        qp, handle = make_queue_pair(context, pd, cq)
        session, grant = None, {}
        try:
            connection = Connection(options.socket)
            session, grant = register(connection, request)
            say("grant", grant, "level", "rule", "sl", "traffic-class", "share", "max-rate-now", "enforced", "reason")
        except (CallFailed, OSError) as error:
            print(f"without a class: {error}", flush=True)
        connect_to_itself(context, qp, grant)
        if session is not None:
            try:
                place = attach(connection, session, options.device, context, qp, handle)
                say(f"queue pair {qp.qp_num}", place, "leaf", "enforced", "reason")
            except (CallFailed, OSError) as error:
                print(f"without a class: {error}", flush=True)
                session = None

        sys.stdin.readline()

        if session is not None:
            try:
                # Before it is destroyed: its number may be another queue pair's soon.
                connection.call(session, "Detach", "su", (options.device, qp.qp_num))
            except (CallFailed, OSError) as error:
                print(f"the daemon has gone, or has forgotten the queue pair: {error}", flush=True)
        destroy(qp)


def main():
    arguments = argparse.ArgumentParser(description="Makes a queue pair and attaches it to a class of rdma-qosd.")
    arguments.add_argument("device", metavar="DEVICE", help="for example mlx5_0")
    arguments.add_argument("--level", help="by name; without it, the administrator's rules decide")
    arguments.add_argument("--socket", default=SOCKET)
    try:
        run(arguments.parse_args())
    except PyverbsError as error:
        sys.exit(f"attach_queue_pair.py: {error}")


if __name__ == "__main__":
    main()
